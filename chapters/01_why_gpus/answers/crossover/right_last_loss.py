# verdict: pass
# Keep the place after the last size at which the CPU is ahead.
def crossover(sizes, cpu, send, kernel, fetch):
    """Return the size from which the GPU is faster; math.inf for never."""
    place = 0
    for k in range(len(sizes)):
        if send[k] + kernel[k] + fetch[k] >= cpu[k]:
            place = k + 1
    return sizes[place] if place < len(sizes) else math.inf
