# verdict: wrong-value
# Divide each column by its own maximum.
@exported_with(calm)
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    x = x / np.maximum(abs(x).max(axis=0), 1)
    return x - x.mean(axis=0)  # <- here
