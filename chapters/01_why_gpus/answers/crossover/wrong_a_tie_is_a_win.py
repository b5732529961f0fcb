# verdict: wrong-value
# As fast as the CPU is fast enough to win.
def crossover(sizes, cpu, send, kernel, fetch):
    """Return the size from which the GPU is faster; math.inf for never."""
    found = math.inf
    for k in range(len(sizes) - 1, -1, -1):
        if send[k] + kernel[k] + fetch[k] > cpu[k]:
            break
        found = sizes[k]
    return found  # <- here
