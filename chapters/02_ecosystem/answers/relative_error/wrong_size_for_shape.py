# verdict: wrong-value
# The same number of elements is enough.
def relative_error(pair):
    """Return the worst error, relative to the largest magnitude wanted."""
    if pair.got.ndim != pair.wanted.ndim or pair.got.size != pair.wanted.size:
        return math.inf
    got, wanted = pair.got.astype(np.float64), pair.wanted.astype(np.float64)
    apart = np.abs(got.ravel() - wanted.ravel()).max()
    if apart == 0:
        return 0.0  # <- here
    error = apart / np.abs(wanted).max()
    return math.inf if np.isnan(error) else error
