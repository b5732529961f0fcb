# verdict: wrong-value
# Square in float16; but then the sums overflow.
@triton.jit
def rms_norm(x, weight, out, cols, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    squares = tl.zeros((BLOCK,), tl.float16)
    for start in range(0, cols, BLOCK):
        col = start + tl.arange(0, BLOCK)
        live = col < cols
        value = tl.load(x + row * stride + col, mask=live, other=0.0)
        squares += value * value
    total = tl.sum(squares, axis=0).to(tl.float32)
    scale = 1.0 / tl.sqrt(total / cols + eps)
    for start in range(0, cols, BLOCK):
        col = start + tl.arange(0, BLOCK)
        live = col < cols
        value = tl.load(x + row * stride + col, mask=live).to(tl.float32)
        factor = tl.load(weight + col, mask=live).to(tl.float32)
        tl.store(out + row * stride + col, value * scale * factor, mask=live)  # <- here
