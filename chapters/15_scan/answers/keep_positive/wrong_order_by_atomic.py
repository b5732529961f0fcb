# verdict: wrong-value
# A counter for the block gives each element a place.
@cuda.jit
def keep_positive(x, ends, out):
    """Move the positive elements of x to the front of out, in order."""
    counts = cuda.shared.array(32, int32)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    warps = cuda.blockDim.x // 32
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)
    keep = value > float32(0)

    if cuda.threadIdx.x == 0:
        counts[0] = 0
    cuda.syncthreads()
    place = 0
    if keep:
        place = BLOCK - 1 - cuda.atomic.add(counts, 0, 1)
    kept = cuda.syncthreads_count(int32(keep))
    place += kept - BLOCK
    if cuda.blockIdx.x > 0:
        place += ends[cuda.blockIdx.x - 1]
    if keep:
        out[place] = value
