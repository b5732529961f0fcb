# verdict: pass
# Count pieces; tl.where does the masking.
@triton.jit
def rms_norm(x, weight, out, cols, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for piece in tl.range(0, tl.cdiv(cols, BLOCK)):
        at = piece * BLOCK + col
        v = tl.load(x + row * stride + at, at < cols).to(tl.float32)
        squares += tl.where(at < cols, v * v, 0.0)
    root = tl.sqrt(squares.sum(0) / cols + eps)
    for piece in tl.range(0, tl.cdiv(cols, BLOCK)):
        at = piece * BLOCK + col
        v = tl.load(x + row * stride + at, at < cols).to(tl.float32) / root
        v *= tl.load(weight + at, at < cols).to(tl.float32)
        tl.store(out + row * stride + at, v.to(tl.float16), at < cols)
