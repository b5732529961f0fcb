"""Number the iterations in which lanes access memory, where they may be out of step.

The lanes of a warp that reach a line in the same iteration access memory together.
Usually, each of these lanes reaches the line for the k-th time. This is not so if some
lanes skip iterations: under an `if` in a loop, after a `continue`, in a nested loop
that takes some lanes longer than others, and in a device function. In such code, each
access is noted with its thread's current iteration.

An iteration is a single integer. Its upper bits are the iteration of the enclosing
loop, and its lower bits count the iterations of the inner loop that have begun. A loop
keeps this integer in a variable, but only if an access in the loop is noted with it. A
device function gets its caller's iteration, combined with the number of the call.
"""

import ast
from dataclasses import dataclass

from weft.code_objects import nodes_of
from weft.simulator.inference.kinds import Conversion, Named
from weft.simulator.translation import syntax

ITERATION = "__iteration__"  # the caller's iteration
COUNTER = "__iteration_of_{}__"  # the iteration of the loop with this number
COUNTERS = ITERATION.rstrip("_")  # the prefix of all these names
WITHIN = "__within__"  # called with the iteration of the next access
DURING = "__during__"  # called with the iteration of all accesses until it gets None
_BITS = 32  # bits for the iterations of one loop
_SAME = frozenset(["blockDim", "gridDim", "blockIdx"])  # equal in all lanes of a warp
_OF_ARRAYS = frozenset(["shape", "size", "ndim"])


class Around:
    """A loop, or a call to a device function, around the code being translated.

    `begins` and `each` are statements before a loop and at the beginning of its body,
    which do nothing unless the iteration is used.
    """

    def __init__(self, name: str, outer: "Around | None", node: ast.AST) -> None:
        """Prepare `begins` and `each` as statements without effect.

        name: the variable for the iteration. node: gives the statements their source
        position.
        """
        self._name, self._outer = name, outer
        self.begins, self.each = nothing(node), nothing(node)
        self._used = name == ITERATION

    @classmethod
    def call(cls) -> "Around":
        """Return an `Around` for a call to a device function."""
        return cls(ITERATION, None, ast.Pass())

    def iteration(self, node: ast.AST) -> ast.expr:
        """Return an expression that identifies the current iteration."""
        if not self._used:
            self._used = True
            begins, each = self.begins, self.each
            begins.value = syntax.named(self._name, inner(self._outer, 0, node), begins)
            one = syntax.constant(1, each)
            more = syntax.two(syntax.name(self._name, each), ast.Add(), one, each)
            each.value = syntax.named(self._name, more, each)
        return syntax.name(self._name, node)


@dataclass
class Together:
    """Statements that are executed equally often, one after another.

    `first` precedes them. It does nothing or, unless `number` is negative, notes the
    iteration for all of them in list `number`.
    """

    first: ast.Expr
    number: int = -1


def inner(around: Around | None, number: int, node: ast.AST) -> ast.expr:
    """Return an expression that identifies an iteration, or a call, inside `around`.

    number: the number of the iteration or call within `around`'s current iteration. If
    `around` is None, the expression is this number.
    """
    own = syntax.constant(number, node)
    if around is None:
        return own
    bits = syntax.constant(_BITS, node)
    outer = syntax.two(around.iteration(node), ast.LShift(), bits, node)
    return syntax.two(outer, ast.Add(), own, node) if number else outer


def nothing(node: ast.AST) -> ast.Expr:
    """Return a statement without effect, whose value can be replaced later."""
    return syntax.placed(ast.Expr(syntax.constant(None, node)), node)


def leaves(node: ast.AST, how: type[ast.stmt]) -> bool:
    """Return whether a `how` statement in `node` acts on the loop around `node`.

    how: `ast.Break` or `ast.Continue`.
    """
    if isinstance(node, how):
        return True
    if isinstance(node, (ast.For, ast.While)):
        return any(leaves(part, how) for part in node.orelse)
    if isinstance(node, (ast.FunctionDef, ast.expr)):
        return False
    return any(leaves(part, how) for part in ast.iter_child_nodes(node))


class Sameness:
    """The names that have the same value in all lanes of a warp, once they are set.

    They are arguments that are never reassigned, constants from outside, and names that
    are assigned once, from an expression of such names.
    """

    def __init__(self, definition: ast.FunctionDef, known: set[str]) -> None:
        """Analyse a function before it is translated.

        known: names that are known to have the same value in all lanes.
        """
        stored = [
            node.id
            for node in nodes_of(definition)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ]
        self._once = {name for name in stored if stored.count(name) == 1}
        self._known = known
        more = True
        while more:
            more = False
            for node in nodes_of(definition):
                match node:
                    case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                        name in self._once - self._known and self.holds(value)
                    ):
                        self._known.add(name)
                        more = True

    def counts(self, node: ast.For) -> bool:
        """Return whether lanes that begin a loop run the same number of iterations."""
        match node.iter:
            case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]):
                same = all(map(self.holds, args))
            case _:
                same = False
        return same and not any(leaves(part, ast.Break) for part in node.body)

    def add(self, target: ast.expr) -> None:
        """Record that a loop gives its variable the same values in all lanes."""
        if isinstance(target, ast.Name) and target.id in self._once:
            self._known.add(target.id)

    def drop(self, target: ast.expr) -> None:
        """Record that the loop with this variable is over."""
        if isinstance(target, ast.Name):
            self._known.discard(target.id)

    def holds(self, node: ast.AST) -> bool:
        """Return whether an expression certainly has the same value in all lanes."""
        match node:
            case ast.Constant():
                return True
            case ast.Name(id=name):
                return name in self._known
            case ast.BinOp(left=a, right=b):
                return self.holds(a) and self.holds(b)
            case ast.UnaryOp(operand=a):
                return self.holds(a)
            case ast.Call(args=args, keywords=[]):
                callee = getattr(node, "callee", None)
                plain = isinstance(callee, Named) and callee.path[0] == "builtins"
                plain = plain or isinstance(callee, Conversion)
                return plain and all(map(self.holds, args))
            case ast.Attribute(value=ast.Attribute(attr=attr)) if attr in _SAME:
                return True
            case ast.Attribute(value=array, attr=attr) if attr in _OF_ARRAYS:
                return self.holds(array)
            case ast.Subscript(value=ast.Attribute(attr="shape") as shape, slice=axis):
                return self.holds(shape) and self.holds(axis)
        return False
