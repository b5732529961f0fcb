# verdict: out-of-bounds
# A mask stays with the values that were loaded.
@triton.jit
def lerp(a, b, t, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    start = tl.load(a + i, mask=live)
    end = tl.load(b + i, mask=live)
    tl.store(out + i, start + t * (end - start))  # <- here
