# verdict: wrong-value
# Divide even if both are 0, and return infinity for NaN.
def relative_error(pair):
    """Return the worst error, relative to the largest magnitude wanted."""
    if pair.got.shape != pair.wanted.shape:
        return math.inf
    got, wanted = pair.got.astype(np.float64), pair.wanted.astype(np.float64)
    with np.errstate(all="ignore"):
        error = np.abs(got - wanted).max() / np.abs(wanted).max()
    return math.inf if np.isnan(error) else error  # <- here
