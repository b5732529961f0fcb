# verdict: pass
# All lanes end up with the sum; lane 31 writes it.
@cuda.jit
def warp_sum(x, out):
    """Write the sum of each group of 32 elements of x into out."""
    i = cuda.grid(1)
    value = x[i]

    k = 1
    while k < 32:
        value += cuda.shfl_xor_sync(FULL, value, k)
        k *= 2
    if cuda.laneid == 31:
        out[i // 32] = value
