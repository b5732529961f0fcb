"""The types of a kernel's expressions, recorded on its nodes.

Each node gets `seen`, its kind, and `cast`, the type to which its result must be
converted, or None.
"""

import ast
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weft.intrinsics import registry
from weft.simulator.arithmetic.numbers import (
    BOOL,
    COMPLEX128,
    FLOAT32,
    FLOAT64,
    INT64,
    UINT64,
    rule_of_one,
    rule_of_two,
)
from weft.simulator.inference import calls, outside
from weft.simulator.inference.kinds import (
    DOTS,
    ERROR,
    GRID,
    LARGEST,
    NEVER,
    NOTHING,
    REFUSED,
    SLICE,
    TEXT,
    Arr,
    Conversion,
    Inner,
    Kind,
    Method,
    Named,
    Num,
    Outside,
    Record,
    Special,
    Tup,
    Vector,
    all_joined,
    cast_of_any,
    coarse,
    joined,
    num,
)

OPERATORS: dict[type, str] = {
    **{ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv"},
    **{ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow"},
    **{ast.LShift: "lshift", ast.RShift: "rshift"},
    **{ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor"},
    **{ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"},
    **{ast.Eq: "eq", ast.NotEq: "ne"},
    **{ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"},
}


def two(name: str, a: Kind, b: Kind, by: int | None = None) -> Kind:
    """Infer the kind of the result of the operator `name` on kinds `a` and `b`.

    by: the value of `b`, if it is a constant.
    """
    if not isinstance(a, Num) or not isinstance(b, Num):
        return _odd(name, a, b)
    rule = rule_of_two(name, a.number, b.number)
    if rule is None:
        return REFUSED
    signed = rule.result is INT64 and UINT64 not in (a.number, b.number)
    bounded = signed or (rule.result.kind == "u" and name in ("add", "mul"))
    most = _bound(name, a, b, by) if bounded else None
    natural = signed and _natural(name, a, b)
    return num(rule.result, most, a.loaded or b.loaded, natural)


def _odd(name: str, *kinds: Kind) -> Kind:
    """Infer the kind of an operator's result if an operand is not a number.

    An operation that Numba refuses is left to Python at run time, when the values are
    known.
    """
    if None in kinds:
        return None
    if REFUSED in kinds:
        return REFUSED
    if name == "add" and all(isinstance(kind, Tup) for kind in kinds):
        parts = [part for kind in kinds for part in kind.parts]  # type: ignore[union-attr]
        return Tup(tuple(parts))
    return NEVER if NEVER in kinds else TEXT if TEXT in kinds else REFUSED


def _bound(name: str, a: Num, b: Num, by: int | None) -> int:
    """Return a bound on an integer operation's result, in bits; see `Num.most`."""
    if name in ("add", "sub"):
        return max(a.most, b.most) + 1
    if name == "mul":
        return a.most + b.most
    if name == "lshift" and by is not None and by >= 0:
        return a.most + by
    if name == "pow" and by is not None and by >= 0:
        return max(a.most * by, 1)
    if name in ("and_", "or_", "xor"):
        return max(a.most, b.most)
    if name == "mod":
        return b.most
    # the lowest number divided by -1 is one more than the highest
    if name == "floordiv":
        return a.most + (not b.natural)
    if name == "rshift":
        return a.most
    return LARGEST


def _natural(name: str, a: Num, b: Num) -> bool:
    """Return whether an integer operation's result is known never to be negative."""
    if name == "and_":
        return a.natural or b.natural
    if name == "mod":
        return b.natural
    both = a.natural and b.natural
    return both and name in ("add", "mul", "floordiv", "rshift", "lshift", "or_", "xor")


def one(name: str, kind: Kind) -> Kind:
    """Infer the kind of the result of the unary operator `name` on a `kind`."""
    if not isinstance(kind, Num):
        return _odd(name, kind)
    rule = rule_of_one(name, kind.number)
    if rule is None:
        return REFUSED
    most = kind.most if rule.result is INT64 else None
    return num(rule.result, most, kind.loaded)


@dataclass(frozen=True, slots=True)
class Unset:
    """The kind of a name that has a value on only some of the paths to this point."""

    kind: Kind


Env = dict[str, "Kind | Unset"]
Inside = Callable[[Inner, tuple[Kind, ...], dict[str | None, Kind]], tuple[int, Kind]]


class Expressions:
    """Infers the kinds of expressions, given the kinds of the names in them."""

    def __init__(self, names: "Names", device: calls.Device, inner: Inside) -> None:
        """Initialise the inference of kinds.

        device: infers the kind of the result of a call to a device function. inner:
        does the same for a function that is defined inside the current one.
        """
        self.names = names
        self._device, self._inner = device, inner

    def kind(self, node: ast.expr | None) -> Kind:
        """Infer the kind of an expression, and annotate its nodes for translation."""
        if node is None:
            return None
        node.cast = None  # type: ignore[attr-defined]
        visit = getattr(self, f"_{type(node).__name__.lower()}", None)
        if visit is not None:
            return settled(node, visit(node))
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.kind(child)
        return settled(node, None)

    def test(self, node: ast.expr) -> None:
        """Infer the kinds in an expression that is used only for its truth value."""
        if isinstance(node, ast.BoolOp):
            for value in node.values:
                self.test(value)
            settled(node, num(BOOL))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.test(node.operand)
            settled(node, num(BOOL))
        else:
            self.kind(node)

    def constant(self, node: ast.expr) -> int | None:
        """Return the integer that an expression is known to equal, or None."""
        value = self.fixed(node)
        return value if type(value) is int else None

    def decided(self, test: ast.expr) -> bool | None:
        """Return the value of a condition, or None if only the running kernel knows it.

        Numba omits the branch that a known condition excludes.
        """
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            if isinstance(test.ops[0], (ast.Is, ast.IsNot)):
                return self._is_none(test)
            name = OPERATORS.get(type(test.ops[0]))
            sides = [self.fixed(test.left), self.fixed(test.comparators[0])]
            if name is None or None in sides:
                return None
            return bool(getattr(operator, name)(*sides))
        if isinstance(test, ast.Call):
            return getattr(test, "always", None)
        value = self.fixed(test)
        return None if value is None else bool(value)

    def _is_none(self, test: ast.Compare) -> bool | None:
        """Evaluate `is` or `is not` if both sides are always None, else return None."""
        sides = [self.kind(test.left), self.kind(test.comparators[0])]
        if sides != [NOTHING, NOTHING]:
            return None
        return isinstance(test.ops[0], ast.Is)

    def fixed(self, node: ast.expr) -> Any:
        """Return the number that an expression is known to equal, or None."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, (int, float)) else None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.fixed(node.operand)
            return None if value is None else -value
        return self.names.fixed(node.id) if isinstance(node, ast.Name) else None

    # Nodes

    def _constant(self, node: ast.Constant) -> Kind:
        return outside.kind_of(node.value)

    def _name(self, node: ast.Name) -> Kind:
        return self.names.kind(node.id)

    def _tuple(self, node: ast.Tuple | ast.List | ast.Set) -> Kind:
        return Tup(tuple(self.kind(part) for part in node.elts))

    _list = _set = _tuple

    def _slice(self, node: ast.Slice) -> Kind:
        for part in (node.lower, node.upper, node.step):
            self.kind(part)
        return SLICE

    def _starred(self, node: ast.Starred) -> Kind:
        return self.kind(node.value)

    def _joinedstr(self, node: ast.JoinedStr) -> Kind:
        return TEXT

    def _binop(self, node: ast.BinOp) -> Kind:
        a, b = self.kind(node.left), self.kind(node.right)
        name = OPERATORS.get(type(node.op))
        if name is None:  # the operator `@`
            return REFUSED
        node.by = self.fixed(node.right)  # type: ignore[attr-defined]
        return two(name, a, b, self.constant(node.right))

    def _unaryop(self, node: ast.UnaryOp) -> Kind:
        if isinstance(node.op, ast.Not):
            self.test(node.operand)
            return num(BOOL)
        return one(OPERATORS[type(node.op)], self.kind(node.operand))

    def _compare(self, node: ast.Compare) -> Kind:
        for part in (node.left, *node.comparators):
            self.kind(part)
        return num(BOOL)

    def _boolop(self, node: ast.BoolOp) -> Kind:
        kinds = [self.kind(value) for value in node.values]
        return self._one_of(node, kinds)

    def _ifexp(self, node: ast.IfExp) -> Kind:
        self.test(node.test)
        decided = self.decided(node.test)
        node.decided = decided  # type: ignore[attr-defined]
        if decided is not None:
            node.left_out = node.orelse if decided else node.body  # type: ignore[attr-defined]
            return self.kind(node.body if decided else node.orelse)
        return self._one_of(node, [self.kind(node.body), self.kind(node.orelse)])

    def _one_of(self, node: ast.expr, kinds: list[Kind]) -> Kind:
        found = all_joined(kinds)
        node.cast = cast_of_any(kinds, found)  # type: ignore[attr-defined]
        return found

    def _namedexpr(self, node: ast.NamedExpr) -> Kind:
        kind = self.kind(node.value)
        self.names.give(node.target.id, kind)
        return kind

    def _attribute(self, node: ast.Attribute) -> Kind:
        return attribute(self.kind(node.value), node.attr)

    def _subscript(self, node: ast.Subscript) -> Kind:
        kind, index = self.kind(node.value), self.kind(node.slice)
        if isinstance(kind, Tup):
            return self._part(kind, node.slice)
        if isinstance(kind, Record):
            return kind.field(_text(node.slice))
        if isinstance(kind, Arr):
            if index == TEXT and kind.record is not None:
                return _field_of(kind, _text(node.slice))
            parts = index.parts if isinstance(index, Tup) else (index,)
            return _indexed(kind, parts)
        return calls.element(kind)

    def _part(self, kind: Tup, index: ast.expr) -> Kind:
        """Infer the kind of a part or a slice of a tuple."""
        if isinstance(index, ast.Slice):
            ends = [index.lower, index.upper, index.step]
            found = [None if end is None else self.constant(end) for end in ends]
            if found.count(None) > ends.count(None):
                return REFUSED
            return Tup(kind.parts[slice(*found)])
        at = self.constant(index)
        if at is not None and -len(kind.parts) <= at < len(kind.parts):
            return kind.parts[at]
        return calls.element(kind)

    def _call(self, node: ast.Call) -> Kind:
        """Infer the kind of a call's result."""
        function = node.callee = self.kind(node.func)  # type: ignore[attr-defined]
        kinds = [(argument, self.kind(argument)) for argument in node.args]
        given = calls.unpacked(kinds)
        named = {word.arg: self.kind(word.value) for word in node.keywords}
        match function:
            case Conversion():
                return _converted(function, given)
            case Vector() if not function.made:
                return Vector(function.number, function.size, made=True)
            case Inner():
                form, found = self._inner(function, tuple(given), named)
                node.form = function.node, form  # type: ignore[attr-defined]
                return found
            case Method():
                return calls.of_method(function, given)
            case Outside() if calls.is_device(function):
                return self._called(node, function, tuple(given), named)
            case Outside():
                return _of_outside(function, given)
            case Named():
                return self._by_name(node, function, given, named)
        return function if function in (None, NEVER) else REFUSED

    def _called(
        self,
        node: ast.Call,
        function: Outside,
        given: tuple[Kind, ...],
        named: dict[str | None, Kind],
    ) -> Kind:
        """Infer the kind of the result of a call to a device function."""
        given = tuple(map(coarse, outside.in_order(function.value, given, named)))
        node.device = function.value, given  # type: ignore[attr-defined]
        return self._device(function, given)

    def _by_name(
        self,
        node: ast.Call,
        function: Named,
        given: list[Kind],
        named: dict[str | None, Kind],
    ) -> Kind:
        """Infer the kind of the result of calling a function identified by its name."""
        owner, name = function.path[0], ".".join(function.path[1:])
        if owner == "cuda":
            if name in ("shared.array", "local.array"):
                return calls.declared(name.partition(".")[0], given, named)
            known = [self.constant(argument) for argument in node.args]
            node.known = known  # type: ignore[attr-defined]
            return calls.of_cuda(name, given, known)
        if owner == "operator":
            return self._operator(node, name, given)
        if owner in ("numpy", "cmath", "libdevice"):
            return calls.of_numbers(owner, name, given)
        if name == "isinstance":
            node.always = _is_instance(given)  # type: ignore[attr-defined]
        return calls.of_python(owner, name, given)

    def _operator(self, node: ast.Call, name: str, given: list[Kind]) -> Kind:
        """Infer the kind that a call to a function of the module `operator` returns."""
        name = {"inv": "invert", "abs": "abs"}.get(name, name.removeprefix("i"))
        if name == "abs":
            return calls.of_python("builtins", name, given)
        if name == "getitem" and len(node.args) == 2:
            return self.kind(ast.Subscript(node.args[0], node.args[1], ast.Load()))
        if name == "setitem":
            return NOTHING
        if name in _TESTS or name not in OPERATORS.values():
            return num(BOOL) if name in _TESTS else REFUSED
        if len(given) == 1:
            return one(name, given[0])
        return two(name, given[0], given[1]) if len(given) == 2 else REFUSED

    def _lambda(self, node: ast.Lambda) -> Kind:
        node.late = [self.kind(default) for default in node.args.defaults]  # type: ignore[attr-defined]
        return self.names.inner(node)


_TESTS = frozenset(["not_", "is_", "is_not", "contains", "s_", "s_not"])


def _is_instance(given: list[Kind]) -> bool | None:
    """Return the result of `isinstance` at compile time, or None if it is unknown."""
    if len(given) != 2 or given[0] in (None, NEVER, REFUSED):
        return None
    classes = given[1].parts if isinstance(given[1], Tup) else (given[1],)
    names = [kind.path[1] for kind in classes if isinstance(kind, Named)]
    if len(names) != len(classes) or not {*names} <= _CLASSES.keys():
        return None
    kind = given[0]
    if isinstance(kind, Num):
        return any(kind.number.kind in _CLASSES[name] for name in names)
    return isinstance(kind, Tup) and "tuple" in names


_CLASSES = {"int": "iu", "float": "f", "bool": "b", "complex": "c", "tuple": ""}


def _converted(function: Conversion, given: list[Kind]) -> Kind:
    if function.number is None:
        return REFUSED
    given_one = given[0] if len(given) == 1 else None
    if not isinstance(given_one, Num):
        return num(function.number)
    # A negative integer becomes a large unsigned one.
    kept = function.number.kind != "u" or given_one.number.kind == "u"
    most = given_one.most if given_one.whole and kept else None
    wide = given_one.number.kind != "u" and function.number.bits >= 32
    fits = wide or given_one.most < function.number.bits
    natural = given_one.natural and fits and function.number.whole
    return num(function.number, most, given_one.loaded, natural)


def _of_outside(function: Outside, given: list[Kind]) -> Kind:
    """Infer the kind of the result of calling an intrinsic or a class from outside."""
    value = function.value
    if registry.of(value) is not None:
        return calls.of_intrinsic(function, given)
    if outside.is_class_of_tuples(value):
        return Tup(tuple(given), tuple(getattr(value, "_fields", ())))
    if isinstance(value, type) and issubclass(value, BaseException):
        return ERROR
    kind = given[0] if len(given) == 1 else None
    if value in (np.finfo, np.iinfo) and isinstance(kind, Conversion) and kind.number:
        return Outside(value(kind.number.dtype))
    return REFUSED


def attribute(kind: Kind, name: str) -> Kind:
    """Infer the kind of `x.name`."""
    match kind:
        case Named():
            return _of_module(kind, name)
        case Outside():
            return outside.attribute(kind, name)
        case Arr():
            return _of_array(kind, name)
        case Record():
            return kind.field(name)
        case Num():
            return _of_number(kind, name)
        case Tup() if name in kind.names:
            return kind.parts[kind.names.index(name)]
        case Vector() if kind.made and name in "xyzw"[: kind.size]:
            return num(kind.number)
        case Special():
            return Method(kind, name) if kind == GRID else kind
    return None if kind is None else REFUSED


def _of_number(kind: Num, name: str) -> Kind:
    """Infer the kind of an attribute, such as `imag`, of a number or enum member."""
    if name in ("real", "imag") and kind.number.kind == "c":
        return num(FLOAT64 if kind.number is COMPLEX128 else FLOAT32)
    if name == "conjugate":
        return Method(kind, name)
    return kind if name in ("real", "value") else TEXT if name == "name" else REFUSED


def _of_module(kind: Named, name: str) -> Kind:
    path = (*kind.path, name)
    if kind.path in (("math",), ("cmath",)):
        return num(FLOAT64) if name in ("pi", "e", "tau", "inf", "nan") else Named(path)
    if kind.path[0] in ("libdevice", "operator"):
        return Named(path)
    if kind.path[0] != "cuda":
        return REFUSED
    if len(path) == 3 and path[1] in calls.POSITIONS:
        return calls.POSITIONS[path[1]]
    if len(path) > 2:
        return Named(path)
    return calls.LANES.get(name) or outside.of_cuda(name)


_METHODS = frozenset(["reshape", "view", "sum", "prod", "mean", "any", "all"])


def _of_array(kind: Arr, name: str) -> Kind:
    if name in ("shape", "strides"):
        sizes = calls.SIZE if name == "shape" else num(INT64, calls.SIZE.most)
        return Tup((sizes,) * kind.ndim)
    if name in ("size", "ndim", "itemsize", "nbytes"):
        return calls.SIZE
    if name == "flat":
        return replace(kind, ndim=1, direct=False, packed=False)
    if name == "dtype":
        return Conversion(kind.number, kind.record)
    if name in _METHODS:
        return Method(kind, name)
    if kind.record is not None and name != "T":
        return _field_of(kind, name)
    return replace(kind, packed=False) if name == "T" else REFUSED


def _field_of(kind: Arr, name: str) -> Kind:
    """Infer the kind of the array formed by one field of all records in `kind`."""
    found = kind.record.field(name) if kind.record else REFUSED
    if isinstance(found, Arr):
        ndim = kind.ndim + found.ndim
        kind = replace(kind, number=found.number, record=found.record)
        return replace(kind, ndim=ndim, packed=False)
    if isinstance(found, Record):
        return replace(kind, number=None, record=found, packed=False)
    if not isinstance(found, Num):
        return REFUSED
    return replace(kind, number=found.number, record=None, packed=False)


def _indexed(kind: Arr, index: Sequence[Kind]) -> Kind:
    """Infer the kind of the result of indexing an array: an element, or a view.

    Too many indices, and indices that are not integers, are refused at run time.
    """
    if None in index:
        return None
    taken = sum(part not in (SLICE, DOTS, NOTHING) for part in index)
    added = sum(part == NOTHING for part in index)
    ndim = kind.ndim - taken + added
    whole = taken == len(index) and ndim <= 0
    if whole or ndim <= 0:
        return kind.element
    return replace(kind, ndim=ndim, packed=kind.packed and taken == len(index))


def _text(node: ast.expr) -> str:
    """Return an index that is a string constant, or "" for any other index."""
    value = getattr(node, "value", None)
    return value if isinstance(value, str) else ""


def settled(node: Any, kind: Kind) -> Kind:
    """Record and return the kind of a node's result over all iterations of a loop.

    Numba repeats a loop's inference until its types are stable, and keeps every type
    seen: a uint64 in the first iteration and an int64 in the second give a float64.
    """
    earlier = getattr(node, "seen", None)
    if isinstance(kind, Num) and isinstance(earlier, Num):
        whole = joined(earlier, kind)
        if isinstance(whole, Num) and whole.number is not kind.number:
            if not _computes(node):
                return kind
            node.cast = whole.number
            kind = whole
    node.seen = kind
    return kind


def _computes(node: Any) -> bool:
    """Return whether a node computes a number, rather than looking one up."""
    if isinstance(node, ast.Call):
        return isinstance(getattr(node, "callee", None), Named)
    return isinstance(node, _COMPUTING)


_COMPUTING = ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.IfExp, ast.AugAssign


class Names:
    """The kinds of a function's names at one point in the function."""

    def __init__(
        self,
        scope: dict[str, Any],
        local: set[str],
        fixed: dict[str, Any],
        outer: "Names | None",
    ) -> None:
        """Initialise. scope: the values of names from outside. local: all other names.

        fixed: the local names assigned exactly once, each with the number assigned.
        outer: the names of the enclosing function, if there is one.
        """
        self._scope, self._local, self._fixed = scope, local, fixed
        self._outer = outer
        self._known: dict[str, Kind] = {}  # the names from outside
        self._inner: dict[ast.AST, Inner] = {}
        self.now: Env = {}

    def kind(self, name: str) -> Kind:
        if name in self._local:
            found = self.now.get(name, NEVER)
            return found.kind if isinstance(found, Unset) else found
        if self._outer is not None and name in self._outer:
            return self._outer.kind(name)
        if name not in self._known:
            if name in self._scope:
                found = outside.kind_of(self._scope[name])
                if isinstance(found, Arr):
                    found = replace(found, space="constant")
                self._known[name] = found
            else:
                self._known[name] = outside.of_builtin(name)
        return self._known[name]

    def __contains__(self, name: str) -> bool:
        """Return whether a name is local to this function or to an enclosing one."""
        return name in self._local or (self._outer is not None and name in self._outer)

    def fixed(self, name: str) -> Any:
        """Return the number that a name is known to stand for, or None."""
        if name in self:
            return self._fixed.get(name)
        value = self._scope.get(name)
        return value if isinstance(value, (int, float)) else None

    def give(self, name: str, kind: Kind) -> None:
        self.now[name] = kind

    def inner(self, node: ast.Lambda | ast.FunctionDef) -> Kind:
        """Return the kind of the function that an inner `lambda` or `def` creates."""
        if node not in self._inner:
            self._inner[node] = Inner(node, self)
        return self._inner[node]
