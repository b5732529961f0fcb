# verdict: loads
# Lane 0 adds up all 32, and the others have nothing to do.
@cuda.jit
def warp_sum(x, out):
    """Write the sum of each group of 32 elements of x into out."""
    i = cuda.grid(1)
    value = x[i]

    if i % 32 == 0:
        for k in range(1, 32):
            value += x[i + k]  # <- here
        out[i // 32] = value
