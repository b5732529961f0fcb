# verdict: pass
# Thread 0 has its own line.
@cuda.jit
def differences(x, out):
    """Write x[i] - x[i - 1]; before the first element there is a 0."""
    i = cuda.grid(1)

    if i == 0:
        out[0] = x[0]
    elif i < out.size:
        out[i] = x[i] - x[i - 1]
