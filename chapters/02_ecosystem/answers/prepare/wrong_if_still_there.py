# verdict: wrong-value
# The mean is fixed, the if is not.
@exported_with(calm)
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    top = abs(x).max()
    if top > 1:
        x = x / top
    return x - x.mean(axis=0)  # <- here
