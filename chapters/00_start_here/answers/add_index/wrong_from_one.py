# verdict: wrong-value
# The first element gets 1.
@cuda.jit
def add_index(x, out):
    """Write x[0] + 0, x[1] + 1, x[2] + 2, ... into out."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = x[i] + i + 1  # <- here
