"""Translates the expressions of a kernel to plain numbers and memory.

Every number is a Python bool, int or float, whose type inference knows: an integer lies
in the range of its type, a float32 is a float that has been rounded. Some expressions
need statements before them, such as one that rounds. Where all of an expression is
evaluated whatever its values are, these are put before its statement; elsewhere, as in
the branches of `a if b else c`, a call does the same more slowly.
"""

import ast
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from weft.simulator.arithmetic import (
    conversions,
    cuda_functions,
    mathematics,
    operations,
    python_functions,
)
from weft.simulator.arithmetic.numbers import BOOL, FLOAT32, FLOAT64, INT64, Number
from weft.simulator.arithmetic.operations import Operation
from weft.simulator.inference import calls
from weft.simulator.inference.expressions import OPERATORS as NAMES
from weft.simulator.inference.expressions import plan_of
from weft.simulator.inference.kinds import (
    LARGEST,
    Arr,
    Cast,
    Conversion,
    Inner,
    Kind,
    Named,
    Num,
    Tup,
    num,
)
from weft.simulator.translation import numbers, syntax
from weft.simulator.translation.notes import (
    LOAD,
    NOTE,
    NOTES,
    OPERATION,
    READ,
    SUMS,
    Noting,
    Spotted,
)
from weft.simulator.translation.signs import Signs

CELL = "__cell__"


def kind(node: ast.AST) -> Kind:
    """What inference has found an expression to be."""
    return getattr(node, "seen", None)


@dataclass(frozen=True)
class Access:
    """An access in translated code: the names of its array and indices, or numbers.

    One that `writes` stores to the array.
    """

    array: str
    index: tuple[str | int, ...]
    writes: bool


Position = tuple[int, int, int, int]  # the lines and columns of an expression


def position_of(node: ast.expr) -> Position:
    start, stop = node.col_offset, node.end_col_offset or 0
    return node.lineno, node.end_lineno or 0, start, stop


class Function(Protocol):
    """What the translation of an expression asks of its function.

    noting: what is noted.
    """

    noting: Noting
    is_kernel: bool

    @property
    def last_spot(self) -> Spotted:
        """The last spot that was numbered."""

    def number(self, node: ast.expr, flops: int, spot: Spotted | None = None) -> int:
        """Number a place that notes something; see `rewriting.Rewritten`."""

    def local_number(self, number: int) -> int:
        """The number of a place among those of this function."""

    def device(self, value: Any, kinds: tuple[Kind, ...]) -> str:
        """The name by which to call a device function with such arguments."""

    def constant(self, node: ast.expr | None) -> int | None:
        """The integer that an expression is, wherever the kernel runs."""

    def outside(self, name: str) -> Any:
        """The number that a name stands for outside, None for anything else."""

    def local(self, name: str) -> bool:
        """Whether a name is given a value in the function."""


@dataclass
class Made:
    """What a translated function needs besides its code.

    `helpers` are what names of arithmetic stand for, `positions` what threads know from
    the beginning, `aliases` the arrays that are indexed by their names, with their
    axes. `accesses` says what is accessed where, and of the nodes that are `unknown`
    nothing is known.
    """

    helpers: dict[str, Any] = field(default_factory=dict)
    positions: dict[str, ast.expr] = field(default_factory=dict)
    aliases: dict[str, int] = field(default_factory=dict)
    accesses: dict[Position, Access] = field(default_factory=dict)
    unknown: list[ast.AST] = field(default_factory=list)


