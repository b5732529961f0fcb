# verdict: pass
# Weight both ends; each access has its own mask.
@triton.jit
def lerp(a, b, t, out, n, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    i = first + tl.arange(0, BLOCK)
    p = tl.load(a + i, mask=i < n, other=0.0)
    q = tl.load(b + i, mask=i < n, other=0.0)
    tl.store(out + i, (1 - t) * p + t * q, mask=i < n)
