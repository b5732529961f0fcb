"""Translation of arithmetic: numbers, operators, conversions, choices.

Some operations, such as rounding to float32, need statements of their own. If all of an
expression is always evaluated, these are put before the expression's statement.
Elsewhere, as in the branches of `a if b else c`, a call does the same more slowly.
"""

import ast
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from weft.simulator.arithmetic import conversions, operations
from weft.simulator.arithmetic.numbers import BOOL, FLOAT32, FLOAT64, INT64, Number
from weft.simulator.arithmetic.operations import Operation
from weft.simulator.inference.expressions import OPERATORS as NAMES
from weft.simulator.inference.kinds import LARGEST, Cast, Kind, Num, Tup, num
from weft.simulator.translation import numbers, syntax
from weft.simulator.translation.iterations import Around, Together
from weft.simulator.translation.made import CELL, Body, Made, kind
from weft.simulator.translation.notes import Noting


class Values:
    """Translates arithmetic; `out` holds the statements of the block being made."""

    def __init__(self, function: Body, own: set[str], kept: set[str]) -> None:
        """Prepare to translate a function.

        own: the names to which only shared or local arrays are assigned. kept: the
        arguments that are never reassigned.
        """
        self.function, self.own, self.kept = function, own, kept
        self.out: list[ast.stmt] = []
        self.made = Made()
        self._temporary = 0
        self._lifting = True
        # the numbers of the lists in which something is noted
        self.used: set[int] = set()
        self.reads: dict[str, list[int]] = {}  # by array: the lists that note its reads
        self._bare: frozenset[str] = frozenset()  # arrays without aliases
        self.around: Around | None = None if function.is_kernel else Around.call()
        # Whether the lanes at a place have all been there the same number of times.
        self.in_step = function.is_kernel
        self.together: Together | None = None  # of the current statement
        self.by_calls = False  # whether something touches memory in a call

    @property
    def noting(self) -> bool:
        return self.function.noting is not Noting.NONE

    @property
    def by_numbers(self) -> bool:
        return self.function.noting is Noting.NUMBERS

    # Making expressions

    def temporary(self) -> str:
        self._temporary += 1
        return f"__{self._temporary}"

    def pure(self, what: str, node: ast.AST, *args: ast.expr) -> ast.expr:
        """Return a call to `what`, a function of `numbers` that has no side effects."""
        name = f"__pure_{what}"
        self.made.helpers[name] = numbers.FUNCTIONS[what]
        return syntax.call(name, args, node)

    def applied(
        self, what: str, function: Any, node: ast.AST, *args: ast.expr
    ) -> ast.expr:
        """Return a call to an arithmetic function. what: its name and operand types."""
        name = f"__pure_{what}"
        self.made.helpers[name] = function
        return syntax.call(name, args, node)

    def plain(self, made: ast.expr, node: ast.AST) -> ast.expr:
        """Return code that converts the NumPy number from `made` to a plain number."""
        return self.pure("plain", node, made)

    def numpys(self, made: ast.expr, given: Kind, node: ast.AST) -> ast.expr:
        """Convert a plain number, or all numbers of a tuple, to NumPy's types.

        Other values, and a single bool or int64, are left unchanged.
        """
        if isinstance(given, Tup) and all_numbers(given.parts):
            found = tuple(part.number for part in given.parts)  # type: ignore[union-attr]
            what = f"numpys_{'_'.join(map(str, found))}"
            return self.applied(what, numbers.numpys_of(found), node, made)
        if not isinstance(given, Num) or given.number in (BOOL, INT64):
            return made
        function = given.number.dtype.type
        return self.applied(f"numpys_{given.number}", function, node, made)

    @property
    def by_iterations(self) -> bool:
        """Whether accesses are noted with their iterations."""
        return self.function.noting in (Noting.NUMBERS, Noting.ACCESSES)

    @contextmanager
    def inline(self) -> Iterator[None]:
        """Within a `with` block, put no statements before the current one.

        This is for expressions that are only sometimes evaluated.
        """
        before, self._lifting = self._lifting, False
        try:
            with self.sometimes():
                yield
        finally:
            self._lifting = before

    @contextmanager
    def sometimes(self) -> Iterator[None]:
        """Treat code translated in a `with` block as code that some lanes may skip."""
        before = self.in_step
        self.in_step = before and self.around is None
        try:
            yield
        finally:
            self.in_step = before

    def several(self, nodes: list[ast.expr]) -> list[ast.expr]:
        """Translate expressions that are evaluated one after another."""
        made: list[ast.expr] = []
        for node in nodes:
            mark = len(self.out)
            one = self.expr(node)
            self._spill(made, mark)
            made.append(one)
        return made

    def _spill(self, made: list[ast.expr], mark: int) -> None:
        """Assign expressions in `made` to names, in statements inserted at `mark`.

        Only expressions that would otherwise be evaluated out of order are assigned.
        """
        lifted = self.out[mark:]
        if not lifted:
            return
        effects = any(map(syntax.has_effect, lifted))
        for k, earlier in enumerate(made):
            if syntax.has_effect(earlier) or (effects and syntax.reads_memory(earlier)):
                name = self.temporary()
                self.out.insert(mark, syntax.assign(name, earlier, earlier))
                made[k] = syntax.name(name, earlier)
                mark += 1

    def held(self, value: ast.expr, node: ast.AST) -> ast.expr:
        """Add an assignment of `value` to a new name, and return the name.

        A name or a constant is returned as it is.
        """
        if isinstance(value, (ast.Name, ast.Constant)):
            return value
        name = self.temporary()
        self.out.append(syntax.assign(name, value, node))
        return syntax.name(name, node)

    def rounded(self, made: ast.expr, node: ast.AST) -> ast.expr:
        """Return an expression that rounds the float `made` to float32."""
        if not self._lifting:
            return self.pure("round32", node, made)
        self.made.helpers[CELL] = numbers.CELL
        cell, zero = syntax.name(CELL, node), syntax.constant(0, node)
        self.out.append(syntax.put(cell, zero, made, node))
        name = self.temporary()
        cell, zero = syntax.name(CELL, node), syntax.constant(0, node)
        self.out.append(syntax.assign(name, syntax.item(cell, zero, node), node))
        return syntax.name(name, node)

    def finished(self, made: ast.expr, to: Number | None, node: ast.AST) -> ast.expr:
        """Convert a result of arithmetic to the type `to`; None leaves it unchanged."""
        if to is None:
            return made
        if to is FLOAT32:
            return self.rounded(made, node)
        return self.applied(f"finish_{to}", numbers.finish(to), node, made)

    def converted(
        self, made: ast.expr, given: Kind, to: Number, node: ast.AST
    ) -> ast.expr:
        """Convert a number of kind `given` to the type `to`."""
        if not isinstance(given, Num) or given.number is to:
            return made
        function = conversions.conversion(given.number, to)
        if function is None:
            return made
        if isinstance(made, ast.Constant):
            return syntax.constant(function(made.value), made)
        fits = given.whole and to.kind == "i" and given.most < to.bits
        if fits and given.number is not BOOL:
            return made
        if to is FLOAT32 and given.number is FLOAT64:
            return self.rounded(made, node)
        return self.applied(f"to_{given.number}_{to}", function, node, made)

    @abstractmethod
    def expr(self, node: ast.expr, raw: bool = False) -> ast.expr:
        """Translate an expression; see `Expressions`."""

    # Operators

    def _binop(self, node: ast.BinOp, raw: bool) -> ast.expr:
        left, right = self.several([node.left, node.right])
        a, b = kind(node.left), kind(node.right)
        return self.two(node, node.op, (left, a), (right, b), raw)

    def two(
        self,
        node: Any,
        op: ast.operator,
        left: tuple[ast.expr, Kind],
        right: tuple[ast.expr, Kind],
        raw: bool = False,
    ) -> ast.expr:
        """Translate `left op right`."""
        (x, a), (y, b) = left, right
        name = NAMES.get(type(op), "")
        if not isinstance(a, Num) or not isinstance(b, Num) or not name:
            return syntax.two(x, op, y, node)
        by = getattr(node, "by", None)
        known = by if type(by) in (int, float) else None
        operation = operations.binary(name, a.number, b.number, known)
        if operation is None:
            return syntax.two(x, op, y, node)
        what = f"{name}_{a.number}_{b.number}" + ("" if known is None else f"_{known}")
        what = what.replace("-", "_").replace(".", "_").replace("+", "_")
        x, y = self._ready(operation, (x, y), (a, b), node)
        rounds = operation.rounds
        if rounds is INT64 and not _may_overflow(name, a, b, known):
            rounds = None
        if operation.symbol:
            made: ast.expr = syntax.two(x, op, y, node)
        elif operation.function is operations.quotient and self._lifting:
            made = self._quotient(x, y, node)
        else:
            made = self.applied(what, operation.function, node, x, y)
        if not (raw and rounds is FLOAT32):
            made = self.finished(made, rounds, node)
        return self._cast(node, made, operation.result)

    def _quotient(self, x: ast.expr, y: ast.expr, node: ast.AST) -> ast.expr:
        """Make `x / y if y else quotient(x, y)`."""
        parts = [x]
        mark = len(self.out)
        y = self.held(y, node)
        self._spill(parts, mark)
        x = self.held(parts[0], node)
        other = self.pure("quotient", node, again(x), again(y))
        direct = syntax.two(x, ast.Div(), again(y), node)
        return syntax.choice(y, direct, other, node)

    def _ready(
        self,
        operation: Operation,
        made: tuple[ast.expr, ...],
        given: tuple[Num, ...],
        node: ast.AST,
    ) -> list[ast.expr]:
        """Convert operands to the types in which `operation` computes."""
        converts = operation.converts or (None,) * len(made)
        return [
            one if function is None else self._converting(function, one, k, node)
            for function, one, k in zip(converts, made, given, strict=True)
        ]

    def _converting(
        self, function: Any, made: ast.expr, given: Num, node: ast.AST
    ) -> ast.expr:
        if isinstance(made, ast.Constant):
            return syntax.constant(function(made.value), made)
        name = getattr(function, "__name__", "convert").strip("<>")
        return self.applied(
            f"{name}_{given.number}_{id(function)}", function, node, made
        )

    def _cast(self, node: ast.AST, made: ast.expr, given: Number | None) -> ast.expr:
        """Convert a result whose type a loop widens; see `settled` in `inference`."""
        cast = getattr(node, "cast", None)
        if cast is None or cast is given:
            return made
        if given is None or isinstance(cast, tuple):
            return self.variable(made, cast, node)
        return self.converted(made, num(given), cast, node)

    def variable(self, made: ast.expr, to: Cast, node: ast.AST) -> ast.expr:
        """Convert a variable, which has either of two types, to the wider of them."""
        return self.applied(f"as_{numbers.written(to)}", numbers.wider(to), node, made)

    def _unaryop(self, node: ast.UnaryOp) -> ast.expr:
        """Translate a unary operator, in the type that Numba gives it."""
        given = kind(node.operand)
        node.operand = self.expr(node.operand)
        if isinstance(node.op, ast.Not) or not isinstance(given, Num):
            return node
        name = NAMES[type(node.op)]
        operation = operations.unary(name, given.number)
        if operation is None:
            return node
        (x,) = self._ready(operation, (node.operand,), (given,), node)
        rounds = operation.rounds
        if rounds is INT64 and given.most < LARGEST:
            rounds = None
        if operation.symbol:
            node.operand = x
            made: ast.expr = node
            if operation.symbol == "not ":
                made = syntax.placed(ast.UnaryOp(ast.Not(), x), node)
        else:
            made = self.applied(f"{name}_{given.number}", operation.function, node, x)
        return self._cast(node, self.finished(made, rounds, node), operation.result)

    def _compare(self, node: ast.Compare) -> ast.expr:
        """Translate a comparison, in the common type of each pair of operands."""
        nodes = [node.left, *node.comparators]
        kinds = [kind(n) for n in nodes]
        if len(nodes) == 2:
            return self._pair(node.ops[0], self.several(nodes), kinds, node)
        first = self.several(nodes[:2])
        with self.inline():
            parts = [*first, *map(self.expr, nodes[2:])]
            if not any(map(_converts, node.ops, kinds, kinds[1:])):
                node.left, *node.comparators = parts
                return node
            # What two pairs share is evaluated once, and converted for each.
            shared = [self._evaluated_once(part, node) for part in parts[1:-1]]
            lefts = [parts[0], *(again for _, again in shared)]
            rights = [*(once for once, _ in shared), parts[-1]]
            pairs = [
                self._pair(op, [x, y], [a, b], node)
                for op, x, y, a, b in zip(
                    node.ops, lefts, rights, kinds, kinds[1:], strict=False
                )
            ]
        return syntax.placed(ast.BoolOp(ast.And(), pairs), node)

    def _evaluated_once(
        self, made: ast.expr, node: ast.AST
    ) -> tuple[ast.expr, ast.expr]:
        """Return an expression that evaluates an operand, and one that reuses it."""
        if isinstance(made, (ast.Name, ast.Constant)):
            return made, made
        name = self.temporary()
        return syntax.named(name, made, node), syntax.name(name, node)

    def _pair(
        self,
        op: ast.cmpop,
        parts: list[ast.expr],
        kinds: list[Kind],
        node: ast.AST,
    ) -> ast.expr:
        """Translate the comparison of two operands that are already translated."""
        operation = _comparison(op, *kinds)
        if operation is not None:
            a, b = kinds
            assert isinstance(a, Num)
            assert isinstance(b, Num)
            if not operation.symbol:
                what = f"{NAMES[type(op)]}_{a.number}_{b.number}"
                x, y = self._ready(operation, tuple(parts), (a, b), node)
                return self.applied(what, operation.function, node, x, y)
            ready = self._ready(operation, tuple(parts), (a, b), node)
            parts = [
                made if _is_inexact(given) else part
                for part, made, given in zip(parts, ready, (a, b), strict=True)
            ]
        return syntax.placed(ast.Compare(parts[0], [op], [parts[1]]), node)

    def _boolop(self, node: ast.BoolOp) -> ast.expr:
        kinds = [kind(v) for v in node.values]
        first = self.expr(node.values[0])
        with self.inline():
            rest = list(map(self.expr, node.values[1:]))
        node.values = [first, *rest]
        given = kinds[0].number if _one_type(kinds) else None  # type: ignore[union-attr]
        return self._cast(node, node, given)

    def _ifexp(self, node: ast.IfExp) -> ast.expr:
        decided = getattr(node, "decided", None)
        if decided is not None:
            return self.expr(node.body if decided else node.orelse)
        to = getattr(node, "cast", None)
        node.test = self.expr(node.test)
        with self.inline():
            for name in ("body", "orelse"):
                part = getattr(node, name)
                made = self.expr(part)
                if isinstance(to, Number):
                    made = self.converted(made, kind(part), to, node)
                setattr(node, name, made)
        return self.variable(node, to, node) if isinstance(to, tuple) else node


