# verdict: race
# Threads that keep nothing may write, too; the next element overwrites it.
@cuda.jit
def keep_positive(x, ends, out):
    """Move the positive elements of x to the front of out, in order."""
    counts = cuda.shared.array(32, int32)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    warps = cuda.blockDim.x // 32
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)
    keep = value > float32(0)

    votes = cuda.ballot_sync(FULL, keep)
    if lane == 0:
        counts[warp] = cuda.popc(votes)
    cuda.syncthreads()

    if warp == 0:
        counts[lane] = warp_scan(counts[lane] if lane < warps else int32(0))
    cuda.syncthreads()

    place = cuda.popc(votes & cuda.lanemask_lt())
    if warp > 0:
        place += counts[warp - 1]
    if cuda.blockIdx.x > 0:
        place += ends[cuda.blockIdx.x - 1]
    out[place] = value  # <- here
