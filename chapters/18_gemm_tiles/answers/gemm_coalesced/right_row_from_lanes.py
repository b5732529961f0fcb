# verdict: pass
# A warp loads 32 elements of its row of a, and shuffles hand them to all lanes.
@cuda.jit
def gemm_coalesced(alpha, a, b, beta, c):
    t = cuda.threadIdx.x
    warp, lane = t // 32, t % 32
    row = cuda.blockIdx.y * 8 + warp
    col = cuda.blockIdx.x * 32 + lane
    k = a.shape[1]
    if row >= c.shape[0]:
        return
    total = float32(0)
    for start in range(0, k, 32):
        mine = a[row, start + lane] if start + lane < k else float32(0)
        for i in range(min(32, k - start)):
            value = cuda.shfl_sync(0xFFFFFFFF, mine, i)
            if col < c.shape[1]:
                total += value * b[start + i, col]
    if col < c.shape[1]:
        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
