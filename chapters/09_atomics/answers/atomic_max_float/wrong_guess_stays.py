# verdict: endless-loop
# The loop tests the guess, but nothing changes it after the swap.
@cuda.jit
def atomic_max_float(x, out):
    """Raise out[0] to the largest element of x."""
    bits = out.view(int32)
    top = LOWEST
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        top = max(top, x[i])

    guess = bits[0]
    while to_float(guess) < top:  # <- here
        cuda.atomic.cas(bits, 0, guess, to_bits(top))
