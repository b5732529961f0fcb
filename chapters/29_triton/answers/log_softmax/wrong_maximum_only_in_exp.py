# verdict: wrong-value
# Subtract the maximum only inside the exponential.
@triton.jit
def log_softmax(x, out, cols, x_stride, out_stride, WIDTH: tl.constexpr):
    row = tl.program_id(0)

    i = tl.arange(0, WIDTH)
    live = i < cols
    v = tl.load(x + row * x_stride + i, mask=live, other=-float("inf"))
    m = tl.max(v, axis=0)
    tl.store(
        out + row * out_stride + i, v - tl.log(tl.sum(tl.exp(v - m), axis=0)), mask=live
    )
