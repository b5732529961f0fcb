# verdict: program
# Index the pointers like arrays.
@triton.jit
def lerp(a, b, t, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    start = a[i]  # <- here
    end = b[i]
    tl.store(out + i, start + t * (end - start), mask=i < n)
