# verdict: wrong-value
# Never take an algorithm that varies.
def choose(results, limit, reproducible):
    """Return the number of the fastest algorithm that is suitable, or 0."""
    best = None
    for each in results:
        if each.status != 0 or each.memory > limit:
            continue
        if not each.determinism:
            continue
        if best is None or each.time < best.time:
            best = each
    return best.algo if best is not None else 0  # <- here
