# verdict: out-of-bounds
# The kernel as it was given.
@cuda.jit
def gather(x, index, out):
    """Write x[index[i]] into out[i], and 0 where index[i] is no index."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = x[index[i]]  # <- here
