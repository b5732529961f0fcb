"""Sums over two GPUs, by kernels that read and write the other GPU's memory."""

from numba import cuda


def peer_kernels():
    """Return the two kernels, compiled by the process that calls."""
    from weft.intrinsics import load4, store4

    @cuda.jit
    def one_shot(own, other, out):
        i = 4 * cuda.grid(1)
        step = 4 * cuda.gridsize(1)

        while i < out.size:
            a = load4(own, i)
            b = load4(other, i)
            x, y, z, w = a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]
            store4(out, i, x, y, z, w)
            i += step

    @cuda.jit
    def two_shot(own, other, start, end):
        i = start + 4 * cuda.grid(1)
        step = 4 * cuda.gridsize(1)

        while i < end:
            a = load4(own, i)
            b = load4(other, i)
            x, y, z, w = a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]
            store4(own, i, x, y, z, w)
            store4(other, i, x, y, z, w)
            i += step

    return one_shot, two_shot
