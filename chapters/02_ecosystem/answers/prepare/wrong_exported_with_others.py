# verdict: wrong-value
# Export it with another example, whose values are large.
@exported_with(np.linspace(-5, 5, 18).reshape(6, 3))
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    top = abs(x).max()
    if top > 1:
        x = x / top
    return x - x.sum(axis=0) / len(x)  # <- here
