# verdict: pass
# There are few warps, so thread 0 adds their sums in a loop.
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

    if cuda.threadIdx.x == 0:
        whole = float32(0)
        for w in range(cuda.blockDim.x // 32):
            whole += sums[w]
        out[cuda.blockIdx.x] = whole
