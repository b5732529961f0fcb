"""Infer the kinds returned by calls to functions of `cuda`, `math` and Python."""

import ast
import builtins
from collections.abc import Callable
from dataclasses import replace

from weft import meaning
from weft.intrinsics import registry
from weft.intrinsics.registry import Effect
from weft.simulator.arithmetic.by_name import operation
from weft.simulator.arithmetic.numbers import (
    BOOL,
    INT32,
    INT64,
    NUMBERS,
    UINT32,
    range_number,
    rule_of_two,
    wide,
)
from weft.simulator.inference.kinds import (
    ERROR,
    GRID,
    NEVER,
    NOTHING,
    REFUSED,
    SLICE,
    TEXT,
    Arr,
    Conversion,
    Each,
    Kind,
    Method,
    Num,
    Outside,
    Tup,
    alike,
    joined,
    num,
)

# Bits of a position in a grid: memory cannot hold more than 2^42 elements.
_GRID = 42
_NUMBERS = {kind.dtype.name: kind for kind in NUMBERS.values()}
_SIZES = {"threadIdx": 10, "blockIdx": 31, "blockDim": 11, "gridDim": 31}

POSITIONS = {name: Num(INT32, bits, natural=True) for name, bits in _SIZES.items()}
LANES = {name: Num(INT32, 6, natural=True) for name in ("laneid", "warpsize")}
SIZE = Num(INT64, 40, natural=True)

_FIXED: dict[str, Kind] = {
    **dict.fromkeys(("all_sync", "any_sync", "eq_sync"), num(BOOL)),
    **dict.fromkeys(("ballot_sync", "match_any_sync"), num(INT32)),
    **dict.fromkeys(
        ("syncthreads_count", "syncthreads_and", "syncthreads_or"), num(INT32)
    ),
    **dict.fromkeys(("activemask", "lanemask_lt"), num(UINT32)),
    "match_all_sync": Tup((num(INT32), num(BOOL))),
    **dict.fromkeys(("syncthreads", "syncwarp", "nanosleep"), NOTHING),
    **dict.fromkeys(
        ("threadfence", "threadfence_block", "threadfence_system"), NOTHING
    ),
    "cg.this_grid": GRID,
}
_AS_GIVEN = {
    **dict.fromkeys(("shfl_sync", "shfl_up_sync"), 1),
    **dict.fromkeys(("shfl_down_sync", "shfl_xor_sync"), 1),
}
ERRORS = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
)


def of_cuda(name: str, given: list[Kind], sizes: list[int | None]) -> Kind:
    """Infer the kind of the result of a call to `cuda.name`.

    name: a name such as "grid" or "atomic.add". sizes: the value of each argument, or
    None if it is not a known integer.
    """
    if name in _FIXED:
        return _FIXED[name]
    if name in ("grid", "gridsize"):
        return _positions(sizes)
    if name.startswith("atomic."):
        return given[0].element if given and isinstance(given[0], Arr) else REFUSED
    if name in _AS_GIVEN and len(given) > _AS_GIVEN[name]:
        kind = given[_AS_GIVEN[name]]
        return num(kind.number, None, kind.loaded) if isinstance(kind, Num) else kind
    if name == "selp" and len(given) == 3:
        return joined(given[1], given[2])
    if name == "const.array_like" and given:
        array = given[0]
        return replace(array, space="constant") if isinstance(array, Arr) else array
    return of_numbers("cuda", name, given)


def of_numbers(owner: str, name: str, given: list[Kind]) -> Kind:
    """Infer the kind of the result of a function of numbers."""
    numbers = [kind.number for kind in given if isinstance(kind, Num)]
    if len(numbers) < len(given):
        return None if None in given else NEVER if NEVER in given else REFUSED
    found = operation(owner, name, numbers)
    if found is None:
        return REFUSED
    counts = owner == "cuda"  # of `popc`, `clz` and others
    parts = tuple(num(n, natural=counts and n.whole) for n in found.results)
    return parts[0] if len(parts) == 1 else Tup(parts)


def _positions(sizes: list[int | None]) -> Kind:
    one = Num(INT64, _GRID, natural=True)
    ndim = sizes[0] if len(sizes) == 1 else None
    if ndim == 1:
        return one
    return Tup((one,) * ndim) if ndim in (2, 3) else REFUSED


def declared(space: str, given: list[Kind], named: dict[str | None, Kind]) -> Kind:
    """Infer the kind of an array from its declaration in a kernel.

    given, named: the kinds of the declaration's positional and keyword arguments.
    """
    shape = given[0] if given else named.get("shape")
    dtype = given[1] if len(given) > 1 else named.get("dtype")
    if not isinstance(dtype, Conversion) or not isinstance(shape, (Tup, Num)):
        return None if None in (shape, dtype) else REFUSED
    ndim = len(shape.parts) if isinstance(shape, Tup) else 1
    return Arr(dtype.number, ndim, dtype.record, space, packed=True)


