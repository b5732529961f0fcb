# verdict: wrong-value
# The answer is the place in the table.
def crossover(sizes, cpu, send, kernel, fetch):
    """Return the size from which the GPU is faster; math.inf for never."""
    found = math.inf
    for k in range(len(sizes) - 1, -1, -1):
        if send[k] + kernel[k] + fetch[k] >= cpu[k]:
            break
        found = k
    return found  # <- here
