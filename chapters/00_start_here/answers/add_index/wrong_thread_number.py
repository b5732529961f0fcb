# verdict: wrong-value
# I know which element is mine, but what I add is my number in the block.
@cuda.jit
def add_index(x, out):
    """Write x[0] + 0, x[1] + 1, x[2] + 2, ... into out."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = x[i] + cuda.threadIdx.x  # <- here
