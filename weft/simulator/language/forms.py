"""Inner functions of a kernel, with one form for each combination of argument types.

Inference leaves these forms, which are copies of the function, in the `forms` of its
node. A single form replaces the function. If there are several, a tuple of them
replaces it, from which each call selects the form with which it was inferred.
"""

import ast
import copy
from typing import Any


def put_in(definition: ast.FunctionDef) -> None:
    """Replace the inner functions of an inferred function with their forms."""
    made = _PutIn()
    definition.body = [new for old in definition.body for new in made.several(old)]


class _PutIn(ast.NodeTransformer):
    def several(self, node: ast.stmt) -> list[ast.stmt]:
        new = self.visit(node)
        return new if isinstance(new, list) else [new]

    def _forms(self, node: Any) -> list[ast.FunctionDef]:
        node.args = self.visit(node.args)
        found = [made for made, _ in getattr(node, "forms", {}).values()]
        for made in found:
            made.args = copy.deepcopy(node.args)
            made.body = [new for old in made.body for new in self.several(old)]
        return found

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        bodies: list[Any] = [made.body[0] for made in self._forms(node)]
        found: list[ast.expr] = [ast.Lambda(node.args, body.value) for body in bodies]
        for one in found:
            ast.copy_location(one, node)
        if len(found) < 2:
            return found[0] if found else node
        return ast.copy_location(ast.Tuple(found, ast.Load()), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        found = self._forms(node)
        if len(found) < 2:
            node.body = found[0].body if found else node.body
            return node
        for k, made in enumerate(found):
            made.name = f"{node.name}:{k}"
        loads: list[ast.expr] = [ast.Name(made.name, ast.Load()) for made in found]
        target = ast.Name(node.name, ast.Store())
        whole = ast.Assign([target], ast.Tuple(loads, ast.Load()))
        ast.fix_missing_locations(ast.copy_location(whole, node))
        new: list[Any] = [*found, whole]
        for statement in new:
            statement.reached = True
        return new

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Make a call select its form if its inner function has several forms."""
        inner, form = getattr(node, "form", (None, 0))
        self.generic_visit(node)
        if inner is not None and len(inner.forms) > 1:
            at = ast.copy_location(ast.Constant(form), node.func)
            chosen = ast.Subscript(node.func, at, ast.Load())
            chosen.chosen = True  # type: ignore[attr-defined]
            node.func = ast.copy_location(chosen, node.func)
        return node
