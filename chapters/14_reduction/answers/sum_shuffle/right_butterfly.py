# verdict: pass
# After butterflies, every lane has the sum, so any of them may store it.
@cuda.jit
def sum_shuffle(x, out):
    """Write the sum of each block's elements of x into out."""
    sums = cuda.shared.array(32, float32)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)

    for k in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(FULL, value, k)
    if lane == 31:
        sums[warp] = value
    cuda.syncthreads()

    if warp == 0:
        value = float32(0)
        if lane < cuda.blockDim.x // 32:
            value = sums[lane]
        value = warp_sum(value)
        if lane == 0:
            out[cuda.blockIdx.x] = value
