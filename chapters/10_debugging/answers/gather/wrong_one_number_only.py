# verdict: out-of-bounds
# Only the large number from the lab is out of range.
@cuda.jit
def gather(x, index, out):
    """Write x[index[i]] into out[i], and 0 where index[i] is no index."""
    i = cuda.grid(1)

    if i < out.size:
        if index[i] == NONE:
            out[i] = float32(0)
        else:
            out[i] = x[index[i]]  # <- here
