# verdict: wrong-value
# Shuffles upwards; the sum is in lane 31, and lane 0 has kept doubling its own.
@cuda.jit
def warp_sum(x, out):
    """Write the sum of each 32 neighbours of x into out."""
    i = cuda.grid(1)
    value = x[i]

    for delta in (1, 2, 4, 8, 16):
        value += cuda.shfl_up_sync(FULL, value, delta)
    if cuda.laneid == 0:
        out[i // 32] = value  # <- here
