# verdict: pass
# An if and an else.
@cuda.jit
def gather(x, index, out):
    """Write x[index[i]] into out[i], and 0 where index[i] is no index."""
    i = cuda.grid(1)

    if i < out.size:
        if index[i] < x.size:
            out[i] = x[index[i]]
        else:
            out[i] = float32(0)
