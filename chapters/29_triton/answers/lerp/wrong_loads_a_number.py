# verdict: program
# Load t as if it were a pointer.
@triton.jit
def lerp(a, b, t, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    start = tl.load(a + i, mask=live)
    end = tl.load(b + i, mask=live)
    part = tl.load(t)  # <- here
    tl.store(out + i, start + part * (end - start), mask=live)
