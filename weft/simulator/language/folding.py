"""Powers of numbers that are written down, computed as Python's compiler does.

Numba sees `2**-24` as the float that Python has made of it; as an operation on two
integers it would be 0.
"""

import ast
from typing import Any


class FoldPowers(ast.NodeTransformer):
    """Replace a number to a negative power, both written down, by its value."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        power = node.right
        if not isinstance(node.op, ast.Pow) or not isinstance(power, ast.UnaryOp):
            return node
        base, size = _number(node.left), _number(power.operand)
        if not isinstance(power.op, ast.USub) or not base or size is None:
            return node
        try:
            value = base**-size
        except OverflowError:
            return node
        return ast.copy_location(ast.Constant(value), node)


def _number(node: ast.expr) -> Any:
    """The number that a constant is; None for anything else."""
    value = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
    return value if type(value) in (int, float) else None
