# verdict: loads
# A thread looks after its bins, and reads every pixel: no copies.
@cuda.jit
def histogram_weighted(x, weights, out):
    """Add each weight to the bin of its x, in a copy for each lane."""
    for b in range(cuda.grid(1), BINS, cuda.gridsize(1)):
        total = float32(0)
        for i in range(x.size):
            if x[i] == b:  # <- here
                total += weights[i]
        out[b] = total
