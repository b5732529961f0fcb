# verdict: uninitialised
# There are eight sums, as in chapter 8.
@cuda.jit
def sum_shuffle(x, out):
    """Write the sum of each block's elements of x into out."""
    sums = cuda.shared.array(32, float32)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)

    value = warp_sum(value)
    if lane == 0:
        sums[warp] = value
    cuda.syncthreads()

    if warp == 0:
        value = warp_sum(sums[lane] if lane < 8 else float32(0))  # <- here
        if lane == 0:
            out[cuda.blockIdx.x] = value
