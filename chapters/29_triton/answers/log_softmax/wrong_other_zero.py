# verdict: wrong-value
# Fill up with 0, which is larger than every element of some rows.
@triton.jit
def log_softmax(x, out, cols, x_stride, out_stride, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, WIDTH)
    live = col < cols
    value = tl.load(x + row * x_stride + col, mask=live, other=0.0)
    value -= tl.max(value, axis=0)
    value -= tl.log(tl.sum(tl.exp(value), axis=0))
    tl.store(out + row * out_stride + col, value, mask=live)  # <- here
