"""`cuda` as a running kernel sees it."""

import difflib
import dis
import math
import sys
from functools import cache
from types import CodeType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from weft import backend
from weft.simulator.language.modules import Cast
from weft.simulator.limits import MOST_SHARED
from weft.simulator.memory.arrays import Array, poison, wrap
from weft.simulator.running.intrinsic_calls import Intrinsics
from weft.simulator.running.warps import ACTIVE, EXCHANGES, FULL, Call, Mask

if TYPE_CHECKING:
    from weft.simulator.running.scheduler import Run


class Dim3(NamedTuple):
    """A triple of sizes or indices."""

    x: int
    y: int
    z: int


class Cuda:
    """The simulated `cuda` of one launch.

    The scheduler sets `threadIdx`, `blockIdx` and `laneid` before it resumes a thread.
    """

    warpsize = 32
    threadIdx: Dim3
    blockIdx: Dim3
    laneid: int

    def __init__(self, run: "Run", grid: Dim3, block: Dim3) -> None:
        self._run = run
        self.gridDim = grid
        self.blockDim = block
        self.shared = Shared(run)
        self.local = Local(run)
        self.const = SimpleNamespace(array_like=lambda data: constant(run, data))
        self._constant = lambda data, name: constant(run, data, name)
        self.atomic = Atomic(run)
        self.cg = SimpleNamespace(this_grid=lambda: GridGroup(run))
        self.fp16 = Half()
        self.intrinsics = Intrinsics(run)

    def grid(self, ndim: int) -> Any:
        return self._positions(ndim, "grid", self._run.current.position)

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

    def syncthreads_count(self, predicate: Any) -> int:
        return int(self._run.barrier("count", sys._getframe(1), bool(predicate)))

    def syncthreads_and(self, predicate: Any) -> int:
        return int(self._run.barrier("and", sys._getframe(1), bool(predicate)))

    def syncthreads_or(self, predicate: Any) -> int:
        return int(self._run.barrier("or", sys._getframe(1), bool(predicate)))

    def threadfence(self) -> None:
        self._run.fenced(wide=True)

    def threadfence_block(self) -> None:
        self._run.fenced(wide=False)

    def threadfence_system(self) -> None:
        self._run.fenced(wide=True)

    def nanosleep(self, ns: int) -> None:
        self._run.pause()

    # Warps

    def _warp(self, name: str, mask: Any, *args: Any) -> Any:
        frame = sys._getframe(2)
        site = self._run.instruction((frame.f_code, frame.f_lasti))
        return self._run.warp(Call(EXCHANGES[name], int(mask) & FULL, args, site))

    def syncwarp(self, mask: int = FULL) -> None:
        self._warp("syncwarp", mask)

    def shfl_sync(self, mask: int, value: Any, src_lane: int) -> Any:
        return self._warp("shfl_sync", mask, value, src_lane)

    def shfl_up_sync(self, mask: int, value: Any, delta: int) -> Any:
        return self._warp("shfl_up_sync", mask, value, delta)

    def shfl_down_sync(self, mask: int, value: Any, delta: int) -> Any:
        return self._warp("shfl_down_sync", mask, value, delta)

    def shfl_xor_sync(self, mask: int, value: Any, lane_mask: int) -> Any:
        return self._warp("shfl_xor_sync", mask, value, lane_mask)

    def all_sync(self, mask: int, predicate: Any) -> bool:
        return bool(self._warp("all_sync", mask, predicate))

    def any_sync(self, mask: int, predicate: Any) -> bool:
        return bool(self._warp("any_sync", mask, predicate))

    def eq_sync(self, mask: int, predicate: Any) -> bool:
        return bool(self._warp("eq_sync", mask, predicate))

    def ballot_sync(self, mask: int, predicate: Any) -> Mask:
        lanes: Mask = self._warp("ballot_sync", mask, predicate)
        return lanes

    def match_any_sync(self, mask: int, value: Any) -> Mask:
        lanes: Mask = self._warp("match_any_sync", mask, value)
        return lanes

    def match_all_sync(self, mask: int, value: Any) -> Any:
        return self._warp("match_all_sync", mask, value)

    def activemask(self) -> int:
        frame = sys._getframe(1)
        site = self._run.instruction((frame.f_code, frame.f_lasti))
        return int(self._run.warp(Call(ACTIVE, 0, (), site)))

    def lanemask_lt(self) -> int:
        return (1 << self.laneid) - 1

    # Arithmetic

    def popc(self, value: Any) -> int:
        return _unsigned(value)[0].bit_count()

    def brev(self, value: Any) -> Any:
        number, width = _unsigned(value)
        return _like(value, int(f"{number:0{width}b}"[::-1], 2))

    def clz(self, value: Any) -> int:
        number, width = _unsigned(value)
        return width - number.bit_length()

    def ffs(self, value: Any) -> int:
        number, _ = _unsigned(value)
        return (number & -number).bit_length()

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        if isinstance(a, np.float32):  # one rounding: exact in double, then rounded
            return np.float32(float(a) * float(b) + float(c))
        return a * b + c

    def cbrt(self, value: Any) -> Any:
        return np.cbrt(value)

    def selp(self, condition: Any, a: Any, b: Any) -> Any:
        return a if condition else b

    # Everything else

    def __getattr__(self, name: str) -> Any:
        from numba import cuda

        if not name.startswith("_"):
            found = getattr(cuda, name, None)
            if found is not None and backend.is_type(found):
                number = hasattr(found, "bitwidth")
                return Cast(backend.as_dtype(found)) if number else found
        close = difflib.get_close_matches(name, [*dir(self), *_NAMES], 1)
        hint = f"; did you mean cuda.{close[0]}?" if close else ""
        raise AttributeError(f"a kernel has no cuda.{name}{hint}")

    def twin_of(self, value: Any) -> Any:
        """The simulated form of something imported from `numba.cuda` by name."""
        name = backend.stub_name(value)
        if name in ("threadIdx", "blockIdx"):
            return Live(self, name)
        return getattr(self, name, None) if name in _NAMES else None


