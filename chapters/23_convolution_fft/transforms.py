"""The kernels of chapter 23 that compute Fourier transforms."""

import numpy as np
from numba import complex64, cuda, float32, int32, uint32

from weft.intrinsics import load4, store4

from .kernels import times

POINTS, HALF = 1024, 512
ROOT_HALF = np.float32(0.5**0.5)
COS, SIN = np.float32(np.cos(np.pi / 8)), np.float32(np.sin(np.pi / 8))
GAPPED = POINTS + 64
SIDE = 4  # columns, or rows, per block of 256


@cuda.jit
def dft_sum(x, table, out):
    """The definition: out[row, k] is the sum of x[row, j] table[j k % n]."""
    row, k = cuda.blockIdx.x, int32(128 * cuda.blockIdx.y + cuda.threadIdx.x)
    n = int32(x.shape[1])
    if k < n:
        total = complex64(0)
        m = int32(0)
        for j in range(n):
            total += times(x[row, j], table[m])
            m += k
            if m >= n:
                m -= n
        out[row, k] = total


@cuda.jit
def one_pass(x, table, out, s):
    """One pass of radix 2, from global memory to global memory."""
    row, t = cuda.blockIdx.x, 128 * cuda.blockIdx.y + cuda.threadIdx.x
    half = x.shape[1] // 2
    k = t & (s - 1)
    a = x[row, t]
    b = times(x[row, t + half], table[k * (half // s)])
    out[row, 2 * t - k] = a + b
    out[row, 2 * t - k + s] = a - b


@cuda.jit(device=True)
def turned(z):
    """Return -i z, a quarter of a turn."""
    return complex(z.imag, -z.real)


@cuda.jit(device=True)
def dft4(a, b, c, d):
    """Transform four numbers."""
    p, q, r, s = a + c, a - c, b + d, turned(b - d)
    return p + r, q + s, p - r, q - s


@cuda.jit(device=True)
def twiddle(v, first, count, w):
    """Multiply v[first + r] by w^r, for r below count."""
    power = cuda.local.array(16, complex64)
    power[1] = w
    for r in range(2, count):
        power[r] = times(power[r // 2], power[r - r // 2])
    for r in range(1, count):
        v[first + r] = times(v[first + r], power[r])


@cuda.jit
def fft_radix4(x, table, out):
    """Four points per thread, five passes; blocks of 256."""
    re = cuda.shared.array(POINTS, float32)
    im = cuda.shared.array(POINTS, float32)
    v = cuda.local.array(4, complex64)
    row, t = cuda.blockIdx.x, uint32(cuda.threadIdx.x)

    for r in range(4):
        v[r] = x[row, t + 256 * r]
    v[0], v[1], v[2], v[3] = dft4(v[0], v[1], v[2], v[3])
    for level in range(4):
        s = uint32(1 << 2 * level)
        at = 4 * t - 3 * (t & uint32(s - 1))
        if level > 0:
            cuda.syncthreads()
        for r in range(4):
            re[at + r * s], im[at + r * s] = v[r].real, v[r].imag
        cuda.syncthreads()

        for r in range(4):
            v[r] = complex(re[t + 256 * r], im[t + 256 * r])
        k = t & uint32(4 * s - 1)
        twiddle(v, 0, 4, table[k * (64 >> 2 * level)])
        v[0], v[1], v[2], v[3] = dft4(v[0], v[1], v[2], v[3])
    for r in range(4):
        out[row, t + 256 * r] = v[r]


@cuda.jit(device=True)
def eighth(z):
    """Return z times (1 - i) / sqrt(2), an eighth of a turn."""
    return complex(ROOT_HALF * (z.real + z.imag), ROOT_HALF * (z.imag - z.real))


@cuda.jit(device=True)
def dft8(v, k):
    """Transform v[k] ... v[k + 7] in place."""
    a, b, c, d = dft4(v[k], v[k + 2], v[k + 4], v[k + 6])
    e, f, g, h = dft4(v[k + 1], v[k + 3], v[k + 5], v[k + 7])
    f, g, h = eighth(f), turned(g), turned(eighth(h))
    v[k], v[k + 1], v[k + 2], v[k + 3] = a + e, b + f, c + g, d + h
    v[k + 4], v[k + 5], v[k + 6], v[k + 7] = a - e, b - f, c - g, d - h


@cuda.jit(device=True)
def dft16(v):
    """Transform v[0] ... v[15] in place."""
    for r in range(4):
        v[r], v[r + 4], v[r + 8], v[r + 12] = dft4(v[r], v[r + 4], v[r + 8], v[r + 12])
    once, thrice = (
        complex(COS, -SIN),
        complex(SIN, -COS),
    )  # sixteenths of a turn
    v[5], v[6], v[7] = times(v[5], once), eighth(v[6]), times(v[7], thrice)
    v[9], v[10], v[11] = eighth(v[9]), turned(v[10]), turned(eighth(v[11]))
    v[13], v[14] = times(v[13], thrice), turned(eighth(v[14]))
    v[15] = turned(turned(times(v[15], once)))
    p, q = dft4(v[0], v[1], v[2], v[3]), dft4(v[4], v[5], v[6], v[7])
    r, s = dft4(v[8], v[9], v[10], v[11]), dft4(v[12], v[13], v[14], v[15])
    for k in range(4):
        v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3] = (
            p[k],
            q[k],
            r[k],
            s[k],
        )


@cuda.jit(device=True)
def put(v, k, re, im, j):
    """Write the results of butterfly j, first pass: v[k] ... v[k + 7]."""
    at = 8 * j + j // 4  # 1 word of padding after every 32
    for r in range(8):
        re[at + r], im[at + r] = v[k + r].real, v[k + r].imag


@cuda.jit(device=True)
def middle(v, re, im, table, t):
    """The second pass, radix 16, from shared memory to shared memory."""
    at = t + t // 32
    for r in range(16):
        v[r] = complex(re[at + 66 * r], im[at + 66 * r])
    cuda.syncthreads()
    k = t % 8
    twiddle(v, 0, 16, table[8 * k])
    dft16(v)
    at = 136 * (t // 8) + k  # 8 words of padding after every 128
    for r in range(16):
        re[at + 8 * r], im[at + 8 * r] = v[r].real, v[r].imag


@cuda.jit(device=True)
def take(v, k, re, im, table, j):
    """The third pass: butterfly j, into v[k] ... v[k + 7]."""
    for r in range(8):
        v[k + r] = complex(re[j + 136 * r], im[j + 136 * r])
    twiddle(v, k, 8, table[j])
    dft8(v, k)


@cuda.jit(device=True)
def transform(v, re, im, table, t):
    """Transform 1,024 points with 64 threads.

    v: points 2 t + 128 r and 2 t + 1 + 128 r, r < 8; before and after.
    """
    dft8(v, 0)
    dft8(v, 8)
    put(v, 0, re, im, 2 * t)
    put(v, 8, re, im, 2 * t + 1)
    cuda.syncthreads()
    middle(v, re, im, table, t)
    cuda.syncthreads()
    take(v, 0, re, im, table, 2 * t)
    take(v, 8, re, im, table, 2 * t + 1)


@cuda.jit
def fft_registers(x, table, out):
    """Sixteen points per thread, 8 x 16 x 8; x, out: float32 (rows, 2048)."""
    re = cuda.shared.array(GAPPED, float32)
    im = cuda.shared.array(GAPPED, float32)
    v = cuda.local.array(16, complex64)
    row, t = cuda.blockIdx.x, uint32(cuda.threadIdx.x)

    for r in range(8):
        a, b, c, d = load4(x, (row, 4 * t + 256 * r))
        v[r], v[8 + r] = complex(a, b), complex(c, d)
    transform(v, re, im, table, t)
    for r in range(8):
        a, b = v[r], v[8 + r]
        at = row, 4 * t + 256 * r
        store4(out, at, a.real, a.imag, b.real, b.imag)


@cuda.jit
def fft_apart(x, table, out):
    """fft_registers on complex64 arrays, one element at a time."""
    re = cuda.shared.array(GAPPED, float32)
    im = cuda.shared.array(GAPPED, float32)
    v = cuda.local.array(16, complex64)
    row, t = cuda.blockIdx.x, uint32(cuda.threadIdx.x)
    for r in range(8):
        at = 2 * t + 128 * r
        v[r], v[8 + r] = x[row, at], x[row, at + 1]
    transform(v, re, im, table, t)
    for r in range(8):
        at = 2 * t + 128 * r
        out[row, at], out[row, at + 1] = v[r], v[8 + r]


@cuda.jit(device=True)
def turn(v, first, col, j, table, fine):
    """Multiply v[first + r] by w^(col k), with k = j + 128 r."""
    m, step = col * j, 128 * col
    w = times(table[m // 1024], fine[m % 1024])
    w_step = times(table[step // 1024], fine[step % 1024])
    for r in range(8):
        v[first + r] = times(v[first + r], w)
        w = times(w, w_step)


@cuda.jit
def columns(x, table, fine, out):
    """Steps 1 and 2; float32 (batch * 1024, 2048), one matrix after another.

    w is the 2^20-th root of unity, fine[m] is w^m, table[m] is w^(1024 m).
    """
    re = cuda.shared.array((SIDE, GAPPED), float32)
    im = cuda.shared.array((SIDE, GAPPED), float32)
    v = cuda.local.array(16, complex64)
    me = uint32(cuda.threadIdx.x)
    pair, j = (
        2 * (me % (SIDE // 2)),
        me // (SIDE // 2),
    )  # two columns, butterfly j
    c, t = me % SIDE, me // SIDE
    col = uint32(SIDE * cuda.blockIdx.x + pair)
    top = uint32(1024 * cuda.blockIdx.y + j)

    for r in range(8):
        a, b, c4, d = load4(x, (top + 128 * r, 2 * col))
        v[r], v[8 + r] = complex(a, b), complex(c4, d)
    dft8(v, 0)
    dft8(v, 8)
    put(v, 0, re[pair], im[pair], j)
    put(v, 8, re[pair + 1], im[pair + 1], j)
    cuda.syncthreads()
    middle(v, re[c], im[c], table, t)
    cuda.syncthreads()
    take(v, 0, re[pair], im[pair], table, j)
    take(v, 8, re[pair + 1], im[pair + 1], table, j)

    turn(v, 0, col, j, table, fine)
    turn(v, 8, col + 1, j, table, fine)
    for r in range(8):
        y, z = v[r], v[8 + r]
        at = top + 128 * r, 2 * col
        store4(out, at, y.real, y.imag, z.real, z.imag)


@cuda.jit
def rows_to_columns(x, table, out):
    """Steps 3 and 4; float32 (batch * 1024, 2048)."""
    re = cuda.shared.array((SIDE, GAPPED), float32)
    im = cuda.shared.array((SIDE, GAPPED), float32)
    v = cuda.local.array(16, complex64)
    me = uint32(cuda.threadIdx.x)
    pair, j = 2 * (me % (SIDE // 2)), me // (SIDE // 2)
    c, t = me // 64, me % 64  # one row per pair of warps
    row = uint32(SIDE * cuda.blockIdx.x)
    top = uint32(1024 * cuda.blockIdx.y)

    for r in range(8):
        a, b, c4, d = load4(x, (top + row + c, 4 * t + 256 * r))
        v[r], v[8 + r] = complex(a, b), complex(c4, d)
    dft8(v, 0)
    dft8(v, 8)
    put(v, 0, re[c], im[c], 2 * t)
    put(v, 8, re[c], im[c], 2 * t + 1)
    cuda.syncthreads()
    middle(v, re[c], im[c], table, t)
    cuda.syncthreads()
    take(v, 0, re[pair], im[pair], table, j)
    take(v, 8, re[pair + 1], im[pair + 1], table, j)
    for r in range(8):
        y, z = v[r], v[8 + r]
        at = top + j + 128 * r, 2 * (row + pair)
        store4(out, at, y.real, y.imag, z.real, z.imag)


@cuda.jit
def filter_fused(x, spectrum, table, out, taps):
    """Convolve x, valid; all arrays float32 pairs, taps odd, up to 513.

    spectrum: of the taps, over 1,024 points, divided by 1,024.
    """
    re = cuda.shared.array(GAPPED, float32)
    im = cuda.shared.array(GAPPED, float32)
    v = cuda.local.array(16, complex64)
    t = uint32(cuda.threadIdx.x)
    lost = int32(2 * (taps - 1))  # floats discarded at the start of a piece
    first = int32(cuda.blockIdx.x) * int32(2 * POINTS - lost)

    for r in range(8):
        at = first + int32(4 * t + 256 * r)
        v[r], v[8 + r] = complex64(0), complex64(0)
        if at < x.size:
            a, b, c, d = load4(x, at)
            v[r], v[8 + r] = complex(a, b), complex(c, d)
    transform(v, re, im, table, t)
    cuda.syncthreads()

    for r in range(8):
        a, b, c, d = load4(spectrum, 4 * t + 256 * r)
        y, z = times(v[r], complex(a, b)), times(v[8 + r], complex(c, d))
        v[r], v[8 + r] = complex(y.real, -y.imag), complex(z.real, -z.imag)
    transform(v, re, im, table, t)
    for r in range(8):
        at = int32(4 * t + 256 * r)
        to = first + at - lost
        if at >= lost and to < out.size:
            y, z = v[r], v[8 + r]
            store4(out, to, y.real, -y.imag, z.real, -z.imag)
