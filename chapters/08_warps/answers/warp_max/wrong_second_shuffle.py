# verdict: warp
# Shuffle once to compare; lanes that lose shuffle again to get the value.
@cuda.jit
def warp_max(x, out):
    """Give each element the maximum of its group of 32."""
    i = cuda.grid(1)

    value = x[i] if i < x.size else LOWEST
    for k in (16, 8, 4, 2, 1):
        if cuda.shfl_xor_sync(FULL, value, k) > value:  # <- here
            value = cuda.shfl_xor_sync(FULL, value, k)  # <- here
    if i < x.size:
        out[i] = value