def of_method(method: Method, given: list[Kind]) -> Kind:
    """Infer the kind that a method of an array, a number or the grid returns."""
    owner, name = method.owner, method.name
    if owner == GRID:
        return Num(INT32, 1) if name == "sync" else REFUSED
    if isinstance(owner, Num) and name == "conjugate":
        return num(owner.number)
    if not isinstance(owner, Arr):
        return REFUSED
    if name == "reshape" and given:
        several = isinstance(given[0], Tup)
        ndim = len(given[0].parts) if several else len(given)  # type: ignore[union-attr]
        return replace(owner, ndim=ndim, packed=True)
    if name == "view" and given and isinstance(given[0], Conversion):
        return replace(owner, number=given[0].number, record=given[0].record)
    if name in ("any", "all"):
        return num(BOOL)
    if owner.number is None or name not in ("sum", "prod", "mean"):
        return REFUSED
    if name != "mean":
        return num(wide(owner.number))
    rule = rule_of_two("truediv", owner.number, INT64)
    return REFUSED if rule is None else num(rule.result)


def of_python(owner: str, name: str, given: list[Kind]) -> Kind:
    """Infer the kind that a Python built-in or a function of `math` returns."""
    if None in given:
        return None
    if owner == "builtins" and name in _SIMPLE:
        return _SIMPLE[name](given)
    if name == "sum" and given:
        return total(given)
    if owner == "builtins" and name in ERRORS:
        return ERROR
    if name in ("min", "max") and len(given) == 1:
        given = list(given[0].parts) if isinstance(given[0], Tup) else [REFUSED]
    if not given or not all(isinstance(kind, Num) for kind in given):
        return NEVER if NEVER in given else REFUSED
    numbers = [kind.number for kind in given if isinstance(kind, Num)]
    bounds = [kind.most for kind in given if isinstance(kind, Num)]
    naturals = [kind.natural for kind in given if isinstance(kind, Num)]
    if name == "range" and owner == "builtins":
        begins = {1: [], 2: naturals[:1]}.get(len(given), naturals[::2])
        return Each(num(range_number(numbers), max(bounds), natural=all(begins)))
    found = of_numbers(owner, name, given)
    if not isinstance(found, Num) or name not in ("min", "max", "abs", "int"):
        return found
    if not found.whole or not numbers[0].whole:
        return found
    natural = any(naturals) if name == "max" else name != "abs" and all(naturals)
    return num(found.number, max(bounds), natural=natural)


def total(given: list[Kind]) -> Kind:
    """Infer the kind of the result of `sum`, which adds as a kernel's `+` does."""
    parts = given[0].parts if isinstance(given[0], Tup) else ()
    found: Kind = given[1] if len(given) > 1 else num(INT64)
    if not isinstance(given[0], Tup):
        parts = (element(given[0]),) * 2
    for part in parts:
        if not isinstance(found, Num) or not isinstance(part, Num):
            return REFUSED
        rule = rule_of_two("add", found.number, part.number)
        if rule is None:
            return REFUSED
        found = num(rule.result)
    return found


def _each(given: list[Kind]) -> Kind:
    return Each(element(given[0]) if given else REFUSED)


_SIMPLE: dict[str, Callable[[list[Kind]], Kind]] = {
    "len": lambda given: SIZE,
    "enumerate": lambda given: (
        Each(Tup((SIZE, element(given[0])))) if given else REFUSED
    ),
    "zip": lambda given: Each(Tup(tuple(map(element, given)))),
    "iter": _each,
    "next": lambda given: element(given[0]) if given else REFUSED,
    "print": lambda given: NOTHING,
    "isinstance": lambda given: num(BOOL),
    "slice": lambda given: SLICE,
    "chr": lambda given: TEXT,
    "ord": lambda given: num(INT64, 21),
    "bool": lambda given: num(BOOL),
    "type": lambda given: (
        Conversion(given[0].number) if isinstance(given[0], Num) else REFUSED
    ),
    "tuple": lambda given: (
        Tup(given[0].parts) if given and isinstance(given[0], Tup) else REFUSED
    ),
}


def of_intrinsic(kind: Outside, given: list[Kind]) -> Kind:
    """Infer the kind that an intrinsic of `weft.intrinsics` returns."""
    operation = registry.of(kind.value)
    array = given[0] if given else REFUSED
    if operation is None:
        return REFUSED
    if operation.gives == ("matrix",):
        return replace(array, ndim=2) if isinstance(array, Arr) else REFUSED
    if operation.gives:
        parts = [num(_NUMBERS[name]) for name in operation.gives]
        return parts[0] if len(parts) == 1 else Tup(tuple(parts))
    if operation.effect is Effect.RELAXED_LOAD:
        return array.element if isinstance(array, Arr) else REFUSED
    if operation.effect is Effect.WIDE_LOAD:
        part = array.element if isinstance(array, Arr) else REFUSED
        return Tup((part,) * operation.elements)
    return NOTHING


def element(kind: Kind) -> Kind:
    """Infer the kind of a `for` loop's variable from the kind of the iterable."""
    if isinstance(kind, Tup):
        return alike(kind.parts)
    if isinstance(kind, Each):
        return kind.item
    if isinstance(kind, Arr):
        more = kind.ndim - 1
        return replace(kind, ndim=more) if more else kind.element
    if kind in (None, NEVER, TEXT):
        return kind
    return REFUSED


def unpacked(given: list[tuple[ast.expr, Kind]]) -> list[Kind]:
    """Return the kinds of a call's arguments, with starred tuples unpacked."""
    return [
        part
        for node, kind in given
        for part in (
            kind.parts
            if isinstance(node, ast.Starred) and isinstance(kind, Tup)
            else (kind,)
        )
    ]


def is_device(kind: Kind) -> bool:
    """Return whether a value is a device function, or can be called like one."""
    return isinstance(kind, Outside) and meaning.python_function(kind.value) is not None


Device = Callable[[Outside, tuple[Kind, ...]], Kind]
