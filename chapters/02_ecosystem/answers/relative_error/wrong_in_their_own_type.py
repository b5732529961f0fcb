# verdict: wrong-value
# Compare in the type that the arrays come in.
def relative_error(pair):
    """Return the worst error, relative to the largest magnitude wanted."""
    if pair.got.shape != pair.wanted.shape:
        return math.inf
    with np.errstate(all="ignore"):
        error = np.abs(pair.got - pair.wanted).max() / np.abs(pair.wanted).max()
    return math.inf if np.isnan(error) else float(error)  # <- here