class Expressions:
    """Translates expressions into `out`, the statements of the block being made."""

    def __init__(self, function: Function, signs: Signs) -> None:
        self.function, self.signs = function, signs
        self.out: list[ast.stmt] = []
        self.made = Made()
        self._temporary = 0
        self._lifting = True
        self.used: set[int] = set()  # the lists that are noted in
        self.reads: dict[str, list[int]] = {}  # of arrays by their names
        self._bare: frozenset[str] = frozenset()  # arrays without aliases

    @property
    def noting(self) -> bool:
        return self.function.noting is not Noting.NONE

    @property
    def by_numbers(self) -> bool:
        return self.function.noting is Noting.NUMBERS

    # What is made

    def temporary(self) -> str:
        self._temporary += 1
        return f"__{self._temporary}"

    def pure(self, what: str, node: ast.AST, *args: ast.expr) -> ast.expr:
        """A call of one of the functions of `numbers`, which change nothing."""
        name = f"__pure_{what}"
        self.made.helpers[name] = numbers.FUNCTIONS[what]
        return syntax.call(name, args, node)

    def applied(
        self, what: str, function: Any, node: ast.AST, *args: ast.expr
    ) -> ast.expr:
        """A call of a function of arithmetic. what: its name, and the types."""
        name = f"__pure_{what}"
        self.made.helpers[name] = function
        return syntax.call(name, args, node)

    def plain(self, made: ast.expr, node: ast.AST) -> ast.expr:
        """What a function of NumPy's numbers gives, as a plain number."""
        return self.pure("plain", node, made)

    def numpys(self, made: ast.expr, given: Kind, node: ast.AST) -> ast.expr:
        """A plain number, or a tuple of them, as NumPy's, which show their types."""
        if isinstance(given, Tup) and _all_numbers(given.parts):
            found = tuple(part.number for part in given.parts)  # type: ignore[union-attr]
            what = f"numpys_{'_'.join(map(str, found))}"
            return self.applied(what, numbers.numpys_of(found), node, made)
        if not isinstance(given, Num) or given.number in (BOOL, INT64):
            return made
        function = numbers.numpys(given.number)
        return self.applied(f"numpys_{given.number}", function, node, made)

    @contextmanager
    def inline(self) -> Iterator[None]:
        """Within, no statements can be put before the present one."""
        before, self._lifting = self._lifting, False
        try:
            yield
        finally:
            self._lifting = before

    def several(self, nodes: list[ast.expr]) -> list[ast.expr]:
        """Translate expressions that are evaluated one after the other."""
        made: list[ast.expr] = []
        for node in nodes:
            mark = len(self.out)
            one = self.expr(node)
            self._spill(made, mark)
            made.append(one)
        return made

    def _spill(self, made: list[ast.expr], mark: int) -> None:
        """Keep expressions in order that come before statements from `mark` on."""
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
        """A value that is used more than once."""
        if isinstance(value, (ast.Name, ast.Constant)):
            return value
        name = self.temporary()
        self.out.append(syntax.assign(name, value, node))
        return syntax.name(name, node)

    def rounded(self, made: ast.expr, node: ast.AST) -> ast.expr:
        """A float as a float32."""
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
        """A result of arithmetic, brought into its type."""
        if to is None:
            return made
        if to is FLOAT32:
            return self.rounded(made, node)
        return self.applied(f"finish_{to}", numbers.finish(to), node, made)

    def converted(
        self, made: ast.expr, given: Kind, to: Number, node: ast.AST
    ) -> ast.expr:
        """A number as one of another type."""
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

    # Expressions

    def expr(self, node: ast.expr, raw: bool = False) -> ast.expr:
        """Translate an expression.

        raw: a float32 need not be rounded, as it is stored to one at once.
        """
        visit = getattr(self, f"_{type(node).__name__.lower()}", None)
        if visit is None:
            self.made.unknown.append(node)
            return node
        made: ast.expr = (
            self._binop(node, raw) if isinstance(node, ast.BinOp) else visit(node)
        )
        flops = getattr(node, "sums", 0)
        if flops and self.noting and _is_real(node):
            number = self.function.number(node, flops) << OPERATION
            return syntax.call(SUMS, [made, syntax.constant(number, node)], node)
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

    def _binop(self, node: ast.BinOp, raw: bool) -> ast.expr:
        left, right = self.several([node.left, node.right])
        a, b = kind(node.left), kind(node.right)
        return self.two(node, node.op, (left, a), (right, b), node.right, raw)

    def two(
        self,
        node: Any,
        op: ast.operator,
        left: tuple[ast.expr, Kind],
        right: tuple[ast.expr, Kind],
        by: ast.expr | None = None,
        raw: bool = False,
    ) -> ast.expr:
        """`left op right`. by: the right side as it was written."""
        (x, a), (y, b) = left, right
        name = NAMES.get(type(op), "")
        if not isinstance(a, Num) or not isinstance(b, Num) or not name:
            return syntax.two(x, op, y, node)
        known: float | None = self.function.constant(by)
        if isinstance(by, ast.Constant) and isinstance(by.value, float):
            known = by.value
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
        """`x / y if y else quotient(x, y)`."""
        parts = [x]
        mark = len(self.out)
        y = self.held(y, node)
        self._spill(parts, mark)
        x = self.held(parts[0], node)
        other = self.pure("quotient", node, _again(x), _again(y))
        direct = syntax.two(x, ast.Div(), _again(y), node)
        return syntax.choice(y, direct, other, node)

    def _ready(
        self,
        operation: Operation,
        made: tuple[ast.expr, ...],
        given: tuple[Num, ...],
        node: ast.AST,
    ) -> list[ast.expr]:
        """Operands in the types in which they are computed with."""
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
        """Convert what loops make a wider number, see `inference.settled`."""
        plan = plan_of(node)
        if plan is None or plan.cast is None or plan.cast is given:
            return made
        if given is None or isinstance(plan.cast, tuple):
            return self.variable(made, plan.cast, node)
        return self.converted(made, num(given), plan.cast, node)

    def variable(self, made: ast.expr, to: Cast, node: ast.AST) -> ast.expr:
        """A variable that may have had one of two types, as one of the wider."""
        return self.applied(f"as_{numbers.written(to)}", numbers.wider(to), node, made)

    def _unaryop(self, node: ast.UnaryOp) -> ast.expr:
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
        nodes = [node.left, *node.comparators]
        kinds = [kind(n) for n in nodes]
        if len(nodes) > 2:
            first = self.several(nodes[:2])
            with self.inline():
                parts = [*first, *map(self.expr, nodes[2:])]
        else:
            parts = self.several(nodes)
        for k, op in enumerate(node.ops):
            a, b = kinds[k], kinds[k + 1]
            name = NAMES.get(type(op), "")
            if not isinstance(a, Num) or not isinstance(b, Num) or not name:
                continue
            operation = operations.binary(name, a.number, b.number)
            if operation is None:
                continue
            if not operation.symbol and len(nodes) == 2:
                what = f"{name}_{a.number}_{b.number}"
                x, y = self._ready(operation, tuple(parts), (a, b), node)
                return self.applied(what, operation.function, node, x, y)
            with self.inline():
                x, y = self._ready(operation, (parts[k], parts[k + 1]), (a, b), node)
            if a.most > 53 or not a.whole:
                parts[k] = x
            if b.most > 53 or not b.whole:
                parts[k + 1] = y
        node.left, *node.comparators = parts
        return node

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
        plan = plan_of(node)
        to = None if plan is None else plan.cast
        node.test = self.expr(node.test)
        with self.inline():
            for name in ("body", "orelse"):
                part = getattr(node, name)
                made = self.expr(part)
                if isinstance(to, Number):
                    made = self.converted(made, kind(part), to, node)
                setattr(node, name, made)
        return self.variable(node, to, node) if isinstance(to, tuple) else node

    def _namedexpr(self, node: ast.NamedExpr) -> ast.expr:
        node.value = self.expr(node.value)
        return node

    def _lambda(self, node: ast.Lambda) -> ast.expr:
        """A function of one expression; its arguments are indexed without aliases."""
        own = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
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
        if not isinstance(of, (Arr, Tup)):
            node.value = self.numpys(node.value, of, node)
            return self.plain(node, node)  # of a number or a record, or NumPy's
        return node

    def _of_module(self, node: ast.Attribute, path: tuple[str, ...]) -> ast.expr:
        """Something of `cuda` or `math`."""
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
        name = f"__{'_'.join(path[1:])}"
        self.made.positions.setdefault(name, node)
        return syntax.name(name, node)

    # Memory

    def _subscript(self, node: ast.Subscript) -> ast.expr:
        of = kind(node.value)
        if isinstance(of, Arr) and isinstance(node.ctx, ast.Load):
            return self.load(node, of)
        parts = self.several([node.value, node.slice])
        node.value, node.slice = parts
        if not isinstance(of, Tup) and isinstance(kind(node), Num):
            return self.plain(node, node)
        return node

    def array(self, node: ast.expr, of: Arr) -> tuple[ast.expr, str]:
        """What an array is indexed through: the array, and the name of its aliases."""
        if isinstance(node, ast.Name) and node.id not in self._bare:
            self.made.aliases[node.id] = -1 if of.space == "constant" else of.ndim
            return node, node.id
        value, name = self.expr(node), self.temporary()
        if self._lifting:
            self.out.append(syntax.assign(name, value, node))
            return syntax.name(name, node), ""
        return syntax.named(name, value, node), ""

    def load(self, node: ast.Subscript, of: Arr) -> ast.expr:
        """`x[i]`."""
        parts = parts_of(node.slice)
        flops = getattr(node, "flops", 0)
        whole = of.number is None or len(parts) != of.ndim or not of.direct
        if whole or not all(isinstance(kind(p), Num) for p in parts):
            return self._loaded(node, of, flops)
        by_call = self.function.noting is Noting.CALLS
        if by_call or (self.by_numbers and not of.space):
            return self.plain(self._loaded(node, of, flops), node)
        mark = len(self.out)
        base, alias = self.array(node.value, of)
        made = self.several(parts)
        if not alias and len(self.out) > mark + 1:
            pass  # the array comes first, as it should
        indices = [self._index(m, p) for m, p in zip(made, parts, strict=True)]
        self._remember(node, base, alias, indices)
        if not self.noting or of.space == "constant":
            return self._element(base, alias, indices, node)
        note = self.noted(node, of, base, alias, indices, READ, flops)
        element = self._element(base, alias, indices, node)
        return syntax.either(note, element, where=node)

    def _loaded(self, node: ast.Subscript, of: Arr, flops: int) -> ast.expr:
        """A load, or a view of a part, by a call."""
        node.value, node.slice = self.several([node.value, node.slice])
        made: ast.expr = node
        if self.noting:
            number = self.function.number(node, flops) << OPERATION
            index = node.slice
            made = syntax.call(
                LOAD, [node.value, index, syntax.constant(number, node)], node
            )
        return self.plain(made, node) if isinstance(kind(node), Num) else made

    def _remember(
        self,
        node: ast.expr,
        base: ast.expr,
        alias: str,
        indices: list["Index"],
        writes: bool = False,
    ) -> None:
        """What is accessed here, for the day when it is outside of its array."""
        name = alias or _name_of(base)
        shown = tuple(i.shown for i in indices)
        self.made.accesses[position_of(node)] = Access(name, shown, writes)

    def _index(self, made: ast.expr, written: ast.expr) -> "Index":
        """An index that is used several times: its name, and the first use of it."""
        natural = self.signs.natural(written)
        if isinstance(made, ast.Constant) and isinstance(made.value, int):
            return Index(made, made, made.value, natural)
        if isinstance(made, ast.Name):
            return Index(made, made, made.id, natural)
        name = self.temporary()
        first = syntax.named(name, made, made)
        return Index(first, syntax.name(name, made), name, natural)

    def noted(
        self,
        node: ast.expr,
        of: Arr,
        base: ast.expr,
        alias: str,
        indices: list["Index"],
        operation: int,
        flops: int = 0,
    ) -> ast.expr:
        """A call that notes an access, and gives None."""
        if not self.by_numbers:
            number = self.function.number(node, flops) << OPERATION | operation
            return self.note(number, base, alias, indices, node)
        assert of.number is not None
        spot = Spotted(operation, of.space, of.number.bytes, alias)
        number = self.function.number(node, flops, spot)
        at = self.function.local_number(number)
        self.used.add(at)
        if operation == READ and alias:
            self.reads.setdefault(alias, []).append(number)
        element: ast.expr = self.of_array(base, alias, "e", node)
        for axis, index in enumerate(indices):
            term = index.use()
            if axis < len(indices) - 1 or not of.packed:
                step = self.of_array(base, alias, f"t{axis}", node)
                term = syntax.two(term, ast.Mult(), step, node)
            element = syntax.two(element, ast.Add(), term, node)
        return syntax.call(f"__l{at}", [element], node)

    def note(
        self, number: int, base: ast.expr, alias: str, indices: list["Index"], node: Any
    ) -> ast.expr:
        """`__note__((7, __n_x, i, j))`, which gives None."""
        memory = self.of_array(base, alias, "n", node)
        zero = syntax.constant(0, node)
        if len(indices) <= 2:
            where = [index.use() for index in indices]
        else:
            memory = syntax.two(memory, ast.Add(), syntax.constant(1, node), node)
            offset: ast.expr | None = None
            for axis, index in enumerate(indices):
                step = self.of_array(base, alias, f"s{axis}", node)
                term = syntax.two(index.use(), ast.Mult(), step, node)
                offset = (
                    term
                    if offset is None
                    else syntax.two(offset, ast.Add(), term, node)
                )
            assert offset is not None
            where = [offset]
        where += [zero] * (2 - len(where))
        entry = [syntax.constant(number, node), memory, *where]
        made = syntax.placed(ast.Tuple(entry, ast.Load()), node)
        return syntax.call(NOTE, [made], node)

    def of_array(
        self, base: ast.expr, alias: str, what: str, node: ast.AST
    ) -> ast.expr:
        """Of an array: see `attribute_of`."""
        if alias:
            return syntax.name(f"__{what}_{alias}", node)
        of = base
        if isinstance(base, ast.NamedExpr) and getattr(base, "used", False):
            of = syntax.name(_name_of(base), node)
        base.used = True  # type: ignore[attr-defined]
        return attribute_of(of, what, node)

    def _element(
        self, base: ast.expr, alias: str, indices: list["Index"], node: Any
    ) -> ast.expr:
        made = self.of_array(base, alias, "v", node)
        for index in indices:
            made = syntax.item(made, self._checked(index, node), node)
        return made

    def _checked(self, index: "Index", node: ast.AST) -> ast.expr:
        """An index, looked at where it may be negative."""
        if index.natural:
            return index.use()
        zero = syntax.constant(0, node)
        test = syntax.placed(ast.Compare(index.use(), [ast.GtE()], [zero]), node)
        below = self.pure("below", node, index.use())
        return syntax.choice(test, index.use(), below, node)

    # Calls

    def _call(self, node: ast.Call) -> ast.expr:
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
            if name and self.by_numbers:
                node.args.insert(0, syntax.name(NOTES, node))
            return node
        if isinstance(function, Inner):
            node.func = self.expr(node.func)
            node.args = self.several(node.args)
            return node
        if isinstance(function, Named):
            return self._by_name(node, function)
        node.func = self.expr(node.func)
        return self._with_numpys(node, self.several(node.args))

    def _with_numpys(self, node: ast.Call, made: list[ast.expr]) -> ast.expr:
        """A call that computes with NumPy's numbers, which show their types."""
        kinds = [kind(a) for a in node.args]
        node.args = []
        for one, of in zip(made, kinds, strict=True):
            if isinstance(one, ast.Starred):
                one.value = self.numpys(one.value, of, node)
                node.args.append(one)
            else:
                node.args.append(self.numpys(one, of, node))
        found = kind(node)
        return self.plain(node, node) if isinstance(found, (Num, Tup)) else node

    def _by_name(self, node: ast.Call, function: Named) -> ast.expr:
        """A call of something of `cuda`, `math`, Python, ..."""
        owner, name = function.path[0], ".".join(function.path[1:])
        if (owner, name) in _SHAPED:
            return node  # its arguments are constants
        given = [kind(a) for a in node.args]
        made = self.several(node.args)
        operation = None
        if given and _all_numbers(given):
            found = [k.number for k in given if isinstance(k, Num)]
            if owner == "builtins" and (
                plainly := self._plainly(node, name, made, given)
            ):
                return plainly
            operation = _operation(owner, name, found)
        if operation is not None:
            return self._computed(node, f"{owner}_{name}", operation, made, given)
        if owner == "cuda":
            return self._of_cuda(node, name, made, given)
        if owner == "builtins" and name in _OF_PYTHON:
            node.args = made
            return node
        return self._with_numpys(node, made)

    def _of_cuda(
        self, node: ast.Call, name: str, made: list[ast.expr], given: list[Kind]
    ) -> ast.expr:
        if name.startswith("atomic."):
            node.args = made
            return self._atomic(node, given)
        if name in _TYPED or name.startswith("fp16."):
            return self._with_numpys(node, made)
        node.args = made
        return node

    def _plainly(
        self, node: ast.Call, name: str, made: list[ast.expr], given: list[Kind]
    ) -> ast.expr | None:
        """What Python's own function gives as well, None for most."""
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
        """A call of a function of numbers."""
        kinds = tuple(k for k in given if isinstance(k, Num))
        parts = self._ready(operation, tuple(made), kinds, node)
        tail = "_".join(str(k.number) for k in kinds)
        what = f"{what.replace('.', '_')}_{tail}"
        called = self.applied(what, operation.function, node, *parts)
        if len(operation.results) > 1:
            return called
        called = self.finished(called, operation.rounds, node)
        return self._cast(node, called, operation.result)

    def _atomic(self, node: ast.Call, given: list[Kind]) -> ast.expr:
        """`cuda.atomic.add(x, i, value)`: its twin computes with NumPy's numbers."""
        node.args = [
            self.numpys(m, k, node) if n > 1 else m
            for n, (m, k) in enumerate(zip(node.args, given, strict=True))
        ]
        if not all(isinstance(k, Num) and k.plain is True for k in _flat(given[1:2])):
            node.args[1] = self.pure("from_data", node, node.args[1])
        return self.plain(node, node)

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


