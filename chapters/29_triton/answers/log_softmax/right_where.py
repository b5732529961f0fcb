# verdict: pass
# Repair the padding after the load.
@triton.jit
def log_softmax(x, out, cols, x_stride, out_stride, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, WIDTH)
    live = col < cols
    v = tl.load(x + row * x_stride + col, mask=live)
    v = tl.where(live, v, float("-inf"))
    m = v.max(0)
    total = tl.exp(v - m).sum(0)
    tl.store(out + row * out_stride + col, v - (m + tl.log(total)), mask=live)
