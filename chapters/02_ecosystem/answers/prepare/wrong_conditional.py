# verdict: wrong-value
# A conditional expression is not an if.
@exported_with(calm)
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    top = abs(x).max()
    x = x / top if top > 1 else x
    return x - x.mean(axis=0)  # <- here