# Functions of `cuda` that look at the type of what they are given.
_TYPED = frozenset(["selp", "fma", "popc", "clz", "ffs", "brev", "cbrt"])
# Functions of Python that take and give what they get, whatever its type.
_OF_PYTHON = frozenset(
    "len enumerate zip range iter next print isinstance tuple slice type".split()
)
_SHAPED = frozenset([("cuda", "shared.array"), ("cuda", "local.array")])


def _operation(owner: str, name: str, given: list[Number]) -> Operation | None:
    """How a function of numbers is computed, None where nobody knows."""
    if owner == "math":
        return mathematics.of_math(name, *given)
    if owner == "builtins":
        return python_functions.of_python(name, *given)
    if owner == "libdevice":
        return cuda_functions.of_libdevice(name, *given)
    if owner == "cuda" and name.startswith("fp16."):
        return cuda_functions.of_half(name.removeprefix("fp16."), *given)
    return cuda_functions.of_cuda(name, *given) if owner == "cuda" else None


class Index:
    """One index of an access: evaluated once, at its first use."""

    def __init__(
        self, first: ast.expr, again: ast.expr, shown: str | int, natural: bool
    ) -> None:
        self._first: ast.expr | None = first
        self._again, self.shown, self.natural = again, shown, natural

    def use(self) -> ast.expr:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        return _again(self._again)


