# verdict: wrong-value
# Swap until it works, and the maximum is in out.
@cuda.jit
def atomic_max_float(x, out):
    """Raise out[0] to the largest element of x."""
    bits = out.view(int32)
    top = LOWEST
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        top = max(top, x[i])

    guess = bits[0]
    while True:
        old = cuda.atomic.cas(bits, 0, guess, to_bits(top))  # <- here
        if old == guess:
            break
        guess = old
