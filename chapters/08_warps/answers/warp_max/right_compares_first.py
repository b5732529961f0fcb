# verdict: pass
# Replace the neutral element only with larger values.
@cuda.jit
def warp_max(x, out):
    """Give each element the maximum of its group of 32."""
    i = cuda.grid(1)

    value = LOWEST
    if i < x.size and x[i] > value:
        value = x[i]
    for k in (16, 8, 4, 2, 1):
        other = cuda.shfl_xor_sync(FULL, value, k)
        if other > value:
            value = other
    if i < x.size:
        out[i] = value