_NAMES = sorted(
    {n for n in vars(Cuda) if not n.startswith("_")}
    | {"blockDim", "gridDim", "shared", "local", "const", "atomic", "cg", "fp16"}
)


class Live:
    """`threadIdx` or `blockIdx` imported by name: looks up the current thread."""

    def __init__(self, cuda: Cuda, name: str) -> None:
        self._cuda, self._name = cuda, name

    def __getattr__(self, axis: str) -> int:
        return int(getattr(getattr(self._cuda, self._name), axis))


class Shared:
    """`cuda.shared`: one allocation per call site and block."""

    def __init__(self, run: "Run") -> None:
        self._run = run

    def array(self, shape: Any, dtype: Any, alignment: int | None = None) -> Array:
        run = self._run
        block = run.current.block
        frame = sys._getframe(1)
        site = run.instruction((frame.f_code, frame.f_lasti))
        if site not in block.shared:
            made_by: Any = site
            kind = backend.as_dtype(dtype)
            if shape == 0 or shape == (0,):
                name = run.name_of(site, "dynamic shared memory")
                made_by = "dynamic"  # all of them are the same memory
                count = run.dynamic_shared // kind.itemsize
                data = block.dynamic.view(np.uint8)[: count * kind.itemsize].view(kind)
            else:
                data = np.empty(_shape(run, shape, "shared"), kind)
                poison(data, "shared")
                block.static_bytes += data.nbytes
                name = run.name_of(site, "shared array")
                if block.static_bytes + run.dynamic_shared > MOST_SHARED:
                    run.fault("launch", *too_much(block.static_bytes, run))
            made = run.array(data, name, "shared", made_by)
            # The only array of a block begins where its memory does.
            alone = not block.shared and not several(frame.f_code)
            made._loose = not (alone or made_by == "dynamic" or aligned(alignment))
            block.shared[site] = made
        return block.shared[site]


class Local:
    """`cuda.local`: an array of one thread."""

    def __init__(self, run: "Run") -> None:
        self._run = run

    def array(self, shape: Any, dtype: Any, alignment: int | None = None) -> Array:
        frame = sys._getframe(1)
        data = np.empty(_shape(self._run, shape, "local"), backend.as_dtype(dtype))
        poison(data, "local")
        site = self._run.instruction((frame.f_code, frame.f_lasti))
        name = self._run.name_of(site, "local array")
        made = self._run.array(data, name, "local", site)
        made._loose = not aligned(alignment)
        return made


