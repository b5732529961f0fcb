# verdict: type
# Use cas on out itself; why bother with bits?
@cuda.jit
def atomic_max_float(x, out):
    """Raise out[0] to the largest element of x."""
    bits = out.view(int32)
    top = LOWEST
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        top = max(top, x[i])

    guess = out[0]
    while guess < top:
        old = cuda.atomic.cas(out, 0, guess, top)  # <- here
        if old == guess:
            break
        guess = old
