"""The measurements of chapter 15. Each function times, and returns a table.

On a GPU, importing this module allocates 3 GiB. Without one, the tables show what the
reference GPU measured.
"""

import functools

import numpy as np
from numba import cuda

import weft
from weft import bench

from . import learner
from .compaction import count_fours, keep_fours, keep_rounds
from .kernels import (
    BLOCK,
    ITEMS,
    TILE,
    WIDE,
    add_ends,
    copy_kernel,
    count_positive,
    last_of_tiles,
    reset,
    scan_shuffled,
    scan_tree_padded,
    sum_tiles,
)
from .rounds import (
    CELLS,
    once_alone,
    once_eight,
    once_near,
    once_sixteen,
    one_round,
    two_rounds,
)

WIDER = 1024
N = 1 << 28
if weft.GPU:
    import torch

    x = torch.rand(N, device="cuda") - 0.5
    out, same = torch.empty_like(x), torch.empty_like(x)
    d_x, d_out, d_same = map(cuda.as_cuda_array, (x, out, same))


def libraries():
    return {
        "copy": lambda: same.copy_(x),
        "torch.cumsum": lambda: torch.cumsum(x, 0, out=same),
    }


def ceilings(guess=None):
    """Copy 2^28 float32, and scan them with PyTorch."""
    return bench.compare(
        "libraries, 2^28 float32",
        libraries,
        baseline="torch.cumsum",
        bytes=8 * N,
        ceiling="copy",
        guess=guess,
    )


def blocks(scan_steps, scan_tree, scan_tiles, guess=None):
    """Let each block scan its own elements, in four ways."""

    def inside():
        each = N // BLOCK, BLOCK
        four = N // (4 * BLOCK), BLOCK
        zeros = cuda.as_cuda_array(torch.zeros(four[0], device="cuda"))
        return {
            "copy": lambda: same.copy_(x),
            "steps": lambda: scan_steps[each](d_x, d_out),
            "tree": lambda: scan_tree[each](d_x, d_out),
            "warps": lambda: scan_shuffled[each](d_x, d_out),
            "fours": lambda: scan_tiles[four](d_x, zeros, d_out),
            "copy kernel": lambda: copy_kernel[each](d_x, d_out),
        }

    return bench.compare(
        "2^28 float32, each block its own",
        inside,
        baseline="steps",
        bytes=8 * N,
        ceiling="copy",
        guess=guess,
    )


def trees_padded(scan_steps, scan_tree):
    """Do the same in a tree with padded cells."""

    def trees():
        each = N // BLOCK, BLOCK
        return {
            "steps": lambda: scan_steps[each](d_x, d_out),
            "tree": lambda: scan_tree[each](d_x, d_out),
            "tree, padded": lambda: scan_tree_padded[each](d_x, d_same),
        }

    return bench.compare(
        "2^28 float32, the tree padded", trees, baseline="tree", bytes=8 * N
    )


