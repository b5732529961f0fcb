# verdict: wrong-value
# At most 1, so cut off what is more.
@exported_with(calm)
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    x = np.clip(x, -1, 1)
    return x - x.mean(axis=0)  # <- here
