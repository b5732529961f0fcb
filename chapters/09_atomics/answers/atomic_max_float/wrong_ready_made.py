# verdict: library
# The ready-made maximum, which the text asks not to use.
@cuda.jit
def atomic_max_float(x, out):
    """Raise out[0] to the largest element of x."""
    bits = out.view(int32)
    top = LOWEST
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        top = max(top, x[i])

    cuda.atomic.max(out, 0, top)  # <- here
