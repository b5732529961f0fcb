# verdict: wrong-value
# shape[0] is not len, so it is not recorded.
@exported_with(calm)
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    x = x / np.maximum(abs(x).max(), 1)
    return x - x.sum(axis=0) / x.shape[0]  # <- here
