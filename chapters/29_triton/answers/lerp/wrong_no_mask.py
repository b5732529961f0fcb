# verdict: out-of-bounds
# No mask anywhere: the last block goes past the end.
@triton.jit
def lerp(a, b, t, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    start = tl.load(a + i)  # <- here
    end = tl.load(b + i)
    tl.store(out + i, start + t * (end - start))
