# verdict: warp
# Only the lower lanes are needed, so only they shuffle, as in shared memory.
@cuda.jit
def warp_sum(x, out):
    """Write the sum of each group of 32 elements of x into out."""
    i = cuda.grid(1)
    value = x[i]

    for delta in (16, 8, 4, 2, 1):
        if cuda.laneid < delta:
            value += cuda.shfl_down_sync(FULL, value, delta)  # <- here
    if cuda.laneid == 0:
        out[i // 32] = value
