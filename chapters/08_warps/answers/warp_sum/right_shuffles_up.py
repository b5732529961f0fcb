# verdict: pass
# Shuffle up; then the last lane has the sum.
@cuda.jit
def warp_sum(x, out):
    i = cuda.grid(1)
    value = x[i]
    for delta in (1, 2, 4, 8, 16):
        value += cuda.shfl_up_sync(FULL, value, delta)
    if cuda.laneid == 31:
        out[i // 32] = value
