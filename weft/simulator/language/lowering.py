"""Puts Numba's arithmetic into a kernel's syntax tree, as `inference` has planned it.

Where Python's own operator does what Numba's does, it stays. Otherwise `a + b` becomes
a call, `__weft_add_u8_u8__(a, b)`, or one of its sides is converted first.
"""

import ast
import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from weft.simulator.arithmetic.casts import cast_to, wrapped
from weft.simulator.arithmetic.numbers import NUMBERS
from weft.simulator.arithmetic.operators import BINARY, UNARY, Operand, binary, unary
from weft.simulator.inference.expressions import Plan, plan_of
from weft.simulator.inference.kinds import Cast

_PREFIX = "__weft_"
_WRAP, _INT, _OPERAND = "__weft_wrap__", "__weft_int__", "__weft_operand__"
_UNSET = "__weft_unset__"


class Lower(ast.NodeTransformer):
    """Carries out the plans in a function. `names` are those that it has put in.

    What has no plan is never reached.

    device: gives the name for a device function and the kinds of its arguments.
    """

    def __init__(self, device: Callable[[Any, tuple[Any, ...]], str]) -> None:
        self.names: set[str] = set()
        self._device = device

    def _call(self, name: str, *args: ast.expr) -> ast.Call:
        self.names.add(name)
        call = ast.Call(ast.Name(name, ast.Load()), list(args), [])
        for new in (call, call.func):
            ast.copy_location(new, args[0])
        return call

    def _cast(self, to: Cast, node: ast.expr) -> ast.Call:
        return self._call(f"{_PREFIX}to_{_written(to)}__", node)

    def _ready(self, plan: Plan, at: int, node: ast.expr) -> ast.expr:
        to = plan.convert.get(at)
        if to is None:
            return node
        return self._call(_INT, node) if isinstance(to, str) else self._cast(to, node)

    def _applied(self, plan: Plan, node: ast.expr, *parts: ast.expr) -> ast.expr:
        """The call that a plan asks for, to replace `node`."""
        kinds = "".join(f"_{number.name}" for number in plan.operands or ())
        if not plan.operands:
            parts = tuple(self._ready(plan, k, p) for k, p in enumerate(parts))
        called = self._call(f"{_PREFIX}{plan.call}{kinds}__", *parts)
        ast.copy_location(called, node)
        ast.copy_location(called.func, node)
        return called

    # Expressions

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return self._two(node, node.op, node.left, node.right)

    def _two(
        self, node: Any, op: ast.operator, left: ast.expr, right: ast.expr
    ) -> ast.expr:
        plan = plan_of(node) or Plan()
        if plan.call:
            return self._given(plan, self._applied(plan, node, left, right))
        made = ast.BinOp(self._ready(plan, 0, left), op, self._ready(plan, 1, right))
        ast.copy_location(made, node)
        return self._given(plan, self._call(_WRAP, made) if plan.wrap else made)

    def _given(self, plan: Plan, made: ast.expr) -> ast.expr:
        return made if plan.cast is None else self._cast(plan.cast, made)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        plan = plan_of(node) or Plan()
        made = self._applied(plan, node, node.operand) if plan.call else node
        return self._given(plan, made)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        plan = plan_of(node) or Plan()
        if plan.call and len(node.ops) == 1:
            return self._applied(plan, node, node.left, node.comparators[0])
        parts = [node.left, *node.comparators]
        node.left, *node.comparators = (
            self._ready(plan, k, part) for k, part in enumerate(parts)
        )
        return node

    def _chosen(self, node: Any) -> ast.expr:
        self.generic_visit(node)
        return self._given(plan_of(node) or Plan(), node)

    visit_IfExp = visit_BoolOp = _chosen

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """A call: of a device function, of one in this function, or of another."""
        self.generic_visit(node)
        device = getattr(node, "device", None)
        if device is not None:
            name = self._device(*device)
            if name:
                node.func = ast.copy_location(ast.Name(name, ast.Load()), node.func)
            return node
        if (always := getattr(node, "always", None)) is not None:
            return ast.copy_location(ast.Constant(always), node)
        plan = plan_of(node) or Plan()
        if plan.call:  # of the module `operator`
            return self._given(plan, self._applied(plan, node, *node.args))
        node.args = [self._ready(plan, k, a) for k, a in enumerate(node.args)]
        return self._given(plan, node)

    # Statements

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        plan = plan_of(node) or Plan()
        if plan == Plan():
            return node
        if not isinstance(node.target, ast.Name):
            kinds = "".join(f"_{number.name}" for number in plan.operands or ())
            name = f"{_PREFIX}right_{plan.call}{kinds}__" if kinds else _OPERAND
            node.value = self._call(name, node.value)
            return node
        old = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = ast.BinOp(old, node.op, node.value)
        ast.copy_location(value, node)
        value.how = plan  # type: ignore[attr-defined]
        new = ast.Assign([node.target], self._two(value, node.op, old, node.value))
        return ast.copy_location(new, node)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        to = _casts(node, "store")
        if to is not None:
            node.value = self._cast(to, node.value)
        return node

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        self.generic_visit(node)
        to = _casts(node, "value")
        if to is not None and node.value is not None:
            node.value = self._cast(to, node.value)
        return node

    def _converted(self, node: Any, place: str) -> list[ast.stmt]:
        """The statements that convert variables at a place of `node`."""
        return [
            self._assigned(name, to, unset, node)
            for name, (to, unset) in (_casts(node, place) or {}).items()
        ]

    def _assigned(self, name: str, to: Cast, unset: bool, node: Any) -> ast.stmt:
        """Convert a variable, if it has a value."""
        where = node if isinstance(node, ast.stmt) else node.body[-1]
        old = ast.copy_location(ast.Name(name, ast.Load()), where)
        new: ast.stmt = ast.Assign([ast.Name(name, ast.Store())], self._cast(to, old))
        if unset:
            self.names.add(_UNSET)
            error = ast.Name(_UNSET, ast.Load())
            handler = ast.ExceptHandler(error, None, [ast.Pass()])
            new = ast.Try([new], [handler], [], [])
        return ast.fix_missing_locations(ast.copy_location(new, where))

    def visit_Match(self, node: ast.Match) -> ast.stmt:
        self.generic_visit(node)
        for case in node.cases:
            case.body += self._converted(case, "body")
        left = self._converted(node, "orelse")
        if left:
            case = ast.match_case(ast.MatchAs(None, None), None, left)
            node.cases.append(ast.fix_missing_locations(case))
        return node

    def visit_If(self, node: ast.If) -> ast.stmt:
        self.generic_visit(node)
        node.body += self._converted(node, "body")
        node.orelse += self._converted(node, "orelse")
        return node

    def _loop(self, node: Any) -> list[ast.stmt]:
        self.generic_visit(node)
        node.body += self._converted(node, "body")
        node.orelse += self._converted(node, "after")
        return [*self._converted(node, "before"), node]

    visit_For = visit_While = _loop

    def _leaving(self, node: Any) -> list[ast.stmt]:
        return [*self._converted(node, "before"), node]

    visit_Break = visit_Continue = _leaving


