"""Find the reads that a thread may reach after a store, before its next barrier."""

import ast

from weft.code_objects import nodes_of
from weft.simulator.inference.kinds import Named

Calls = frozenset[str]  # names of functions, as they are called
NONE: Calls = frozenset()


class Reaching:
    """The functions that may be called after each statement, up to the next barrier.

    `after` maps statements with an attribute `counts` to these functions, except
    statements in an inner function or in a kind of statement that is not analysed.
    """

    def __init__(self, body: list[ast.stmt], is_kernel: bool) -> None:
        """Analyse a function, which may be called again unless it is a kernel."""
        self.after: dict[ast.stmt, Calls] = {}
        again = [] if is_kernel else map(called_in, body)
        self._block(body, NONE.union(*again), NONE, NONE)

    def _block(
        self, body: list[ast.stmt], after: Calls, leave: Calls, again: Calls
    ) -> Calls:
        """Return the functions that may be called at or after the start of a block.

        leave, again: the functions that may be called after a `break` in the block, and
        after a `continue` in it.
        """
        for node in reversed(body):
            after = self._statement(node, after, leave, again)
        return after

    def _statement(
        self, node: ast.stmt, after: Calls, leave: Calls, again: Calls
    ) -> Calls:
        """Return the functions that may be called in or after a statement.

        Calls after the next barrier are left out. after: the functions that may be
        called after the statement. leave, again: as for `_block`.
        """
        if hasattr(node, "counts"):
            self.after[node] = after
        match node:
            case ast.Expr(ast.Call()) | ast.Assign(value=ast.Call()) if _is_barrier(
                node.value
            ):
                return called_in(node)
            case ast.Return() | ast.Raise():
                return called_in(node)
            case ast.Break():
                return leave
            case ast.Continue():
                return again
            case ast.If(test, body, other):
                both = (
                    self._block(part, after, leave, again) for part in (body, other)
                )
                return called_in(test).union(*both)
            case ast.While(body=body, orelse=other) | ast.For(body=body, orelse=other):
                head = node.test if isinstance(node, ast.While) else node.iter
                begin = called_in(head) | self._block(other, after, leave, again)
                while True:
                    found = begin | self._block(body, begin, after, begin)
                    if found == begin:
                        return found
                    begin = found
        return after | called_in(node)


def called_in(node: ast.AST) -> Calls:
    """Return the names of the functions that are called in a node."""
    return frozenset(
        call.func.id
        for call in nodes_of(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    )


def _is_barrier(node: ast.expr) -> bool:
    kind = getattr(node, "callee", None)
    return isinstance(kind, Named) and kind.path == ("cuda", "syncthreads")
