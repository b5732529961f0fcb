# verdict: out-of-bounds
# The index may be as large as the size.
@cuda.jit
def gather(x, index, out):
    """Write x[index[i]] into out[i], and 0 where index[i] is no index."""
    i = cuda.grid(1)

    if i < out.size:
        j = index[i]
        out[i] = x[j] if j <= x.size else float32(0)  # <- here
