"""The codes and scales that the recordings of low precision multiply."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

FOLDER = Path(__file__).parents[1] / "book" / "recordings" / "25_low_precision"
E4M3, INT8 = torch.float8_e4m3fn, torch.int8


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"low_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


formats = loaded("formats")
PTX = {
    name.lower(): text
    for name, text in re.findall(
        r'^(\w+) = tl\.constexpr\("""(.*?)"""\)',
        (FOLDER / "kernels.py").read_text(encoding="utf8"),
        re.DOTALL | re.MULTILINE,
    )
}


@pytest.mark.parametrize("kind", [E4M3, torch.float8_e5m2, INT8])
@pytest.mark.parametrize("block", [(0, 0), (1, 0), (0, 1), (1, 128), (128, 128)])
def test_the_largest_magnitude_of_a_block_has_the_largest_code(kind, block) -> None:
    x = formats.activations(256, 512, columns=40)
    codes, scales = formats.quantise(x, kind, block)
    tall, wide = block[0] or 256, block[1] or 512
    assert scales.shape == (256 // tall, 512 // wide)
    tiles = codes.double().abs().view(256 // tall, tall, 512 // wide, wide)
    assert (tiles.amax((1, 3)) == formats.LARGEST[kind]).all()
    steps = 2 * scales.max() if kind == INT8 else x.double().abs().amax() / 4
    assert (formats.decoded(codes, scales) - x.double()).abs().max() < steps


def test_zeros_stay_zeros() -> None:
    x = torch.zeros(2, 256)
    x[1, 3] = -2
    codes, scales = formats.quantise(x, INT8, formats.GROUP)
    assert scales.tolist() == [[1, 1], [pytest.approx(2 / 127), 1]]
    assert formats.decoded(codes, scales)[1, 3].item() == pytest.approx(-2)
    assert torch.equal(codes.bool(), x.bool())


def test_a_byte_has_the_elements_j_and_j_plus_half_a_group() -> None:
    w = formats.weights(4, 256)
    both, scales = formats.packed(w)
    codes, same = formats.quantise(w, INT8, formats.GROUP, 7)
    assert torch.equal(scales, same)
    low, high = (both & 15).to(INT8) - 8, (both >> 4).to(INT8) - 8
    for group in range(2):
        first, bytes_of = 128 * group, slice(64 * group, 64 * group + 64)
        assert torch.equal(low[:, bytes_of], codes[:, first : first + 64])
        assert torch.equal(high[:, bytes_of], codes[:, first + 64 : first + 128])


def test_the_two_largest_of_four_are_kept() -> None:
    w = torch.tensor([[1.0, -4, 3, 2, 0, 0, -1, 5]])
    assert formats.pruned(w).tolist() == [[0, -4, 3, 0, 0, 0, -1, 5]]


def test_an_error_is_that_of_every_row() -> None:
    wanted = torch.tensor([[1e6, -1e6], [1.0, -1]]).double()
    got = wanted * torch.tensor([[1.0], [1.1]])
    assert formats.error(got, wanted) == pytest.approx(10 / 2**0.5)


# What the pieces of PTX in kernels.py make of words, by an interpreter of their
# instructions.


def prmt(a: int, b: int, selector: int) -> int:
    """Each four bits of the selector pick one of eight bytes."""
    both = a.to_bytes(4, "little") + b.to_bytes(4, "little")
    picked = bytes(both[selector >> 4 * i & 7] for i in range(4))
    return int.from_bytes(picked, "little")


def lop3(a: int, b: int, c: int, table: int) -> int:
    """Each bit of the result is the table's bit at the place of three bits."""
    bits = zip(*(f"{x:032b}" for x in (a, b, c)), strict=True)
    return int("".join(str(table >> int("".join(three), 2) & 1) for three in bits), 2)


def halves(word: int) -> torch.Tensor:
    """Return the two bfloat16 of a register, the lower first."""
    parts = torch.tensor([word & 0xFFFF, word >> 16], dtype=torch.int32)
    return parts.to(torch.int16).view(torch.bfloat16)


def register(two: torch.Tensor) -> int:
    low, high = (int(x) & 0xFFFF for x in two.view(torch.int16))
    return high << 16 | low


