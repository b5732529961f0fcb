"""The sum of float32 numbers in Gluon."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

BLOCK, PROGRAMS, WARPS = 8192, 528, 8


@gluon.jit
def add_up(x, out, n, BLOCK: gl.constexpr, WARPS: gl.constexpr):
    fours: gl.constexpr = gl.BlockedLayout([4], [32], [WARPS], [0])
    acc = gl.zeros([BLOCK], gl.float32, fours)
    for start in range(gl.program_id(0) * BLOCK, n, gl.num_programs(0) * BLOCK):
        i = start + gl.arange(0, BLOCK, fours)
        acc += gl.load(x + i, mask=i < n, other=0.0)
    gl.atomic_add(out, gl.sum(acc, 0))


def bind(x, out):
    sizes = x.numel(), BLOCK, WARPS

    def launch():
        out.zero_()
        add_up[(PROGRAMS,)](x, out, *sizes, num_warps=WARPS)

    return launch
