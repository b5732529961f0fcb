"""`cuda` as a running kernel sees it."""

import difflib
import sys
from types import SimpleNamespace
from typing import Any

from weft import meaning
from weft.simulator.arithmetic.by_name import Functions, function
from weft.simulator.language.modules import Cast
from weft.simulator.limits import Dim3
from weft.simulator.running.atomics import Atomic
from weft.simulator.running.declared import Local, Shared, constant
from weft.simulator.running.intrinsic_calls import Intrinsics
from weft.simulator.running.protocol import Launched
from weft.simulator.running.warps import ACTIVE, EXCHANGES, FULL
from weft.simulator.stand_in.vectors import VECTORS


class Cuda:
    """The simulated `cuda` of one launch.

    Barriers and warp operations return at once: they set what the thread waits for, and
    the scheduler sends it their result. See `language.waiting`.
    """

    warpsize = 32

    def __init__(self, run: Launched, grid: Dim3, block: Dim3) -> None:
        self._run = run
        self.gridDim = grid
        self.blockDim = block
        self.shared = Shared(run)
        self.local = Local(run)
        self.const = SimpleNamespace(array_like=lambda data: constant(run, data))
        self._constant = lambda data, name: constant(run, data, name)
        self.atomic = Atomic(run)
        self.cg = SimpleNamespace(this_grid=lambda: GridGroup(run))
        self.fp16 = Functions("cuda.fp16")
        self.intrinsics = Intrinsics(run)

    @property
    def threadIdx(self) -> Dim3:
        return self._run.current.index

    @property
    def blockIdx(self) -> Dim3:
        return self._run.current.block.index

    @property
    def laneid(self) -> int:
        return self._run.current.lane

    def grid(self, ndim: int) -> Any:
        parts = zip(self.blockIdx, self.blockDim, self.threadIdx, strict=True)
        return self._positions(ndim, "grid", tuple(b * n + t for b, n, t in parts))

    def gridsize(self, ndim: int) -> Any:
        size = tuple(g * b for g, b in zip(self.gridDim, self.blockDim, strict=True))
        return self._positions(ndim, "gridsize", size)

    def _positions(self, ndim: int, name: str, values: tuple[int, ...]) -> Any:
        if ndim == 1:
            return values[0]
        if ndim in (2, 3):
            return values[:ndim]
        return self._run.fault("type", f"cuda.{name}({ndim}): it takes 1, 2 or 3")

    # Barriers

    def syncthreads(self) -> None:
        self._run.barrier("syncthreads", sys._getframe(1))

    def syncthreads_count(self, predicate: Any) -> None:
        self._run.barrier("count", sys._getframe(1), bool(predicate))

    def syncthreads_and(self, predicate: Any) -> None:
        self._run.barrier("and", sys._getframe(1), bool(predicate))

    def syncthreads_or(self, predicate: Any) -> None:
        self._run.barrier("or", sys._getframe(1), bool(predicate))

    def threadfence(self) -> None:
        self._run.fenced(wide=True)

    def threadfence_block(self) -> None:
        self._run.fenced(wide=False)

    def threadfence_system(self) -> None:
        self._run.fenced(wide=True)

    def nanosleep(self, ns: int) -> None:
        self._run.pause()

    # Warps

    def _warp(self, name: str, mask: Any, *args: Any) -> None:
        self._run.current.waiting = EXCHANGES[name], int(mask) & FULL, args

    def syncwarp(self, mask: int = FULL) -> None:
        self._warp("syncwarp", mask)

    def shfl_sync(self, mask: int, value: Any, src_lane: int) -> None:
        self._warp("shfl_sync", mask, value, src_lane)

    def shfl_up_sync(self, mask: int, value: Any, delta: int) -> None:
        self._warp("shfl_up_sync", mask, value, delta)

    def shfl_down_sync(self, mask: int, value: Any, delta: int) -> None:
        self._warp("shfl_down_sync", mask, value, delta)

    def shfl_xor_sync(self, mask: int, value: Any, lane_mask: int) -> None:
        self._warp("shfl_xor_sync", mask, value, lane_mask)

    def all_sync(self, mask: int, predicate: Any) -> None:
        self._warp("all_sync", mask, predicate)

    def any_sync(self, mask: int, predicate: Any) -> None:
        self._warp("any_sync", mask, predicate)

    def eq_sync(self, mask: int, predicate: Any) -> None:
        self._warp("eq_sync", mask, predicate)

    def ballot_sync(self, mask: int, predicate: Any) -> None:
        self._warp("ballot_sync", mask, predicate)

    def match_any_sync(self, mask: int, value: Any) -> None:
        self._warp("match_any_sync", mask, value)

    def match_all_sync(self, mask: int, value: Any) -> None:
        self._warp("match_all_sync", mask, value)

    def activemask(self) -> None:
        self._run.current.waiting = ACTIVE, FULL, ()

    def lanemask_lt(self) -> Any:
        return (1 << self.laneid) - 1

    # Arithmetic

    popc, brev, clz, ffs, fma, cbrt = (
        staticmethod(function("cuda", name))
        for name in ("popc", "brev", "clz", "ffs", "fma", "cbrt")
    )

    def selp(self, condition: Any, a: Any, b: Any) -> Any:
        return a if condition else b

    # Everything else

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            found = meaning.cuda_member(name)
            if found is not None and meaning.is_type(found):
                number = hasattr(found, "bitwidth")
                return Cast(meaning.as_dtype(found)) if number else found
            if found is not None and name in VECTORS:
                return VECTORS[name]
        close = difflib.get_close_matches(name, [*dir(self), *_NAMES], 1)
        hint = f"; did you mean cuda.{close[0]}?" if close else ""
        raise AttributeError(f"a kernel has no cuda.{name}{hint}")

    def twin_of(self, value: Any) -> Any:
        """Return the simulated form of an object from `numba.cuda`, or None."""
        if vector := VECTORS.get(meaning.vector_name(value)):
            return vector
        name = meaning.stub_name(value)
        if name in ("threadIdx", "blockIdx"):
            return Live(self, name)
        return getattr(self, name, None) if name in _NAMES else None


_NAMES = sorted(
    {n for n in vars(Cuda) if not n.startswith("_")}
    | {"blockDim", "gridDim", "shared", "local", "const", "atomic", "cg", "fp16"}
)


class Live:
    """`threadIdx` or `blockIdx`, imported by name, with the current thread's values."""

    def __init__(self, cuda: Cuda, name: str) -> None:
        self._cuda, self._name = cuda, name

    def __getattr__(self, axis: str) -> int:
        return int(getattr(getattr(self._cuda, self._name), axis))


class GridGroup:
    """The group of all threads of the launch."""

    def __init__(self, run: Launched) -> None:
        self._run = run

    def sync(self) -> None:
        self._run.barrier("grid", sys._getframe(1))
