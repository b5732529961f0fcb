# verdict: race
# Every thread clears the counter it is going to use.
@cuda.jit
def count_bins(x, out):
    """Add to out how often each number from 0 to BINS - 1 occurs in x."""
    mine = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    if i < x.size:
        mine[x[i]] = 0  # <- here
        cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()

    if t < BINS:
        cuda.atomic.add(out, t, mine[t])
