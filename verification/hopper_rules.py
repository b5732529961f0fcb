"""Compare the simulator's rules for the TMA and wgmma with a GPU of capability 9.0.

    python -m verification.hopper_rules --compile          # here: for sm_90a, no GPU
    python -m verification.hopper_rules verification       # on an H100 or H200
    python -m verification.hopper_rules --clusters verification

Right kernels have to give right results there, byte by byte: where each swizzle puts
the data, what is outside a matrix, where a descriptor looks. Wrong kernels are run many
times, each in its own process, since some end their CUDA context. A wrong kernel may
give right results on a GPU: nothing promises them, but ptxas adds a missing
`wgmma_fence`, or a wait before registers are read, if it sees the need.
`hopper_rules.<gpu>.json`, beside this file, has for each kernel how often it went
wrong, or its error. Kernels with several blocks in a cluster have rules of their own,
recorded in `cluster_rules.<gpu>.json`.
"""

import argparse
import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
HERE = Path(__file__).parent
AT_ONCE = 14  # processes; most of their time goes into compiling
TIMES = 200  # runs of each kernel
Change = tuple[str, str]

RELEASE = "            if t == 0:\n                mbarrier_arrive(empty, stage)\n"
FULL = "            mbarrier_wait(full, stage, phase)\n"
LANDED = "            wgmma_wait(0)\n"
LOOP = (
    "            for p in range(4):\n"
    "                wgmma_bf16(acc, 64, left + 2 * p, right + 2 * p, k + p)\n"
)
# as ptxas lets a product in a loop wait for the one before, these are unrolled
LOOPS = 8
BUSY = (
    LOOP,
    "".join(
        f"            wgmma_bf16(acc, 64, left + {p % 4 * 2}, "
        f"right + {p % 4 * 2}, k + {p})\n"
        for p in range(4 * LOOPS)
    ),
)
CLEAR = "    for i in range(t, NBYTES, 64):\n        tile[i] = uint8(0)\n"
FENCED = "    fence_async()\n    cuda.syncthreads()\n    if t == 0:\n"


@dataclass(frozen=True)
class Box:
    """The box that LOAD or STORE moves; shape and corner in rows and columns.

    stacked: whether the box belongs to matrix `plane` of a stack.
    """

    swizzle: int = 128
    shape: tuple[int, int] = (12, 64)
    corner: tuple[int, int] = (0, 0)
    kind: str = "int16"
    stacked: bool = False
    plane: int = 1


@dataclass(frozen=True)
class Rule:
    """One kernel: the name of its source, the changes, and what a GPU should do.

    expects: "right" or "wrong" for the results, "error" for the launch, or "either" if
    nothing promises what a GPU does. box: for LOAD and STORE. swizzle: of PRODUCT's
    tiles.
    """

    kernel: str
    changes: tuple[Change, ...] = ()
    expects: str = "either"
    box: Box = Box()
    swizzle: int = 128


SWIZZLES = {128: (12, 64), 64: (20, 32), 32: (18, 16), 0: (9, 24)}
CORNERS = (0, 0), (3, 24), (14, 128), (-3, 0), (2, -8), (30, 0), (-40, 0)
LOAD_LINE = "tma_load(tile, 0, map_x, col, row, bars, 0)"
STORE_LINE = "tma_store(map_y, col, row, tile, 0)"
EXPECT = "mbarrier_arrive_expect_tx(bars, 0, NBYTES)"
LARGE = Box(shape=(128, 128), kind="uint8")
# of each matrix that boxes come from or go to; the pitch counts elements
ROWS, COLUMNS, PITCH = 21, 150, 160
PLANES = 3


def of_stack(plane: int) -> dict[str, tuple[Change, ...]]:
    """Return the changes by which LOAD and STORE move a box of a stack's matrix."""
    load = f"tma_load_plane(tile, 0, map_x, col, row, {plane}, bars, 0)"
    store = f"tma_store_plane(map_y, col, row, {plane}, tile, 0)"
    return {"LOAD": ((LOAD_LINE, load),), "STORE": ((STORE_LINE, store),)}


