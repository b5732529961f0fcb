# verdict: type
# Return the time, not the number.
def fastest(run, count):
    """Return the number of the fastest of `count` algorithms."""
    times = {i: [] for i in range(count)}
    for _ in range(9):
        for i in list(times):
            try:
                times[i].append(run(i))
            except cublasLt.cuBLASLtError:
                del times[i]
    return min(np.median(t[1:]) for t in times.values())  # <- here
