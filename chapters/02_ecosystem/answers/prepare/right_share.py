# verdict: pass
# Divide by 1 plus the excess, which is at least 0.
@exported_with(calm)
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    x = x / (1 + np.maximum(abs(x).max() - 1, 0))
    return x - x.mean(0)
