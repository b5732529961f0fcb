# verdict: out-of-bounds
# Use the stride of x for both.
@triton.jit
def log_softmax(x, out, cols, x_stride, out_stride, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, WIDTH)
    live = col < cols
    at = row * x_stride + col
    value = tl.load(x + at, mask=live, other=-float("inf"))
    value -= tl.max(value, axis=0)
    value -= tl.log(tl.sum(tl.exp(value), axis=0))
    tl.store(out + at, value, mask=live)  # <- here
