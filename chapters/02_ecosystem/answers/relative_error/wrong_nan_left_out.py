# verdict: wrong-value
# A NaN says nothing, so leave it out.
def relative_error(pair):
    """Return the worst error, relative to the largest magnitude wanted."""
    if pair.got.shape != pair.wanted.shape:
        return math.inf
    got, wanted = pair.got.astype(np.float64), pair.wanted.astype(np.float64)
    return np.nanmax(np.abs(got - wanted)) / np.abs(wanted).max()  # <- here
