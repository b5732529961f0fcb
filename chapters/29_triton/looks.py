"""What lab 29 prints: instructions, layouts, and bytes that orders of tiles need."""

from textwrap import shorten

import torch

from weft.triton_programs import machine_code

from . import programs
from .checks import order
from .programs import TILES

INTERESTING = (
    *("cp.async.cg", "cp.async.wait", "ldmatrix", "mma.sync", "wgmma.mma"),
    *("ld.global", "st.global", "bar.sync"),
)


def product_code(size, program, **options):
    """Compile a product of bfloat16 matrices of this size."""
    matrix = torch.empty(size, size, dtype=torch.bfloat16, device="meta")
    return machine_code(program, *[matrix] * 3, *[size] * 3, **options)


def instructions(matmul):
    """Print the instructions of a product, for two generations of GPUs."""
    for capability in ((8, 0), (9, 0)):
        options = {"capability": capability, "num_stages": 3} | TILES
        code = product_code(8192, matmul, **options)
        print(f"capability {capability}, {code.shared:,} bytes of shared memory")
        for name, number in code.count(*INTERESTING).items():
            print(f"  {number:5} {name[:60]}")


def chosen_layouts(matmul):
    """Print the layouts that the compiler chose for a product."""
    code = product_code(8192, matmul, num_stages=3, **TILES)
    for line in code.layouts.splitlines():
        if line.startswith("#") and "ttg." in line:
            print(line)
        if any(word in line for word in ("local_alloc", "async_wait", "group_dot")):
            print(
                "  ", shorten(line.partition(" loc(")[0].strip(), 96, placeholder=" …")
            )


def odd_size(matmul):
    """Print the instructions of a product of 8190."""
    code = product_code(8190, matmul, num_stages=3, **TILES)
    print(f"{code.shared:,} bytes of shared memory", code.count(*INTERESTING))


def grouped():
    """Print the instructions of the product in grouped order."""
    options = {"GROUP": 8, "num_stages": 3} | TILES
    code = product_code(8192, programs.matmul_grouped, **options)
    print(f"{code.shared:,} bytes of shared memory", code.count(*INTERESTING))


def needed(tiles, size):
    """Return the bytes of a and b that these tiles of 128 x 256 need at least once."""
    rows, cols = ({tile[axis] for tile in tiles} for axis in (0, 1))
    return (len(rows) * 128 + len(cols) * 256) * size * 2


def bytes_by_group(group_guess):
    """Print what the first wave of a product needs, for groups of several sizes."""
    for group in (1, 2, 4, 8, 16, 32, 64):
        megabytes = needed(order(64, 32, group)[:132], 8192) / 1e6
        guessed = group_guess.get(group) or ""
        print(f"group {group:2}: {megabytes:4.0f} MB   {guessed}")


def rates_by_order(table):
    """Print what a wave needs from memory to be as fast as `grouped` of the table."""
    if not len(table):
        return
    wave = table["grouped"].ms / 1e3 / 63
    print(f"a wave takes {wave * 1e6:.0f} µs")
    scattered = [order(128, 64, 1)[613 * k % 8192] for k in range(132)]
    for name, first in {
        "row by row": order(128, 64, 1)[:132],
        "grouped": order(128, 64, 8)[:132],
        "scattered": scattered,
    }.items():
        least = needed(first, 16384)
        rate = least / wave / 1e12
        print(f"{name:10}  {least / 1e6:4.0f} MB, {rate:.1f} TB/s")
