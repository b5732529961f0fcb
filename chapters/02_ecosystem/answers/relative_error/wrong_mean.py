# verdict: wrong-value
# Return the error on average.
def relative_error(pair):
    """Return the worst error, relative to the largest magnitude wanted."""
    if pair.got.shape != pair.wanted.shape:
        return math.inf
    got, wanted = pair.got.astype(np.float64), pair.wanted.astype(np.float64)
    error = np.abs(got - wanted).mean() / np.abs(wanted).mean()
    return math.inf if np.isnan(error) else error  # <- here
