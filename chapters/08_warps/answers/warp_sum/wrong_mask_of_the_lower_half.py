# verdict: warp
# After the first step only 16 lanes matter, so the mask names 16.
@cuda.jit
def warp_sum(x, out):
    """Write the sum of each group of 32 elements of x into out."""
    i = cuda.grid(1)
    value = x[i]

    for delta in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0x0000FFFF, value, delta)  # <- here
    if cuda.laneid == 0:
        out[i // 32] = value
