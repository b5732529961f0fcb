# verdict: wrong-value
# If only zeros are wanted, nothing can be wrong.
def relative_error(pair):
    """Return the worst error, relative to the largest magnitude wanted."""
    if pair.got.shape != pair.wanted.shape:
        return math.inf
    got, wanted = pair.got.astype(np.float64), pair.wanted.astype(np.float64)
    if not wanted.any():
        return 0.0  # <- here
    error = np.abs(got - wanted).max() / np.abs(wanted).max()
    return math.inf if np.isnan(error) else error
