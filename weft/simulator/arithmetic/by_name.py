"""Functions of numbers, looked up by name.

`operation("math", "sqrt", [FLOAT32])` says how a translated kernel computes a square
root. `function("math", "sqrt")` returns a function that finds the types of its
arguments at each call. These must be NumPy numbers, or Python's int, float, complex
or bool.
"""

import builtins
import operator
from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import Any

import numpy as np

from weft.simulator.arithmetic import (
    cuda_functions,
    mathematics,
    operations,
    python_functions,
)
from weft.simulator.arithmetic.bits import wrap64
from weft.simulator.arithmetic.conversions import conversion, convert
from weft.simulator.arithmetic.numbers import (
    BOOL,
    INT64,
    Number,
    number_of,
    rule_of_one,
    rule_of_two,
)
from weft.simulator.arithmetic.operations import Operation

Function = Callable[..., Any]


def operation(owner: str, name: str, given: Sequence[Number]) -> Operation | None:
    """Return the `Operation` for a function of numbers, or None if it is unknown.

    owner: "math", "cmath", "builtins", "operator", "numpy", "libdevice" or "cuda".
    given: the types of the function's arguments.
    """
    if owner == "math":
        return mathematics.of_math(name, *given)
    if owner == "builtins":
        return python_functions.of_python(name, *given)
    if owner == "operator":
        return _of_operator(name, *given)
    if owner in _FOR_NUMPY:
        return _by_numpy(owner, name, *given)
    if owner == "libdevice":
        return cuda_functions.of_libdevice(name, *given)
    if owner == "cuda" and name.startswith("fp16."):
        return cuda_functions.of_half(name.removeprefix("fp16."), *given)
    return cuda_functions.of_cuda(name, *given) if owner == "cuda" else None


def _of_operator(name: str, *given: Number) -> Operation | None:
    if len(given) == 2 and name in operations.SYMBOLS:
        return operations.binary(name, *given)
    name = "invert" if name == "inv" else name
    known = len(given) == 1 and name in operations.PREFIXES
    return operations.unary(name, *given) if known else None


_NUMPYS = {f"a{name}": f"arc{name}" for name in ("cos", "sin", "tan", "sinh", "tanh")}
_FOR_NUMPY = {"numpy": "np", "cmath": "cmath"}  # as the table of types calls them


@cache
def _by_numpy(owner: str, name: str, *given: Number) -> Operation | None:
    """Return the `Operation` for a function of NumPy or `cmath`, by Numba's rules.

    Returns None if Numba has no rule for it.
    """
    key, found = f"{_FOR_NUMPY[owner]}.{name}", _NUMPYS.get(name, name)
    ask: Any = {1: rule_of_one, 2: rule_of_two}.get(len(given))
    rule = None if ask is None else ask(key, *given)
    if rule is None:
        return None
    to, takes = rule.result, list(given)
    if owner == "cmath":
        takes = list(rule.operands)
    elif not to.whole and all(number.kind != "c" for number in given):
        takes = [to] * len(given)
    compute: Function = getattr(np, found)

    def apply(*values: Any) -> Any:
        with np.errstate(all="ignore"):
            held = [n.dtype.type(v) for n, v in zip(takes, values, strict=True)]
            return plain(cast_to(to)(compute(*held)))

    converts = tuple(conversion(n, t) for n, t in zip(given, takes, strict=True))
    return Operation(rule.results, apply, converts)


# Numbers that show their types


def plain(value: Any) -> Any:
    """Convert a NumPy number, or each number in a tuple, to a Python number."""
    if isinstance(value, np.generic):
        return value.item()
    if type(value) is not tuple:
        return value
    return tuple([v.item() if isinstance(v, np.generic) else plain(v) for v in value])


def shown(value: Any, number: Number) -> Any:
    """Convert `value` to NumPy's type for `number`; leave a bool or an int64 plain."""
    return value if number in (BOOL, INT64) else number.dtype.type(value)


@cache
def cast_to(number: Number) -> Callable[[Any], Any]:
    """Return a function that converts any number to the type `number`."""
    kind = {BOOL: bool, INT64: int}.get(number) or number.dtype.type

    def cast(value: Any) -> Any:
        if value.__class__ is kind and kind is not int:
            return value
        given = number_of(value)
        if given is None:
            return kind(value)
        value = plain(value)
        if kind is int and given is INT64:
            value = wrap64(int(value))
        return shown(convert(value, given, number), number)

    return cast