def all_numbers(kinds: Any) -> bool:
    return bool(kinds) and all(isinstance(k, Num) for k in kinds)


def _comparison(op: ast.cmpop, a: Kind, b: Kind) -> Operation | None:
    """Return how Numba compares values of two kinds, or None if it is as in Python."""
    name = NAMES.get(type(op), "")
    if not isinstance(a, Num) or not isinstance(b, Num) or not name:
        return None
    return operations.binary(name, a.number, b.number)


def _is_inexact(given: Num) -> bool:
    """Return whether a comparison of `given` as a float may be inexact."""
    return given.most > 53 or not given.whole


def _converts(op: ast.cmpop, a: Kind, b: Kind) -> bool:
    """Return whether a comparison needs more than Python's operator."""
    operation = _comparison(op, a, b)
    if operation is None:
        return False
    given = zip(operation.converts or (None, None), (a, b), strict=True)
    return not operation.symbol or any(
        function is not None and isinstance(one, Num) and _is_inexact(one)
        for function, one in given
    )


def _may_overflow(name: str, a: Num, b: Num, by: Any) -> bool:
    """Return whether the operator `name` can give a result too large for an int64."""
    most = max(a.most, b.most) + 1
    if name == "mul":
        most = a.most + b.most
    if name == "lshift":
        most = a.most + (by if isinstance(by, int) else LARGEST)
    if name == "pow":
        most = a.most * by if isinstance(by, int) else LARGEST
    return most >= LARGEST and name in ("add", "sub", "mul", "lshift", "pow")


def name_of(base: ast.expr) -> str:
    if isinstance(base, ast.NamedExpr):
        return base.target.id
    return base.id if isinstance(base, ast.Name) else ""


def again(made: ast.expr) -> ast.expr:
    """Return another copy of a name or a constant."""
    if isinstance(made, ast.Constant):
        return syntax.constant(made.value, made)
    return syntax.name(name_of(made), made)


def _one_type(kinds: list[Kind]) -> bool:
    return all(isinstance(k, Num) and k.number is kinds[0].number for k in kinds)  # type: ignore[union-attr]
