# verdict: wrong-value
# The kernel against the CPU. Copies are not computing.
def crossover(sizes, cpu, send, kernel, fetch):
    """Return the size from which on the GPU is faster; math.inf for never."""
    found = math.inf
    for k in range(len(sizes) - 1, -1, -1):
        if kernel[k] >= cpu[k]:
            break
        found = sizes[k]
    return found  # <- here
