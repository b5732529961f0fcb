# verdict: pass
# The warp finds its largest value by shuffles, and one lane swaps.
@cuda.jit
def atomic_max_float(x, out):
    bits = out.view(int32)
    top = LOWEST
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        top = max(top, x[i])
    for k in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, k))
    if cuda.laneid == 0:
        guess = bits[0]
        while to_float(guess) < top:
            old = cuda.atomic.cas(bits, 0, guess, to_bits(top))
            if old == guess:
                return
            guess = old
