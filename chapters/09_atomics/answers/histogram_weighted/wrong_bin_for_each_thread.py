# verdict: loads
# Each thread counts its bins, and reads every pixel: there are no copies.
@cuda.jit
def histogram_weighted(x, weights, out):
    """Add each weight to the bin of its x, in the lane's own copy."""
    for b in range(cuda.grid(1), BINS, cuda.gridsize(1)):
        total = float32(0)
        for i in range(x.size):
            if x[i] == b:  # <- here
                total += weights[i]
        out[b] = total
