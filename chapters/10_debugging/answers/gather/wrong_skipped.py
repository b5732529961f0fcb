# verdict: unwritten
# If there is no such element, there is nothing to write.
@cuda.jit
def gather(x, index, out):
    """Write x[index[i]] into out[i], and 0 where index[i] is no index."""
    i = cuda.grid(1)

    if i < out.size and index[i] < x.size:
        out[i] = x[index[i]]
