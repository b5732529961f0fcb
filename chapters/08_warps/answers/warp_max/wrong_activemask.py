# verdict: warp
# Ask which lanes are there; some still read from lanes that are not.
@cuda.jit
def warp_max(x, out):
    """Give each element the maximum of its group of 32."""
    i = cuda.grid(1)

    if i < x.size:
        mask = cuda.activemask()
        value = x[i]
        for k in (16, 8, 4, 2, 1):
            value = max(value, cuda.shfl_xor_sync(mask, value, k))  # <- here
        out[i] = value
