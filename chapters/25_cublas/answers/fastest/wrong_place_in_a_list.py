# verdict: wrong-value
# Number only those that run.
def fastest(run, count):
    """Return the number of the fastest of `count` algorithms."""
    ok = []
    for i in range(count):
        try:
            run(i)
            ok.append(i)
        except cublasLt.cuBLASLtError:
            pass
    times = [[] for _ in ok]
    for _ in range(9):
        for j, i in enumerate(ok):
            times[j].append(run(i))
    return int(np.argmin([np.median(t) for t in times]))  # <- here
