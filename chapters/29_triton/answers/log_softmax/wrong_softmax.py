# verdict: wrong-value
# Write the softmax itself.
@triton.jit
def log_softmax(x, out, cols, x_stride, out_stride, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, WIDTH)
    live = col < cols
    value = tl.load(x + row * x_stride + col, mask=live, other=-float("inf"))
    power = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * out_stride + col, power / tl.sum(power, axis=0), mask=live)  # <- here
