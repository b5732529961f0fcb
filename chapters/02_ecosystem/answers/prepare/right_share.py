# verdict: pass
# How much too large is it? At least not at all.
@exported_with(calm)
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    x = x / (1 + np.maximum(abs(x).max() - 1, 0))
    return x - x.mean(0)
