# verdict: unwritten
# Process only whole blocks, in both loops.
@triton.jit
def rms_norm(x, weight, out, cols, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)

    squares = tl.zeros((BLOCK,), tl.float32)
    for piece in range(cols // BLOCK):
        col = piece * BLOCK + tl.arange(0, BLOCK)
        live = col < cols
        v = tl.load(x + row * stride + col, mask=live, other=0.0).to(tl.float32)
        squares += v * v

    scale = tl.rsqrt(tl.sum(squares, axis=0) / cols + eps)

    for piece in range(cols // BLOCK):
        col = piece * BLOCK + tl.arange(0, BLOCK)
        live = col < cols
        v = tl.load(x + row * stride + col, mask=live, other=0.0).to(tl.float32)
        g = tl.load(weight + col, mask=live, other=0.0).to(tl.float32)
        tl.store(out + row * stride + col, v * scale * g, mask=live)
