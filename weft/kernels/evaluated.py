"""The value of an expression in a kernel, if the values of its names are known."""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping

Value = int | tuple[int, ...]  # a number, or the shape of an array
Known = Mapping[str, Value]  # name → its number, or its array's shape
LARGE = 64  # bits: no index is shifted further
LARGEST = 1 << 31  # from here on, a conversion may change a number
INTEGER = re.compile(r"(\w+\.)?u?int(32|64)?")

BINARY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}


def number(node: ast.expr, known: Known) -> int | None:
    """Return the value of an integer expression; None if it is not known."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case ast.Name(id=name):
            return whole(known.get(name))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return combined(ast.Sub, 0, number(operand, known))
        case ast.BinOp(left=left, op=op, right=right):
            return combined(type(op), number(left, known), number(right, known))
        case ast.Attribute(value=ast.Name(id=name), attr="size"):
            shape = known.get(name)
            return math.prod(shape) if isinstance(shape, tuple) else None
        case ast.Attribute():
            return whole(known.get(ast.unparse(node)))
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape")):
            return extent(known.get(name), number(node.slice, known))
        case ast.Call(func=function, args=args, keywords=[]):
            return called(ast.unparse(function), [number(arg, known) for arg in args])
    return None


def called(name: str, given: list[int | None]) -> int | None:
    """Return the result of `min`, `max` or a conversion; None if it is not known."""
    numbers = [value for value in given if value is not None]
    if not numbers or len(numbers) < len(given):
        return None
    if name in ("min", "max"):
        return min(numbers) if name == "min" else max(numbers)
    converts = len(given) == 1 and INTEGER.fullmatch(name)
    return numbers[0] if converts and 0 <= numbers[0] < LARGEST else None


def whole(value: Value | None) -> int | None:
    """Return a number as it is, and None for a shape."""
    return value if isinstance(value, int) else None


def combined(op: type[ast.operator], left: int | None, right: int | None) -> int | None:
    """Return what an operator makes of two numbers; None if that is not known."""
    apply = BINARY.get(op)
    if apply is None or left is None or right is None:
        return None
    if op in (ast.LShift, ast.RShift) and not 0 <= right < LARGE:
        return None
    if op in (ast.FloorDiv, ast.Mod) and not right:
        return None
    return apply(left, right)


def extent(shape: Value | None, axis: int | None) -> int | None:
    """Return the size of an array along an axis; None if it is not known."""
    if not isinstance(shape, tuple) or axis is None:
        return None
    return shape[axis] if -len(shape) <= axis < len(shape) else None
