# verdict: wrong-value
# Without the decorator, it is right.
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    top = abs(x).max()
    if top > 1:
        x = x / top
    return x - x.sum(axis=0) / len(x)  # <- here
