# verdict: wrong-value
# Subtract the mean of all elements.
@exported_with(calm)
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    x = x / np.maximum(abs(x).max(), 1)
    return x - x.mean()  # <- here