def several():
    tiles = N // TILE
    few = tiles // TILE
    zeros, sums, ends, top, top_ends = (
        cuda.as_cuda_array(torch.zeros(size, device="cuda"))
        for size in (tiles, tiles, tiles, TILE, TILE)
    )

    def scan_sums():
        sum_tiles[few, WIDE](sums, top)
        learner.scan_tiles[1, WIDE](top, zeros, top_ends)
        learner.scan_tiles[few, WIDE](sums, top_ends, ends)

    def add_up_then_scan():
        sum_tiles[tiles, WIDE](d_x, sums)
        scan_sums()
        learner.scan_tiles[tiles, WIDE](d_x, ends, d_out)

    def scan_then_add():
        learner.scan_tiles[tiles, WIDE](d_x, zeros, d_out)
        last_of_tiles[tiles // 256, 256](d_out, sums)
        scan_sums()
        add_ends[tiles, WIDE](ends, d_out)

    return {
        "scan, then add": scan_then_add,
        "add up, then scan": add_up_then_scan,
    }


def launches(guess=None):
    """Scan a whole array in several launches."""
    return bench.compare(
        "2^28 float32, several launches",
        lambda: libraries() | several(),
        baseline="torch.cumsum",
        bytes=8 * N,
        ceiling="copy",
        guess=guess,
    )


def selections():
    mask = x > 0
    most = N // 4 * 3
    return {
        "copy": lambda: same[:most].copy_(x[:most]),
        "torch.masked_select": lambda: torch.masked_select(x, mask),
        "torch, x[mask]": lambda: x[mask],
        "torch, x[x > 0]": lambda: x[x > 0],
    }


def three_kernels(
    count=count_positive, keep=learner.keep_positive, items=1, block=WIDER
):
    grid = N // (items * block), block
    found = torch.empty(grid[0], dtype=torch.int32, device="cuda")
    upto = torch.empty_like(found)
    d_found, d_upto = map(cuda.as_cuda_array, (found, upto))

    def run():
        count[grid](d_x, d_found)
        torch.cumsum(found, 0, dtype=torch.int32, out=upto)
        keep[grid](d_x, d_upto, d_out)

    return run


def kept(guess=None):
    """Keep what is positive, about half."""
    return bench.compare(
        "2^28 float32, keep half",
        lambda: selections() | {"three kernels": three_kernels()},
        baseline="torch.masked_select",
        bytes=6 * N,
        ceiling="copy",
        guess=guess,
    )


def in_one_pass(kernel, items=ITEMS, block=512, blocks=None, args=()):
    """Return a function that scans x with kernel, from a fresh start."""
    tiles = N // (items * block)
    words = cuda.device_array(32 + tiles, np.uint64)
    ticket = cuda.device_array(1, np.int32)
    grid = blocks or tiles, block

    def run():
        reset[-(-words.size // 256), 256](words, ticket)
        kernel[grid](d_x, d_out, words, ticket, *args)

    return run


def passes(scan_once, guess=None):
    """Scan a whole array in one pass, and in several launches."""
    return bench.compare(
        "2^28 float32",
        lambda: libraries() | several() | {"one pass": in_one_pass(scan_once)},
        baseline="torch.cumsum",
        bytes=8 * N,
        ceiling="copy",
        guess=guess,
    )


def without(scan_once):
    """Scan in one pass, with one idea less or more."""
    return bench.compare(
        "one pass, other ideas",
        lambda: {
            "copy": lambda: same.copy_(x),
            "one pass": in_one_pass(scan_once),
            "one lane looks": in_one_pass(once_alone),
            "neighbours": in_one_pass(once_near),
            "eight fours": in_one_pass(once_eight, items=32, block=256),
            "sixteen fours": in_one_pass(once_sixteen, items=64, block=128),
        },
        baseline="one pass",
        bytes=8 * N,
        ceiling="copy",
    )


def in_rounds(kernel, more=()):
    """Return a function that runs kernel with more blocks than fit.

    Those that start when all tiles are taken end at once.
    """
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    args = N // CELLS, *more
    return in_one_pass(kernel, block=256, args=args, blocks=6 * sms)


def rounds(scan_once):
    """Scan in every way: the whole ladder."""
    return bench.compare(
        "2^28 float32, the ladder",
        lambda: (
            libraries()
            | several()
            | {
                "one pass": in_one_pass(scan_once),
                "sixteen fours": in_one_pass(once_sixteen, items=64, block=128),
                "one round later": in_rounds(one_round),
                "two rounds later": in_rounds(two_rounds),
            }
        ),
        baseline="torch.cumsum",
        bytes=8 * N,
        ceiling="copy",
    )


def keeping():
    """Return a function that keeps what is positive, and where it counts."""
    count = torch.zeros(1, dtype=torch.int32, device="cuda")
    return in_rounds(keep_rounds, (cuda.as_cuda_array(count),)), count


def kept_again():
    """Keep what is positive in every way."""
    return bench.compare(
        "2^28 float32, keep half, the ladder",
        lambda: (
            selections()
            | {
                "three kernels": three_kernels(),
                "the same, fours": three_kernels(count_fours, keep_fours, 4, 256),
                "two rounds later": keeping()[0],
            }
        ),
        baseline="torch.masked_select",
        bytes=6 * N,
        ceiling="copy",
    )


@functools.cache
def exact_sums():
    """Return the running sums of x in float64."""
    return torch.cumsum(x.double(), 0)


def error(launch):
    """Return the largest error of a scan, relative to the largest sum."""
    exact = exact_sums()
    out.fill_(float("nan"))
    launch()
    return float((out - exact).abs().max() / exact.abs().max())


def torch_sums():
    """Scan x into out with PyTorch."""
    torch.cumsum(x, 0, out=out)


def different(launch, times=20):
    """Return how many different results a scan into out has."""
    seen = set()
    for _ in range(times):
        launch()
        seen.add(int(out.view(torch.int32).sum(dtype=torch.int64)))
    return len(seen)


def padding_changes_sums(scan_tree):
    """Return whether the padded tree gives other sums than the learner's."""
    each = N // BLOCK, BLOCK
    scan_tree[each](d_x, d_out)
    scan_tree_padded[each](d_x, d_same)
    return not torch.equal(out, same)


def kept_is_right():
    """Return whether out begins with the positive elements of x, in order."""
    right = x[x > 0]
    return torch.equal(out[: right.numel()], right)
