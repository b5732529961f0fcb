# verdict: warp
# Ask which lanes are here, although all 32 have to be.
@cuda.jit
def warp_sum(x, out):
    """Write the sum of each group of 32 elements of x into out."""
    i = cuda.grid(1)
    value = x[i]

    for delta in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(cuda.activemask(), value, delta)  # <- here
    if cuda.laneid == 0:
        out[i // 32] = value
