# verdict: loads
# Lane 0 adds up the 32 values of its warp, and no lane has to wait.
@cuda.jit
def warp_sum(x, out):
    """Write the sum of each group of 32 elements of x into out."""
    i = cuda.grid(1)

    if i % 32 == 0:
        value = float32(0)
        for k in range(32):
            value += x[i + k]  # <- here
        out[i // 32] = value
