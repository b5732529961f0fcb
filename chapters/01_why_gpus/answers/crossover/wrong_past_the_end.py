# verdict: exception
# Take the size after the last loss; there always is one.
def crossover(sizes, cpu, send, kernel, fetch):
    """Return the size from which the GPU is faster; math.inf for never."""
    slower = np.flatnonzero(send + kernel + fetch >= cpu)
    return sizes[slower[-1] + 1]  # <- here
