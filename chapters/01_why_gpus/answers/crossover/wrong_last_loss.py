# verdict: wrong-value
# The answer is the last size at which the CPU is ahead.
def crossover(sizes, cpu, send, kernel, fetch):
    """Return the size from which the GPU is faster; math.inf for never."""
    found = sizes[0]
    for k in range(len(sizes)):
        if send[k] + kernel[k] + fetch[k] >= cpu[k]:
            found = sizes[k]
    return found  # <- here
