"""The kernels that the measurements of chapter 12 time."""

import numpy as np
from numba import cuda, float32, int32, uint32, uint64

from weft.intrinsics import (
    load4,
    load4_cs,
    load4_nc,
    store4,
    store4_cs,
)

CUDA_CPP = """
extern "C" __global__
void copy4(const float* x, float* out, long long n)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    long long all = gridDim.x * (long long)blockDim.x;

    for (long long k = i; k < n / 4; k += all)
        reinterpret_cast<float4*>(out)[k] =
            reinterpret_cast<const float4*>(x)[k];
    if (n / 4 * 4 + i < n)
        out[n / 4 * 4 + i] = x[n / 4 * 4 + i];
}
"""

SPAN = 8192  # float32 that a block reads over and over: 32 KB
TABLE = np.random.default_rng(12).random(256, np.float32)


@cuda.jit
def strided_read(x, s, out):
    """out[i] = x[i * s], four elements per thread."""
    i = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    a, b = x[i * s], x[(i + 256) * s]
    c, d = x[(i + 512) * s], x[(i + 768) * s]
    out[i], out[i + 256] = a, b
    out[i + 512], out[i + 768] = c, d


@cuda.jit
def shifted_read(x, shift, out):
    """out[i] = x[i + shift], four elements per thread."""
    i = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    k = i + shift
    a, b, c, d = x[k], x[k + 256], x[k + 512], x[k + 768]
    out[i], out[i + 256] = a, b
    out[i + 512], out[i + 768] = c, d


@cuda.jit
def strided_write(x, s, out):
    """out[i * s] = x[i], four elements per thread."""
    i = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    a, b, c, d = x[i], x[i + 256], x[i + 512], x[i + 768]
    out[i * s], out[(i + 256) * s] = a, b
    out[(i + 512) * s], out[(i + 768) * s] = c, d


@cuda.jit
def neighbours(x, out):
    """Copy x into out, eight neighbours per thread."""
    start = cuda.grid(1) * 8
    for k in range(8):
        if start + k < x.size:
            out[start + k] = x[start + k]


@cuda.jit
def one_each(x, out):
    """Copy x into out, one element per thread."""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]


@cuda.jit
def four_each(x, out):
    """Copy x into out, four elements per thread, a block apart."""
    i = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    a, b, c, d = x[i], x[i + 256], x[i + 512], x[i + 768]
    out[i], out[i + 256] = a, b
    out[i + 512], out[i + 768] = c, d


@cuda.jit
def four_in_turn(x, out):
    """Copy x into out as four_each does, but with one load in flight per thread."""
    i = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    out[i] = x[i]
    out[i + 256] = x[i + 256]
    out[i + 512] = x[i + 512]
    out[i + 768] = x[i + 768]


