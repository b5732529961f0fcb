"""The statements that may have set a variable last when a thread comes to a line."""

import ast

from weft.code_objects import nodes_of

Setters = frozenset[ast.stmt]


def setters(function: ast.stmt, name: str, line: int) -> Setters:
    """Return the statements that may have set `name` last, at a line of a function.

    These are assignments and `for` loops. The result is empty if only a parameter, or
    nothing, has set it.
    """
    found = _Setters(name, line)
    found.block(getattr(function, "body", []), frozenset())
    return found.there


class _Setters:
    """What may have set a variable last, followed through a function's statements."""

    def __init__(self, name: str, line: int) -> None:
        self.name, self.line = name, line
        self.there: Setters = frozenset()

    def block(self, body: list[ast.stmt], before: Setters) -> Setters:
        """Return what may have set the variable last after a block of statements."""
        for node in body:
            before = self.statement(node, before)
        return before

    def statement(self, node: ast.stmt, before: Setters) -> Setters:
        """Return what may have set the variable last after a statement."""
        match node:
            case ast.If(body=body, orelse=other):
                self.look(node, before)
                return self.block(body, before) | self.block(other, before)
            case ast.While() | ast.For():
                return self.loop(node, before)
            case ast.Return() | ast.Raise():
                self.look(node, before)
                return frozenset()  # nothing comes after it
        self.look(node, before)
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            return frozenset([node]) if self.sets(node) else before
        return before

    def loop(self, node: ast.While | ast.For, before: Setters) -> Setters:
        """Return what may have set the variable last after a loop.

        A `break` or a `continue` counts as if the turn went on.
        """
        ends = before
        while True:
            self.look(node, ends)
            counts = isinstance(node, ast.For) and self.sets(node.target)
            begin = frozenset[ast.stmt]([node]) if counts else ends
            more = ends | self.block(node.body, begin)
            if more == ends:
                return self.block(node.orelse, ends)
            ends = more

    def look(self, node: ast.stmt, before: Setters) -> None:
        """Note what has set the variable before a statement that is on the line.

        Of a compound statement, only the head counts.
        """
        inner = getattr(node, "body", None)
        end = inner[0].lineno - 1 if inner else node.end_lineno or node.lineno
        if node.lineno <= self.line <= max(end, node.lineno):
            self.there |= before

    def sets(self, node: ast.AST) -> bool:
        """Return whether a node sets the variable."""
        names = (n for n in nodes_of(node) if isinstance(n, ast.Name))
        return any(n.id == self.name and isinstance(n.ctx, ast.Store) for n in names)
