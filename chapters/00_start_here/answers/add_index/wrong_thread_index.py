# verdict: unwritten
# threadIdx is the number of the thread.
@cuda.jit
def add_index(x, out):
    """Write x[0] + 0, x[1] + 1, x[2] + 2, ... into out."""
    i = cuda.threadIdx.x

    if i < out.size:
        out[i] = x[i] + i
