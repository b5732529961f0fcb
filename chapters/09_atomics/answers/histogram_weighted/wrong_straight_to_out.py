# verdict: atomics
# The shortest way to the sum.
@cuda.jit
def histogram_weighted(x, weights, out):
    """Add each weight to the bin of its x, in a copy for each lane."""
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(out, x[i], weights[i])  # <- here
