# verdict: pass
# Give the grid a name, and the divisor, too.
@cuda.jit
def shares(x, total, out):
    """Add x up in total[0], then write each element's share into out."""
    i = cuda.grid(1)

    if i < x.size:
        cuda.atomic.add(total, 0, x[i])
    grid = cuda.cg.this_grid()
    grid.sync()

    whole = total[0]
    if i < x.size:
        out[i] = x[i] / whole
