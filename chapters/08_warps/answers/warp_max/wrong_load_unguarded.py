# verdict: out-of-bounds
# Every lane has to take part, so every lane loads.
@cuda.jit
def warp_max(x, out):
    """Give each element the maximum of its group of 32."""
    i = cuda.grid(1)

    value = x[i]  # <- here
    for k in (16, 8, 4, 2, 1):
        value = max(value, cuda.shfl_xor_sync(FULL, value, k))
    if i < x.size:
        out[i] = value
