# verdict: pass
# What comes back is the next guess; after a success, one more swap fails.
@cuda.jit
def atomic_max_float(x, out):
    """Raise out[0] to the largest element of x."""
    bits = out.view(int32)
    top = LOWEST
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        top = max(top, x[i])

    guess = bits[0]
    while to_float(guess) < top:
        guess = cuda.atomic.cas(bits, 0, guess, to_bits(top))
