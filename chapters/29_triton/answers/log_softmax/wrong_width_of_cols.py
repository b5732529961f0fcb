# verdict: program
# Make the block as long as the row.
@triton.jit
def log_softmax(x, out, cols, x_stride, out_stride, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, cols)  # <- here
    value = tl.load(x + row * x_stride + col)
    value -= tl.max(value, axis=0)
    value -= tl.log(tl.sum(tl.exp(value), axis=0))
    tl.store(out + row * out_stride + col, value)
