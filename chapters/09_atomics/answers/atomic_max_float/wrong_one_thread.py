# verdict: loads
# Thread 0 of the grid looks at all elements.
@cuda.jit
def atomic_max_float(x, out):
    """Raise out[0] to the largest element of x."""
    if cuda.grid(1) == 0:
        top = LOWEST
        for i in range(x.size):
            top = max(top, x[i])  # <- here
        out[0] = top
