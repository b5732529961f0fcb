# verdict: wrong-value
# Start counting at 1.
def fastest(run, count):
    """Return the number of the fastest of `count` algorithms."""
    times = [[] for _ in range(count)]
    for i in range(count):
        try:
            run(i)
        except cublasLt.cuBLASLtError:
            times[i] = None
    for _ in range(9):
        for i in range(1, count):
            if times[i] is not None:
                times[i].append(run(i))
    best = [np.inf if t is None else np.median(t) for t in times]
    return int(np.argmin(best))  # <- here
