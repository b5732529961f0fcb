# verdict: pass
# Fragments as tuples, and the rows in variables.
@cuda.jit
def gemm_warp(a, bt, c):
    """Write a @ b into c, a tile of 16 x 8 per warp, from global memory."""
    sums = cuda.local.array(4, float32)
    lane = int32(cuda.threadIdx.x)
    g, t = lane >> int32(2), lane & int32(3)
    top = int32(cuda.blockIdx.y) * int32(16) + g
    low = top + int32(8)
    col = int32(cuda.blockIdx.x) * int32(8)
    sums[0], sums[1] = float32(0), float32(0)
    sums[2], sums[3] = float32(0), float32(0)

    for step in range(int32(a.shape[1]) // int32(8)):
        w = int32(8 * step) + t
        v = w + int32(4)
        fa = a[top, w], a[low, w], a[top, v], a[low, v]
        mma_f16(sums, fa, (bt[col + g, w], bt[col + g, v]))

    for j in range(2):
        c[top, col + int32(2) * t + j] = sums[j]
        c[low, col + int32(2) * t + j] = sums[2 + j]
