"""What a call in a kernel gives: functions of `cuda`, of `math` and of Python."""

import ast
from collections.abc import Callable

from weft import meaning
from weft.intrinsics import registry
from weft.intrinsics.registry import Effect
from weft.simulator.arithmetic import functions
from weft.simulator.arithmetic.numbers import (
    BOOL,
    INT32,
    INT64,
    UINT32,
    UINT64,
    range_number,
)
from weft.simulator.inference.kinds import (
    Arr,
    Conversion,
    Kind,
    Named,
    Num,
    Outside,
    Tup,
    num,
)

# Bits of a position in a grid, as long as there is memory for what it stands for.
_GRID = 42
_NUMBERS = {str(kind.dtype): kind for kind in (INT32, UINT32, INT64)}
_SIZES = {"threadIdx": 10, "blockIdx": 31, "blockDim": 11, "gridDim": 31}

POSITIONS = {name: Num(INT32, bits, plain=True) for name, bits in _SIZES.items()}
LANES = {name: Num(INT32, 6, plain=True) for name in ("laneid", "warpsize")}

_FIXED: dict[str, Kind] = {
    **dict.fromkeys(("all_sync", "any_sync", "eq_sync"), num(BOOL)),
    **dict.fromkeys(("ballot_sync", "match_any_sync"), num(INT32)),
    **dict.fromkeys(
        ("syncthreads_count", "syncthreads_and", "syncthreads_or"), num(INT32)
    ),
    **dict.fromkeys(("activemask", "lanemask_lt", "ffs"), num(UINT32)),
    "match_all_sync": Tup((num(INT32), num(BOOL))),
}
_AS_GIVEN = {
    **dict.fromkeys(("popc", "clz", "fma", "cbrt"), 0),
    **dict.fromkeys(("shfl_sync", "shfl_up_sync"), 1),
    **dict.fromkeys(("shfl_down_sync", "shfl_xor_sync", "selp"), 1),
}
# What looks at the type of a number that it is given.
SENSITIVE = frozenset(
    ["popc", "clz", "ffs", "brev", *functions.BUILTINS, *functions.MATH]
)


def of_cuda(name: str, given: list[Kind], call: ast.Call) -> Kind:
    """What `cuda.name(...)` gives, for a name such as "grid" or "atomic.add"."""
    if name in _FIXED:
        return _FIXED[name]
    if name in ("grid", "gridsize"):
        return _positions(call)
    if name in ("shared.array", "local.array"):
        return _declared(given, call)
    if name.startswith("atomic.") and given:
        array = given[0]
        known = isinstance(array, Arr) and array.number is not None
        return num(array.number) if known else None  # type: ignore[union-attr, arg-type]
    if name in _AS_GIVEN and len(given) > _AS_GIVEN[name]:
        kind = given[_AS_GIVEN[name]]
        return num(kind.number, None, None) if isinstance(kind, Num) else None
    if name == "brev" and given and isinstance(given[0], Num):
        return num(UINT64 if given[0].number is UINT64 else UINT32)
    if name == "const.array_like" and given:
        return given[0]
    if name == "cg.this_grid":
        return Named(("cuda", "GridGroup"))
    return None


def _positions(call: ast.Call) -> Kind:
    if len(call.args) != 1 or not isinstance(call.args[0], ast.Constant):
        return None
    one = Num(INT64, _GRID, plain=True)
    ndim = call.args[0].value
    if ndim == 1:
        return one
    return Tup((one,) * int(ndim)) if isinstance(ndim, int) and ndim in (2, 3) else None


def _declared(given: list[Kind], call: ast.Call) -> Kind:
    """An array of the kernel's own; its arguments may be given by name."""
    named = {k.arg: k.value for k in call.keywords}
    shape = given[0] if given else None
    if "shape" in named or len(given) < 2 or not isinstance(given[1], Conversion):
        return None
    ndim = len(shape.parts) if isinstance(shape, Tup) else 1
    return Arr(given[1].number, ndim) if isinstance(shape, (Tup, Num)) else None


def of_python(name: str, given: list[Kind]) -> Kind:
    """What a function of Python's or of `math` gives."""
    if name == "len":
        return Num(INT64, 40, plain=True)
    if name in ("enumerate", "zip"):
        parts = [element(kind) for kind in given]
        first = (Num(INT64, 40, plain=True),) if name == "enumerate" else ()
        return Tup((Tup((*first, *parts)),))
    if not given or not all(isinstance(kind, Num) for kind in given):
        return None
    numbers = [kind.number for kind in given if isinstance(kind, Num)]
    if name == "range":
        most = max(kind.most for kind in given if isinstance(kind, Num))
        return Tup((Num(range_number(numbers), most, plain=True),))
    result = functions.result_of(name, numbers)
    if result is None:
        return None
    same = name in ("min", "max", "abs", "int") and result.whole
    bounds = [kind.most for kind in given if isinstance(kind, Num)]
    held = result is INT64
    return num(result, max(bounds) if same and numbers[0].kind != "f" else None, held)


def of_intrinsic(kind: Outside, given: list[Kind]) -> Kind:
    """What an intrinsic of `weft.intrinsics` gives, as far as that is needed."""
    operation = registry.of(kind.value)
    array = given[0] if given else None
    if operation is not None and operation.gives:
        parts = [num(_NUMBERS[name]) for name in operation.gives]
        return parts[0] if len(parts) == 1 else Tup(tuple(parts))
    if operation is None or not isinstance(array, Arr) or array.number is None:
        return None
    if operation.effect is Effect.RELAXED_LOAD:
        return num(array.number)
    if operation.effect is Effect.WIDE_LOAD:
        return Tup((num(array.number),) * operation.elements)
    return None


def element(kind: Kind) -> Kind:
    """What a `for` loop over something gives its variable."""
    if isinstance(kind, Tup) and len(set(kind.parts)) == 1:
        return kind.parts[0]
    if isinstance(kind, Arr) and kind.number is not None and kind.ndim == 1:
        return num(kind.number)
    return None


def is_device(kind: Kind) -> bool:
    """Whether it is a device function of the learner's, or a helper like one."""
    return isinstance(kind, Outside) and meaning.python_function(kind.value) is not None


Device = Callable[[Outside, tuple[Kind, ...]], Kind]
