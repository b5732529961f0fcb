# verdict: out-of-bounds
# The blocks fit, so nothing needs a mask.
@triton.jit
def lerp(a, b, t, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    start = tl.load(a + i)  # <- here
    end = tl.load(b + i)
    tl.store(out + i, start + t * (end - start))
