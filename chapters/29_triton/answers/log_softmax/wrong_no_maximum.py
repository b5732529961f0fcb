# verdict: wrong-value
# Leave the maximum out; but then the powers overflow or vanish.
@triton.jit
def log_softmax(x, out, cols, x_stride, out_stride, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, WIDTH)
    live = col < cols
    value = tl.load(x + row * x_stride + col, mask=live, other=-float("inf"))
    value -= tl.log(tl.sum(tl.exp(value), axis=0))
    tl.store(out + row * out_stride + col, value, mask=live)  # <- here
