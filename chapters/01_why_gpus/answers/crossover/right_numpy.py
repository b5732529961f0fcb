# verdict: pass
# With arrays instead of a loop.
def crossover(sizes, cpu, send, kernel, fetch):
    """Return the size from which the GPU is faster; math.inf for never."""
    slower = np.flatnonzero(send + kernel + fetch >= cpu)
    if not len(slower):
        return sizes[0]
    return math.inf if slower[-1] == len(sizes) - 1 else sizes[slower[-1] + 1]