def function(owner: str, name: str) -> Function:
    """Return a function of numbers that finds its arguments' types at each call.

    Built-ins and functions of `operator` defer to Python's own if an argument is not a
    number. Raises TypeError for what Numba refuses.
    """
    own = getattr({"builtins": builtins, "operator": operator}.get(owner), name, None)

    def apply(*values: Any) -> Any:
        numbers = [number_of(value) for value in values]
        known = [number for number in numbers if number is not None]
        if own is not None and (not known or len(known) < len(values)):
            return own(*values)
        found = operation(owner, name, known) if len(known) == len(values) else None
        if found is None:
            kinds = ", ".join(
                str(n or type(v).__name__) for n, v in zip(numbers, values, strict=True)
            )
            raise TypeError(f"{name} of {kinds} is nothing that Numba compiles")
        result = found.whole()(*map(plain, values))
        if len(found.results) == 1:
            return shown(result, found.result)
        return tuple(map(shown, result, found.results))

    return apply


class Single(TypeError):
    """Raised if the only argument of `min`, `max` or `sum` is one that Numba refuses.

    text: the argument's source. ndim: its number of dimensions if it is an array, or 0
    if it is a number.
    """

    def __init__(self, name: str, text: str = "", ndim: int = 0) -> None:
        super().__init__(f"{name} of one number is nothing that Numba compiles")
        self.name, self.text, self.ndim = name, text, ndim


def single(_: Any, name: str, text: str, ndim: int) -> Any:
    """Raise `Single` for the argument of `min`, `max` or `sum`."""
    raise Single(name, text, ndim)


def _extreme(name: str) -> Function:
    """Return a `min` or `max` that takes several numbers or a tuple of numbers."""
    several = function("builtins", name)

    def apply(*values: Any) -> Any:
        if len(values) == 1:
            if number_of(values[0]) is not None:
                raise Single(name)
            values = tuple(values[0])
        return values[0] if len(values) == 1 else several(*values)

    return apply


def total(values: Any, start: Any = 0) -> Any:
    """Compute `sum` by adding as a kernel's `+` does."""
    return reduce(OPERATORS["add"], values, start)


# What a kernel finds in `operator`, in `math` and among Python's built-ins, by name.
OPERATORS: dict[str, Function] = {
    name: function("operator", name)
    for name in (*operations.SYMBOLS, *operations.PREFIXES)
    if name != "not_"
}
_OF_PYTHON = "abs bool complex divmod float int pow round".split()
BUILTINS: dict[str, Function] = {
    **{name: function("builtins", name) for name in _OF_PYTHON},
    **{"max": _extreme("max"), "min": _extreme("min"), "sum": total},
}


class Functions:
    """A module of numeric functions as a kernel sees it: "math", "cuda.fp16", …"""

    def __init__(self, owner: str) -> None:
        self._owner, _, self._part = owner.partition(".")

    def __getattr__(self, name: str) -> Any:
        owner, known = self._owner, _KNOWN[self._part or self._owner]
        if not known(name):
            shown = f"{owner}.{self._part}.{name}" if self._part else f"{owner}.{name}"
            raise AttributeError(f"Numba has no {shown} on a GPU")
        if owner in ("math", "cmath") and name in mathematics.CONSTANTS:
            return mathematics.CONSTANTS[name]
        return function(owner, f"{self._part}.{name}" if self._part else name)


_COMPLEX = "acos asin asinh atan atanh cos exp isfinite isinf isnan log sin sqrt tan"
_KNOWN: dict[str, Callable[[str], bool]] = {
    "math": mathematics.known().__contains__,
    "cmath": {*_COMPLEX.split(), *mathematics.CONSTANTS}.__contains__,
    "libdevice": cuda_functions.in_libdevice,
    "fp16": cuda_functions.HALF.__contains__,
}


def of_numpy(known: np.ufunc) -> Function:
    """Return a function that computes the ufunc `known` by Numba's rules.

    It calls `known` itself if Numba has no rule for the arguments.
    """
    by_rules = function("numpy", known.__name__)

    def apply(*values: Any) -> Any:
        numbers = [number_of(value) for value in values]
        ours = None not in numbers and operation("numpy", known.__name__, numbers)  # type: ignore[arg-type]
        return by_rules(*values) if ours else known(*values)

    return apply


class Operand:
    """The value in `x[i] += value`, wrapped so the operator follows Numba's rules."""

    __slots__ = ("_value",)
    __array_ufunc__ = None

    def __init__(self, value: Any) -> None:
        self._value = value


def _reflected(name: str) -> Callable[[Operand, Any], Any]:
    meet = OPERATORS[name]
    return lambda self, left: meet(left, self._value)


for _name in operations.SYMBOLS.keys() - operations.COMPARISONS:
    setattr(Operand, f"__r{_name.strip('_')}__", _reflected(_name))
