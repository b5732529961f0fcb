# verdict: pass
# Reduce each piece at once, and use rsqrt.
@triton.jit
def rms_norm(x, weight, out, cols, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * stride
    out += row * stride
    total = 0.0
    for start in range(0, cols, BLOCK):
        col = start + tl.arange(0, BLOCK)
        v = tl.load(x + col, mask=col < cols, other=0.0).to(tl.float32)
        total += tl.sum(v * v, axis=0)
    scale = tl.rsqrt(total / cols + eps)
    for start in range(0, cols, BLOCK):
        col = start + tl.arange(0, BLOCK)
        v = tl.load(x + col, mask=col < cols, other=0.0)
        g = tl.load(weight + col, mask=col < cols, other=0.0)
        tl.store(out + col, (v.to(tl.float32) * scale) * g, mask=col < cols)
