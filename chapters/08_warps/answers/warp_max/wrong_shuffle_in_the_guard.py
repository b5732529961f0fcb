# verdict: warp
# The guard of every kernel so far, with the full mask inside.
@cuda.jit
def warp_max(x, out):
    """Give each element the maximum of its group of 32."""
    i = cuda.grid(1)

    if i < x.size:
        value = x[i]
        for k in (16, 8, 4, 2, 1):
            value = max(value, cuda.shfl_xor_sync(FULL, value, k))  # <- here
        out[i] = value
