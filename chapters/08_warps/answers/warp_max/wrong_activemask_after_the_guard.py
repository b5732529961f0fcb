# verdict: warp
# All lanes reach the shuffle, and the mask is what activemask happens to report.
@cuda.jit
def warp_max(x, out):
    """Give each element the maximum of its group of 32."""
    i = cuda.grid(1)

    value = LOWEST
    if i < x.size:
        value = x[i]
    mask = cuda.activemask()  # <- here
    for k in (16, 8, 4, 2, 1):
        value = max(value, cuda.shfl_xor_sync(mask, value, k))  # <- here
    if i < x.size:
        out[i] = value