def too_much(static: int, run: "Run") -> tuple[str, str]:
    """What is said of a block with too much shared memory."""
    dynamic = run.dynamic_shared
    of_them = f", {dynamic:,} of them dynamic" if dynamic else ""
    return (
        f"{static + dynamic:,} bytes of shared memory in one block{of_them}",
        f"Numba launches a kernel with {MOST_SHARED:,} bytes (48 KB) per block at "
        "most: those of every cuda.shared.array and those of the launch together.",
    )


def aligned(alignment: int | None) -> bool:
    """Whether an array that is declared so begins on a boundary of 16 bytes."""
    return bool(alignment) and int(alignment or 0) % 16 == 0


@cache
def several(code: CodeType) -> bool:
    """Whether a function makes more than one shared array."""
    made = [i for i in dis.get_instructions(code) if i.argval == "shared"]
    return len(made) > 1


def _shape(run: "Run", shape: Any, where: str) -> tuple[int, ...]:
    sizes = shape if isinstance(shape, tuple) else (shape,)
    if not all(type(s) is int and s > 0 for s in sizes):
        numpys = any(isinstance(s, np.integer) for s in sizes)
        run.fault(
            "type",
            f"cuda.{where}.array of shape {shape!r}",
            "The shape is made of positive whole numbers, known when the kernel is "
            "compiled." + " Numba knows Python's, but not NumPy's." * numpys,
        )
    return sizes


def constant(run: "Run", data: Any, name: str = "constant array") -> Array:
    """An array from outside the kernel, which it cannot change."""
    if isinstance(data, Array):
        return data  # it is one already
    return wrap(np.asarray(data), name, "constant", run.fault, readonly=True)


class GridGroup:
    """All threads of the launch."""

    def __init__(self, run: "Run") -> None:
        self._run = run

    def sync(self) -> int:
        self._run.barrier("grid", sys._getframe(1))
        return 0


class Atomic:
    """`cuda.atomic`: each call reads, changes and writes in one go; gives the old."""

    def __init__(self, run: "Run") -> None:
        self._run = run

    def _change(self, array: Any, index: Any, new: Any, value: Any = None) -> Any:
        if not isinstance(array, Array):
            self._run.fault(
                "type",
                "`cuda.atomic` works on an element of an array",
                "It takes the array and the index apart: `cuda.atomic.add(out, 0, 1)` "
                "for `out[0] += 1`.",
            )
        name = sys._getframe(1).f_code.co_name
        holds = _ATOMIC_KINDS.get(name, "iuf")
        if array.dtype.kind not in holds or array.dtype.itemsize not in (4, 8):
            allowed = {"iuf": "int32, uint32, int64, uint64, float32 and float64"}
            allowed |= {"iu": "int32, uint32, int64 and uint64"}
            allowed |= {"u": "uint32 and uint64"}
            self._run.fault(
                "type",
                f"calls cuda.atomic.{name} on {array._name}, which holds {array.dtype}",
                f"Numba has this operation for {allowed[holds]}.",
            )
        kinds = {name}
        if array.dtype.kind in "iu" and array.dtype.itemsize == 4 and value == 1:
            kinds.add("one")
        parts = index if isinstance(index, tuple) else (index,)
        counted = all(type(part) in (int, Mask) for part in parts)
        if counted and name not in ("exch", "cas"):
            kinds.add("known")
        array._check(index, "atomically change")
        with self._run.atomically(kinds):
            old = array[index]
            if isinstance(old, Array):
                self._run.fault("type", "an atomic operation needs one element")
            array[index] = new(old, array.dtype.type)
        return old

    def add(self, array: Any, index: Any, value: Any) -> Any:
        return self._change(array, index, lambda old, t: old + _as(t, value), value)

    def sub(self, array: Any, index: Any, value: Any) -> Any:
        return self._change(array, index, lambda old, t: old - _as(t, value))

    def and_(self, array: Any, index: Any, value: Any) -> Any:
        return self._change(array, index, lambda old, t: old & _as(t, value))

    def or_(self, array: Any, index: Any, value: Any) -> Any:
        return self._change(array, index, lambda old, t: old | _as(t, value))

    def xor(self, array: Any, index: Any, value: Any) -> Any:
        return self._change(array, index, lambda old, t: old ^ _as(t, value))

    def inc(self, array: Any, index: Any, value: Any) -> Any:
        return self._change(
            array, index, lambda old, t: t(0) if old >= value else old + t(1)
        )

    def dec(self, array: Any, index: Any, value: Any) -> Any:
        return self._change(
            array,
            index,
            lambda old, t: _as(t, value) if old == 0 or old > value else old - t(1),
        )

    def exch(self, array: Any, index: Any, value: Any) -> Any:
        self._run.try_later()
        return self._change(array, index, lambda old, t: value)

    def max(self, array: Any, index: Any, value: Any) -> Any:
        return self._change(array, index, lambda old, t: max(old, _as(t, value)))

    def min(self, array: Any, index: Any, value: Any) -> Any:
        return self._change(array, index, lambda old, t: min(old, _as(t, value)))

    def nanmax(self, array: Any, index: Any, value: Any) -> Any:
        return self._change(array, index, lambda old, t: np.fmax(old, _as(t, value)))

    def nanmin(self, array: Any, index: Any, value: Any) -> Any:
        return self._change(array, index, lambda old, t: np.fmin(old, _as(t, value)))

    def cas(self, array: Any, index: Any, old: Any, value: Any) -> Any:
        self._run.try_later()
        return self._change(array, index, lambda now, t: value if now == old else now)

    def compare_and_swap(self, array: Any, old: Any, value: Any) -> Any:
        return self.cas(array, (0,) * array.ndim, old, value)


