# verdict: pass
# No NumPy after the conversion to lists.
def relative_error(pair):
    """Return the worst error, relative to the largest magnitude wanted."""
    if pair.got.shape != pair.wanted.shape:
        return math.inf
    worst = largest = 0.0
    for g, w in zip(pair.got.ravel().tolist(), pair.wanted.ravel().tolist()):
        if math.isnan(g):
            return math.inf
        worst = max(worst, abs(g - w))
        largest = max(largest, abs(w))
    if worst == 0:
        return 0
    return worst / largest if largest else math.inf
