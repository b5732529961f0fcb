# verdict: race
# Two barriers wait longer.
@cuda.jit
def shares(x, total, out):
    """Add x up in total[0], then write each element's share into out."""
    i = cuda.grid(1)

    if i < x.size:
        cuda.atomic.add(total, 0, x[i])
    cuda.syncthreads()
    cuda.syncthreads()

    if i < x.size:
        out[i] = x[i] / total[0]  # <- here