# The operations that Numba does not have for every type of number.
_ATOMIC_KINDS = {"inc": "u", "dec": "u"} | dict.fromkeys(
    ("and_", "or_", "xor", "exch", "cas"), "iu"
)


class Half:
    """`cuda.fp16`: half-precision arithmetic by function."""

    def __getattr__(self, name: str) -> Any:
        if name not in _HALF:
            raise AttributeError(f"cuda.fp16 has no {name}")
        function = _HALF[name]

        def apply(*values: Any) -> Any:
            with np.errstate(all="ignore"):
                result = function(*(np.float16(v) for v in values))
            return (
                result if isinstance(result, (bool, np.bool_)) else np.float16(result)
            )

        return apply


_HALF: dict[str, Any] = {
    "hadd": np.add,
    "hsub": np.subtract,
    "hmul": np.multiply,
    "hdiv": np.divide,
    "hfma": lambda a, b, c: float(a) * float(b) + float(c),
    "hneg": np.negative,
    "habs": np.abs,
    "hsin": np.sin,
    "hcos": np.cos,
    "hlog": np.log,
    "hlog2": np.log2,
    "hlog10": np.log10,
    "hexp": np.exp,
    "hexp2": np.exp2,
    "hexp10": lambda a: 10 ** float(a),
    "hsqrt": np.sqrt,
    "hrcp": np.reciprocal,
    "hrsqrt": lambda a: 1 / math.sqrt(a) if a > 0 else np.inf,
    "hceil": np.ceil,
    "hfloor": np.floor,
    "htrunc": np.trunc,
    "hrint": np.rint,
    "heq": np.equal,
    "hne": np.not_equal,
    "hge": np.greater_equal,
    "hgt": np.greater,
    "hle": np.less_equal,
    "hlt": np.less,
    "hmax": np.maximum,
    "hmin": np.minimum,
}


def _as(kind: Any, value: Any) -> Any:
    """`value` in the type of the array's elements, wrapping round like a register."""
    return value if type(value) is kind else np.asarray(value).astype(kind)[()]


def _unsigned(value: Any) -> tuple[int, int]:
    """The bits of an integer as a number >= 0, and how many there are."""
    width = value.dtype.itemsize * 8 if isinstance(value, np.generic) else 0
    if not width:  # a plain Python integer: int32 if it fits
        width = 32 if -(2**31) <= value < 2**32 else 64
    width = max(width, 32)
    return int(value) & (2**width - 1), width


def _like(value: Any, number: int) -> Any:
    if isinstance(value, np.integer):
        return np.array(number, np.uint64).astype(value.dtype)[()]
    return number
