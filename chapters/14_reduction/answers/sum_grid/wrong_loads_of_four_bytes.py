# verdict: narrow
# A grid-stride loop over the elements.
@cuda.jit
def sum_grid(x, out):
    """Add the sum of x to out[0]."""
    value = float32(0)

    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        value += x[i]  # <- here

    value = block_sum(value)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(out, 0, value)
