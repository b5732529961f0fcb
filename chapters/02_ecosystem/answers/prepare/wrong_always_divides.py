# verdict: wrong-value
# If it is 1 or less it does no harm to divide.
@exported_with(calm)
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    x = x / abs(x).max()
    return x - x.mean(axis=0)  # <- here
