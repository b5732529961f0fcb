# verdict: race
# With a barrier for the grid, a plain sum will do.
@cuda.jit
def shares(x, total, out):
    """Add x up in total[0], then write each element's share into out."""
    i = cuda.grid(1)

    if i < x.size:
        total[0] += x[i]  # <- here
    cuda.cg.this_grid().sync()

    if i < x.size:
        out[i] = x[i] / total[0]
