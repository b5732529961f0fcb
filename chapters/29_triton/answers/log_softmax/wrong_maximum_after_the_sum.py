# verdict: wrong-value
# Subtract the maximum from the result, and not before the sum.
@triton.jit
def log_softmax(x, out, cols, x_stride, out_stride, WIDTH: tl.constexpr):
    row = tl.program_id(0)

    col = tl.arange(0, WIDTH)
    live = col < cols
    v = tl.load(x + row * x_stride + col, mask=live, other=float("-inf"))
    m = tl.max(v, axis=0)
    total = tl.sum(tl.exp(v), axis=0)
    tl.store(out + row * out_stride + col, v - m - tl.log(total), mask=live)
