# verdict: pass
# A warp adds up the copies of a bin by shuffles.
@cuda.jit
def histogram_weighted(x, weights, out):
    counts = cuda.shared.array((BINS, COPIES), float32)
    t = cuda.threadIdx.x
    lane = t % COPIES
    warp = t // 32
    warps = cuda.blockDim.x // 32
    for b in range(warp, BINS, warps):
        counts[b, lane] = float32(0)
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, (x[i], lane), weights[i])
    cuda.syncthreads()
    for b in range(warp, BINS, warps):
        v = counts[b, lane]
        for d in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, d)
        if lane == 0:
            cuda.atomic.add(out, b, v)
