# verdict: pass
# Count places back from the end of the block.
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
    if lane == 31:
        counts[warp] = cuda.popc(votes)
    cuda.syncthreads()

    after = cuda.popc(votes) - cuda.popc(votes & cuda.lanemask_lt())
    for k in range(warp + 1, warps):
        after += counts[k]
    if keep:
        out[ends[cuda.blockIdx.x] - after] = value
