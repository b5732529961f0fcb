# verdict: wrong-value
# Take turns, and use the mean.
def fastest(run, count):
    """Return the number of the fastest of `count` algorithms."""
    times = {i: [] for i in range(count)}
    for _ in range(9):
        for i in list(times):
            try:
                times[i].append(run(i))
            except cublasLt.cuBLASLtError:
                del times[i]
    return min(times, key=lambda i: np.mean(times[i][1:]))  # <- here
