# verdict: unwritten
# A program is like a thread: it has one element.
@triton.jit
def lerp(a, b, t, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    if i < n:
        start = tl.load(a + i)
        end = tl.load(b + i)
        tl.store(out + i, start + t * (end - start))  # <- here
