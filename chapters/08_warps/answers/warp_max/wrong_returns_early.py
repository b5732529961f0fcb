# verdict: warp
# Threads without an element return, and others read from them.
@cuda.jit
def warp_max(x, out):
    """Give each element the maximum of its group of 32."""
    i = cuda.grid(1)

    if i >= x.size:
        return
    value = x[i]
    for k in (16, 8, 4, 2, 1):
        value = max(value, cuda.shfl_xor_sync(FULL, value, k))  # <- here
    out[i] = value
