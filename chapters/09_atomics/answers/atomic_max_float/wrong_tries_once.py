# verdict: wrong-value
# compare-and-swap is atomic, so once is enough.
@cuda.jit
def atomic_max_float(x, out):
    """Raise out[0] to the largest element of x."""
    bits = out.view(int32)
    top = LOWEST
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        top = max(top, x[i])

    guess = to_bits(LOWEST)
    cuda.atomic.cas(bits, 0, guess, to_bits(top))  # <- here
