# verdict: out-of-bounds
# I shift everything by one, so the indices start at 0.
@cuda.jit
def differences(x, out):
    """Write x[i] - x[i - 1]; before the first element there is a 0."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = x[i + 1] - x[i]  # <- here
