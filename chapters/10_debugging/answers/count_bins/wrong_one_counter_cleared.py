# verdict: uninitialised
# Thread 0 clears the counter.
@cuda.jit
def count_bins(x, out):
    """Add to out how often each number from 0 to BINS - 1 occurs in x."""
    mine = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    if t == 0:
        mine[0] = 0  # it held what another block left
    cuda.syncthreads()

    if i < x.size:
        cuda.atomic.add(mine, x[i], 1)  # <- here
    cuda.syncthreads()

    if t < BINS:
        cuda.atomic.add(out, t, mine[t])
