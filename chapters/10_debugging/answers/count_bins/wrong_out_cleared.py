# verdict: wrong-value
# The counts are wrong in out, so I clear out.
@cuda.jit
def count_bins(x, out):
    """Add to out how often each number from 0 to BINS - 1 occurs in x."""
    mine = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    if t < BINS:
        mine[t] = 0
        out[t] = 0
    cuda.syncthreads()

    if i < x.size:
        cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()

    if t < BINS:
        cuda.atomic.add(out, t, mine[t])  # <- here
