# verdict: pass
# Sort by time, and take the first that is suitable.
def choose(results, limit, reproducible):
    """Return the number of the fastest algorithm that is suitable, or 0."""
    for each in sorted(results, key=lambda one: one.time):
        fits = each.memory <= limit
        steady = each.determinism == 1 or not reproducible
        if each.status == 0 and fits and steady:
            return each.algo
    return 0