def attribute_of(of: ast.expr, what: str, node: ast.AST) -> ast.expr:
    """What there is of an array.

    "v": what is indexed. "w": what stores leave marks in. "n": its number in a log.
    "e": the number of its first element. "s0", "t0": its first stride, in bytes and in
    elements.
    """
    if what in _ATTRIBUTES:
        return syntax.attribute(of, _ATTRIBUTES[what], node)
    strides = syntax.attribute(of, {"s": "strides", "t": "_steps"}[what[0]], node)
    return syntax.item(strides, syntax.constant(int(what[1:]), node), node)


_ATTRIBUTES = {"v": "rows", "w": "marks", "n": "_number", "e": "_first"}


def parts_of(index: ast.expr) -> list[ast.expr]:
    return list(index.elts) if isinstance(index, ast.Tuple) else [index]


def _name_of(base: ast.expr) -> str:
    if isinstance(base, ast.NamedExpr):
        return base.target.id
    return base.id if isinstance(base, ast.Name) else ""


def _all_numbers(kinds: Any) -> bool:
    return bool(kinds) and all(isinstance(k, Num) for k in kinds)


def _flat(kinds: list[Kind]) -> list[Kind]:
    return [p for k in kinds for p in (k.parts if isinstance(k, Tup) else (k,))]


def _is_real(node: ast.expr) -> bool:
    found = kind(node)
    return not isinstance(found, Num) or not found.whole


def _rounds(node: ast.expr) -> bool:
    """Whether translating an expression ends with rounding it to float32."""
    return isinstance(node, ast.BinOp) and isinstance(
        node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)
    )


def _may_overflow(name: str, a: Num, b: Num, by: Any) -> bool:
    """Whether an int64 may not hold the result."""
    most = max(a.most, b.most) + 1
    if name == "mul":
        most = a.most + b.most
    if name == "lshift":
        most = a.most + (by if isinstance(by, int) else LARGEST)
    if name == "pow":
        most = a.most * by if isinstance(by, int) else LARGEST
    return most >= LARGEST and name in ("add", "sub", "mul", "lshift", "pow")


def _again(made: ast.expr) -> ast.expr:
    """Another mention of a name or a constant."""
    if isinstance(made, ast.Constant):
        return syntax.constant(made.value, made)
    return syntax.name(_name_of(made), made)


def _one_type(kinds: list[Kind]) -> bool:
    return all(isinstance(k, Num) and k.number is kinds[0].number for k in kinds)  # type: ignore[union-attr]
