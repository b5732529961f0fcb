# verdict: pass
# The first guess need not be right: start with what out started with.
@cuda.jit
def atomic_max_float(x, out):
    """Raise out[0] to the largest element of x."""
    bits = out.view(int32)
    top = LOWEST
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        top = max(top, x[i])

    guess = to_bits(LOWEST)
    while to_float(guess) < top:
        old = cuda.atomic.cas(bits, 0, guess, to_bits(top))
        if old == guess:
            return
        guess = old
