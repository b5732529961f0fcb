"""The shapes that chapter 16 measures, with their data, and PyTorch's compiler."""

import itertools
import logging
import math
import time
import warnings

from numba import cuda

import weft

SHAPES = [
    (4096, 1024),
    (4096, 4096),
    (8192, 8192),
    (16384, 16384),
    (32768, 1024),
    (1024, 131072),
    (128, 262144),
]
HALF = weft.device.find().capability >= (8, 0)
PATIENCE = {"forward": 90, "backward": 60}  # s of compiling
spent = {"forward": 0.0, "backward": 0.0}
order = (2, 13, 0, 5, 10, 8, 6, 7, 3, 12, 1, 9, 4, 11)  # all kinds first
table_order = [(*shape, half) for half in (False, True) for shape in SHAPES]
cases = [table_order[k] for k in order]


def tuned(what, function, *args):
    """Return what torch.compile makes of function, while there is patience."""
    if spent[what] > PATIENCE[what]:
        return []
    import torch

    begun = time.perf_counter()
    torch._logging.set_logs(all=logging.ERROR)
    torch._dynamo.reset()  # or it keeps count of shapes, and gives up at eight
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = torch.compile(
            function, mode="max-autotune-no-cudagraphs", dynamic=False
        )
        compiled(*args)
    torch.cuda.synchronize()
    spent[what] += time.perf_counter() - begun
    print(f"compiled {tuple(args[0].shape)}: {spent[what]:.1f} s")
    return [("torch.compile", compiled)]


def as_words(tensor):
    """Return a tensor as Numba's kernels see it."""
    import torch

    if tensor.dtype == torch.bfloat16:
        tensor = tensor.view(torch.int32)
    return cuda.as_cuda_array(tensor)


def taking_turns(sets, call):
    """Return a function that calls with another of the sets each time.

    What it returns is kept until its turn comes again: outputs take turns too.
    """
    turn, kept = itertools.cycle(range(len(sets))), {}

    def once():
        k = next(turn)
        kept[k] = call(*sets[k])

    return once


def is_short(case, arrays):
    """Whether a copy of so many arrays takes less than about 50 µs."""
    rows, cols, half = case
    return arrays * rows * cols * (2 if half else 4) < 200e6


def sets_of(case, arrays, make):
    """Return as many sets of arrays as fill the L2 cache several times."""
    rows, cols, half = case
    size = arrays * rows * cols * (2 if half else 4)
    count = -(-400_000_000 // size) if is_short(case, arrays) else 1
    return [make() for _ in range(count)]


def name_of(rows, cols, half):
    return f"{rows} x {cols} {'bfloat16' if half else 'float32'}"


def fits(rows, cols, half):
    """Whether the GPU has this type, and memory enough; true without a GPU."""
    if not weft.GPU:
        return True
    import torch

    need = 8 * max(rows * cols * (2 if half else 4), 5e7)
    return (HALF or not half) and need < torch.cuda.mem_get_info()[1]


def overview(tables, torch_name):
    """Print a line for each shape: the family and the others."""
    heads = f"{'copy':>11}{'of copy':>9}{'x PyTorch':>11}{'x compile':>11}"
    print(f"{'':24}{heads}")
    for case in table_order:
        table = tables.get(case, ())
        if not len(table):
            continue
        ms = {row.name: row.ms for row in table}
        ours = ms["family"]
        compiled = ms.get("torch.compile", math.nan) / ours
        print(
            f"{name_of(*case):24}{ms['copy'] * 1000:8.1f} µs"
            f"{ms['copy'] / ours:9.1%}{ms[torch_name] / ours:11.2f}"
            + (f"{compiled:11.2f}" if compiled == compiled else "")
        )
