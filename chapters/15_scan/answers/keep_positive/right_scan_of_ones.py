# verdict: pass
# No vote: a scan of zeros and ones.
@cuda.jit
def keep_positive(x, ends, out):
    """Move the positive elements of x to the front of out, in order."""
    counts = cuda.shared.array(32, int32)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    warps = cuda.blockDim.x // 32
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)
    keep = value > float32(0)

    one = int32(1) if keep else int32(0)
    upto = warp_scan(one)
    if lane == 31:
        counts[warp] = upto
    cuda.syncthreads()

    place = upto - one
    for k in range(warp):
        place += counts[k]
    if cuda.blockIdx.x > 0:
        place += ends[cuda.blockIdx.x - 1]
    if keep:
        out[place] = value
