# verdict: pass
# Assume, swap, compare, as in the CUDA guide.
@cuda.jit
def atomic_max_float(x, out):
    """Raise out[0] to the largest element of x."""
    bits = out.view(int32)
    top = LOWEST
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        top = max(top, x[i])

    old = bits[0]
    assumed = old + 1
    while assumed != old:
        assumed = old
        larger = max(top, to_float(assumed))
        old = cuda.atomic.cas(bits, 0, assumed, to_bits(larger))
