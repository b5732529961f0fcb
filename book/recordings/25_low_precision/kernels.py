"""Triton kernels for the recordings of low precision: scaled fp8, and small batches."""

import triton
import triton.language as tl

GROUP = tl.constexpr(128)  # neighbours along k that share a scale


# begin: blocks
@triton.jit
def scaled_blocks(
    x, w, y, x_scales, w_scales, m, n, k, BM: tl.constexpr, BN: tl.constexpr
):
    """y = x @ w.T, with x (m, k) scaled per 1 x 128 and w (n, k) per 128 x 128."""
    row, col = tile_of(tl.program_id(0), m, n, BM, BN)
    rows = row * BM + tl.arange(0, BM)
    sums = tl.zeros((BM, BN), tl.float32)

    for step in range(k // GROUP):
        a = x.load([row * BM, step * GROUP])  # (BM, 128) e4m3, through TMA
        b = w.load([col * BN, step * GROUP])  # (BN, 128)
        by_row = tl.load(x_scales + step * m + rows)
        by_block = tl.load(w_scales + col * BN // GROUP * (k // GROUP) + step)
        part = tl.dot(a, b.T)
        sums += part * (by_row * by_block)[:, None]

    y.store([row * BM, col * BN], sums.to(y.dtype))


# end: blocks


@triton.jit
def tile_of(number, m, n, BM: tl.constexpr, BN: tl.constexpr, TALL: tl.constexpr = 16):
    """Return row and column of a tile: tiles of 16 rows of tiles, column by column."""
    down, across = tl.cdiv(m, BM), tl.cdiv(n, BN)
    band = number // (TALL * across)
    height = min(down - band * TALL, TALL)
    place = number % (TALL * across)
    return band * TALL + place % height, place // height


# begin: weights
@triton.jit(do_not_specialize=["m"])
def small_batch(
    w, x, scales, y, m, n, k, KIND: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):
    """y = x @ w.T for a few rows of x (m, k), with weights (n, k) of few bits.

    KIND: "plain", or "row" with a scale per row, or "group" for two int4 codes per
    byte, as `formats.packed` makes them, and scales (k / 128, n).
    """
    rows, cols = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, BM)
    half = tl.arange(0, GROUP // 2)
    sums = tl.zeros((BN, BM), tl.float32)
    scale = tl.load(scales + rows)

    for step in range(k // GROUP):
        first = x + cols[:, None] * k + step * GROUP + half
        x0 = tl.load(first, mask=cols[:, None] < m, other=0)  # (BM, 64)
        x1 = tl.load(first + GROUP // 2, mask=cols[:, None] < m, other=0)
        if KIND == "group":
            codes = tl.load(w + rows[:, None] * (k // 2) + step * (GROUP // 2) + half)
            ahead = scales + min(step + 1, k // GROUP - 1) * n + rows
            after = tl.load(ahead)  # of the next step, so that none waits for it
            w0, w1 = halves(codes)
            part = tl.dot(w1, x1.T, tl.dot(w0, x0.T))
            sums += part * scale[:, None]
            scale = after
        else:
            at = w + rows[:, None] * k + step * GROUP + half
            w0, w1 = tl.load(at), tl.load(at + GROUP // 2)
            sums = tl.dot(w0.to(tl.bfloat16), x0.T, sums)
            sums = tl.dot(w1.to(tl.bfloat16), x1.T, sums)

    if KIND == "row":
        sums *= scale[:, None]
    at = y + cols[None, :] * n + rows[:, None]
    tl.store(at, sums.to(tl.bfloat16), mask=cols[None, :] < m)


@triton.jit
def halves(codes):
    """Return the lower and the upper four bits of bytes as numbers from -8 to 7."""
    low, high = (codes & 15).to(tl.int8) - 8, (codes >> 4).to(tl.int8) - 8
    return low.to(tl.bfloat16), high.to(tl.bfloat16)


# end: weights


# begin: words
@triton.jit(do_not_specialize=["m"])
def small_batch_of_words(
    w, x, scales, y, m, n, k, KIND: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, DEEP: tl.constexpr,
):  # fmt: skip
    """y = x @ w.T for a few rows of x (m, k), with weights of few bits.

    KIND: "int4", "int8" or "e4m3". w: words of codes, as `formats.words` makes them.
    scales: (k / 128, n) for int4, else (n,). DEEP: groups of 128 per step.
    """
    rows, cols = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, BM)
    TILES: tl.constexpr = 8 if KIND == "int4" else 4
    WIDE: tl.constexpr = 128 // TILES  # words for 128 numbers
    word, few = tl.arange(0, WIDE)[None, :], cols[:, None] < m
    sums = tl.zeros((BN, BM), tl.float32)
    scale = tl.load(scales + rows)

    for step in range(k // (128 * DEEP)):
        for turn in tl.static_range(DEEP):
            group = step * DEEP + turn
            words = tl.load(w + rows[:, None] * (k // TILES) + group * WIDE + word)
            numbers = decoded(words, KIND)  # tiles of (BN, WIDE)
            part = tl.zeros_like(sums) if KIND == "int4" else sums
            for i in tl.static_range(TILES):
                at = x + cols[:, None] * k + group * 128 + i * WIDE + word
                part = tl.dot(numbers[i], tl.load(at, mask=few, other=0).T, part)
            if KIND == "int4":
                sums += part * scale[:, None]
                after = min(group + 1, k // 128 - 1)  # loaded before it is needed
                scale = tl.load(scales + after * n + rows)
            else:
                sums = part

    if KIND != "int4":
        sums *= scale[:, None]
    tl.store(y + cols[None, :] * n + rows[:, None], sums.to(tl.bfloat16), mask=few.T)


# end: words


# begin: codes
# A word has the codes of 8 numbers of 4 bits, or of 4 numbers of 8 bits. The pieces of
# PTX below take two words, $a and $b of the comments, and return registers with two
# bfloat16 each: the numbers of both words that have the same place in them.

# Below the upper byte of 128.0, which is 0x43, a code u from 0 to 15 is 128 + u. The
# numbers are from -7 to 7, stored plus 8: 136 too much.
INT4 = tl.constexpr("""{
    .reg .b32 low, high, t, mask, base, zero;
    mov.b32 mask, 0x000f000f;
    mov.b32 base, 0x43004300;
    mov.b32 zero, 0x43084308;               // 136.0, twice
    prmt.b32 low, $8, $9, 0x5410;           // lower halves of a and b: codes 0 to 3
    prmt.b32 high, $8, $9, 0x7632;          // upper halves: codes 4 to 7
    lop3.b32 $0, low, mask, base, 0xea;     // (low & mask) | base
    shr.u32 t, low, 4;
    lop3.b32 $1, t, mask, base, 0xea;
    shr.u32 t, low, 8;
    lop3.b32 $2, t, mask, base, 0xea;
    shr.u32 t, low, 12;
    lop3.b32 $3, t, mask, base, 0xea;
    lop3.b32 $4, high, mask, base, 0xea;
    shr.u32 t, high, 4;
    lop3.b32 $5, t, mask, base, 0xea;
    shr.u32 t, high, 8;
    lop3.b32 $6, t, mask, base, 0xea;
    shr.u32 t, high, 12;
    lop3.b32 $7, t, mask, base, 0xea;
    sub.rn.bf16x2 $0, $0, zero;
    sub.rn.bf16x2 $1, $1, zero;
    sub.rn.bf16x2 $2, $2, zero;
    sub.rn.bf16x2 $3, $3, zero;
    sub.rn.bf16x2 $4, $4, zero;
    sub.rn.bf16x2 $5, $5, zero;
    sub.rn.bf16x2 $6, $6, zero;
    sub.rn.bf16x2 $7, $7, zero;
}""")

# The same for magnitudes of 7 bits. The eighth bit is the sign.
INT8 = tl.constexpr("""{
    .reg .b32 a, b, c, d, mask, base, sign;
    mov.b32 mask, 0x007f007f;
    mov.b32 base, 0x43004300;
    mov.b32 sign, 0x80008000;
    prmt.b32 a, $4, $5, 0x0400;             // byte 0 of a and of b
    prmt.b32 b, $4, $5, 0x0501;
    prmt.b32 c, $4, $5, 0x0602;
    prmt.b32 d, $4, $5, 0x0703;
    lop3.b32 $0, a, mask, base, 0xea;
    lop3.b32 $1, b, mask, base, 0xea;
    lop3.b32 $2, c, mask, base, 0xea;
    lop3.b32 $3, d, mask, base, 0xea;
    sub.rn.bf16x2 $0, $0, base;
    sub.rn.bf16x2 $1, $1, base;
    sub.rn.bf16x2 $2, $2, base;
    sub.rn.bf16x2 $3, $3, base;
    shl.b32 a, a, 8;
    shl.b32 b, b, 8;
    shl.b32 c, c, 8;
    shl.b32 d, d, 8;
    lop3.b32 $0, a, sign, $0, 0x6a;         // (a & sign) ^ $0
    lop3.b32 $1, b, sign, $1, 0x6a;
    lop3.b32 $2, c, sign, $2, 0x6a;
    lop3.b32 $3, d, sign, $3, 0x6a;
}""")

# e4m3 has the fields of bfloat16, four bits further left, and another exponent of 1:
# the numbers are too small by a factor of 2^120.
E4M3 = tl.constexpr("""{
    .reg .b32 a, b, c, d, mask, sign, power;
    mov.b32 mask, 0x07f007f0;
    mov.b32 sign, 0x80008000;
    mov.b32 power, 0x7b807b80;              // 2^120, twice
    prmt.b32 a, $4, $5, 0x4000;             // byte 0 of a and of b, as upper bytes
    prmt.b32 b, $4, $5, 0x5010;
    prmt.b32 c, $4, $5, 0x6020;
    prmt.b32 d, $4, $5, 0x7030;
    shr.u32 $0, a, 4;
    shr.u32 $1, b, 4;
    shr.u32 $2, c, 4;
    shr.u32 $3, d, 4;
    and.b32 $0, $0, mask;
    and.b32 $1, $1, mask;
    and.b32 $2, $2, mask;
    and.b32 $3, $3, mask;
    lop3.b32 $0, a, sign, $0, 0xea;
    lop3.b32 $1, b, sign, $1, 0xea;
    lop3.b32 $2, c, sign, $2, 0xea;
    lop3.b32 $3, d, sign, $3, 0xea;
    mul.rn.bf16x2 $0, $0, power;
    mul.rn.bf16x2 $1, $1, power;
    mul.rn.bf16x2 $2, $2, power;
    mul.rn.bf16x2 $3, $3, power;
}""")


@triton.jit
def decoded(words, KIND: tl.constexpr):
    """Return the numbers of words as tiles of bfloat16: 8 of int4, or 4 of 8 bits."""
    if KIND == "int4":
        numbers = tl.inline_asm_elementwise(
            INT4,
            "=&r,=&r,=&r,=&r,=&r,=&r,=&r,=&r,r,r",
            [words],
            dtype=(tl.bfloat16,) * 8,
            is_pure=True,
            pack=2,
        )
    else:
        numbers = tl.inline_asm_elementwise(
            INT8 if KIND == "int8" else E4M3,
            "=&r,=&r,=&r,=&r,r,r",
            [words],
            dtype=(tl.bfloat16,) * 4,
            is_pure=True,
            pack=2,
        )
    return numbers


# end: codes
