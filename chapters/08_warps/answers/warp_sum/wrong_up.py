# verdict: wrong-value
# Shuffle up; the sum ends in lane 31, while lane 0 keeps doubling its own value.
@cuda.jit
def warp_sum(x, out):
    """Write the sum of each group of 32 elements of x into out."""
    i = cuda.grid(1)
    value = x[i]

    for delta in (1, 2, 4, 8, 16):
        value += cuda.shfl_up_sync(FULL, value, delta)
    if cuda.laneid == 0:
        out[i // 32] = value  # <- here
