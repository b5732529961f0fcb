# verdict: library
# Find the largest in shared memory, atomically.
@cuda.jit
def warp_max(x, out):
    """Give each element the maximum of its group of 32."""
    tops = cuda.shared.array(32, float32)
    i = cuda.grid(1)
    warp = cuda.threadIdx.x // 32

    if cuda.laneid == 0:
        tops[warp] = LOWEST
    cuda.syncwarp()
    if i < x.size:
        cuda.atomic.max(tops, warp, x[i])  # <- here
    cuda.syncwarp()
    if i < x.size:
        out[i] = tops[warp]
