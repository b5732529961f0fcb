# verdict: library
# Add in shared memory, atomically.
@cuda.jit
def warp_sum(x, out):
    """Write the sum of each group of 32 elements of x into out."""
    sums = cuda.shared.array(32, float32)
    i = cuda.grid(1)
    warp = cuda.threadIdx.x // 32

    if cuda.laneid == 0:
        sums[warp] = float32(0)
    cuda.syncwarp()
    cuda.atomic.add(sums, warp, x[i])  # <- here
    cuda.syncwarp()
    if cuda.laneid == 0:
        out[i // 32] = sums[warp]
