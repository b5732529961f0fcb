# verdict: unwritten
# The first one has no left neighbour, so thread 0 does nothing.
@cuda.jit
def differences(x, out):
    """Write x[i] - x[i - 1]; before the first element there is a 0."""
    i = cuda.grid(1)

    if 0 < i < out.size:
        out[i] = x[i] - x[i - 1]
