# verdict: out-of-bounds
# The guard has to ask for the size of the index, too.
@cuda.jit
def gather(x, index, out):
    """Write x[index[i]] into out[i], and 0 where index[i] is no index."""
    i = cuda.grid(1)

    if i < out.size and i < index.size:
        out[i] = x[index[i]]  # <- here
