# verdict: exception
# The table has four sizes.
def crossover(sizes, cpu, send, kernel, fetch):
    """Return the size from which the GPU is faster; math.inf for never."""
    ahead = send + kernel + fetch < cpu
    for k in range(4):
        if ahead[k] and all(ahead[j] for j in range(k, 4)):  # <- here
            return sizes[k]
    return math.inf
