# verdict: wrong-value
# The first size at which the GPU is faster.
def crossover(sizes, cpu, send, kernel, fetch):
    """Return the size from which the GPU is faster; math.inf for never."""
    for k in range(len(sizes)):
        if send[k] + kernel[k] + fetch[k] < cpu[k]:
            return sizes[k]  # <- here
    return math.inf
