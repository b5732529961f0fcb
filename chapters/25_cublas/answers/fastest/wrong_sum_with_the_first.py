# verdict: wrong-value
# Add up all runs, including the first.
def fastest(run, count):
    """Return the number of the fastest of `count` algorithms."""
    times = np.zeros(count)
    for _ in range(10):
        for i in range(count):
            try:
                times[i] += run(i)
            except cublasLt.cuBLASLtError:
                times[i] = np.inf
    return int(np.argmin(times))  # <- here
