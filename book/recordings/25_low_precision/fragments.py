"""A Numba kernel for few tokens: weights of 4 bits, stored as fragments of mma.sync.

`import weft` comes before this module.
"""

from types import SimpleNamespace
from typing import Any

from numba import cuda, float32, int32, uint32

from weft.intrinsics import bf16_pair, load4, load4_nc, mma_bf16

MASK, BASE = 0x000F000F, 0x43004300  # two codes of a word; 128.0, twice
MINUS_136 = 0xC308C308  # twice: what a code is too large by, 128 + 8
TILES = (1, 8), (1, 4), (2, 8), (2, 4), (4, 4)  # per warp; warps
ROWS, CHUNK = 16, 64  # of weights that an instruction takes; of k that a lane loads


def packed(w: Any) -> tuple[Any, Any]:
    """Return weights (n, k) as words, and scales (k / 128, n).

    Four words of each of 32 lanes, then those of the next 64 columns, then those of the
    next 16 rows. Lane 4 g + t has rows g and g + 8, and columns 16 t to 16 t + 15.
    """
    import formats
    import torch

    n, k = w.shape
    codes, scales = formats.quantise(w, torch.int8, formats.GROUP, 7)
    # row = 8 h + g, column = 16 t + 4 s + 2 p + e: a code's place in word s is h, p, e
    tiles = (codes + 8).long().view(n // ROWS, 2, 8, k // CHUNK, 4, 4, 2, 2)
    parts = tiles.permute(0, 3, 2, 4, 5, 7, 6, 1).reshape(-1, 8)
    words = sum(parts[:, i] << (4 * i) for i in range(8))
    return words.to(torch.int32), scales.t().contiguous()


def made(tiles: int, warps: int, eights: int) -> SimpleNamespace:
    """Return a kernel for 8 * eights tokens, and its threads.

    A warp multiplies `tiles` tiles of 16 rows; the warps of a block share them, and
    each takes every so many groups of 128 columns.
    """
    block, sums_of_a_warp = 32 * warps, 128 * tiles * eights
    pairs = sums_of_a_warp // 2

    @cuda.jit(device=True)
    def load(codes, w, first, group, steps):
        """Load the words of a group, 8 for each tile."""
        for i in range(tiles):
            for half in range(2):
                at = (first + int32(i)) * steps + int32(2) * group + int32(half)
                lane = int32(cuda.threadIdx.x) & int32(31)
                a, b, c, d = load4_nc(w, int32(4) * (int32(32) * at + lane))
                codes[i, 4 * half], codes[i, 4 * half + 1] = a, b
                codes[i, 4 * half + 2], codes[i, 4 * half + 3] = c, d

    @cuda.jit(launch_bounds=(block, 1))
    def few_tokens(w, x, scales, y, m, k, mask):
        """y = x @ w.T: words of w, words of x (m, k / 2) and of y (m, n / 2).

        mask: MASK; an argument stays in a register, which saves instructions.
        """
        shared = cuda.shared.array((warps, sums_of_a_warp), float32)
        codes = cuda.local.array((tiles, 8), uint32)
        ahead = cuda.local.array((tiles, 8), uint32)
        near = cuda.local.array((eights, 16), uint32)
        minus = cuda.local.array((eights, 4), float32)
        part = cuda.local.array(4, float32)
        sums = cuda.local.array((tiles, eights, 4), float32)
        thread = int32(cuda.threadIdx.x)
        warp, lane = thread >> int32(5), thread & int32(31)
        g, t = lane >> int32(2), lane & int32(3)
        first = int32(cuda.blockIdx.x) * int32(tiles)
        groups, steps = int32(k) >> int32(7), int32(k) >> int32(6)
        mask, base = uint32(mask), uint32(BASE)
        for i in range(tiles):
            for j in range(eights):
                for v in range(4):
                    sums[i, j, v] = float32(0)

        load(ahead, w, first, warp, steps)
        for group in range(warp, groups, int32(warps)):
            for i in range(tiles):
                for s in range(8):
                    codes[i, s] = ahead[i, s]
            load(ahead, w, first, min(group + int32(warps), groups - int32(1)), steps)

            for j in range(eights):
                token = min(int32(8 * j) + g, int32(m) - int32(1))
                for q in range(4):
                    half = int32(32 * (q // 2) + 4 * (q % 2))
                    at = int32(64) * group + int32(8) * t + half
                    a, b, c, d = load4(x, (token, at))
                    near[j, 4 * q], near[j, 4 * q + 1] = a, b
                    near[j, 4 * q + 2], near[j, 4 * q + 3] = c, d
                for v in range(4):
                    minus[j, v] = float32(0)
                less = uint32(MINUS_136)
                for s in range(8):
                    of_x = near[j, 2 * s], near[j, 2 * s + 1]
                    mma_bf16(minus[j], (less, less, less, less), of_x)

            for i in range(tiles):
                row = (first + int32(i)) * int32(16) + g
                upper, lower = scales[group, row], scales[group, row + int32(8)]
                for j in range(eights):
                    for v in range(4):
                        part[v] = minus[j, v]
                    # begin: steps
                    for s in range(8):
                        word = codes[i, s]
                        numbers = (
                            uint32(word & mask | base),
                            uint32(word >> uint32(4) & mask | base),
                            uint32(word >> uint32(8) & mask | base),
                            uint32(word >> uint32(12) & mask | base),
                        )
                        mma_bf16(part, numbers, (near[j, 2 * s], near[j, 2 * s + 1]))
                    # end: steps
                    sums[i, j, 0] += upper * part[0]
                    sums[i, j, 1] += upper * part[1]
                    sums[i, j, 2] += lower * part[2]
                    sums[i, j, 3] += lower * part[3]

        # Add up the warps' sums: 16 tiles rows of a token are neighbours in shared.
        for i in range(tiles):
            for j in range(eights):
                for v in range(4):
                    row = int32(16 * i + 8 * (v // 2)) + g
                    token = int32(8 * j + v % 2) + int32(2) * t
                    shared[warp, token * int32(16 * tiles) + row] = sums[i, j, v]
        cuda.syncthreads()
        for p in range(thread, int32(pairs), int32(block)):
            a, b = float32(0), float32(0)
            for v in range(warps):
                a += shared[v, int32(2) * p]
                b += shared[v, int32(2) * p + int32(1)]
            token, pair = p // int32(8 * tiles), p % int32(8 * tiles)
            if token < m:
                y[token, int32(8) * first + pair] = bf16_pair(a, b)

    return SimpleNamespace(kernel=few_tokens, threads=block)
