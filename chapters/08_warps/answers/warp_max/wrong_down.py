# verdict: wrong-value
# Shuffle down; but then only lane 0 has the maximum of all.
@cuda.jit
def warp_max(x, out):
    """Give each element the maximum of its group of 32."""
    i = cuda.grid(1)

    value = LOWEST
    if i < x.size:
        value = x[i]
    for k in (16, 8, 4, 2, 1):
        value = max(value, cuda.shfl_down_sync(FULL, value, k))
    if i < x.size:
        out[i] = value  # <- here
