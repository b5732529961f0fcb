# verdict: pass
# Threads without an element return first.
@cuda.jit
def add_index(x, out):
    """Write x[0] + 0, x[1] + 1, x[2] + 2, ... into out."""
    i = cuda.grid(1)
    if i >= len(x):
        return
    out[i] = x[i] + i
