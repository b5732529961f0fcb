# verdict: out-of-bounds
# Multiply the row by the number of columns, not by the stride of x.
@triton.jit
def log_softmax(x, out, cols, x_stride, out_stride, WIDTH: tl.constexpr):
    row = tl.program_id(0)

    i = tl.arange(0, WIDTH)
    live = i < cols
    v = tl.load(x + row * cols + i, mask=live, other=-float("inf"))
    v = v - tl.max(v, axis=0)
    v = v - tl.log(tl.sum(tl.exp(v), axis=0))
    tl.store(out + row * out_stride + i, v, mask=live)
