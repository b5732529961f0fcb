# verdict: reloads
# Load the row once for the maximum and once for the rest.
@triton.jit
def log_softmax(x, out, cols, x_stride, out_stride, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, WIDTH)
    live = col < cols
    at = x + row * x_stride + col
    top = tl.max(tl.load(at, mask=live, other=-float("inf")), axis=0)  # <- here
    value = tl.load(at, mask=live, other=-float("inf")) - top  # <- here
    value -= tl.log(tl.sum(tl.exp(value), axis=0))
    tl.store(out + row * out_stride + col, value, mask=live)
