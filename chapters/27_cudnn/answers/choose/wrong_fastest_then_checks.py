# verdict: wrong-value
# Take the fastest, then check whether it is suitable.
def choose(results, limit, reproducible):
    """Return the number of the fastest algorithm that is suitable, or 0."""
    works = [each for each in results if each.status == 0]
    if not works:
        return 0
    best = min(works, key=lambda each: each.time)
    if best.memory > limit or (reproducible and not best.determinism):
        return 0  # <- here
    return best.algo
