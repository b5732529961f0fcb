# verdict: out-of-bounds
# Each thread handles its own element; I forgot that some threads have none.
@cuda.jit
def add_index(x, out):
    """Write x[0] + 0, x[1] + 1, x[2] + 2, ... into out."""
    i = cuda.grid(1)
    out[i] = x[i] + i  # <- here
