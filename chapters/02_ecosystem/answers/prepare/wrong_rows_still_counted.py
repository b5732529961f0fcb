# verdict: wrong-value
# The if is gone, but the number of rows is still recorded by len.
@exported_with(calm)
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    x = x / np.maximum(abs(x).max(), 1)
    return x - x.sum(axis=0) / len(x)  # <- here
