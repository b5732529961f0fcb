"""The operators, and `ufunc`: functions of numbers that also apply to arrays."""

import cmath
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

from weft.in_page.numpy.arrays import (
    array,
    asarray,
    broadcast_shape,
    ndarray,
    new,
    spread,
)
from weft.in_page.numpy.types import (
    BOOL,
    DTYPES,
    FLOAT64,
    INT64,
    _dtype,
    dtype,
    generic,
    result_type,
)

NUMBERS = (bool, int, float, complex)
SINGLE = (*NUMBERS, generic)


class ufunc:
    """A function of one or two numbers that can also be applied to arrays.

    function: computes the result from Python numbers. gives: returns the result's type,
    given the arguments' common type.
    """

    __module__ = "numpy"

    def __init__(
        self,
        name: str,
        nin: int,
        function: Callable[..., Any],
        gives: Callable[[dtype], Any],
    ) -> None:
        self.__name__, self.nin, self.nout = name, nin, 1
        self.nargs = nin + 1
        self._function, self._gives = function, gives
        self.types = [f"{'d' * nin}->d"]
        # by the types of two numbers: are they floats, and the result's type
        self._known: dict[Any, tuple[bool, Any]] = {}

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}'>"

    def __reduce__(self) -> Any:
        return self.__name__

    def __call__(self, *given: Any, out: Any = None, **more: Any) -> Any:
        """Apply the function to numbers or arrays; put the result in `out` if given."""
        if out is None and len(given) == 2 and not more and self.nout == 1:
            a, b = given
            if isinstance(a, SINGLE) and isinstance(b, SINGLE):
                return self._of_numbers(a, b)
        if len(given) > self.nin:
            *given, out = given  # type: ignore[assignment]
        sides = [
            each for each in given if isinstance(each, (*NUMBERS, generic, ndarray))
        ]
        if len(sides) < len(given):
            given = tuple(
                e if isinstance(e, (*NUMBERS, generic)) else asarray(e) for e in given
            )
        shared = result_type(*given)
        gives: Any = self._gives(shared)
        if more.get("dtype"):
            gives = _dtype(more["dtype"])
        if self.nout == 2:
            pairs = [self._function(v) for v in asarray(given[0])._values()]
            return tuple(
                self._made([p[k] for p in pairs], d, asarray(given[0]).shape)
                for k, d in enumerate(gives)
            )
        shape = broadcast_shape(*(getattr(e, "shape", ()) for e in given))
        values = self._values(given, shape, shared)
        if out is None:
            return self._made(values, gives, shape)
        target = out[0] if isinstance(out, tuple) else out
        target._fill(values)
        return target

    def _of_numbers(self, a: Any, b: Any) -> Any:
        """Apply the function to two single numbers."""
        kinds = type(a), type(b)
        if kinds not in self._known:
            shared = result_type(a, b)
            self._known[kinds] = shared.kind == "f", self._gives(shared)
        is_float, gives = self._known[kinds]
        a = a.item() if isinstance(a, generic) else a
        b = b.item() if isinstance(b, generic) else b
        if is_float and self.__name__ in BY_KIND:
            a, b = a * 1.0, b * 1.0
        value = self._function(a, b)
        return gives.type(gives.integer(value) if gives.kind in "iu" else value)

    def _values(
        self, given: tuple[Any, ...], shape: tuple[int, ...], shared: dtype
    ) -> list[Any]:
        function = self._function
        if shared.kind in "biu":
            function = OF_INTEGERS.get(self.__name__, function)
        if self.nin == 1:
            return list(map(function, spread(given[0], shape)))
        a, b = given
        if shared.kind == "f" and self.__name__ in BY_KIND:
            a, b = (e * 1.0 for e in given)
        others: Any = itertools.repeat(b.item() if isinstance(b, generic) else b)
        if isinstance(b, ndarray):
            others = spread(b, shape)
        try:
            return list(map(function, spread(a, shape), others))
        except (ZeroDivisionError, ValueError, OverflowError):  # from a fast function
            others = spread(b, shape)
            return list(map(self._function, spread(a, shape), others))

    def _made(self, values: list[Any], gives: dtype, shape: tuple[int, ...]) -> Any:
        if shape:
            return new(values, gives, shape)
        value = values[0]
        return gives.type(gives.integer(value) if gives.kind in "iu" else value)

    # Along one axis

    def reduce(
        self,
        given: Any,
        axis: Any = 0,
        dtype: Any = None,
        initial: Any = None,
        keepdims: bool = False,
        **_: Any,
    ) -> Any:
        """Fold the elements along one or more axes, or along all if `axis` is None."""
        a = asarray(given)
        gives = _dtype(dtype) if dtype else self._gives(a.dtype)
        if self.__name__ in ("add", "multiply") and not dtype and a.dtype.kind in "biu":
            gives = DTYPES["uint64"] if a.dtype.kind == "u" else INT64
        lines, shape = lines_of(a, axis)
        if initial is None and self.__name__ in IDENTITIES:
            initial = IDENTITIES[self.__name__]
        found = [self._folded(line, initial) for line in lines]
        if keepdims:
            axes = range(a.ndim) if axis is None else _axes(axis, a.ndim)
            shape = tuple(1 if k in axes else n for k, n in enumerate(a.shape))
        return self._made(found, gives, shape)

    def _folded(self, line: list[Any], initial: Any) -> Any:
        plain = initial.item() if isinstance(initial, generic) else initial
        if self.__name__ == "add":
            return sum(line, plain)
        fold = FOLDS.get(self.__name__)
        plainly = line and (not isinstance(line[0], float) or fold in (any, all))
        if fold is not None and plainly and initial in (None, False, True):
            return fold(line)
        if initial is not None:
            line = [plain, *line]
        if not line:
            raise ValueError(
                f"zero-size array to reduction operation {self.__name__} which has no "
                "identity"
            )
        found = line[0]
        for value in line[1:]:
            found = self._function(found, value)
        return found

    def accumulate(self, given: Any, axis: int = 0, dtype: Any = None) -> Any:
        """Apply the function cumulatively along an axis; return all partial results."""
        a = asarray(given)
        gives = _dtype(dtype) if dtype else self._gives(a.dtype)
        if self.__name__ in ("add", "multiply") and not dtype and a.dtype.kind in "biu":
            gives = DTYPES["uint64"] if a.dtype.kind == "u" else INT64
        lines, _ = lines_of(a, axis)
        rounded = gives.kind == "f" and gives is not FLOAT64
        found = []
        for line in lines:
            so_far: list[Any] = []
            for value in line:
                last = self._function(so_far[-1], value) if so_far else value
                so_far.append(gives.type(last).item() if rounded else last)
            found += so_far
        at = axis % a.ndim
        side = [n for k, n in enumerate(a.shape) if k != at]
        turned = new(found, gives, (*side, a.shape[at]))
        order = [*range(len(side))]
        order.insert(at, len(side))
        return turned.transpose(order) if a.ndim > 1 else turned

    def reduceat(self, given: Any, indices: Any) -> Any:
        a, starts = asarray(given), asarray(indices)._values()
        values = a._values()
        ends = [*starts[1:], len(values)]
        found = [
            self._folded(values[b : max(e, b + 1)], None)
            for b, e in zip(starts, ends, strict=True)
        ]
        return new(found, self._gives(a.dtype), (len(found),))

    def at(self, a: ndarray, index: Any, *values: Any) -> None:
        """Apply the function in place, once for every index, even a repeated one."""
        numbers, held = asarray(index), a._values()
        others = spread(values[0], numbers.shape) if values else []
        for k, number in enumerate(numbers._values()):
            more = [others[k]] if others else []
            held[number] = self._function(held[number], *more)
        a._fill(held)

    def outer(self, a: Any, b: Any) -> Any:
        one, other = asarray(a), asarray(b)
        return self(one.reshape(*one.shape, *[1] * other.ndim), other)


