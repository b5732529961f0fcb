# verdict: atomics
# Adding to out is the shortest way to the sum.
@cuda.jit
def histogram_weighted(x, weights, out):
    """Add each weight to the bin of its x, in the lane's own copy."""
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(out, x[i], weights[i])  # <- here
