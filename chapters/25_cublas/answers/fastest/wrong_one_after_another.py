# verdict: wrong-value
# Time one algorithm, then the next.
def fastest(run, count):
    """Return the number of the fastest of `count` algorithms."""
    medians = []
    for i in range(count):
        try:
            run(i)
            medians.append(np.median([run(i) for _ in range(9)]))
        except cublasLt.cuBLASLtError:
            medians.append(np.inf)
    return int(np.argmin(medians))  # <- here
