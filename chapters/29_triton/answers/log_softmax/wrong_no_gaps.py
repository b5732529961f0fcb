# verdict: out-of-bounds
# The number of columns is the distance between rows.
@triton.jit
def log_softmax(x, out, cols, x_stride, out_stride, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, WIDTH)
    live = col < cols
    value = tl.load(x + row * cols + col, mask=live, other=-float("inf"))  # <- here
    value -= tl.max(value, axis=0)
    value -= tl.log(tl.sum(tl.exp(value), axis=0))
    tl.store(out + row * out_stride + col, value, mask=live)
