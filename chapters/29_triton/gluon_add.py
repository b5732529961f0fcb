"""The addition in Gluon, one level below Triton."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def gluon_add(a, b, out, n, BLOCK: gl.constexpr, layout: gl.constexpr):
    i = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout)
    live = i < n

    total = gl.load(a + i, mask=live) + gl.load(b + i, mask=live)
    gl.store(out + i, total, mask=live)
