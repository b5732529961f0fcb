# verdict: pass
# Move the pointers first, and mask by what is left.
@triton.jit
def lerp(a, b, t, out, n, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    i = tl.arange(0, BLOCK)
    a += first
    b += first
    out += first
    left = n - first
    p = tl.load(a + i, i < left)
    p += t * (tl.load(b + i, i < left) - p)
    tl.store(out + i, p, i < left)
