# verdict: wrong-value
# If there is no such size, there is nothing to return.
def crossover(sizes, cpu, send, kernel, fetch):
    """Return the size from which the GPU is faster; math.inf for never."""
    gpu = send + kernel + fetch
    for k in range(len(sizes)):
        if all(gpu[k:] < cpu[k:]):
            return sizes[k]