OF_STACK = of_stack(1)
SIZES = {"uint8": 1, "int16": 2, "float32": 4}
UNALIGNED, ALIGNED = (4, 8, -8), (16, -16)  # bytes at which a box's first column begins
OUTSIDE = {"below": (30, 4), "right": (0, 155), "left": (0, -68)}
FAR = (1, -64), (1, 160), (-2, -8), (-12, 0), (-1, 0)


def _columns() -> Iterator[tuple[str, Rule]]:
    """Yield rules on boxes with columns at a multiple of 16 bytes, and others."""
    for call, (kind, size) in itertools.product(OF_STACK, SIZES.items()):
        maps = [(swizzle, False) for swizzle in SWIZZLES] + [(128, True)]
        for (swizzle, stacked), at in itertools.product(maps, UNALIGNED + ALIGNED):
            shape = 8, (swizzle or 48) // size
            box = Box(swizzle, shape, (1, at // size), kind, stacked)
            whose = "a stack" if stacked else f"swizzle {swizzle}"
            yield (
                f"{call.lower()} of {kind}, {whose}, from column {at // size}",
                Rule(
                    call,
                    OF_STACK[call] if stacked else (),
                    "right" if at == 16 or (at, call) == (-16, "LOAD") else "error",
                    box,
                ),
            )
    for call, (side, corner) in itertools.product(OF_STACK, OUTSIDE.items()):
        name = f"{call.lower()}, {side} of the matrix, from column {corner[1]}"
        yield name, Rule(call, (), "error", Box(corner=corner))
    for size in (1, 2):
        corner, kind = (0, 1), {1: "uint8", 2: "int16"}[size]
        box = Box(128, (8, 128 // size), corner, kind)
        name = f"store of {kind}, swizzle 128, from column 1"
        yield name, Rule("STORE", (), "error", box)
    for swizzle, shape in SWIZZLES.items():
        for corner in CORNERS:
            box = Box(swizzle, shape, corner)
            # The matrix ends inside a piece of 16 bytes. It is not known what a store
            # does there, or why an H200 does not do what was expected.
            ends = corner[1] < COLUMNS < corner[1] + shape[1]
            expects = "either" if ends else _stored(*corner)
            yield (
                f"store, swizzle {swizzle}, from {corner}",
                Rule("STORE", (), expects, box),
            )
    for call, corner in itertools.product(OF_STACK, FAR):
        expects = "right" if call == "LOAD" else _stored(*corner)
        yield (
            f"{call.lower()}, from {corner}",
            Rule(call, (), expects, Box(corner=corner)),
        )
    for call, plane in itertools.product(OF_STACK, (-1, PLANES)):
        box = Box(stacked=True, plane=plane)
        name = f"{call.lower()}, matrix {plane} of {PLANES}"
        expects = "right" if call == "LOAD" else _stored(plane)
        yield name, Rule(call, of_stack(plane)[call], expects, box)
    for call in OF_STACK:
        box = Box(corner=(-3, 0), stacked=True)
        yield (
            f"{call.lower()}, a stack, from row -3",
            Rule(call, OF_STACK[call], "right" if call == "LOAD" else "error", box),
        )


def _stored(*corner: int) -> str:
    """Return what to expect of a store: no axis of its box may begin below 0."""
    return "error" if min(corner) < 0 else "right"


RULES: dict[str, Rule] = {
    **{
        f"load, swizzle {swizzle}, from {corner}": Rule(
            "LOAD", (), "right", Box(swizzle, shape, corner)
        )
        for swizzle, shape in SWIZZLES.items()
        for corner in CORNERS
    },
    **{
        f"load, swizzle {swizzle}, from column {column}": Rule(
            "LOAD", (), "error", Box(swizzle, SWIZZLES[swizzle], (3, column))
        )
        for swizzle in (128, 0)
        for column in (1, 3, 4, 12)
    },
    **dict(_columns()),
    "load, rows shorter than the swizzle": Rule(
        "LOAD", (), "either", Box(128, (16, 32))
    ),
    "load without a wait": Rule(
        "LOAD", (("    mbarrier_wait(bars, 0, 0)\n", ""),), "wrong"
    ),
    "too many bytes announced": Rule(
        "LOAD", ((EXPECT, EXPECT.replace("NBYTES", "NBYTES + 16")),), "error"
    ),
    "fewer bytes announced": Rule(
        "LOAD", ((EXPECT, EXPECT.replace("NBYTES", "NBYTES - 16")),), "error"
    ),
    "box at a multiple of 64 bytes": Rule(
        "LOAD",
        ((LOAD_LINE, LOAD_LINE.replace("tile, 0", "tile, 64")),
         ("array(NBYTES, u", "array(3072, u")),
        "error",
    ),
    "column and row exchanged": Rule(
        "LOAD", ((LOAD_LINE, LOAD_LINE.replace("col, row", "row, col")),), "error",
        Box(corner=(3, 24)),
    ),
    "no fence of the mbarrier": Rule(
        "LOAD", (("        fence_mbarrier_init()\n", ""),)
    ),
    "store": Rule("STORE", (), "right", LARGE),
    "store without fence_async": Rule(
        "STORE", (("    fence_async()\n", ""),), box=LARGE
    ),
    "store, the fence after the barrier, in all": Rule(
        "STORE",
        ((FENCED, "    cuda.syncthreads()\n    fence_async()\n    if t == 0:\n"),),
        box=LARGE,
    ),
    "store, the fence in the thread that stores alone": Rule(
        "STORE",
        ((FENCED, "    cuda.syncthreads()\n    if t == 0:\n        fence_async()\n"),),
        box=LARGE,
    ),
    "store, overwritten before it is read": Rule(
        "STORE",
        (("        bulk_wait_read(0)\n", ""),
         (CLEAR, CLEAR + "    if t == 0:\n        bulk_wait_read(0)\n")),
        box=LARGE,
    ),
    "product": Rule("PRODUCT", (), "right"),
    "product, a busy stage": Rule("PRODUCT", (BUSY,), "right"),
    "product, one arrival per warp": Rule(
        "PRODUCT",
        (("(empty, s, 1)", "(empty, s, 4)"),
         (RELEASE, RELEASE.replace("t == 0", "t % 32 == 0"))),
        "right",
    ),
    "product, released before it is done": Rule(
        "PRODUCT", (BUSY, (LANDED + RELEASE, RELEASE + LANDED))
    ),
    "product, sums read before the wait": Rule("PRODUCT", ((LANDED, ""),)),
    "product, no wait for the tile": Rule(
        "PRODUCT", ((FULL, ""),)
    ),
    "product, one warp alone waits": Rule(
        "PRODUCT",
        ((FULL, "            if t < 32:\n    " + FULL),),
    ),
    "product, no wgmma_fence": Rule("PRODUCT", (("            wgmma_fence()\n", ""),)),
    "product, tiles without a swizzle": Rule("PRODUCT", (), "right", swizzle=0),
    "left operand in registers": Rule("CHAINED", (), "right"),
    "left operand in registers, no fence_async": Rule(
        "CHAINED", (("    fence_async()\n", ""),)
    ),
    "left operand in registers, changed too early": Rule(
        "CHAINED",
        (("    wgmma_wait(0)\n", "    words[0] = int32(0)\n    wgmma_wait(0)\n"),),
    ),
    "results through one buffer": Rule("RESULTS", (), "right"),
    "results, no fence_async": Rule("RESULTS", (("        fence_async()\n", ""),)),
    "results, the buffer is not waited for": Rule(
        "RESULTS", (("bulk_wait_read(0)", "bulk_wait_read(1)"),)
    ),
}  # fmt: skip


SYNC = "    cluster_sync()\n"
ALONE = SYNC, "    cuda.syncthreads()\n"
ENDS = "= total\n" + SYNC, "= total\n"
MASK = "int32(2**CLUSTER - 1)"
CLUSTER_RULES: dict[str, Rule] = {
    "copies for two blocks": Rule("CLUSTERED", (), "right"),
    "copies, only the block synchronises before": Rule("CLUSTERED", (ALONE,)),
    "copies, no synchronisation at the end": Rule("CLUSTERED", (ENDS,)),
    "copies, each block releases its own stage alone": Rule(
        "CLUSTERED",
        (("(empty, s, CLUSTER)", "(empty, s, 1)"),
         ("if t < CLUSTER", "if t == 0"),
         ("mbarrier_arrive_at(empty, stage, t)", "mbarrier_arrive(empty, stage)")),
    ),
    "copies, a mask of one block": Rule(
        "CLUSTERED", ((MASK, "int32(1) << rank"),), "error"
    ),
    "copies, too many bytes announced": Rule(
        "CLUSTERED", (("stage, 2 * SIZE)", "stage, 2 * SIZE + 16)"),), "error"
    ),
    "sums of two blocks": Rule("REDUCED", (), "right"),
    "sums, only the block synchronises before": Rule("REDUCED", (ALONE,)),
    "sums, no synchronisation at the end": Rule("REDUCED", (ENDS,)),
    "halves of a barrier": Rule("SPLIT", (), "right"),
    "halves, a relaxed arrival": Rule(
        "SPLIT", (("arrive()\n    own", "arrive_relaxed()\n    own"),)
    ),
    "halves, in a loop": Rule("TWICE", (), "right"),
    "stores to the neighbour": Rule("GIVEN_AWAY", (), "right"),
    "stores to the neighbour, only the block synchronises": Rule(
        "GIVEN_AWAY", (ALONE,)
    ),
    "atomics in the cluster": Rule("COUNTED", (), "right"),
}  # fmt: skip


def kernel_of(rule: Rule, **constants: Any) -> Any:
    from verification import hopper_kernels as sources

    source = sources.changed(getattr(sources, rule.kernel), *rule.changes)
    return sources.compiled(source, **constants)


# For each kernel, a generator of results and what they should be


def _map(tensor: Any, box: Box) -> Any:
    from weft.stack_maps import stack_map
    from weft.tensor_maps import tensor_map

    if box.stacked:
        return stack_map(tensor, box.shape)
    return tensor_map(tensor, box.shape, box.swizzle)


def _held(whole: Any, box: Box) -> tuple[Any, Any]:
    """Return the tensor that a map describes, and the matrix of the boxes."""
    if box.stacked:
        return whole, whole[box.plane] if 0 <= box.plane < PLANES else whole[0, :0]
    matrix = whole[0, :, :COLUMNS]
    return matrix, matrix


def _load(rule: Rule, put: Callable[[Any], Any]) -> Iterator[Any]:
    from verification.hopper_kernels import cut, placed

    box = rule.box
    rng = np.random.default_rng(5)
    x = rng.integers(1, 100, (PLANES, ROWS, PITCH)).astype(box.kind)
    tensor, _ = _held(put(x), box)
    found = cut(_held(x, box)[1], *box.corner, box.shape)
    wanted = (
        placed(found, box.swizzle)
        if found[0].nbytes == box.swizzle or not box.swizzle
        else np.zeros(found.nbytes, np.uint8)
    )
    kernel = kernel_of(rule, NBYTES=wanted.size)
    out = put(np.zeros(wanted.size, np.uint8))
    each, (row, col) = _map(tensor, box), box.corner
    while True:
        kernel[1, 32](each, out, col, row)
        yield out.cpu().numpy(), wanted
        out.zero_()


def _store(rule: Rule, put: Callable[[Any], Any]) -> Iterator[Any]:
    from verification.hopper_kernels import paste, placed

    box = rule.box
    rows = max(ROWS, box.shape[0])
    y = put(np.zeros((PLANES, rows, PITCH), box.kind))
    each, (row, col) = _map(_held(y, box)[0], box), box.corner
    nbytes = math.prod(box.shape) * np.dtype(box.kind).itemsize
    kernel, number = kernel_of(rule, NBYTES=nbytes), 0
    while True:
        rng = np.random.default_rng(number)
        values = rng.integers(1, 255, box.shape).astype(box.kind)
        wanted = np.zeros((PLANES, rows, PITCH), box.kind)
        paste(_held(wanted, box)[1], row, col, values)
        kernel[1, 64](put(placed(values, box.swizzle)), each, col, row)
        yield y.cpu().numpy(), wanted
        number += 1


def _product(rule: Rule, put: Callable[[Any], Any]) -> Iterator[Any]:
    from verification.hopper_kernels import bfloat16
    from weft.intrinsics.boxes import swizzled
    from weft.tensor_maps import tensor_map

    steps, swizzle = 16, rule.swizzle
    rng = np.random.default_rng(7)
    a, b = (rng.integers(-4, 5, (64, 64 * steps)).astype("f4") for _ in "ab")
    left, right = a, b
    if not swizzle:  # the descriptor looks elsewhere for each number
        at = swizzled(np.arange(0, 8192, 2), 128) // 2
        left, right = (
            np.concatenate([p.reshape(-1)[at].reshape(64, 64)
                            for p in np.split(x, steps, 1)], 1)
            for x in (a, b)
        )  # fmt: skip
    wanted = left @ right.T * (LOOPS if BUSY in rule.changes else 1)
    kernel = kernel_of(rule, STAGES=2)
    held = [put(bfloat16(x)) for x in (a, b)]
    maps = [tensor_map(x, (64, 64), swizzle) for x in held]
    c = put(np.zeros((64, 64), np.float32))
    while True:
        kernel[1, 256](*maps, c, steps)
        yield c.cpu().numpy(), wanted
        c.zero_()


def _chained(rule: Rule, put: Callable[[Any], Any]) -> Iterator[Any]:
    from verification.hopper_kernels import bfloat16

    kernel, number = kernel_of(rule), 0
    c = put(np.zeros((64, 64), np.float32))
    while True:
        rng = np.random.default_rng(number)
        a = rng.integers(-4, 5, (64, 16)).astype("f4")
        b = rng.integers(-4, 5, (16, 64)).astype("f4")
        kernel[1, 128](put(bfloat16(a).view(np.int32)), put(bfloat16(b)), c)
        yield c.cpu().numpy(), a @ b + 1
        number += 1


def _results(rule: Rule, put: Callable[[Any], Any]) -> Iterator[Any]:
    from weft.tensor_maps import tensor_map

    kernel, number = kernel_of(rule), 0
    y = put(np.zeros((128, 64), np.int16))
    each = tensor_map(y, (64, 64))
    while True:
        rng = np.random.default_rng(number)
        words = rng.integers(0, 1 << 30, (2, 128, 4)).astype(np.int32)
        kernel[1, 128](put(words), each)
        yield y.cpu().numpy(), stored(words)
        number += 1


def _in_pairs(kernel: Any, grid: int, block: int, *given: Any) -> None:
    """Launch a kernel in clusters of two blocks."""
    from weft import meaning
    from weft.launching import prepare

    if meaning.simulating():
        with meaning.clustered(2):
            kernel[grid, block](*given)
    else:
        prepare(kernel, 2)(grid, block, *given)


def _signed(rule: Rule, types: str) -> Rule:
    """Return the rule with a signature, which a launch in clusters needs."""
    return replace(
        rule, changes=(("@cuda.jit", f'@cuda.jit("{types}")'), *rule.changes)
    )


def _clustered(rule: Rule, put: Callable[[Any], Any]) -> Iterator[Any]:
    from weft.tensor_maps import tensor_map

    rule = _signed(rule, "void(uint8[::1], int32[:, ::1], int64)")
    kernel, number = kernel_of(rule, STAGES=2, CLUSTER=2, SIZE=1024), 0
    steps, out = 16, put(np.zeros((8, 32), np.int32))
    while True:
        rng = np.random.default_rng(number)
        x = rng.integers(0, 99, (16, 64 * steps)).astype(np.int16)
        held = put(x)
        _in_pairs(kernel, 8, 64, tensor_map(held, (8, 64)), out, steps)
        yield out.cpu().numpy().sum(1), np.full(8, x.sum(dtype=np.int64))
        number += 1


def _of_numbers(
    grid: int,
    results: int,
    wanted: Callable[[Any], Any],
    rule: Rule,
    put: Callable[[Any], Any],
) -> Iterator[Any]:
    """Run a kernel on 64 numbers per block; yield its results and the right ones.

    results: their number. wanted: the right results, from the numbers by cluster, block
    and thread. put: copies an array to the GPU.
    """
    kernel = kernel_of(_signed(rule, "void(float32[::1], float32[::1])"))
    out, number = put(np.zeros(results, np.float32)), 0
    while True:
        rng = np.random.default_rng(number)
        x = rng.integers(0, 99, 64 * grid).astype(np.float32)
        out.zero_()
        _in_pairs(kernel, grid, 64, put(x), out)
        yield out.cpu().numpy(), wanted(x.reshape(-1, 2, 64)).ravel()
        number += 1


def counted(x: Any) -> Any:
    """Return COUNTED's results: counts by block, and the cluster's sum in its first."""
    found = np.zeros_like(x)
    for t in range(64):
        found[:, t % 2, t % 4] += 2  # from a thread of each block
    found[:, 0, 4] = x.sum((1, 2))
    return found


def stored(words: Any) -> Any:
    """Return RESULTS's matrix of its words: four tiles for each warp and step."""
    wanted = np.zeros((128, 64), np.int16)
    for half, t, j in np.ndindex(2, 128, 4):
        for m in range(4):
            row = 64 * half + t // 32 * 16 + t % 32 // 4 + 8 * (m % 2)
            col = 16 * j + 8 * (m // 2) + 2 * (t % 4)
            word = np.array([words[half, t, j] + m], np.int32)
            wanted[row, col : col + 2] = word.view(np.int16)
    return wanted


RUNS = {
    "LOAD": _load,
    "STORE": _store,
    "PRODUCT": _product,
    "CHAINED": _chained,
    "RESULTS": _results,
    "CLUSTERED": _clustered,
    "REDUCED": partial(_of_numbers, 8, 4, lambda x: x.sum((1, 2))),
    "SPLIT": partial(_of_numbers, 4, 256, lambda x: 2 * x + x[:, ::-1, ::-1]),
    "TWICE": partial(_of_numbers, 4, 256, lambda x: 3 * x[:, ::-1] + 3),
    "GIVEN_AWAY": partial(_of_numbers, 4, 256, lambda x: x[:, ::-1, ::-1]),
    "COUNTED": partial(_of_numbers, 4, 256, counted),
}


def run(name: str) -> dict[str, Any]:
    """Run one rule on this GPU; return how often it went wrong, and first examples."""
    import torch

    import weft  # noqa: F401  before Numba

    rule = (RULES | CLUSTER_RULES)[name]
    runs = RUNS[rule.kernel](rule, lambda x: torch.from_numpy(x).cuda())
    wrong, first = 0, []
    for _ in range(TIMES):
        got, wanted = next(runs)
        if not np.array_equal(got, wanted):
            wrong += 1
            first = first or got.reshape(-1)[:8].tolist()
    return {"runs": TIMES, "wrong": wrong, "first": first}


def judged(rule: Rule, found: dict[str, Any]) -> bool:
    """Return whether a GPU did what the rule expects."""
    if rule.expects == "either":
        return True
    if rule.expects == "error":
        return "error" in found
    return "error" not in found and bool(found["wrong"]) == (rule.expects == "wrong")


def on_gpu(folder: Path, rules: dict[str, Rule], stem: str) -> bool:
    """Run every rule, each in its own process, and write the results."""
    import torch

    gpu, results = torch.cuda.get_device_name(), {}
    with ThreadPoolExecutor(AT_ONCE) as processes:
        for name, found in zip(rules, processes.map(_apart, rules), strict=True):
            rule = rules[name]
            as_expected = judged(rule, found)
            results[name] = found
            print(name, found, "as expected" if as_expected else "NOT SO", flush=True)
    label = re.sub(r"[^A-Za-z0-9]+", "-", gpu).strip("-").lower()
    path = folder / f"{stem}.{label}.json"
    path.write_text(json.dumps({"gpu": gpu, "rules": results}, indent=1) + "\n")
    return all(judged(rules[name], found) for name, found in results.items())


def _apart(name: str) -> dict[str, Any]:
    """Return what a rule does in its own process, or the error that ends it."""
    command = [sys.executable, "-m", "verification.hopper_rules", "--run", name]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=ROOT, timeout=120
        )
    except subprocess.TimeoutExpired:
        return {"error": ["it does not end"]}
    if done.returncode:
        said = done.stderr.strip().splitlines()
        errors = [line for line in said if re.match(r"\w[\w.]*Error: ", line)]
        return {"error": errors[-1:] or said[-1:]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# Compilation without a GPU


def compile_all() -> None:
    """Compile every kernel for sm_90a, with ptxas. Raises if one fails."""
    # so that the package does not choose the simulator
    package = types.ModuleType("weft")
    package.__path__ = [str(ROOT / "weft")]
    sys.modules["weft"] = package
    os.environ.pop("NUMBA_ENABLE_CUDASIM", None)
    from weft import backend

    backend.pretend_device((9, 0))
    from numba import cuda, float32, int16, int32, int64, uint8

    flat = uint8[::1]
    kinds = {
        "LOAD": (flat, flat, int64, int64),
        "STORE": (flat, flat, int64, int64),
        "PRODUCT": (flat, flat, float32[:, ::1], int64),
        "CHAINED": (int32[:, ::1], int16[:, ::1], float32[:, ::1]),
        "RESULTS": (int32[:, :, ::1], flat),
        "CLUSTERED": (flat, int32[:, ::1], int64),
    }
    numbers = ("REDUCED", "SPLIT", "TWICE", "GIVEN_AWAY", "COUNTED")
    kinds |= dict.fromkeys(numbers, (float32[::1], float32[::1]))
    rules = RULES | CLUSTER_RULES
    each = {(rule.kernel, rule.changes): name for name, rule in rules.items()}
    for name in each.values():
        rule = rules[name]
        kernel = kernel_of(rule, NBYTES=1536, STAGES=2, CLUSTER=2, SIZE=1024)
        ptx, _ = cuda.compile_ptx(kernel.py_func, kinds[rule.kernel], cc=(9, 0, "a"))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "kernel.ptx"
            path.write_text(re.sub(r"^\.version .*", ".version 8.4", ptx, flags=re.M))
            done = subprocess.run(
                ["ptxas", "-arch=sm_90a", str(path), "-o", str(path) + ".cubin"],
                capture_output=True, text=True,
            )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr}")
        said = re.findall(r"\((C\d+)\) ([^'\n]*?) in (?:the )?function", done.stderr)
        print(f"{name}: compiled", *(" ".join(each) for each in said), sep="; ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--clusters", action="store_true", help="the rules of clusters")
    parser.add_argument("--run", metavar="RULE")
    given = parser.parse_args()
    if given.compile:
        compile_all()
    elif given.run:
        print(json.dumps(run(given.run)))
    elif given.folder:
        rules, stem = RULES, "hopper_rules"
        if given.clusters:
            rules, stem = CLUSTER_RULES, "cluster_rules"
        sys.exit(not on_gpu(given.folder, rules, stem))
    else:
        parser.error("a folder for the results, or --compile")


if __name__ == "__main__":
    main()
