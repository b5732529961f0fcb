# verdict: race
# Read the value anew each time; but the two reads may differ.
@cuda.jit
def atomic_max_float(x, out):
    """Raise out[0] to the largest element of x."""
    bits = out.view(int32)
    top = LOWEST
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        top = max(top, x[i])

    while to_float(bits[0]) < top:  # <- here
        cuda.atomic.cas(bits, 0, bits[0], to_bits(top))
