# verdict: race
# Store it if it is larger.
@cuda.jit
def atomic_max_float(x, out):
    """Raise out[0] to the largest element of x."""
    bits = out.view(int32)
    top = LOWEST
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        top = max(top, x[i])

    if top > out[0]:  # <- here
        out[0] = top  # <- here
