# verdict: exception
# Allow only large values, and the if is gone.
@exported_with(calm)
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    top = abs(x).max()
    if not top > 1:
        raise ValueError("this model is for large values")  # <- here
    x = x / top
    return x - x.mean(axis=0)
