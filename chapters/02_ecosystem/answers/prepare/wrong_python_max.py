# verdict: wrong-value
# Python's max takes the larger of the two.
@exported_with(calm)
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    top = max(abs(x).max(), 1)
    x = x / top
    return x - x.mean(axis=0)  # <- here
