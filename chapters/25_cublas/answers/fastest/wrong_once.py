# verdict: wrong-value
# Run each of them once.
def fastest(run, count):
    """Return the number of the fastest of `count` algorithms."""
    times = []
    for i in range(count):
        try:
            times.append(run(i))
        except cublasLt.cuBLASLtError:
            times.append(float("inf"))
    return int(np.argmin(times))  # <- here
