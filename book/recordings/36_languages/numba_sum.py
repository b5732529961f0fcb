"""The sum of float32 numbers in Numba."""

from numba import cuda, float32

from weft.intrinsics import load4
from weft.launching import prepare

BLOCK, BLOCKS = 1024, 264
FULL = 0xFFFFFFFF


@cuda.jit(device=True)
def warp_sum(value):
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, step)
    return value


@cuda.jit("void(float32[::1], float32[::1])")
def add_up(x, out):
    sums = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x

    value = float32(0)
    for i in range(cuda.grid(1), x.size // 4, cuda.gridsize(1)):
        p, q, r, s = load4(x, 4 * i)
        value += (p + q) + (r + s)
    rest = x.size // 4 * 4 + cuda.grid(1)
    if rest < x.size:
        value += x[rest]

    value = warp_sum(value)
    if t % 32 == 0:
        sums[t // 32] = value
    cuda.syncthreads()
    if t < 32:
        value = warp_sum(sums[t])
        if t == 0:
            cuda.atomic.add(out, 0, value)


launch = prepare(add_up)


def bind(x, out):
    def go():
        out.zero_()
        launch(BLOCKS, BLOCK, x, out)

    return go
