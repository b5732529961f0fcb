# verdict: pass
# The norm of infinity is the largest magnitude.
def relative_error(pair):
    """Return the worst error, relative to the largest magnitude wanted."""
    got, wanted = pair.got.astype(float), pair.wanted.astype(float)
    if got.shape != wanted.shape or not np.isfinite(got).all():
        return math.inf
    if np.array_equal(got, wanted):
        return 0.0
    size = np.linalg.norm(wanted.ravel(), np.inf)
    with np.errstate(divide="ignore"):
        return np.linalg.norm((got - wanted).ravel(), np.inf) / size
