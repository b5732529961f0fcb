# verdict: program
# Guard with `if`, as in Numba.
@triton.jit
def lerp(a, b, t, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if i < n:  # <- here
        start = tl.load(a + i)
        end = tl.load(b + i)
        tl.store(out + i, start + t * (end - start))
