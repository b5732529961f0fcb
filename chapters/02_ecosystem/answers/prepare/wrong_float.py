# verdict: wrong-value
# A plain number is easier to handle.
@exported_with(calm)
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    top = float(abs(x).max())
    x = x / np.maximum(top, 1)
    return x - x.mean(axis=0)  # <- here
