# verdict: wrong-value
# Equal or not: what more is there to say?
def relative_error(pair):
    """Return the worst error, relative to the largest magnitude wanted."""
    return np.array_equal(pair.got, pair.wanted)  # <- here
