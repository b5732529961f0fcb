"""Which whole numbers in a kernel are certainly not negative.

An index that may be negative is looked at before it is used: Python would count it from
the end of the array.
"""

import ast
from collections import defaultdict
from collections.abc import Callable
from typing import Any

_UNSIGNED = frozenset("threadIdx blockIdx blockDim gridDim laneid warpsize".split())
_COUNTS = frozenset("grid gridsize popc clz ffs brev len".split())
_KEEPS = (ast.Add, ast.Mult, ast.FloorDiv, ast.RShift, ast.LShift, ast.BitOr)


class Signs:
    """Tells which expressions of a function are at least 0.

    number: the integer that a name from outside stands for, None for others.
    """

    def __init__(
        self, definition: ast.FunctionDef, number: Callable[[str], int | None]
    ) -> None:
        self._number = number
        self._given: dict[str, list[ast.expr | None]] = defaultdict(list)
        for node in ast.walk(definition):
            self._collect(node)
        self._low: set[str] = set()
        while True:  # at first no name is taken to be negative
            low = {
                name
                for name, values in self._given.items()
                if not all(v is not None and self.natural(v) for v in values)
            }
            if low == self._low:
                break
            self._low = low

    def _collect(self, node: ast.AST) -> None:
        match node:
            case ast.arg(arg=name):
                self._given[name].append(None)
            case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name):
                self._given[name].append(None)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._give(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._give(target, value)
            case ast.NamedExpr(target=target, value=value):
                self._give(target, value)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                old = ast.Name(name, ast.Load())
                self._give(target, ast.BinOp(old, op, value))
            case ast.For(target=target, iter=items):
                self._each(target, items)

    def _give(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self._given[target.id].append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts: list[Any] = [None] * len(target.elts)
            if isinstance(value, ast.Tuple) and len(value.elts) == len(parts):
                parts = list(value.elts)
            elif isinstance(value, ast.Call) and _last(value.func) in _COUNTS:
                parts = [value] * len(parts)
            elif isinstance(value, ast.Attribute) and value.attr == "shape":
                parts = [ast.Constant(0)] * len(parts)
            for each, part in zip(target.elts, parts, strict=True):
                self._give(each, part)

    def _each(self, target: ast.expr, items: ast.expr) -> None:
        """A loop gives its variable each of some items."""
        match items:
            case ast.Call(func=ast.Name(id="range"), args=args) if len(args) < 3:
                self._give(target, args[0] if len(args) == 2 else ast.Constant(0))
            case ast.Call(func=ast.Name(id="range"), args=[first, _, step]):
                sum_ = ast.BinOp(first, ast.Add(), step)
                self._give(target, sum_)
            case ast.Tuple(elts=parts) if isinstance(target, ast.Name):
                for part in parts:
                    self._give(target, part)
            case _:
                self._give(target, None)

    def natural(self, node: ast.expr) -> bool:
        """Whether an expression is certainly not negative."""
        match node:
            case ast.Constant(value=int() as value):
                return value >= 0
            case ast.Name(id=name):
                if name in self._given:
                    return name not in self._low
                number = self._number(name)
                return number is not None and number >= 0
            case ast.BinOp(left=left, op=op, right=right):
                if isinstance(op, _KEEPS):
                    return self.natural(left) and self.natural(right)
                if isinstance(op, ast.Mod):
                    return self.natural(right)
                if isinstance(op, ast.BitXor):
                    return self.natural(left) and self.natural(right)
                if isinstance(op, ast.BitAnd):
                    return self.natural(left) or self.natural(right)
                return False
            case ast.IfExp(body=body, orelse=other):
                return self.natural(body) and self.natural(other)
            case ast.Call(func=ast.Name(id="min"), args=args) if args:
                return all(map(self.natural, args))
            case ast.Call(func=ast.Name(id="max"), args=args):
                return any(map(self.natural, args))
            case ast.Call(func=function, args=args):
                known = _last(function)
                if known in ("int32", "int64", "int") and len(args) == 1:
                    return self.natural(args[0])
                return known in _COUNTS
            case ast.Attribute(attr=part, value=value):
                return part in _UNSIGNED or _last(value) in _UNSIGNED or part == "size"
            case ast.Subscript(value=ast.Attribute(attr="shape")):
                return True
        return False


def _last(node: ast.expr) -> str:
    """The last name of `a.b.c`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
