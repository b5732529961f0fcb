"""Single requests, each with its own addresses, to test the counters.

A kernel of one warp loads or stores once, at the indices that it is given: one per
lane, -1 for a lane that takes no part. So a launch is one request, and Nsight Compute's
numbers for the launch are those of the request.

    python -m verification.patterns LOG

launches all of them on a GPU; line k of LOG names the k-th.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import weft  # noqa: F401  before Numba

from numba import cuda, float32, float64, int8, int16, int32  # isort: skip

from weft.intrinsics import load4, store4

LANES = np.arange(32)
BYTES = 8192  # size of the array that is accessed
KINDS = {1: int8, 2: int16, 4: float32, 8: float64}
WIDTHS = (1, 2, 4, 8, 16)


def shared_load(width: int) -> Any:
    size, kind, bulk = BYTES // min(width, 4), KINDS[min(width, 4)], BYTES // width
    if width == 8:
        size, kind = BYTES // 8, float64

    @cuda.jit
    def one_by_one(at, x, out):
        tile = cuda.shared.array(size, kind)
        t = cuda.threadIdx.x
        for k in range(t, bulk, 32):
            tile[k] = x[k]
        cuda.syncwarp()
        k = at[t]
        if k >= 0:
            out[t] = tile[k]

    @cuda.jit
    def by_fours(at, x, out):
        tile = cuda.shared.array(size, kind)
        t = cuda.threadIdx.x
        for k in range(t, size, 32):
            tile[k] = x[k]
        cuda.syncwarp()
        k = at[t]
        if k >= 0:
            a, b, c, d = load4(tile, 4 * k)
            store4(out, 4 * t, a, b, c, d)

    return by_fours if width == 16 else one_by_one


def shared_store(width: int) -> Any:
    size, kind = BYTES // min(width, 4), KINDS[min(width, 4)]
    if width == 8:
        size, kind = BYTES // 8, float64

    @cuda.jit
    def one_by_one(at, x, out):
        tile = cuda.shared.array(size, kind)
        t = cuda.threadIdx.x
        k = at[t]
        if k >= 0:
            tile[k] = x[t]
        cuda.syncwarp()
        for k in range(t, size, 32):
            out[k] = tile[k]

    @cuda.jit
    def by_fours(at, x, out):
        tile = cuda.shared.array(size, kind)
        t = cuda.threadIdx.x
        k, v = at[t], x[t]
        if k >= 0:
            store4(tile, 4 * k, v, v, v, v)
        cuda.syncwarp()
        for k in range(t, size, 32):
            out[k] = tile[k]

    return by_fours if width == 16 else one_by_one


def global_load(width: int) -> Any:
    @cuda.jit
    def one_by_one(at, x, out):
        t = cuda.threadIdx.x
        k = at[t]
        if k >= 0:
            out[t] = x[k]

    @cuda.jit
    def by_fours(at, x, out):
        t = cuda.threadIdx.x
        k = at[t]
        if k >= 0:
            a, b, c, d = load4(x, 4 * k)
            store4(out, 4 * t, a, b, c, d)

    return by_fours if width == 16 else one_by_one


def global_store(width: int) -> Any:
    @cuda.jit
    def one_by_one(at, x, out):
        t = cuda.threadIdx.x
        k = at[t]
        if k >= 0:
            out[k] = x[t]

    @cuda.jit
    def by_fours(at, x, out):
        t = cuda.threadIdx.x
        k, v = at[t], x[t]
        if k >= 0:
            store4(out, 4 * k, v, v, v, v)

    return by_fours if width == 16 else one_by_one


def shared_atomic(what: str) -> Any:
    size = BYTES // 4

    @cuda.jit
    def count(at, x, out):
        tile = cuda.shared.array(size, int32)
        t = cuda.threadIdx.x
        for j in range(t, size, 32):
            tile[j] = x[j]
        cuda.syncwarp()
        k = at[t]
        if k >= 0:
            cuda.atomic.add(tile, k, 1)
        cuda.syncwarp()
        for j in range(t, size, 32):
            out[j] = tile[j]

    @cuda.jit
    def add(at, x, out):
        tile = cuda.shared.array(size, int32)
        t = cuda.threadIdx.x
        for j in range(t, size, 32):
            tile[j] = x[j]
        cuda.syncwarp()
        k = at[t]
        if k >= 0:
            cuda.atomic.add(tile, k, x[t])
        cuda.syncwarp()
        for j in range(t, size, 32):
            out[j] = tile[j]

    @cuda.jit
    def fetch(at, x, out):
        tile = cuda.shared.array(size, int32)
        t = cuda.threadIdx.x
        for j in range(t, size, 32):
            tile[j] = x[j]
        cuda.syncwarp()
        k = at[t]
        if k >= 0:
            out[t] = cuda.atomic.add(tile, k, x[t])

    return {"count": count, "add": add, "fetch": fetch}[what]


def global_atomic(what: str) -> Any:
    @cuda.jit
    def add(at, x, out):
        t = cuda.threadIdx.x
        k = at[t]
        if k >= 0:
            cuda.atomic.add(out, k, x[t])

    @cuda.jit
    def fetch(at, x, out):
        t = cuda.threadIdx.x
        k = at[t]
        if k >= 0:
            x[t] = cuda.atomic.add(out, k, x[t])

    @cuda.jit
    def exch(at, x, out):
        t = cuda.threadIdx.x
        k = at[t]
        if k >= 0:
            x[t] = cuda.atomic.exch(out, k, x[t])

    return {"add": add, "fetch": fetch, "exch": exch}[what]


MAKERS = {
    ("shared", "load"): (shared_load, WIDTHS),
    ("shared", "store"): (shared_store, WIDTHS),
    ("shared", "atomic"): (shared_atomic, ("count", "add", "fetch")),
    ("global", "load"): (global_load, WIDTHS),
    ("global", "store"): (global_store, WIDTHS),
    ("global", "atomic"): (global_atomic, ("add", "fetch", "exch")),
}


@dataclass(frozen=True)
class Pattern:
    """A request to `space` by `operation`: lane k accesses element `at[k]`.

    `of` is the argument of its maker: the bytes of an element, or the atomic operation.
    """

    space: str
    operation: str
    of: int | str
    name: str
    at: np.ndarray[Any, Any]

    @property
    def label(self) -> str:
        return f"{self.space} {self.operation} {self.of}: {self.name}"

    def kernel(self) -> Any:
        return kernel_of(self.space, self.operation, self.of)

    def arguments(self) -> tuple[np.ndarray[Any, Any], ...]:
        kind = np.dtype(np.int32)
        if isinstance(self.of, int):
            kind = np.dtype(str(KINDS[self.of if self.of < 16 else 4]))
        data = np.zeros(BYTES // kind.itemsize, kind)
        return self.at.astype(np.int32), data, data.copy()


def indices(size: int) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield patterns by name: which of `size` elements each lane accesses."""
    for stride in (1, 2, 3, 4, 5, 8, 16, 32):
        if 31 * stride < size:
            yield f"stride {stride}", LANES * stride
    yield "backwards", 31 - LANES
    yield "from 1", LANES + 1
    yield "from 7", LANES + 7
    for share in (2, 4, 8, 16, 32):
        yield f"{share} neighbours share", LANES // share
        yield f"{share} apart share", LANES % (32 // share)
    yield "pairs far apart", LANES // 2 + LANES % 2 * (size // 2)
    yield "halves of one bank row", (LANES % 16) * 2 + LANES // 16
    yield "exchanged pairs", LANES ^ 1
    yield "one lane", np.where(LANES == 5, 3, -1)
    yield "lower half", np.where(LANES < 16, LANES, -1)
    yield "upper half", np.where(LANES >= 16, LANES * 2, -1)
    yield "every second lane", np.where(LANES % 2 == 0, LANES, -1)
    yield "every fourth lane", np.where(LANES % 4 == 0, LANES * 3, -1)
    yield "ends only", np.where((LANES < 4) | (LANES >= 28), LANES % 8 * 5, -1)
    for seed in range(14):
        rng = np.random.default_rng(seed)
        reach = min(size, [16, 32, 64, 128, 512, size][seed % 6])
        at = rng.integers(0, reach, 32)
        if seed % 3 == 0:
            at = rng.permutation(reach)[:32] if reach >= 32 else at
        if seed % 2:
            at = np.where(rng.random(32) < 0.7, at, -1)
        yield f"random {seed}", at


def shared_addresses(size: int) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield patterns in which lanes share a neighbour's element, in parts of a warp."""
    for part, lanes in {
        "lower half": LANES < 16,
        "upper half": LANES >= 16,
        "first quarter": LANES < 8,
        "last quarter": LANES >= 24,
    }.items():
        yield f"{part} in pairs", np.where(lanes, LANES // 2, LANES)
        yield f"{part} two apart", np.where(lanes, LANES & ~2, LANES)
    yield "in pairs, then two apart", np.where(LANES < 16, LANES // 2, LANES & ~2)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        base = rng.integers(0, min(size, 64), 32)
        taking = rng.random(32) < (0.8 if seed % 2 else 2)
        yield f"random {seed} in pairs", np.where(taking, base[LANES & ~1], -1)
        yield f"random {seed} two apart", np.where(taking, base[LANES & ~2], -1)


def patterns() -> list[Pattern]:
    found = []
    for (space, operation), (_, kinds) in MAKERS.items():
        for of in kinds:
            width = of if isinstance(of, int) else 4
            chosen = list(indices(BYTES // width))
            if space == "shared" and width > 4:
                chosen += shared_addresses(BYTES // width)
            elif width < 4 or space == "global" or operation == "atomic":
                chosen = chosen[::2]
            found += [Pattern(space, operation, of, *named) for named in chosen]
    return found


@cache
def kernel_of(space: str, operation: str, of: int | str) -> Any:
    make: Any = MAKERS[space, operation][0]
    return make(of)


def main(log: Path) -> None:
    with log.open("w", encoding="utf-8") as file:
        for pattern in patterns():
            arrays = (cuda.to_device(a) for a in pattern.arguments())
            pattern.kernel()[1, 32](*arrays)
            cuda.synchronize()
            file.write(json.dumps(pattern.label) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
