# verdict: pass
# Unpack each entry.
def choose(results, limit, reproducible):
    """Return the number of the fastest algorithm that is suitable, or 0."""
    able = [
        (time, algo)
        for algo, status, time, memory, determinism in results
        if not status and memory <= limit and determinism >= reproducible
    ]
    return min(able, default=(0, 0))[1]
