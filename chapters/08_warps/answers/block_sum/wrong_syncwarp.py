# verdict: race
# Wait for the warp instead of the block.
@cuda.jit
def block_sum(x, out):
    """Write the sum of each group of 256 elements of x into out."""
    sums = cuda.shared.array(WARPS, float32)
    i = cuda.grid(1)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    value = x[i] if i < x.size else float32(0)

    for delta in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, delta)
    if lane == 0:
        sums[warp] = value  # <- here
    cuda.syncwarp()

    if warp == 0:
        value = sums[lane] if lane < WARPS else float32(0)  # <- here
        for delta in (4, 2, 1):
            value += cuda.shfl_down_sync(FULL, value, delta)
        if lane == 0:
            out[cuda.blockIdx.x] = value
