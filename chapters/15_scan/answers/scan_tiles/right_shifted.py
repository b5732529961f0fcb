# verdict: pass
# One more shuffle gives what the lanes before mine add up to; all warps scan.
@cuda.jit
def scan_tiles(x, ends, out):
    """Write the running sums of x; ends has those at the ends of blocks."""
    sums = cuda.shared.array(32, float32)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    warps = cuda.blockDim.x // 32
    a, b, c, d = load4(x, 4 * cuda.grid(1))

    b, c, d = a + b, a + b + c, a + b + c + d
    upto = warp_scan(d)
    if lane == 31:
        sums[warp] = upto
    cuda.syncthreads()

    left = cuda.shfl_up_sync(FULL, upto, 1)
    before = left if lane > 0 else float32(0)
    below = warp_scan(sums[lane] if lane < warp else float32(0))
    before += cuda.shfl_sync(FULL, below, 31)
    block = cuda.blockIdx.x
    before += ends[block - 1] if block else float32(0)
    at = 4 * (block * cuda.blockDim.x + cuda.threadIdx.x)
    store4(out, at, before + a, before + b, before + c, before + d)
