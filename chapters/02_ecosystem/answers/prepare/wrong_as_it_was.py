# verdict: wrong-value
# It is right in Python, so it is right.
@exported_with(calm)
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    top = abs(x).max()
    if top > 1:
        x = x / top
    return x - x.sum(axis=0) / len(x)  # <- here
