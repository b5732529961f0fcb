# verdict: loads
# Each thread counts its bins, and reads every pixel: nothing is shared.
@cuda.jit
def histogram_shared(x, out):
    """Count the values of x in shared memory, then add the counts to out."""
    for b in range(cuda.grid(1), BINS, cuda.gridsize(1)):
        count = 0
        for i in range(x.size):
            if x[i] == b:  # <- here
                count += 1
        out[b] = count
