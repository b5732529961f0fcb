# verdict: wrong-value
# Compare the kernel with the CPU; copying is not computing.
def crossover(sizes, cpu, send, kernel, fetch):
    """Return the size from which the GPU is faster; math.inf for never."""
    found = math.inf
    for k in range(len(sizes) - 1, -1, -1):
        if kernel[k] >= cpu[k]:
            break
        found = sizes[k]
    return found  # <- here
