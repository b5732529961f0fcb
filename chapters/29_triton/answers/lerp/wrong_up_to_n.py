# verdict: out-of-bounds
# Count n as an element.
@triton.jit
def lerp(a, b, t, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i <= n
    start = tl.load(a + i, mask=live)  # <- here
    end = tl.load(b + i, mask=live)
    tl.store(out + i, start + t * (end - start), mask=live)
