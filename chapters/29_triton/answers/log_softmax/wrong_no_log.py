# verdict: wrong-value
# Subtract the sum, not its logarithm.
@triton.jit
def log_softmax(x, out, cols, x_stride, out_stride, WIDTH: tl.constexpr):
    row = tl.program_id(0)

    i = tl.arange(0, WIDTH)
    live = i < cols
    v = tl.load(x + row * x_stride + i, mask=live, other=-float("inf"))
    v = v - tl.max(v, axis=0)
    v = v - tl.sum(tl.exp(v), axis=0)
    tl.store(out + row * out_stride + i, v, mask=live)
