# verdict: out-of-bounds
# Mask the first load; I forgot the second.
@triton.jit
def lerp(a, b, t, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    start = tl.load(a + i, mask=live)
    end = tl.load(b + i)  # <- here
    tl.store(out + i, start + t * (end - start), mask=live)
