# verdict: wrong-value
# If the maximum is 1 or less, dividing does no harm.
@exported_with(calm)
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    x = x / abs(x).max()
    return x - x.mean(axis=0)  # <- here