def _axes(axis: Any, ndim: int) -> list[int]:
    return [a % ndim for a in (axis if isinstance(axis, tuple) else (axis,))]


def lines_of(a: ndarray, axis: Any) -> tuple[list[list[Any]], tuple[int, ...]]:
    """Return lists of the numbers along `axis`, and the shape of the other axes.

    `axis` is one axis or several. If it is None, a single list holds all numbers.
    """
    if axis is None:
        return [a._values()], ()
    axes = _axes(axis, a.ndim)
    rest = [k for k in range(a.ndim) if k not in axes]
    values = a.transpose([*rest, *axes])._values() if a.ndim > 1 else a._values()
    shape = tuple(a.shape[k] for k in rest)
    side, many = math.prod(a.shape[k] for k in axes), math.prod(shape)
    return [values[k * side : (k + 1) * side] for k in range(many)], shape


# On Python numbers


def divided(a: Any, b: Any) -> Any:
    try:
        return a / b
    except ZeroDivisionError:
        if isinstance(a, complex) or a != a or not a:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)
    except OverflowError:
        return math.inf if (a > 0) == (b > 0) else -math.inf


def floored(a: Any, b: Any) -> Any:
    try:
        found = a // b
        return float(found) if isinstance(a, float) or isinstance(b, float) else found
    except ZeroDivisionError:
        return divided(a, b) if isinstance(a, float) or isinstance(b, float) else 0


