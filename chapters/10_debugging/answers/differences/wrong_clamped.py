# verdict: wrong-value
# The index may not be below 0, so I stop it there.
@cuda.jit
def differences(x, out):
    """Write x[i] - x[i - 1]; before the first element there is a 0."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = x[i] - x[max(i - 1, 0)]  # <- here
