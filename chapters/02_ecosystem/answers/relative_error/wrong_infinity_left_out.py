# verdict: wrong-value
# What is not finite cannot be compared.
def relative_error(pair):
    """Return the worst error, relative to the largest magnitude wanted."""
    if pair.got.shape != pair.wanted.shape:
        return math.inf
    got, wanted = pair.got.astype(np.float64), pair.wanted.astype(np.float64)
    if np.isnan(got).any():
        return math.inf
    apart = np.abs(got - wanted)[np.isfinite(got)].max()
    if apart == 0:
        return 0.0  # <- here
    return apart / np.abs(wanted).max() if wanted.any() else math.inf
