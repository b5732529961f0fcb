# verdict: wrong-value
# -100 is as good as minus infinity.
@cuda.jit
def atomic_max_float(x, out):
    """Raise out[0] to the largest element of x."""
    bits = out.view(int32)
    top = float32(-100)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        top = max(top, x[i])

    guess = bits[0]
    while to_float(guess) < top:
        old = cuda.atomic.cas(bits, 0, guess, to_bits(top))
        if old == guess:
            break
        guess = old
