# verdict: pass
# Repeating the last element does not change a maximum.
@cuda.jit
def warp_max(x, out):
    """Give each element the maximum of its group of 32."""
    i = cuda.grid(1)

    value = x[min(i, x.size - 1)]
    for k in (1, 2, 4, 8, 16):
        value = max(value, cuda.shfl_xor_sync(FULL, value, k))
    if i < x.size:
        out[i] = value