def _casts(node: ast.AST, place: str) -> Any:
    return getattr(node, "casts", {}).get(place)


def _written(to: Cast | None) -> str:
    """A conversion in the name of a helper: "f64", or of a tuple "(f64,-)"."""
    if isinstance(to, tuple):
        return f"({','.join(map(_written, to))})"
    return "-" if to is None else to.name


@cache
def helper(name: str) -> Any:
    """What a name that `Lower` has put into a kernel stands for."""
    if name in _HELPERS:
        return _HELPERS[name]
    if name.startswith(f"{_PREFIX}to_"):
        return _conversion(name.removeprefix(f"{_PREFIX}to_").removesuffix("__"))
    right = name.startswith(f"{_PREFIX}right_")
    operation, *kinds = _parts(name.replace(f"{_PREFIX}right_", _PREFIX))
    numbers = [NUMBERS[kind] for kind in kinds]
    if right:
        return partial(Operand, apply=binary(operation, *numbers))
    if len(numbers) == 2:
        return binary(operation, *numbers)
    if len(numbers) == 1:
        return unary(operation, numbers[0])
    return BINARY.get(operation) or UNARY[operation]


def _conversion(text: str) -> Callable[[Any], Any]:
    """The conversion that `_written` wrote."""
    if not text.startswith("("):
        return (lambda value: value) if text == "-" else cast_to(NUMBERS[text])
    parts, depth, start = [], 0, 1
    for k, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if (depth == 1 and letter == ",") or depth == 0:
            parts.append(_conversion(text[start:k]))
            start = k + 1
    return lambda values: tuple(f(v) for f, v in zip(parts, values, strict=True))


def _parts(name: str) -> list[str]:
    """An operation and the types in the name of a helper.

    >>> _parts("__weft_and__u8_i64__"), _parts("__weft_add__")
    (['and_', 'u8', 'i64'], ['add'])
    """
    inner = name.removeprefix(_PREFIX).removesuffix("__")
    found = re.fullmatch(r"(\w+?_?)((?:_(?:b|[iufc]\d+))*)", inner)
    assert found is not None, name
    return [found[1], *found[2].split("_")[1:]]


_HELPERS: dict[str, Any] = {
    _WRAP: wrapped,
    _INT: int,
    _OPERAND: Operand,
    _UNSET: UnboundLocalError,
}
