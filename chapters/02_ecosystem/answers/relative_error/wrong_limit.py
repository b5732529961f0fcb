# verdict: wrong-value
# Return the verdict instead of the number.
def relative_error(pair):
    """Return the worst error, relative to the largest magnitude wanted."""
    got, wanted = pair.got.astype(np.float64), pair.wanted.astype(np.float64)
    return np.allclose(got, wanted, rtol=1e-5)  # <- here
