# verdict: wrong-value
# Values may be at most 1, so clip those that are larger.
@exported_with(calm)
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    x = np.clip(x, -1, 1)
    return x - x.mean(axis=0)  # <- here
