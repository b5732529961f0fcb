"""The types of a kernel's expressions, written onto the nodes that need converting.

Each node that computes gets `how`: a `Plan` that `language/lowering.py` carries out.
"""

import ast
import operator
from dataclasses import dataclass, field
from typing import Any

from weft.simulator.arithmetic.numbers import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    UINT64,
    Number,
    rule_of_one,
    rule_of_two,
)
from weft.simulator.inference import calls, outside
from weft.simulator.inference.kinds import (
    LARGEST,
    Arr,
    Conversion,
    Kind,
    Named,
    Num,
    Outside,
    Tup,
    joined,
    num,
    of_integer,
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


@dataclass
class Plan:
    """How a node is computed.

    `call` names an operator to call for it, with the types of its operands where they
    are known; otherwise Python's own operator does. `convert` says which operands are
    converted first and to what ("int": a Python integer). `wrap`: cut to 64 bits.
    `cast`: what the result is converted to.
    """

    call: str = ""
    operands: tuple[Number, ...] | None = None
    convert: dict[int, Number | str] = field(default_factory=dict)
    wrap: bool = False
    cast: Number | None = None


def plan_of(node: ast.AST) -> Plan | None:
    return getattr(node, "how", None)


def set_plan(node: Any, plan: Plan | None) -> None:
    node.how = plan


def two(name: str, a: Kind, b: Kind, by: int | None = None) -> tuple[Plan, Kind]:
    """How `a name b` is computed, and what it gives. by: `b`, if it is a constant."""
    if not isinstance(a, Num) or not isinstance(b, Num):
        plan = Plan(name)
        plan.convert = _shown((a, b))
        return plan, None
    rule = rule_of_two(name, a.number, b.number)
    if rule is None:
        return Plan(), None
    called = Plan(name, (a.number, b.number))
    if rule.result.kind == "f":
        return _real(name, a, b, rule.operands) or called, num(rule.result)
    if rule.result is INT64 and UINT64 not in (a.number, b.number):
        most = _bound(name, a, b, by)
        found = _whole(name, a, b, by, most)
        return found or called, num(INT64, most, plain=True)
    most = a.most + b.most if name == "mul" else max(a.most, b.most) + (name == "add")
    if rule.result is BOOL:
        return Plan(), num(BOOL)
    return called, num(rule.result, most if name in ("add", "mul") else None)


def _shown(kinds: tuple[Kind, ...]) -> dict[int, Number | str]:
    """Which of some numbers do not show their type when the kernel runs."""
    return {
        k: kind.number
        for k, kind in enumerate(kinds)
        if isinstance(kind, Num)
        and kind.whole
        and kind.plain is not False
        and kind.number not in (INT64, BOOL)
    }


def _real(name: str, a: Num, b: Num, operands: tuple[Number, ...]) -> Plan | None:
    """How floats are computed with; None where it takes a call."""
    if name not in ("add", "sub", "mul", "truediv") or operands[0].whole:
        return None
    if operands[0] is FLOAT32:
        return None if _plainly(a) or _plainly(b) else Plan()
    if operands[0] is not FLOAT64:
        return None
    if FLOAT64 in (a.number, b.number):
        return Plan()
    return Plan(convert={k: FLOAT64 for k, kind in enumerate((a, b)) if kind.whole})


def _plainly(kind: Num) -> bool:
    return kind.whole and (kind.plain is not False or kind.number is INT64)


def _whole(name: str, a: Num, b: Num, by: int | None, most: int) -> Plan | None:
    """How integers are computed with in 64 bits; None where it takes a call."""
    convert = {k: "int" for k, kind in enumerate((a, b)) if not _is_wide(kind)}
    if name in ("floordiv", "mod") and by in (None, 0, -1):
        return None
    if name == "lshift" and (by is None or not 0 <= by < 64 or most >= LARGEST):
        return None
    if name == "rshift" and (by is None or not 0 <= by < 64):
        return None
    if name == "pow" and (by is None or not 0 <= by < 64 or most >= LARGEST):
        return None
    return Plan(convert=dict(convert), wrap=most >= LARGEST)


def _is_wide(kind: Num) -> bool:
    """Whether Python computes with it as with an int64."""
    return kind.plain is True and kind.number is not BOOL


def _bound(name: str, a: Num, b: Num, by: int | None) -> int:
    """The bits of the largest result of an operation on integers; see `Num.most`."""
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
    if name in ("floordiv", "rshift"):
        return a.most
    return LARGEST


def compared(name: str, a: Kind, b: Kind) -> Plan:
    """How `a name b` is decided."""
    if not isinstance(a, Num) or not isinstance(b, Num):
        return Plan(name, convert=_shown((a, b)))
    rule = rule_of_two(name, a.number, b.number)
    if rule is None or (a.whole and b.whole and rule.operands[0].whole):
        return Plan()
    if a.whole and b.whole:  # one is a uint64: NumPy compares exactly, Numba does not
        return Plan(name, (a.number, b.number))
    if rule.operands[0] is FLOAT64 and FLOAT64 not in (a.number, b.number):
        wide = {k: FLOAT64 for k, kind in enumerate((a, b)) if kind.whole}
        return Plan(convert=dict(wide))
    return Plan()


class Expressions:
    """Finds what expressions are, given what the names in them are."""

    def __init__(self, names: "Names", device: calls.Device) -> None:
        self.names = names
        self._device = device

    def kind(self, node: ast.expr | None) -> Kind:
        """What an expression is; its nodes are marked with how to compute them."""
        if node is None:
            return None
        visit = getattr(self, f"_{type(node).__name__.lower()}", None)
        if visit is not None:
            return settled(node, visit(node))
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.kind(child)
        return settled(node, None)

    def test(self, node: ast.expr) -> None:
        """An expression of which only the truth counts."""
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
        """The integer that an expression is, wherever the kernel runs."""
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.constant(node.operand)
            return None if inner is None else -inner
        return self.names.integer(node.id) if isinstance(node, ast.Name) else None

    def decided(self, test: ast.expr) -> bool | None:
        """What a condition on constants comes to: Numba leaves the other branch out."""
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            name = OPERATORS.get(type(test.ops[0]))
            sides = [self._fixed(test.left), self._fixed(test.comparators[0])]
            if name is None or None in sides:
                return None
            return bool(getattr(operator, name)(*sides))
        value = self._fixed(test)
        return None if value is None else bool(value)

    def _fixed(self, node: ast.expr) -> Any:
        """The number that an expression always is, None for most."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, (int, float)) else None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self._fixed(node.operand)
            return None if value is None else -value
        return self.names.fixed(node.id) if isinstance(node, ast.Name) else None

    # Nodes

    def _constant(self, node: ast.Constant) -> Kind:
        value = node.value
        if type(value) is int:
            return of_integer(value)
        if isinstance(value, bool):
            return num(BOOL)
        return num(FLOAT64) if isinstance(value, float) else None

    def _name(self, node: ast.Name) -> Kind:
        return self.names.kind(node.id)

    def _tuple(self, node: ast.Tuple | ast.List) -> Kind:
        return Tup(tuple(self.kind(part) for part in node.elts))

    _list = _tuple

    def _binop(self, node: ast.BinOp) -> Kind:
        a, b = self.kind(node.left), self.kind(node.right)
        name = OPERATORS.get(type(node.op))
        if name is None or isinstance(a, Tup) or isinstance(b, Tup):
            return _tuples(node.op, a, b)
        plan, found = two(name, a, b, self.constant(node.right))
        set_plan(node, plan)
        return found

    def _unaryop(self, node: ast.UnaryOp) -> Kind:
        if isinstance(node.op, ast.Not):
            self.test(node.operand)
            return num(BOOL)
        name, kind = OPERATORS[type(node.op)], self.kind(node.operand)
        if not isinstance(kind, Num):
            set_plan(node, Plan(name))
            return None
        rule = rule_of_one(name, kind.number)
        if rule is None:
            set_plan(node, Plan())
            return None
        native = kind.number.kind == "f" or (_is_wide(kind) and kind.most < LARGEST)
        set_plan(node, Plan() if native else Plan(name, (kind.number,)))
        signed = rule.result is INT64
        return num(rule.result, kind.most if signed else None, plain=signed)

    def _compare(self, node: ast.Compare) -> Kind:
        kinds = [self.kind(part) for part in (node.left, *node.comparators)]
        names = [OPERATORS.get(type(op), "") for op in node.ops]
        if not all(names):  # `in`, `is`
            return num(BOOL)
        plans = [compared(n, *kinds[k : k + 2]) for k, n in enumerate(names)]
        if len(plans) == 1:
            set_plan(node, plans[0])
        else:  # of a chain the operands are converted, where one does for both
            whole = Plan()
            for k, plan in enumerate(plans):
                if plan.operands:
                    plan.convert = {0: FLOAT64, 1: FLOAT64}
                whole.convert |= {k + side: to for side, to in plan.convert.items()}
            set_plan(node, whole)
        return num(BOOL)

    def _boolop(self, node: ast.BoolOp) -> Kind:
        kinds = [self.kind(value) for value in node.values]
        return self._one_of(node, kinds)

    def _ifexp(self, node: ast.IfExp) -> Kind:
        self.test(node.test)
        decided = self.decided(node.test)
        if decided is not None:
            node.left_out = node.orelse if decided else node.body  # type: ignore[attr-defined]
            return self.kind(node.body if decided else node.orelse)
        return self._one_of(node, [self.kind(node.body), self.kind(node.orelse)])

    def _one_of(self, node: ast.expr, kinds: list[Kind]) -> Kind:
        found = kinds[0]
        for kind in kinds[1:]:
            found = joined(found, kind)
        cast = None
        if isinstance(found, Num):
            number = found.number
            if any(isinstance(k, Num) and k.number is not number for k in kinds):
                cast = number
        set_plan(node, Plan(cast=cast))
        return found

    def _namedexpr(self, node: ast.NamedExpr) -> Kind:
        kind = self.kind(node.value)
        self.names.give(node.target.id, kind)
        return kind

    def _attribute(self, node: ast.Attribute) -> Kind:
        kind = self.kind(node.value)
        if isinstance(kind, Named):
            return _of_module(kind, node.attr)
        if isinstance(kind, Outside):
            return outside.attribute(kind, node.attr)
        if isinstance(kind, Arr):
            return _of_array(kind, node.attr)
        return None

    def _subscript(self, node: ast.Subscript) -> Kind:
        kind, index = self.kind(node.value), self.kind(node.slice)
        if isinstance(kind, Tup):
            at = self.constant(node.slice)
            if at is not None and -len(kind.parts) <= at < len(kind.parts):
                return kind.parts[at]
            return calls.element(kind)
        if not isinstance(kind, Arr):
            return None
        parts = index.parts if isinstance(index, Tup) else (index,)
        given = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if any(isinstance(g, ast.Slice) for g in given) or None in parts:
            return None
        rest = kind.ndim - len(parts)
        if rest:
            return Arr(kind.number, rest) if rest > 0 else None
        return None if kind.number is None else num(kind.number)

    def _call(self, node: ast.Call) -> Kind:
        """What a call gives; numbers that do not show their type are made to."""
        function = self.kind(node.func)
        given = [self.kind(argument) for argument in node.args]
        for keyword in node.keywords:
            self.kind(keyword.value)
        if isinstance(function, Conversion):
            whole = function.number is INT64
            return num(function.number, _kept(function.number, given), plain=whole)
        if isinstance(function, Outside):
            if calls.is_device(function) and not node.keywords:
                set_plan(node, None)
                node.device = function.value, tuple(given)  # type: ignore[attr-defined]
                return self._device(function, tuple(given))
            set_plan(node, Plan(convert=_shown(tuple(given))))
            return calls.of_intrinsic(function, given)
        if not isinstance(function, Named):
            set_plan(node, Plan(convert=_shown(tuple(given))))
            return None
        owner, name = function.path[0], ".".join(function.path[1:])
        if name in calls.SENSITIVE or (owner == "cuda" and name not in _COUNTS):
            set_plan(node, Plan(convert=_shown(tuple(given))))
        if owner == "cuda":
            return calls.of_cuda(name, given, node)
        return calls.of_python(name, given)

    def _lambda(self, node: ast.Lambda) -> Kind:
        return None  # what is in it is looked at when it runs


_COUNTS = frozenset(["grid", "gridsize", "shared.array", "local.array"])


def _kept(number: Number, given: list[Kind]) -> int | None:
    """How large a converted integer may be: a negative one becomes a large unsigned."""
    one = given[0] if len(given) == 1 else None
    if not isinstance(one, Num) or not one.whole:
        return None
    return one.most if number.kind != "u" or one.number.kind == "u" else None


def _tuples(op: ast.operator, a: Kind, b: Kind) -> Kind:
    both = isinstance(a, Tup) and isinstance(b, Tup) and isinstance(op, ast.Add)
    return Tup((*a.parts, *b.parts)) if both else None  # type: ignore[union-attr]


def _of_module(kind: Named, name: str) -> Kind:
    path = (*kind.path, name)
    if kind.path == ("math",):
        return num(FLOAT64) if name in ("pi", "e", "tau", "inf", "nan") else Named(path)
    if kind.path[0] != "cuda":
        return None
    if len(path) == 3 and path[1] in calls.POSITIONS:
        return calls.POSITIONS[path[1]]
    return calls.LANES.get(name) or Named(path)


def _of_array(kind: Arr, name: str) -> Kind:
    size = Num(INT64, 40, plain=True)
    if name in ("shape", "strides"):
        return Tup((size,) * kind.ndim)
    if name in ("size", "ndim", "itemsize", "nbytes"):
        return size
    if name == "flat":
        return Arr(kind.number, 1)
    return kind if name == "T" else None


def settled(node: Any, kind: Kind) -> Kind:
    """The type of what a node computes, over all turns of a loop.

    Numba goes around a loop until its types have settled, and keeps what it has seen:
    what was a uint64 in the first turn and is an int64 in the next is a float64.
    """
    earlier = getattr(node, "seen", None)
    if isinstance(kind, Num) and isinstance(earlier, Num):
        whole = joined(earlier, kind)
        if isinstance(whole, Num) and whole.number is not kind.number:
            plan = plan_of(node)
            if plan is None:
                return kind
            plan.cast = whole.number
            kind = whole
    node.seen = kind
    return kind


class Names:
    """What the names of a function are, at one point of it."""

    def __init__(
        self, scope: dict[str, Any], local: set[str], fixed: dict[str, Any]
    ) -> None:
        """`fixed` are the local names that are given one number, once."""
        self._scope, self._local, self._fixed = scope, local, fixed
        self.now: dict[str, Kind] = {}

    def kind(self, name: str) -> Kind:
        if name in self._local:
            return self.now.get(name)
        if name in self._scope:
            return outside.kind_of(self._scope[name])
        return outside.of_builtin(name)

    def integer(self, name: str) -> int | None:
        """The integer that is outside under a name."""
        value = None if name in self._local else self._scope.get(name)
        return value if type(value) is int else None

    def fixed(self, name: str) -> Any:
        """The number that a name always stands for, None for most."""
        if name in self._local:
            return self._fixed.get(name)
        value = self._scope.get(name)
        return value if isinstance(value, (int, float)) else None

    def give(self, name: str, kind: Kind) -> None:
        self.now[name] = kind