def remainder_of(a: Any, b: Any) -> Any:
    try:
        return a % b
    except ZeroDivisionError:
        return math.nan if isinstance(a, float) or isinstance(b, float) else 0


def truncated(a: Any, b: Any) -> Any:
    """Compute `fmod`: the remainder with the sign of `a`."""
    if isinstance(a, int) and isinstance(b, int):
        return int(math.copysign(abs(a) % abs(b), a)) if b else 0
    return safe(math.fmod)(a, b)


def power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and b < 0:
        raise ValueError("Integers to negative integer powers are not allowed.")
    try:
        found = a**b
    except OverflowError:
        return math.copysign(math.inf, a) if b % 2 == 1 else math.inf
    except ZeroDivisionError:
        return math.copysign(math.inf, a) if b % 2 == 1 else math.inf
    return math.nan if isinstance(found, complex) and not is_complex(a, b) else found


def is_complex(*values: Any) -> bool:
    return any(isinstance(value, complex) for value in values)


def safe(function: Callable[..., float]) -> Callable[..., Any]:
    """Wrap a function of `math` to return NaN or infinity instead of raising."""
    of_complex = getattr(cmath, function.__name__, None)

    def called(*given: Any) -> Any:
        try:
            if of_complex is not None and is_complex(*given):
                return of_complex(*given)
            return function(*given)
        except ValueError:
            return at_pole(function.__name__, given[0])
        except OverflowError:
            odd = function.__name__ == "sinh" and given[0] < 0
            return -math.inf if odd else math.inf

    return called


def at_pole(name: str, x: float) -> float:
    if (name in ("log", "log2", "log10") and x == 0) or (name == "log1p" and x == -1):
        return -math.inf
    if name == "atanh" and abs(x) == 1:
        return math.copysign(math.inf, x)
    return math.nan


def largest(a: Any, b: Any) -> Any:
    return a if a >= b or a != a else b


def smallest(a: Any, b: Any) -> Any:
    return a if a <= b or a != a else b


def whole(function: Callable[[float], int]) -> Callable[[Any], Any]:
    """Wrap a rounding function so that a float gives a float, not an integer."""

    def called(x: Any) -> Any:
        if isinstance(x, int) or not math.isfinite(x):
            return x
        return math.copysign(float(function(x)), x)

    return called


def sign_of(x: Any) -> Any:
    return x if x != x else (x > 0) - (x < 0)


def shifted_left(a: int, b: int) -> int:
    return a << b if 0 <= b < 64 else 0


def shifted_right(a: int, b: int) -> int:
    return a >> (b if 0 <= b < 64 else 64)


def parts_of(x: float) -> tuple[float, float]:
    fraction, integral = math.modf(x)
    return fraction, integral


def scaled(a: float, b: int) -> float:
    try:
        return math.ldexp(a, b)
    except OverflowError:
        return math.copysign(math.inf, a)


