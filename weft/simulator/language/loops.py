"""Loops that count their iterations, and those in which threads meet.

`while test` becomes `while (step() or (yield)) and test`: at the end of its turn the
thread lets others run. `for x in y` becomes `for x in loop(y)`, and `sum(y)` and other
consumers of an iterable get `loop(y)` too. If each iteration runs an inner loop over
`range(16)`, the outer loop counts for both: it becomes `loop(y, 17)`, and the inner one
stays as it is, because most kernels spend their time in such loops.

A loop with a barrier in it, or with a call to a function that has one, begins with
`rounds[3] += 1`, where 3 is the number of the loop: threads meet at a barrier only in
the same iteration of the loop.
"""

import ast
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from weft import meaning
from weft.code_objects import code_tree, nodes_of
from weft.places import Place
from weft.simulator.translation import syntax

STEP, LOOP = "__weft_step__", "__weft_loop__"
ROUNDS, ROUNDS_OF = "__weft_rounds__", "__weft_rounds_of__"

_BARRIERS = frozenset(
    ["syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or", "sync"]
)
_CONSUMERS = frozenset(["sum", "min", "max"])  # these use a whole iterable
_SHORT = 1024  # inner iterations that an iteration of the outer loop may count


@dataclass(frozen=True)
class Loop:
    """A loop in which threads meet: its function, and its first and last lines.

    ends: whether it is a `for` loop.
    """

    function: str
    file: str
    first: int
    last: int
    ends: bool

    def has(self, place: Place) -> bool:
        """Return whether the line at `place` is in the loop."""
        at_home = (place.function, place.file) == (self.function, self.file)
        return at_home and self.first <= place.line <= self.last


known: list[Loop] = []  # loops by their numbers


def mark(definition: ast.FunctionDef, fn: FunctionType, first: int) -> None:
    """Set `meets` to the loop's number on each loop in which a function's threads meet.

    definition: the function's syntax tree, with lines counted from 1. first: the line
    of the file on which the function begins.
    """
    own = {n.id for n in nodes_of(definition) if _is_stored(n)}  # type: ignore[attr-defined]
    names = {name: v for name, v in names_of(fn).items() if name not in own}
    file = fn.__code__.co_filename
    for node in nodes_of(definition):
        if not isinstance(node, (ast.For, ast.While)):
            continue
        if not any(_meets(inner, names) for inner in nodes_of(node)):
            continue
        lines = node.lineno + first - 1, (node.end_lineno or node.lineno) + first - 1
        node.meets = len(known)  # type: ignore[union-attr]
        known.append(Loop(definition.name, file, *lines, isinstance(node, ast.For)))


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def names_of(fn: FunctionType) -> dict[str, Any]:
    """Return a function's globals and closure variables, with their values."""
    cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
    closure = {}
    for name, cell in cells:
        try:
            closure[name] = cell.cell_contents
        except ValueError:  # it has no value yet
            continue
    return fn.__globals__ | closure


def _meets(node: ast.AST, names: dict[str, Any]) -> bool:
    """Return whether a node is a barrier, or names a function that contains one."""
    if isinstance(node, ast.Attribute):
        return node.attr in _BARRIERS
    if not isinstance(node, ast.Name):
        return False
    return node.id in _BARRIERS or _has_barrier(names.get(node.id), set())


def _has_barrier(value: Any, seen: set[FunctionType]) -> bool:
    """Return whether a device function, or one that it calls, has a barrier."""
    fn = meaning.python_function(value) if value is not None else None
    if not isinstance(fn, FunctionType) or fn in seen:
        return False
    seen.add(fn)
    used = {name for code in code_tree(fn.__code__) for name in code.co_names}
    used |= set(fn.__code__.co_freevars)
    if used & _BARRIERS:
        return True
    names = names_of(fn)
    return any(_has_barrier(names.get(name), seen) for name in used)


class CountSteps(ast.NodeTransformer):
    """Inserts into each loop the code that counts its iterations."""

    _counts = False

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        at = node.test
        turn = syntax.placed(ast.Yield(), at)
        step = syntax.either(syntax.call(STEP, [], at), turn, where=at)
        node.test = syntax.placed(ast.BoolOp(ast.And(), [step, at]), at)
        self._count_rounds(node)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        given, each = [node.iter], 1 if _leaves(node) else 1 + _spared(node)
        if each > 1:
            given.append(syntax.constant(each, node.iter))
        node.iter = syntax.call(LOOP, given, node.iter)
        self._count_rounds(node)
        return node

    def _count_rounds(self, node: ast.For | ast.While) -> None:
        number = getattr(node, "meets", None)
        if number is not None:
            of = ast.Subscript(syntax.name(ROUNDS, node), ast.Constant(number))
            of.ctx = ast.Store()
            node.body.insert(0, ast.AugAssign(of, ast.Add(), ast.Constant(1)))
            self._counts = True

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outer, self._counts = self._counts, False
        self.generic_visit(node)
        if self._counts:
            rounds = syntax.call(ROUNDS_OF, [], node)
            node.body.insert(0, syntax.assign(ROUNDS, rounds, node))
        self._counts = outer
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Make a call such as `sum(y)` count its iterations over `y`."""
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id=name), args=[ast.expr() as items]) if (
                name in _CONSUMERS and not isinstance(items, ast.Starred)
            ):
                node.args = [syntax.call(LOOP, [items], items)]
        return node


def _leaves(loop: ast.For) -> bool:
    """Return whether an iteration of a loop, or of a loop in it, may end early."""
    early = ast.Break, ast.Continue, ast.Return
    return any(isinstance(node, early) for node in nodes_of(loop))


def _spared(loop: ast.For) -> int:
    """Remove the counting from short inner loops over ranges of literal numbers.

    Returns how many iterations they add to each iteration of `loop`.
    """
    total = 0
    for node in loop.body:
        match node:
            case ast.For(
                iter=ast.Call(func=ast.Name(id=name), args=[items, *each]), orelse=[]
            ) if name == LOOP:
                inner = ast.literal_eval(each[0]) if each else 1
                more = _length(items) * inner
                if 0 < more <= _SHORT - total:
                    node.iter = items
                    total += more
    return total


def _length(items: ast.expr) -> int:
    """Return the length of a `range` of literal numbers; 0 for anything else."""
    match items:
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]):
            try:
                return len(range(*map(ast.literal_eval, args)))
            except (ValueError, TypeError):
                return 0
    return 0
