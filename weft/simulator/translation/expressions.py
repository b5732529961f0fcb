"""Translates a kernel's expressions to Python that uses plain numbers and memory.

Every number is a Python bool, int or float, whose type is known from inference: an
integer is in the range of its type, and a float32 is a float that has been rounded.
Some expressions need statements before them, such as one that rounds. If all of an
expression is always evaluated, they are put before the statement that contains it.
Elsewhere, as in the branches of `a if b else c`, a call does the same more slowly.
"""

import ast
import math
from typing import Any

from weft.code_objects import nodes_of
from weft.simulator.arithmetic import by_name
from weft.simulator.arithmetic.numbers import FLOAT32, Number
from weft.simulator.arithmetic.operations import Operation
from weft.simulator.inference import calls
from weft.simulator.inference.kinds import Arr, Conversion, Inner, Kind, Named, Num, Tup
from weft.simulator.translation import syntax
from weft.simulator.translation.atomics import Atomics
from weft.simulator.translation.iterations import inner
from weft.simulator.translation.made import SHARED, kind
from weft.simulator.translation.notes import FLOPS, NOTES, OPERATION, SUMS
from weft.simulator.translation.values import all_numbers


class Expressions(Atomics):
    """Translates expressions."""

    _shared = 0  # shared arrays so far
    _calls = 0  # calls of device functions so far

    def expr(self, node: ast.expr, raw: bool = False) -> ast.expr:
        """Translate an expression.

        raw: whether a float32 need not be rounded, because it is immediately stored as
        a float32.
        """
        visit = getattr(self, f"_{type(node).__name__.lower()}", None)
        if visit is None:
            return node
        made: ast.expr = (
            self._binop(node, raw) if isinstance(node, ast.BinOp) else visit(node)
        )
        flops = getattr(node, "sums", 0)
        if flops and self.noting and _is_real(node):
            return self._summed(node, made, flops)
        return made

    def _summed(self, node: ast.expr, made: ast.expr, flops: int) -> ast.expr:
        """Return `made`, with added code that counts its floating-point operations."""
        found = kind(node)
        number = syntax.constant(self.function.number(node, flops) << OPERATION, node)
        if not self._lifting or not isinstance(found, Num):
            return syntax.call(SUMS, [made, number], node)
        if found.number.kind == "f":
            one = syntax.constant(1, node)
            sums = ast.Subscript(syntax.name(FLOPS, node), number, ast.Store())
            counted = ast.AugAssign(sums, ast.Add(), one)
            self.out.append(syntax.placed(counted, node))
            ast.copy_location(sums, node)
        return made

    def _constant(self, node: ast.Constant) -> ast.expr:
        return node

    def _name(self, node: ast.Name) -> ast.expr:
        value = self.function.outside(node.id)
        return node if value is None else syntax.constant(value, node)

    def _tuple(self, node: Any) -> ast.expr:
        node.elts = self.several(node.elts)
        return node  # type: ignore[no-any-return]

    _list = _tuple

    def _slice(self, node: ast.Slice) -> ast.expr:
        for name in ("lower", "upper", "step"):
            part = getattr(node, name)
            if part is not None:
                setattr(node, name, self.expr(part))
        return node

    def _starred(self, node: ast.Starred) -> ast.expr:
        node.value = self.expr(node.value)
        return node

    def _namedexpr(self, node: ast.NamedExpr) -> ast.expr:
        node.value = self.expr(node.value)
        return node

    def _lambda(self, node: ast.Lambda) -> ast.expr:
        """Translate a `lambda`, whose arguments are indexed without aliases."""
        own = {a.arg for a in nodes_of(node.args) if isinstance(a, ast.arg)}
        before, self._bare = self._bare, self._bare | own
        with self.inline():
            node.body = self.expr(node.body)
        self._bare = before
        return node

    # Attributes

    def _attribute(self, node: ast.Attribute) -> ast.expr:
        of = kind(node.value)
        if isinstance(of, Named):
            return self._of_module(node, (*of.path, node.attr))
        node.value = self.expr(node.value)
        if isinstance(of, Arr) and node.attr in ("size", "shape"):
            base = node.value
            if isinstance(base, ast.Name) and base.id in self.kept:
                self.made.aliases.setdefault(base.id, 0)
                return syntax.name(f"__{node.attr}_{base.id}", node)
        if not isinstance(of, (Arr, Tup)):
            node.value = self.numpys(node.value, of, node)
            return self.plain(node, node)  # an attribute of a number, a record or NumPy
        return node

    def _of_module(self, node: ast.Attribute, path: tuple[str, ...]) -> ast.expr:
        """Translate an attribute of `cuda` or `math`."""
        if path[0] == "math" and isinstance(kind(node), Num):
            return syntax.constant(getattr(math, path[1]), node)
        place = path[0] == "cuda" and (
            (len(path) == 3 and path[1] in calls.POSITIONS) or path[1] in calls.LANES
        )
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not place or not isinstance(root, ast.Name) or self.function.local(root.id):
            return node
        return self._position("_".join(path[1:]), node)

    def _position(self, part: str, node: ast.expr) -> ast.expr:
        """Translate a value that a thread knows from the start, such as its index."""
        self.made.positions.setdefault(part, node)
        return syntax.name(f"__{part}", node)

    # Calls

    def _call(self, node: ast.Call) -> ast.expr:
        """Translate a call to a type, a device function, an operation and so on."""
        function: Kind = getattr(node, "callee", None)
        if (always := getattr(node, "always", None)) is not None:
            return syntax.constant(always, node)
        for keyword in node.keywords:
            keyword.value = self.expr(keyword.value)
        if isinstance(function, Conversion) and len(node.args) == 1:
            return self._conversion(node, function.number)
        device = getattr(node, "device", None)
        if device is not None:
            node.args = self.several(node.args)
            name = self.function.device(*device)
            if name:
                node.func = syntax.name(name, node.func)
            if name and self.by_iterations:
                self._calls += 1
                node.args.insert(0, inner(self.around, self._calls, node))
            if name and self.by_numbers:
                node.args.insert(0, syntax.name(NOTES, node))
            return node
        if isinstance(function, Inner):
            node.func = self.expr(node.func)
            node.args = self.several(node.args)
            return node
        if isinstance(function, Named):
            return self._by_name(node, function)
        self.by_calls = True
        node.func = self.expr(node.func)
        return self._with_numpys(node, self.several(node.args))

    def _with_numpys(self, node: ast.Call, made: list[ast.expr]) -> ast.expr:
        """Translate a call that must be passed typed NumPy numbers, not plain ones."""
        kinds = [kind(a) for a in node.args]
        node.args = []
        for one, of in zip(made, kinds, strict=True):
            if isinstance(one, ast.Starred):
                one.value = self.numpys(one.value, of, node)
                node.args.append(one)
            else:
                node.args.append(self.numpys(one, of, node))
        if not isinstance(kind(node), (Num, Tup)):
            return node
        return self._cast(node, self.plain(node, node), None)

    def _by_name(self, node: ast.Call, function: Named) -> ast.expr:
        """Translate a call to a function of `cuda`, `math`, Python and so on."""
        owner, name = function.path[0], ".".join(function.path[1:])
        if (owner, name) in _SHAPED:  # its arguments are constants
            kept = name == "shared.array" and self.function.is_kernel
            return self._kept(node) if kept else node
        if owner == "cuda" and name.startswith("atomic."):
            return self.atomic(node, name.removeprefix("atomic."))
        given = [kind(a) for a in node.args]
        text = ast.unparse(node.args[0]) if node.args else ""
        made = self.several(node.args)
        if owner == "builtins" and _is_single(name, given):
            ndim = getattr(given[0], "ndim", 0)
            why = (syntax.constant(part, node) for part in (name, text, ndim))
            return self.pure("single", node, made[0], *why)
        operation = None
        if given and all_numbers(given):
            found = [k.number for k in given if isinstance(k, Num)]
            if owner == "builtins" and (
                plainly := self._plainly(node, name, made, given)
            ):
                return plainly
            operation = by_name.operation(owner, name, found)
        if operation is not None:
            return self._computed(node, f"{owner}_{name}", operation, made, given)
        if owner != "cuda" and (owner != "builtins" or name not in _OF_PYTHON):
            return self._with_numpys(node, made)
        extents = owner == "cuda" and name in _EXTENTS
        axes = (getattr(node, "known", None) or [None])[0] if extents else None
        if self.function.is_kernel and axes in (1, 2, 3):
            parts = [self._position(f"{name}_{axis}", node) for axis in "xyz"[:axes]]
            whole = syntax.placed(ast.Tuple(parts, ast.Load()), node)
            return parts[0] if axes == 1 else whole
        node.args = made
        return node

    def _kept(self, node: ast.Call) -> ast.expr:
        """Translate `shared.array`: its first caller in a block makes the array."""
        self._shared += 1

        def shared() -> ast.expr:
            return syntax.name(SHARED, node)

        number = syntax.constant(self._shared, node)
        known = syntax.placed(ast.Compare(number, [ast.In()], [shared()]), node)
        keep = syntax.attribute(shared(), "setdefault", node)
        kept = syntax.placed(ast.Call(keep, [number, node], []), node)
        return syntax.choice(known, syntax.item(shared(), number, node), kept, node)

    def _plainly(
        self, node: ast.Call, name: str, made: list[ast.expr], given: list[Kind]
    ) -> ast.expr | None:
        """Translate a call to one of Python's own functions, or return None.

        Returns None unless Python's function or a conversion gives Numba's result.
        """
        found = [k.number for k in given if isinstance(k, Num)]
        if name == "range":
            node.args = made
            return node
        if name == "bool":
            return self.pure("bool", node, *made)
        result = kind(node)
        if name in ("int", "float") and len(made) == 1 and isinstance(result, Num):
            return self.converted(made[0], given[0], result.number, node)
        alike = len(made) > 1 and len(set(found)) == 1 and found[0].whole
        return (
            self.pure(name, node, *made) if name in ("min", "max") and alike else None
        )

    def _computed(
        self,
        node: ast.Call,
        what: str,
        operation: Operation,
        made: list[ast.expr],
        given: list[Kind],
    ) -> ast.expr:
        """Translate a call to a function of numbers."""
        kinds = tuple(k for k in given if isinstance(k, Num))
        parts = self._ready(operation, tuple(made), kinds, node)
        tail = "_".join(str(k.number) for k in kinds)
        what = f"{what.replace('.', '_')}_{tail}"
        called = self.applied(what, operation.function, node, *parts)
        if len(operation.results) > 1:
            return called
        called = self.finished(called, operation.rounds, node)
        return self._cast(node, called, operation.result)

    def _conversion(self, node: ast.Call, to: Number | None) -> ast.expr:
        argument = node.args[0]
        given = kind(argument)
        if to is None or not isinstance(given, Num):
            return self._with_numpys(node, self.several([argument]))
        raw = to is FLOAT32 and given.number is FLOAT32 and _rounds(argument)
        made = self.expr(argument, raw)
        return (
            self.rounded(made, node) if raw else self.converted(made, given, to, node)
        )


# Functions of `cuda` for a thread's position in the grid, and the grid's size.
_EXTENTS = frozenset(["grid", "gridsize"])
# Python functions that pass on values of any type.
_OF_PYTHON = frozenset(
    "len enumerate zip range iter next print isinstance tuple slice type".split()
)
_SHAPED = frozenset([("cuda", "shared.array"), ("cuda", "local.array")])


def _is_single(name: str, given: list[Kind]) -> bool:
    """Return whether `min`, `max` or `sum` gets a number or a multi-axis array."""
    if not (name == "sum" and given) and not (
        name in ("min", "max") and len(given) == 1
    ):
        return False
    one = given[0]
    return isinstance(one, Num) or (isinstance(one, Arr) and one.ndim > 1)


def _is_real(node: ast.expr) -> bool:
    found = kind(node)
    return not isinstance(found, Num) or not found.whole


def _rounds(node: ast.expr) -> bool:
    """Return whether an expression's translation ends by rounding to float32."""
    return isinstance(node, ast.BinOp) and isinstance(
        node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)
    )
