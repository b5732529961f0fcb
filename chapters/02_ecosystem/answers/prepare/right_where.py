# verdict: pass
# Compute both branches and choose; the graph counts the rows.
@exported_with(calm)
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    top = abs(x).max()
    x = np.where(top > 1, x / top, x)
    return x - x.sum(axis=0) / np.size(x, 0)
