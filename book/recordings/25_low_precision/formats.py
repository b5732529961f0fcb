"""Number formats with scales, in PyTorch: on a CPU as on a GPU.

A block is the shape of the part of a matrix that shares a scale: (1, 128) is 128
neighbours along a row, and a side of 0 is the whole matrix along it. A number is its
code times its scale.
"""

from typing import Any

import torch

LARGEST = {torch.float8_e4m3fn: 448, torch.float8_e5m2: 57344, torch.int8: 127}
Block = tuple[int, int]
TENSOR, ROW, COLUMN, GROUP, SQUARE = (0, 0), (1, 0), (0, 1), (1, 128), (128, 128)


def quantise(
    x: Any, kind: torch.dtype, block: Block, largest: float | None = None
) -> tuple[Any, Any]:
    """Return the codes of a matrix (m, k), and one scale for each of its blocks.

    largest: the code of the largest magnitude of a block, by default the format's.
    """
    (m, k), most = x.shape, largest or LARGEST[kind]
    tall, wide = block[0] or m, block[1] or k
    tiles = x.float().view(m // tall, tall, k // wide, wide)
    amax = tiles.abs().amax((1, 3), keepdim=True)
    scales = torch.where(amax > 0, amax / most, 1.0)
    codes = tiles / scales
    if not kind.is_floating_point:
        codes = codes.round()
    return codes.view(m, k).to(kind), scales.view(m // tall, k // wide)


def decoded(codes: Any, scales: Any) -> Any:
    """Return the numbers that codes and scales stand for, in float64."""
    (m, k), (down, across) = codes.shape, scales.shape
    tiles = codes.double().view(down, m // down, across, k // across)
    return (tiles * scales.double().view(down, 1, across, 1)).view(m, k)


def rounded(
    x: Any, kind: torch.dtype, block: Block, largest: float | None = None
) -> Any:
    """Return a matrix as its codes and scales give it back, in float64."""
    return decoded(*quantise(x, kind, block, largest))


def packed(w: Any, group: int = 128) -> tuple[Any, Any]:
    """Return weights (n, k) as int4: two codes per byte, and a scale per group.

    Byte j of a group has the codes of the group's elements j and j + group / 2 in its
    lower and upper half. Each half is a code from -7 to 7, plus 8.
    """
    n, k = w.shape
    codes, scales = quantise(w, torch.int8, (1, group), 7)
    low, high = (codes + 8).view(n, k // group, 2, group // 2).unbind(2)
    both = (low | (high << 4)).view(torch.uint8)
    return both.view(n, k // 2).contiguous(), scales


def words(w: Any, kind: str) -> tuple[Any, Any]:
    """Return weights (n, k) as words of 32 bits, and their scales.

    kind: "int4" with scales (k / 128, n), or "int8" or "e4m3" with scales (n,). Of 128
    neighbours, the first 32 (of int4: 16) have the lowest bits of 32 words, the next 32
    the bits above them. A code of int4 is stored plus 8, one of int8 as a sign and a
    magnitude.
    """
    n, k = w.shape
    if kind == "int4":
        codes, scales = quantise(w, torch.int8, GROUP, 7)
        fields, scales = codes + 8, scales.t().contiguous()
    else:
        of = torch.int8 if kind == "int8" else torch.float8_e4m3fn
        codes, scales = quantise(w, of, ROW)
        fields, scales = codes.view(torch.uint8), scales.view(-1)
        if kind == "int8":
            fields = codes.abs().view(torch.uint8) | (codes < 0).byte() << 7
    tiles = 8 if kind == "int4" else 4
    parts = fields.view(n, k // 128, tiles, 128 // tiles).unbind(2)
    whole = torch.zeros_like(parts[0], dtype=torch.int64)
    for i, part in enumerate(parts):
        whole |= part.long() << (i * 32 // tiles)
    return whole.view(n, -1).to(torch.int32), scales


def pruned(w: Any) -> Any:
    """Return weights with the two smallest of every four neighbours set to 0."""
    fours = w.view(-1, 4)
    kept = fours.abs().topk(2, dim=1).indices
    mask = torch.zeros_like(fours, dtype=torch.bool).scatter_(1, kept, True)
    return (fours * mask).view(w.shape)


def error(got: Any, wanted: Any) -> float:
    """Return the error in %: that of each row beside its own size, then their mean.

    Both are root mean squares, so a row of small numbers counts as much as any other.
    """
    far = (got.double() - wanted).square().mean(1) / wanted.square().mean(1)
    return 100 * float(far.mean().sqrt())


def activations(
    m: int, k: int, columns: float = 1, rows: float = 16, device: str = "cpu"
) -> Any:
    """Return activations (m, k), bfloat16.

    Three of each 1024 columns are larger by a factor of `columns`, and rows differ in
    size by factors of up to `rows`.
    """
    made = torch.Generator(device).manual_seed(25)
    x = torch.randn(m, k, generator=made, device=device)
    x *= rows ** torch.rand(m, 1, generator=made, device=device)
    for first in (100, 500, 900):
        x[:, first::1024] *= columns
    return x.bfloat16()


def weights(n: int, k: int, device: str = "cpu") -> Any:
    """Return normally distributed weights (n, k), bfloat16."""
    made = torch.Generator(device).manual_seed(26)
    return torch.randn(n, k, generator=made, device=device).bfloat16()