# The types of results: faster functions for integers and Booleans

OF_INTEGERS: dict[str, Callable[..., Any]] = {
    "maximum": max, "minimum": min, "floor_divide": operator.floordiv,
    "remainder": operator.mod, "left_shift": operator.lshift,
    "right_shift": operator.rshift,
}  # fmt: skip
FOLDS: dict[str, Callable[[list[Any]], Any]] = {
    "maximum": max, "minimum": min, "logical_or": any, "logical_and": all,
}  # fmt: skip
BY_KIND = ("remainder", "fmod", "floor_divide", "power")  # other results for floats


def same(d: dtype) -> dtype:
    return d


def flag(_: dtype) -> dtype:
    return BOOL


def floating(d: dtype) -> dtype:
    """Return the type that a floating-point function gives for numbers of type `d`."""
    return (
        d
        if d.kind in "fc"
        else DTYPES[{1: "float16", 2: "float32"}.get(d.itemsize, "float64")]
    )


def quotient(d: dtype) -> dtype:
    return d if d.kind in "fc" else FLOAT64


def counted(d: dtype) -> dtype:
    return DTYPES["int8"] if d.kind == "b" else d


def bits(d: dtype) -> dtype:
    """Return an integer or Boolean type unchanged. Raises TypeError for others."""
    if d.kind not in "biu":
        raise TypeError(f"ufunc not supported for the input type {d.name}")
    return d


def real(d: dtype) -> dtype:
    return DTYPES[f"float{4 * d.itemsize}"] if d.kind == "c" else d


IDENTITIES: dict[str, Any] = {
    "add": 0, "multiply": 1, "logical_or": False, "logical_and": True,
    "bitwise_or": 0, "bitwise_xor": 0, "bitwise_and": -1, "logical_xor": False,
}  # fmt: skip

_BOTH: dict[str, tuple[Callable[[Any, Any], Any], Callable[[dtype], dtype]]] = {
    "add": (operator.add, same),
    "subtract": (operator.sub, same),
    "multiply": (operator.mul, same),
    "divide": (divided, quotient),
    "floor_divide": (floored, counted),
    "remainder": (remainder_of, counted),
    "fmod": (truncated, counted),
    "power": (power, counted),
    "maximum": (largest, same),
    "minimum": (smallest, same),
    "fmax": (lambda a, b: b if a != a else a if b != b or a >= b else b, same),
    "fmin": (lambda a, b: b if a != a else a if b != b or a <= b else b, same),
    "arctan2": (math.atan2, floating),
    "hypot": (math.hypot, floating),
    "copysign": (math.copysign, floating),
    "ldexp": (scaled, floating),
    "equal": (operator.eq, flag),
    "not_equal": (operator.ne, flag),
    "less": (operator.lt, flag),
    "less_equal": (operator.le, flag),
    "greater": (operator.gt, flag),
    "greater_equal": (operator.ge, flag),
    "logical_and": (lambda a, b: bool(a and b), flag),
    "logical_or": (lambda a, b: bool(a or b), flag),
    "logical_xor": (lambda a, b: bool(a) is not bool(b), flag),
    "bitwise_and": (operator.and_, bits),
    "bitwise_or": (operator.or_, bits),
    "bitwise_xor": (operator.xor, bits),
    "left_shift": (shifted_left, lambda d: counted(bits(d))),
    "right_shift": (shifted_right, lambda d: counted(bits(d))),
}
_MATH = {
    **{n: n for n in "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan".split()},
    **{n: n for n in "sinh cosh tanh cbrt degrees radians".split()},
    **{f"arc{n}": f"a{n}" for n in "sin cos tan sinh cosh tanh".split()},
    **{"rad2deg": "degrees", "deg2rad": "radians"},
}
_ONE: dict[str, tuple[Callable[[Any], Any], Callable[[dtype], Any]]] = {
    "negative": (operator.neg, same),
    "positive": (operator.pos, same),
    "absolute": (abs, real),
    "fabs": (lambda x: abs(float(x)), floating),
    "square": (lambda x: x * x, same),
    "sign": (sign_of, same),
    "reciprocal": (lambda x: divided(1.0, x), same),
    "conjugate": (lambda x: x.conjugate(), same),
    "isnan": (lambda x: x != x, flag),
    "isinf": (lambda x: cmath.isinf(x), flag),
    "isfinite": (lambda x: cmath.isfinite(x), flag),
    "signbit": (lambda x: math.copysign(1.0, x) < 0, flag),
    "logical_not": (operator.not_, flag),
    "floor": (whole(math.floor), same),
    "ceil": (whole(math.ceil), same),
    "trunc": (whole(math.trunc), same),
    "rint": (whole(round), floating),
    **{name: (safe(getattr(math, of)), floating) for name, of in _MATH.items()},
}
UFUNCS: dict[str, ufunc] = {
    **{name: ufunc(name, 2, *about) for name, about in _BOTH.items()},
    **{name: ufunc(name, 1, *about) for name, about in _ONE.items()},
}
for _name, _function, _types in (
    ("frexp", math.frexp, lambda d: (floating(d), DTYPES["int32"])),
    ("modf", parts_of, lambda d: (floating(d), floating(d))),
):
    UFUNCS[_name] = ufunc(_name, 1, _function, _types)
    UFUNCS[_name].nout = 2
