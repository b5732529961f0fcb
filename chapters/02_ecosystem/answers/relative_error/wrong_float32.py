# verdict: wrong-value
# float32 is enough to compare float16 values; but a NaN gets through.
def relative_error(pair):
    """Return the worst error, relative to the largest magnitude wanted."""
    if pair.got.shape != pair.wanted.shape:
        return math.inf
    got, wanted = pair.got.astype(np.float32), pair.wanted.astype(np.float32)
    return np.abs(got - wanted).max() / np.abs(wanted).max()  # <- here