@cuda.jit
def copy4_cs(x, out):
    """copy4 for whole groups, with streaming loads and stores."""
    for i in range(cuda.grid(1), x.size // 4, cuda.gridsize(1)):
        a, b, c, d = load4_cs(x, 4 * i)
        store4_cs(out, 4 * i, a, b, c, d)


@cuda.jit
def copy4_nc(x, out):
    """copy4 for whole groups, with loads through the read-only path."""
    for i in range(cuda.grid(1), x.size // 4, cuda.gridsize(1)):
        a, b, c, d = load4_nc(x, 4 * i)
        store4(out, 4 * i, a, b, c, d)


@cuda.jit(device=True)
def anywhere(i, size):
    """Return a place below size, a power of two, that looks random."""
    h = uint32(i) * uint32(2654435761)
    return (h ^ (h >> uint32(15))) & uint32(size - 1)


def past_table(load, store):
    """Make a kernel that adds an entry of table to each element of x."""

    @cuda.jit
    def kernel(x, table, out):
        i = 4 * cuda.grid(1)
        a, b, c, d = load(x, i)
        a += table[anywhere(i, table.size)]
        b += table[anywhere(i + 1, table.size)]
        c += table[anywhere(i + 2, table.size)]
        d += table[anywhere(i + 3, table.size)]
        store(out, i, a, b, c, d)

    return kernel


@cuda.jit
def move_struct(p, step):
    """Add step to field 0 of each row of p (n, fields), four per thread."""
    i = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    a, b, c, d = p[i, 0], p[i + 256, 0], p[i + 512, 0], p[i + 768, 0]
    p[i, 0], p[i + 256, 0] = a + step, b + step
    p[i + 512, 0], p[i + 768, 0] = c + step, d + step


@cuda.jit
def move_column(p, step):
    """Add step to row 0 of p (fields, n), four elements per thread."""
    i = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    a, b, c, d = p[0, i], p[0, i + 256], p[0, i + 512], p[0, i + 768]
    p[0, i], p[0, i + 256] = a + step, b + step
    p[0, i + 512], p[0, i + 768] = c + step, d + step


@cuda.jit
def gather(x, idx, out):
    """out[i] = x[idx[i]], four elements per thread."""
    i = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    j, k, m, n = idx[i], idx[i + 256], idx[i + 512], idx[i + 768]
    a, b, c, d = x[j], x[k], x[m], x[n]
    out[i], out[i + 256] = a, b
    out[i + 512], out[i + 768] = c, d


@cuda.jit
def gather_rows4(table, idx, out):
    """gather_rows, 16 bytes per lane: eight lanes per row."""
    t = cuda.grid(1)
    row, col = t // 8, t % 8 * 4

    if row < idx.size:
        a, b, c, d = load4(table, (idx[row], col))
        store4(out, (row, col), a, b, c, d)


@cuda.jit
def gather_pieces(x, idx, log, out):
    """gather, with one index per 2^log neighbours."""
    i = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    j, k, m = i + 256, i + 512, i + 768
    rest = (1 << log) - 1
    a = x[(idx[i >> log] << log) + (i & rest)]
    b = x[(idx[j >> log] << log) + (j & rest)]
    c = x[(idx[k >> log] << log) + (k & rest)]
    d = x[(idx[m >> log] << log) + (m & rest)]
    out[i], out[j], out[k], out[m] = a, b, c, d


@cuda.jit
def chain(steps, step, out):
    """Multiply and add, each time with the last result: no memory at all."""
    value = step
    for _ in range(steps // 4):
        value = cuda.fma(value, step, step)
        value = cuda.fma(value, step, step)
        value = cuda.fma(value, step, step)
        value = cuda.fma(value, step, step)
    out[0] = uint32(value)


@cuda.jit
def chase_shared(count, out):
    """Follow links in shared memory."""
    tile = cuda.shared.array(1024, uint32)
    for k in range(1024):
        tile[k] = (k + 33) % 1024

    i = uint32(0)
    for _ in range(count):
        i = tile[i]
    out[0] = i


@cuda.jit
def read_registers(laps, step, out):
    """Multiply and add: three registers, 12 bytes, are read each time."""
    a, b, c, d = step, step + step, step * step, step - step * step
    for _ in range(laps // 6):
        for _ in range(8):
            a, b = cuda.fma(a, step, step), cuda.fma(b, step, step)
            c, d = cuda.fma(c, step, step), cuda.fma(d, step, step)
    out[cuda.grid(1)] = (a + b) + (c + d)


@cuda.jit
def read_shared(laps, out):
    """Read 32 KB of shared memory over and over, 16 bytes per lane."""
    tile = cuda.shared.array(8192, float32)
    t, total = cuda.threadIdx.x, float32(0)
    for k in range(t, SPAN, 1024):
        tile[k] = float32(k)
    cuda.syncthreads()

    for lap in range(laps):
        i = uint64(4 * (t ^ (lap & 31)))
        j = uint64(4 * (t ^ (lap & 31) ^ 16))
        for k in range(0, SPAN, 4096):
            a, b, c, d = load4(tile, i + uint64(k))
            e, f, g, h = load4(tile, j + uint64(k))
            total += ((a + b) + (c + d)) + ((e + f) + (g + h))
    out[cuda.grid(1)] = total


@cuda.jit
def read_own(x, laps, out):
    """Let each block read its own 32 KB, so from L1, 16 bytes per lane."""
    first = uint64(cuda.blockIdx.x * SPAN)
    t, total = cuda.threadIdx.x, float32(0)
    for lap in range(laps):
        i = first + uint64(4 * (t ^ (lap & 31)))
        j = first + uint64(4 * (t ^ (lap & 31) ^ 16))
        for k in range(0, SPAN, 4096):
            a, b, c, d = load4(x, i + uint64(k))
            e, f, g, h = load4(x, j + uint64(k))
            total += ((a + b) + (c + d)) + ((e + f) + (g + h))
    out[cuda.grid(1)] = total


@cuda.jit
def read_all(x, laps, out):
    """Let the whole grid read x, of 2^k elements, over and over."""
    i, total = int32(4) * int32(cuda.grid(1)), float32(0)
    step = int32(4) * int32(cuda.gridsize(1))
    last = int32(x.size - 1)
    for _ in range(laps):
        for _ in range(4):
            a, b, c, d = load4(x, i & last)
            total += (a + b) + (c + d)
            i += step
    out[cuda.grid(1)] = total


@cuda.jit
def read_own_4(x, laps, out):
    """Let each block read its own 32 KB, so from L1, 4 bytes per lane."""
    first = uint64(cuda.blockIdx.x * SPAN)
    t, total = cuda.threadIdx.x, float32(0)
    for lap in range(laps):
        i = first + uint64(t ^ (lap & 31))
        j = first + uint64(t ^ (lap & 31) ^ 16)
        for k in range(0, SPAN, 1024):
            total += x[i + uint64(k)] + x[j + uint64(k)]
    out[cuda.grid(1)] = total


@cuda.jit
def read_anew(x, laps, out):
    """read_own with a new index for each load."""
    first = int32(cuda.blockIdx.x) * int32(SPAN)
    i, total = int32(4) * int32(cuda.threadIdx.x), float32(0)
    for _ in range(laps):
        for _ in range(4):
            a, b, c, d = load4(x, first + i)
            total += (a + b) + (c + d)
            i = (i + int32(4096 + 128)) & int32(SPAN - 1)
    out[cuda.grid(1)] = total


@cuda.jit
def read_anew_4(x, laps, out):
    """read_own_4 with a new index for each load."""
    first = int32(cuda.blockIdx.x) * int32(SPAN)
    i, total = int32(cuda.threadIdx.x), float32(0)
    for _ in range(laps):
        for _ in range(16):
            total += x[uint32(first + i)]
            i = (i + int32(1024 + 32)) & int32(SPAN - 1)
    out[cuda.grid(1)] = total


def lookups(spread):
    """Make kernels that add up TABLE, lane k from element spread * k on."""

    @cuda.jit
    def constant(out):
        table = cuda.const.array_like(TABLE)
        i, total = cuda.grid(1), float32(0)
        first = int32(cuda.threadIdx.x) % int32(32) * int32(spread)
        for k in range(256):
            total += table[uint32(first + int32(k)) % uint32(256)]
        out[i] = total

    @cuda.jit
    def plain(table, out):
        i, total = cuda.grid(1), float32(0)
        first = int32(cuda.threadIdx.x) % int32(32) * int32(spread)
        for k in range(256):
            total += table[uint32(first + int32(k)) % uint32(256)]
        out[i] = total

    @cuda.jit
    def shared(table, out):
        tile = cuda.shared.array(256, float32)
        tile[cuda.threadIdx.x] = table[cuda.threadIdx.x]
        cuda.syncthreads()

        i, total = cuda.grid(1), float32(0)
        first = int32(cuda.threadIdx.x) % int32(32) * int32(spread)
        for k in range(256):
            total += tile[uint32(first + int32(k)) % uint32(256)]
        out[i] = total

    return constant, plain, shared
