# verdict: pass
# Take turns, in both directions, and compare the minima.
def fastest(run, count):
    """Return the number of the fastest of `count` algorithms."""
    best = [np.inf] * count
    for turn in range(10):
        order = range(count) if turn % 2 else reversed(range(count))
        for i in order:
            try:
                ms = run(i)
            except cublasLt.cuBLASLtError:
                continue
            if turn > 1:
                best[i] = min(best[i], ms)
    return best.index(min(best))
