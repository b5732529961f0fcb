# verdict: pass
# Take a maximum that starts at 1.
@exported_with(calm)
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    x = x / np.max(np.abs(x), initial=1)
    return x - np.mean(x, axis=0)
