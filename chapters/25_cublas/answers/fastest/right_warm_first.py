# verdict: pass
# Run all of them once, then time them in turns.
def fastest(run, count):
    """Return the number of the fastest of `count` algorithms."""
    alive = []
    for i in range(count):
        try:
            run(i)
            alive.append(i)
        except cublasLt.cuBLASLtError:
            pass
    times = np.array([[run(i) for i in alive] for _ in range(11)])
    return alive[int(np.median(times, axis=0).argmin())]
