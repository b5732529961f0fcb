# verdict: wrong-value
# Take the largest, not the smallest.
def fastest(run, count):
    """Return the number of the fastest of `count` algorithms."""
    times = [[] for _ in range(count)]
    for i in range(count):
        try:
            run(i)
        except cublasLt.cuBLASLtError:
            times[i] = None
    for _ in range(9):
        for i in range(count):
            if times[i] is not None:
                times[i].append(run(i))
    best = [np.inf if t is None else np.median(t) for t in times]
    return int(np.argmax(best))  # <- here
