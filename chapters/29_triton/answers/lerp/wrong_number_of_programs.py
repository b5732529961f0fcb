# verdict: unwritten
# Use the number of programs; but that starts after the last block.
@triton.jit
def lerp(a, b, t, out, n, BLOCK: tl.constexpr):
    i = tl.num_programs(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    p = tl.load(a + i, mask=live)
    q = tl.load(b + i, mask=live)
    tl.store(out + i, p + t * (q - p), mask=live)