OPERATIONS = {
    "mov.b32": lambda a: a,
    "prmt.b32": prmt,
    "lop3.b32": lop3,
    "and.b32": lambda a, b: a & b,
    "shr.u32": lambda a, by: a >> by,
    "shl.b32": lambda a, by: a << by & 0xFFFFFFFF,
    "sub.rn.bf16x2": lambda a, b: register(halves(a) - halves(b)),
    "mul.rn.bf16x2": lambda a, b: register(halves(a) * halves(b)),
}


def numbers_of(text: str, results: int, words: tuple[int, int]) -> list[torch.Tensor]:
    """Run a piece of PTX on two words; return the two numbers of each result."""
    held = {f"${results}": words[0], f"${results + 1}": words[1]}
    for line in re.sub(r"//.*", "", text).strip("{}").split(";"):
        name, *arguments = line.replace(",", " ").split() or [".reg"]
        if name == ".reg":
            continue
        to, *given = arguments
        values = [held[x] if x in held else int(x, 0) for x in given]
        held[to] = OPERATIONS[name](*values)
    return [halves(held[f"${i}"]) for i in range(results)]


@pytest.mark.parametrize(
    ("kind", "results"),
    [("int4", 8), ("int8", 4), ("e4m3", 4)],
    ids="int4 int8 e4m3".split(),
)
def test_words_become_the_numbers_that_were_encoded(kind: str, results: int) -> None:
    torch.manual_seed(0)
    most = {"int4": 7, "int8": 127, "e4m3": 448}[kind]
    w = torch.randint(-most, most + 1, (2, 256)).float()
    if kind == "e4m3":
        w = torch.randn(2, 256) * torch.exp2(torch.randint(-12, 8, (2, 256)))
        w[:, 5] = 2.0**-9  # the smallest
    w[:, ::128] = most  # so that all scales are 1
    words, scales = formats.words(w, kind)
    assert (scales == 1).all()
    wanted = w.to(E4M3).float() if kind == "e4m3" else w
    tile = 128 // results
    for row, group, j in ((0, 0, 0), (1, 1, 2), (0, 1, tile - 2)):
        two = words[row, group * tile + j : group * tile + j + 2].tolist()
        first, second = (word & 0xFFFFFFFF for word in two)
        got = numbers_of(PTX[kind], results, (first, second))
        for i, pair in enumerate(got):
            at = group * 128 + i * tile + j
            assert pair.tolist() == wanted[row, at : at + 2].tolist(), (kind, i)


def test_the_table_of_errors_is_that_of_the_program() -> None:
    errors = loaded("errors")
    recorded = (FOLDER / "errors.txt").read_text(encoding="utf8")
    names = [line[:30].strip() for line in recorded.splitlines() if line[:30].strip()]
    assert all(name in names for name in errors.BOTH)
    *_, last = errors.of_weights()
    found = float(last.split()[-1])
    wanted = float(recorded.splitlines()[-1].split()[-1])
    assert found == pytest.approx(wanted, rel=0.02)


@pytest.mark.parametrize("sizes", [(1, 2, 2, 1), (13, 1, 4, 2)], ids=str)
def test_fragments_of_codes_give_the_product_of_the_decoded_weights(sizes) -> None:
    import weft  # noqa: F401, I001  before Numba
    import numpy as np

    sys.path.insert(0, str(FOLDER))
    fragments = loaded("fragments")
    m, tiles, warps, eights = sizes
    n, k = 64, 512
    torch.manual_seed(0)
    w, x = formats.weights(n, k), torch.randn(m, k).bfloat16()
    y = torch.zeros(m, n // 2, dtype=torch.int32)
    words, scales = fragments.packed(w)
    made = fragments.made(tiles, warps, eights)
    on = (z.numpy() for z in (words, x.view(torch.int32), scales, y))
    blocks = n // fragments.ROWS // tiles
    made.kernel[blocks, made.threads](*on, m, k, np.uint32(fragments.MASK))
    wanted = x.double() @ formats.rounded(w, INT8, formats.GROUP, 7).t()
    assert formats.error(y.view(torch.bfloat16), wanted) < 0.3
