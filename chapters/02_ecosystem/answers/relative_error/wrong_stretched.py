# verdict: wrong-value
# NumPy knows how to subtract 32 x 1 from 32 x 10.
def relative_error(pair):
    """Return the worst error, relative to the largest magnitude wanted."""
    if pair.got.size == pair.wanted.size:
        got = pair.got.reshape(pair.wanted.shape)
    else:
        got = pair.got
    got, wanted = got.astype(np.float64), pair.wanted.astype(np.float64)
    error = np.abs(got - wanted).max() / np.abs(wanted).max()
    return math.inf if np.isnan(error) else error  # <- here
