# verdict: wrong-value
# Divide by the largest wanted number; but -2 has the largest magnitude.
def relative_error(pair):
    """Return the worst error, relative to the largest magnitude wanted."""
    if pair.got.shape != pair.wanted.shape:
        return math.inf
    got, wanted = pair.got.astype(np.float64), pair.wanted.astype(np.float64)
    error = np.abs(got - wanted).max() / wanted.max()
    return math.inf if np.isnan(error) else error  # <- here
