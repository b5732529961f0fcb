# verdict: wrong-value
# I clamp the index, as for a load at the edge.
@cuda.jit
def gather(x, index, out):
    """Write x[index[i]] into out[i], and 0 where index[i] is no index."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = x[min(index[i], x.size - 1)]  # <- here
