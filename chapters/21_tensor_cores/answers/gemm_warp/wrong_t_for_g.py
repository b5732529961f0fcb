# verdict: wrong-value
# Exchange g and t in the fragment of b.
@cuda.jit
def gemm_warp(a, bt, c):
    """Write a @ b into c, a tile of 16 x 8 per warp, from global memory."""
    fa = cuda.local.array(4, int32)
    fb = cuda.local.array(2, int32)
    fc = cuda.local.array(4, float32)
    lane = int32(cuda.threadIdx.x)
    g, t = lane // int32(4), lane % int32(4)
    row = int32(cuda.blockIdx.y) * int32(16)
    col = int32(cuda.blockIdx.x) * int32(8)

    for v in range(4):
        fc[v] = float32(0)
    for w in range(int32(0), int32(a.shape[1]), int32(8)):
        fa[0] = a[row + g, w + t]
        fa[1] = a[row + g + int32(8), w + t]
        fa[2] = a[row + g, w + t + int32(4)]
        fa[3] = a[row + g + int32(8), w + t + int32(4)]
        fb[0] = bt[col + t, w + g]  # <- here
        fb[1] = bt[col + t + int32(4), w + g]
        mma_f16(fc, fa, fb)
    put_fragment(c, row, col, lane, fc)
