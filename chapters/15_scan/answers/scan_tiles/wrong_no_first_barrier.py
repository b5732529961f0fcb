# verdict: race
# Warp 0 reads what the warps have stored.
@cuda.jit
def scan_tiles(x, ends, out):
    """Write the running sums of x; ends has those at the ends of blocks."""
    sums = cuda.shared.array(32, float32)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    warps = cuda.blockDim.x // 32
    a, b, c, d = load4(x, 4 * cuda.grid(1))

    b += a
    c += b
    d += c
    upto = warp_scan(d)
    if lane == 31:
        sums[warp] = upto

    if warp == 0:
        sums[lane] = warp_scan(sums[lane] if lane < warps else float32(0))
    cuda.syncthreads()

    before = upto - d
    if warp > 0:
        before += sums[warp - 1]
    if cuda.blockIdx.x > 0:
        before += ends[cuda.blockIdx.x - 1]
    at = 4 * cuda.grid(1)
    store4(out, at, before + a, before + b, before + c, before + d)