UFUNCS |= {"abs": UFUNCS["absolute"], "mod": UFUNCS["remainder"]}
UFUNCS |= {"true_divide": UFUNCS["divide"], "conj": UFUNCS["conjugate"]}


def _inverted(x: Any) -> Any:
    return not x if isinstance(x, bool) else ~x


UFUNCS["invert"] = UFUNCS["bitwise_not"] = ufunc("invert", 1, _inverted, bits)


def divmod_of(a: Any, b: Any) -> Any:
    return UFUNCS["floor_divide"](a, b), UFUNCS["remainder"](a, b)


# Operators

_OPERATORS = {
    **{"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide"},
    **{"floordiv": "floor_divide", "mod": "remainder", "pow": "power"},
    **{"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"},
    **{"lshift": "left_shift", "rshift": "right_shift"},
}
_COMPARISONS = {
    **{"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal"},
    **{"gt": "greater", "ge": "greater_equal"},
}
_SIGNS = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}


def takes(value: Any) -> bool:
    """Return whether an operator accepts a value as a number or an array of numbers."""
    return isinstance(value, (*NUMBERS, generic, ndarray, list, tuple))


def _two(function: ufunc, turned: bool = False) -> Any:
    def method(self: Any, other: Any) -> Any:
        if not takes(other):
            return NotImplemented
        return function(other, self) if turned else function(self, other)

    return method


def _in_place(function: ufunc) -> Any:
    def method(self: Any, other: Any) -> Any:
        self._fill(function(self, other).astype(self.dtype)._values())
        return self

    return method


def _compared(function: ufunc, name: str) -> Any:
    def method(self: Any, other: Any) -> Any:
        if not takes(other):
            return NotImplemented if name not in ("eq", "ne") else name == "ne"
        return function(self, other)

    return method


for _kind in (generic, ndarray):
    for _short, _long in _OPERATORS.items():
        setattr(_kind, f"__{_short}__", _two(UFUNCS[_long]))
        setattr(_kind, f"__r{_short}__", _two(UFUNCS[_long], turned=True))
        if _kind is ndarray:
            setattr(_kind, f"__i{_short}__", _in_place(UFUNCS[_long]))
    for _short, _long in _COMPARISONS.items():
        setattr(_kind, f"__{_short}__", _compared(UFUNCS[_long], _short))
    for _short, _long in _SIGNS.items():
        setattr(_kind, f"__{_short}__", lambda self, f=UFUNCS[_long]: f(self))
    _kind.__divmod__ = lambda self, other: divmod_of(self, other)  # type: ignore
    _kind.__rdivmod__ = lambda self, other: divmod_of(other, self)  # type: ignore

__all__ = ["UFUNCS", "array", "divmod_of", "lines_of", "ufunc"]
