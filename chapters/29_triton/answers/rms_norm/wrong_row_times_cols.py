# verdict: out-of-bounds
# Multiply the row by the number of columns, not by the stride.
@triton.jit
def rms_norm(x, weight, out, cols, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)

    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * cols + i, mask=i < cols, other=0.0).to(tl.float32)
        sums += v * v
    scale = tl.rsqrt(tl.sum(sums, axis=0) / cols + eps)
    for start in range(0, cols, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * cols + i, mask=i < cols).to(tl.float32)
        w = tl.load(weight + i, mask=i < cols).to(tl.float32)
        tl.store(out + row * cols + i, v * scale * w, mask=i < cols)
