# verdict: pass
# A low filler for the maximum, and zeros for the sum.
@triton.jit
def log_softmax(x, out, cols, x_stride, out_stride, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, WIDTH)
    live = col < cols
    v = tl.load(x + row * x_stride + col, mask=live, other=-1e30)
    v = v - tl.max(v, 0)
    powers = tl.where(live, tl.exp(v), 0.0)
    tl.store(out + row * out_stride + col, v - tl.log(tl.sum(powers, 0)), live)
