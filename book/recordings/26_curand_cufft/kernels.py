"""Kernels in Numba that call NVIDIA's device libraries: cuRAND's, and cuFFTDx.

They need nvmath-python 1.0 and nvidia-libmathdx-cu13. `import weft` comes first.
"""

from types import SimpleNamespace

import numpy as np
from numba import cuda, int32, int64, uint32, uint64
from numba.cuda import libdevice
from nvmath.device import FFT, float32x2, random

from weft.intrinsics import store4

POINTS = 1024

library = random.Compile()
with_library = cuda.jit(link=library.files, extensions=library.extension)


# begin: numbers
@with_library
def begin(seed, states):
    """Set each thread's state to the beginning of its own subsequence."""
    i = cuda.grid(1)
    random.init(seed, i, 0, states[i])


@with_library
def draw(states, out):
    """Fill out; a thread draws four numbers at a time."""
    i = cuda.grid(1)

    for at in range(4 * i, out.size, 4 * cuda.gridsize(1)):
        four = random.uniform4(states[i])
        store4(out, at, four.x, four.y, four.z, four.w)
    # end: numbers


@cuda.jit(device=True)
def pair(word):
    """Return the complex number whose 8 bytes are in an int64."""
    low, high = int32(word), int32(word >> 32)
    return float32x2(libdevice.int_as_float(low), libdevice.int_as_float(high))


@cuda.jit(device=True)
def word(z):
    """Return the 8 bytes of a complex number as an int64."""
    low, high = libdevice.float_as_int(z.x), libdevice.float_as_int(z.y)
    return int64(uint64(uint32(high)) << uint64(32) | uint64(uint32(low)))


@cuda.jit(device=True)
def times(z, w):
    """Multiply two complex numbers."""
    return float32x2(z.x * w.x - z.y * w.y, z.x * w.y + z.y * w.x)


def transforms(per_thread: int) -> SimpleNamespace:
    """Return kernels in which a thread holds so many of 1,024 points, and the block.

    All arrays are int64: 8 bytes, a complex number, in one access.
    """
    # begin: plan
    forward, inverse = (
        FFT(
            size=POINTS,
            precision=np.float32,
            fft_type="c2c",
            direction=direction,
            execution="Block",
            elements_per_thread=per_thread,
        )
        for direction in ("forward", "inverse")
    )
    # end: plan
    number, stride = forward.value_type, forward.stride
    room = forward.shared_memory_size // 8

    @cuda.jit
    def rows(x, out):
        """Transform each row; a block has one."""
        v = cuda.local.array(per_thread, number)
        shared = cuda.shared.array(room, number)
        row, t = cuda.blockIdx.x, uint32(cuda.threadIdx.x)

        for r in range(per_thread):
            v[r] = pair(x[row, t + stride * r])
        forward.execute(v, shared)
        for r in range(per_thread):
            out[row, t + stride * r] = word(v[r])

    # begin: filter
    @cuda.jit
    def filtered(x, spectrum, out, taps):
        """Convolve x, valid; spectrum: of the taps, divided by 1,024."""
        v = cuda.local.array(per_thread, number)
        shared = cuda.shared.array(room, number)
        t, lost = int32(cuda.threadIdx.x), int32(taps - 1)
        first = int32(cuda.blockIdx.x) * int32(POINTS - lost)

        for r in range(per_thread):
            at = uint32(first + t + int32(stride * r))
            v[r] = pair(x[at] if at < x.size else int64(0))
        forward.execute(v, shared)

        for r in range(per_thread):
            v[r] = times(v[r], pair(spectrum[uint32(t + int32(stride * r))]))
        inverse.execute(v, shared)

        for r in range(per_thread):
            at = t + int32(stride * r)
            to = first + at - lost
            if at >= lost and to < out.size:
                out[uint32(to)] = word(v[r])

    # end: filter

    threads = forward.block_dim.x
    return SimpleNamespace(rows=rows, filtered=filtered, threads=threads)
