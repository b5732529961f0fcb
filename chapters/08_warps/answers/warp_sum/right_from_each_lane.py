# verdict: pass
# 32 shuffles, each from one lane; slower, but right.
@cuda.jit
def warp_sum(x, out):
    i = cuda.grid(1)
    value = x[i]
    total = float32(0)
    for lane in range(32):
        total += cuda.shfl_sync(FULL, value, lane)
    if cuda.laneid == 0:
        out[i // 32] = total
