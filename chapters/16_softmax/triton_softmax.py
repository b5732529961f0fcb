"""The softmax in Triton, where there is a GPU that Triton supports."""

import weft

has_triton = weft.device.find().capability >= (8, 0)

if weft.GPU and has_triton:
    import triton
    import triton.language as tl

    @triton.jit
    def triton_softmax(x, out, cols, WIDTH: tl.constexpr):
        col = tl.arange(0, WIDTH)
        at = tl.program_id(0).to(tl.int64) * cols + col
        v = tl.load(x + at, mask=col < cols, other=-float("inf"))
        e = tl.exp(v - tl.max(v, 0))
        tl.store(out + at, e / tl.sum(e, 0), mask=col < cols)
