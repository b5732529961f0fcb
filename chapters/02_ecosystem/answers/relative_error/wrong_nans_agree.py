# verdict: wrong-value
# A NaN where a NaN is wanted is right.
def relative_error(pair):
    """Return the worst error, relative to the largest magnitude wanted."""
    if pair.got.shape != pair.wanted.shape:
        return math.inf
    got, wanted = pair.got.astype(np.float64), pair.wanted.astype(np.float64)
    apart = np.abs(got - wanted)
    apart[np.isnan(got) & np.isnan(wanted)] = 0
    if apart.max() == 0:
        return 0.0
    if np.isnan(apart).any() or not wanted.any():
        return math.inf
    return apart.max() / np.nanmax(np.abs(wanted))
