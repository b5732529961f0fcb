"""Puts Numba's arithmetic into a kernel's syntax tree, as `inference` has planned it.

Where Python's own operator does what Numba's does, it stays. Otherwise `a + b` becomes
a call, `__weft_add_u8_u8__(a, b)`, or one of its sides is converted first.
"""

import ast
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from weft.simulator.arithmetic.casts import cast_to, wrapped
from weft.simulator.arithmetic.numbers import NUMBERS, Number
from weft.simulator.arithmetic.operators import BINARY, UNARY, Operand, binary, unary
from weft.simulator.inference.expressions import OPERATORS, Plan, plan_of

_PREFIX = "__weft_"
_WRAP, _INT, _OPERAND = "__weft_wrap__", "__weft_int__", "__weft_operand__"


class Lower(ast.NodeTransformer):
    """Carries out the plans in a function. `names` are those that it has put in.

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

    def _cast(self, number: Number, node: ast.expr) -> ast.Call:
        return self._call(f"{_PREFIX}to_{number.name}__", node)

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
        name = OPERATORS.get(type(op), "")
        plan = plan_of(node) or Plan(name)
        if plan.call:
            return self._given(plan, self._applied(plan, node, left, right))
        made = ast.BinOp(self._ready(plan, 0, left), op, self._ready(plan, 1, right))
        ast.copy_location(made, node)
        return self._given(plan, self._call(_WRAP, made) if plan.wrap else made)

    def _given(self, plan: Plan, made: ast.expr) -> ast.expr:
        return made if plan.cast is None else self._cast(plan.cast, made)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        name = OPERATORS.get(type(node.op))
        if name is None:  # not
            return node
        plan = plan_of(node) or Plan(name)
        made = self._applied(plan, node, node.operand) if plan.call else node
        return self._given(plan, made)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        plan = plan_of(node)
        names = [OPERATORS.get(type(op), "") for op in node.ops]
        if plan is None:
            if len(names) > 1 or not names[0]:
                return node
            plan = Plan(names[0])
        if plan.call and len(names) == 1:
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
        self.generic_visit(node)
        device = getattr(node, "device", None)
        if device is not None:
            name = self._device(*device)
            if name:
                node.func = ast.copy_location(ast.Name(name, ast.Load()), node.func)
            return node
        plan = plan_of(node) or Plan()
        node.args = [self._ready(plan, k, a) for k, a in enumerate(node.args)]
        return self._given(plan, node)

    # Statements

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        name = OPERATORS.get(type(node.op), "")
        plan = plan_of(node) or Plan(name)
        if plan == Plan():
            return node
        if not isinstance(node.target, ast.Name):
            node.value = self._call(_OPERAND, node.value)
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

    def _converted(self, node: ast.stmt, place: str) -> list[ast.stmt]:
        """The statements that convert variables at a place of `node`."""
        return [
            ast.fix_missing_locations(
                ast.copy_location(
                    ast.Assign(
                        [ast.Name(name, ast.Store())],
                        self._cast(
                            number, ast.copy_location(ast.Name(name, ast.Load()), node)
                        ),
                    ),
                    node,
                )
            )
            for name, number in (_casts(node, place) or {}).items()
        ]

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


@cache
def helper(name: str) -> Any:
    """What a name that `Lower` has put into a kernel stands for."""
    if name in _HELPERS:
        return _HELPERS[name]
    operation, *kinds = _parts(name)
    numbers = [NUMBERS[kind] for kind in kinds]
    if operation == "to":
        return cast_to(numbers[0])
    if len(numbers) == 2:
        return binary(operation, *numbers)
    if len(numbers) == 1:
        return unary(operation, numbers[0])
    return BINARY.get(operation) or UNARY[operation]


def _parts(name: str) -> list[str]:
    """An operation and the types in the name of a helper.

    >>> _parts("__weft_and__u8_i64__"), _parts("__weft_add__")
    (['and_', 'u8', 'i64'], ['add'])
    """
    inner = name.removeprefix(_PREFIX).removesuffix("__")
    found = re.fullmatch(r"(\w+?_?)((?:_(?:b|[iuf]\d+))*)", inner)
    assert found is not None, name
    return [found[1], *found[2].split("_")[1:]]


_HELPERS: dict[str, Any] = {_WRAP: wrapped, _INT: int, _OPERAND: Operand}
