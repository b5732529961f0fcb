"""Translates the expressions of a kernel.

Some need statements before them, such as one that rounds to float32. Where all of an
expression is evaluated whatever its values are, these are put before its statement;
elsewhere, as in the branches of `a if b else c`, a call does the same more slowly.
"""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from weft import backend
from weft.intrinsics import registry
from weft.simulator.arithmetic.numbers import BOOL, FLOAT32, INT64, Number
from weft.simulator.inference.expressions import OPERATORS as NAMES
from weft.simulator.inference.expressions import plan_of
from weft.simulator.inference.kinds import Arr, Conversion, Kind, Named, Num, Outside, Tup
from weft.simulator.memory.plain import size_of
from weft.simulator.translation import numbers, syntax
from weft.simulator.translation.calls import BARRIERS, WARP_OPERATIONS
from weft.simulator.translation.numbers import OPERATORS
from weft.simulator.translation.signs import Signs
from weft.simulator.translation.spots import ATOMIC, READ, WRITE, Spot

_AXES = "xyz"
LARGEST = 63


def kind(node: ast.AST) -> Kind:
    """What inference has found an expression to be."""
    return getattr(node, "seen", None)


class Expressions:
    """Translates expressions into `out`, the statements of the block being made."""

    def __init__(self, context: Any, signs: Signs) -> None:
        self.context = context
        self.signs = signs
        self.out: list[ast.stmt] = []
        self.helpers: set[str] = set()
        self.positions: dict[str, str] = {}  # name → what it is, at the beginning
        self.aliases: set[str] = set()  # arrays that are indexed by their names
        self.waits = False
        self.turns = False
        self._temporary = 0
        self._lifting = True
        self.used: set[int] = set()  # spots with notes

    # What is made

    def temporary(self) -> str:
        self._temporary += 1
        return f"__{self._temporary}"

    def pure(self, helper: str, node: ast.AST, *args: ast.expr) -> ast.expr:
        self.helpers.add(helper)
        return syntax.call(helper, args, node)

    def spot(self, node: ast.AST, **about: Any) -> int:
        return self.context.spot(node, **about)

    @contextmanager
    def inline(self) -> Iterator[None]:
        """Within, no statements can be put before the present one."""
        before, self._lifting = self._lifting, False
        try:
            yield
        finally:
            self._lifting = before

    def several(self, nodes: list[ast.expr], raw: bool = False) -> list[ast.expr]:
        """Translate expressions that are evaluated one after the other."""
        made: list[ast.expr] = []
        for node in nodes:
            mark = len(self.out)
            one = self.expr(node, raw)
            lifted = self.out[mark:]
            if lifted and made:
                effects = any(map(syntax.has_effect, lifted))
                for k, earlier in enumerate(made):
                    if syntax.has_effect(earlier) or (
                        effects and syntax.reads_memory(earlier)
                    ):
                        name = self.temporary()
                        self.out.insert(mark, syntax.assign(name, earlier, earlier))
                        made[k] = syntax.name(name, earlier)
                        mark += 1
            made.append(one)
        return made

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
            return self.pure("__pure_f32", node, made)
        self.helpers.add("__R")
        cell = syntax.name("__R", node)
        zero = syntax.constant(0, node)
        self.out.append(syntax.put(cell, zero, made, node))
        name = self.temporary()
        got = syntax.item(syntax.name("__R", node), syntax.constant(0, node), node)
        self.out.append(syntax.assign(name, got, node))
        return syntax.name(name, node)

    def converted(
        self, made: ast.expr, given: Kind, to: Number, node: ast.AST
    ) -> ast.expr:
        """A number as one of another type."""
        if not isinstance(given, Num) or given.number is to:
            return made
        if numbers.conversion(given.number, to) is None:
            return made
        if to is INT64 and given.whole and given.most < LARGEST:
            return made
        if to is FLOAT32 and not given.whole:
            return self.rounded(made, node)
        if given.whole and to.kind in "iu" and _within(given, to):
            return made
        return self.pure(f"__pure_to_{given.number.name}_{to.name}", node, made)

    # Expressions

    def expr(self, node: ast.expr, raw: bool = False) -> ast.expr:
        """Translate an expression.

        raw: a float32 need not be rounded, as it is stored to one at once.
        """
        visit = getattr(self, f"_{type(node).__name__.lower()}", None)
        if visit is None:
            self.context.unknown(node)
            return node
        if raw and isinstance(node, ast.BinOp):
            return self._binop(node, raw)
        made: ast.expr = visit(node)
        return made

    def truth(self, node: ast.expr) -> ast.expr:
        """An expression of which only the truth counts."""
        return self.expr(node)

    def _constant(self, node: ast.Constant) -> ast.expr:
        return node

    def _name(self, node: ast.Name) -> ast.expr:
        return self.context.name(node)

    def _tuple(self, node: ast.Tuple) -> ast.expr:
        return syntax.placed(ast.Tuple(self.several(node.elts), ast.Load()), node)

    _list = _tuple

    def _slice(self, node: ast.Slice) -> ast.expr:
        parts = [p for p in (node.lower, node.upper, node.step)]
        made = [syntax.constant(None, node) if p is None else self.expr(p) for p in parts]
        return syntax.call("slice", made, node)

    def _binop(self, node: ast.BinOp, raw: bool = False) -> ast.expr:
        left, right = self.several([node.left, node.right])
        return self.two(node, node.op, left, right, kind(node.left), kind(node.right),
                        node.right, raw)

    def two(
        self,
        node: Any,
        op: ast.operator,
        left: ast.expr,
        right: ast.expr,
        a: Kind,
        b: Kind,
        by: ast.expr | None = None,
        raw: bool = False,
    ) -> ast.expr:
        """`left op right`. by: the right side as it was written."""
        name = NAMES.get(type(op), "")
        plain = syntax.two(left, op, right, node)
        if not isinstance(a, Num) or not isinstance(b, Num) or not name:
            return self._cast(node, plain)
        rule = numbers.rule(name, a.number, b.number)
        if rule is None:
            return plain
        if rule.result.kind == "f":
            made = self._real(node, name, left, right, a, b, rule, raw)
        else:
            made = self._whole(node, name, left, right, a, b, rule, by)
        return self._cast(node, made)

    def _cast(self, node: ast.AST, made: ast.expr) -> ast.expr:
        """Convert what loops make a wider number, see `inference.settled`."""
        plan = plan_of(node)
        if plan is None or plan.cast is None:
            return made
        return self.pure("__pure_float", node, made) if plan.cast.kind == "f" else made

    def _real(
        self, node: Any, name: str, left: ast.expr, right: ast.expr, a: Num, b: Num,
        rule: Any, raw: bool,
    ) -> ast.expr:
        """An operation that gives a float."""
        if name not in ("add", "sub", "mul", "truediv") or rule.result.bits == 16:
            return self._called(node, name, left, right, a, b)
        to = rule.result
        if to is FLOAT32:
            left = left if not a.whole or a.most <= 24 else self.converted(left, a, to, node)
            right = right if not b.whole or b.most <= 24 else self.converted(right, b, to, node)
        if name == "truediv" and not _nonzero(right):
            made = self.pure("__pure_divide", node, left, right)
        else:
            made = syntax.two(left, OPERATORS[name], right, node)
        if to is FLOAT32 and not raw:
            return self.rounded(made, node)
        return made

    def _called(
        self, node: Any, name: str, left: ast.expr, right: ast.expr, a: Num, b: Num
    ) -> ast.expr:
        helper = f"__pure_{name}_{a.number.name}_{b.number.name}"
        return self.pure(helper, node, left, right)

    def _whole(
        self, node: Any, name: str, left: ast.expr, right: ast.expr, a: Num, b: Num,
        rule: Any, by: ast.expr | None,
    ) -> ast.expr:
        """An operation that gives an integer or a Boolean."""
        signed = rule.result is INT64 and "u64" not in (a.number.name, b.number.name)
        number = self.context.constant(by)
        native = signed and (
            name in ("add", "sub", "mul", "and_", "or_", "xor")
            or (name in ("floordiv", "mod") and number is not None and number > 0)
            or (
                name in ("lshift", "rshift") and number is not None and 0 <= number < 64
            )
        )
        if not native:
            if rule.result.kind == "b" and name in ("and_", "or_", "xor"):
                return syntax.two(left, OPERATORS[name], right, node)
            return self._called(node, name, left, right, a, b)
        made = syntax.two(left, OPERATORS[name], right, node)
        found = kind(node)
        grows = name in ("add", "sub", "mul", "lshift")
        if grows and not (isinstance(found, Num) and found.most < LARGEST):
            return self.pure("__pure_wrap64", node, made)
        return made

    def _unaryop(self, node: ast.UnaryOp) -> ast.expr:
        made = self.expr(node.operand)
        given = kind(node.operand)
        plain = syntax.placed(ast.UnaryOp(node.op, made), node)
        if isinstance(node.op, ast.Not) or not isinstance(given, Num):
            return plain
        if given.number.kind == "f" or (given.number is INT64 and given.most < LARGEST):
            return plain
        if given.number.name == "i32" and isinstance(node.op, ast.USub) and given.most < 31:
            return plain
        name = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}[type(node.op)]
        return self.pure(f"__pure_{name}_{given.number.name}", node, made)

    def _compare(self, node: ast.Compare) -> ast.expr:
        nodes = [node.left, *node.comparators]
        kinds = [kind(n) for n in nodes]
        if len(nodes) > 2:
            first = self.expr(nodes[0])
            with self.inline():
                parts = [first, *map(self.expr, nodes[1:])]
        else:
            parts = self.several(nodes)
        if len(nodes) == 2 and isinstance(kinds[0], Num) and isinstance(kinds[1], Num):
            a, b = kinds
            name = NAMES.get(type(node.ops[0]), "")
            rule = numbers.rule(name, a.number, b.number) if name else None
            if rule is not None and a.whole and b.whole and not rule.operands[0].whole:
                return self._called(node, name, *parts, a, b)
        for k, given in enumerate(kinds):
            wide = isinstance(given, Num) and given.whole and given.most > 53
            if wide and any(isinstance(o, Num) and not o.whole for o in kinds):
                parts[k] = self.pure("__pure_float", node, parts[k])
        return syntax.placed(ast.Compare(parts[0], node.ops, parts[1:]), node)

    def _boolop(self, node: ast.BoolOp) -> ast.expr:
        first = self.expr(node.values[0])
        with self.inline():
            rest = list(map(self.expr, node.values[1:]))
        made = syntax.placed(ast.BoolOp(node.op, [first, *rest]), node)
        return self._cast(node, made)

    def _ifexp(self, node: ast.IfExp) -> ast.expr:
        decided = getattr(node, "decided", None)
        if decided is not None:
            return self.expr(node.body if decided else node.orelse)
        test = self.expr(node.test)
        with self.inline():
            body, other = self.expr(node.body), self.expr(node.orelse)
        return self._cast(node, syntax.choice(test, body, other, node))

    def _namedexpr(self, node: ast.NamedExpr) -> ast.expr:
        return syntax.placed(ast.NamedExpr(node.target, self.expr(node.value)), node)

    def _lambda(self, node: ast.Lambda) -> ast.expr:
        with self.inline():
            return syntax.placed(ast.Lambda(node.args, self.expr(node.body)), node)

    # Attributes

    def _attribute(self, node: ast.Attribute) -> ast.expr:
        of = kind(node.value)
        if isinstance(of, Named):
            path = (*of.path, node.attr)
            if path[0] == "cuda" and (position := _position(path)):
                return self.position(*position, node)
            if path[0] == "math" and isinstance(kind(node), Num):
                import math

                return syntax.constant(getattr(math, node.attr), node)
        return syntax.attribute(self.expr(node.value), node.attr, node)

    def position(self, name: str, value: str, node: ast.AST) -> ast.expr:
        """A number that a thread has from its place in the grid."""
        if name.isdecimal():
            return syntax.constant(int(name), node)
        self.positions[name] = value
        return syntax.name(name, node)

    # Memory

    def _subscript(self, node: ast.Subscript) -> ast.expr:
        of = kind(node.value)
        if isinstance(of, Arr):
            return self.load(node)
        value, index = self.several([node.value, node.slice])
        return syntax.item(value, index, node)

    def array(self, node: ast.expr) -> tuple[ast.expr, str]:
        """What an array is indexed through: the array, and the name of its aliases."""
        if isinstance(node, ast.Name):
            self.aliases.add(node.id)
            return syntax.name(node.id, node), node.id
        name = self.temporary()
        value = self.expr(node)
        if self._lifting:
            self.out.append(syntax.assign(name, value, node))
            return syntax.name(name, node), ""
        return syntax.named(name, value, node), ""

    def load(self, node: ast.Subscript) -> ast.expr:
        """`x[i]`."""
        of: Arr = kind(node.value)  # type: ignore[assignment]
        parts = _parts(node.slice)
        if len(parts) != of.ndim or any(isinstance(p, ast.Slice) for p in parts):
            return self._part(node, parts)
        base, alias = self.array(node.value)
        made = self.several(parts)
        indices = [self._index(m, p) for m, p in zip(made, parts, strict=True)]
        number = self.spot(
            node, operation=READ, unit=size_of(of.number), size=size_of(of.number),
            array=alias, index=tuple(i.shown for i in indices),
        )
        note = self.note(number, base, alias, indices, node)
        element = self._element(base, alias, indices, node)
        return element if note is None else syntax.either(note, element, where=node)

    def _part(self, node: ast.Subscript, parts: list[ast.expr]) -> ast.expr:
        base = self.expr(node.value)
        made = self.several(parts)
        index = syntax.placed(ast.Tuple(made, ast.Load()), node)
        return syntax.call("__pure_part", [base, index], node)

    def _index(self, made: ast.expr, written: ast.expr) -> "Index":
        """An index that is used several times: its name, and the first use of it."""
        natural = self.signs.natural(written)
        if isinstance(made, ast.Constant):
            return Index(made, made, made.value, natural)
        if isinstance(made, ast.Name):
            return Index(made, made, made.id, natural)
        name = self.temporary()
        first = syntax.named(name, made, made)
        return Index(first, syntax.name(name, made), name, natural)

    def note(
        self, number: int, base: ast.expr, alias: str, indices: list["Index"], node: Any
    ) -> ast.expr | None:
        """`__l7(__e_x + i)`, which gives None; None where nothing is noted."""
        if not self.context.noting:
            return None
        self.used.add(number)
        terms: ast.expr | None = None
        for axis, index in enumerate(indices):
            term = index.use()
            if axis < len(indices) - 1 or not self.context.is_contiguous(alias):
                stride = self.of_array(base, alias, f"s{axis}", node)
                term = syntax.two(term, ast.Mult(), stride, node)
            terms = term if terms is None else syntax.two(terms, ast.Add(), term, node)
        first = self.of_array(base, alias, "e", node)
        assert terms is not None
        return syntax.call(
            f"__l{number}", [syntax.two(first, ast.Add(), terms, node)], node
        )

    def of_array(
        self, base: ast.expr, alias: str, what: str, node: ast.AST
    ) -> ast.expr:
        """`view` ("v"), `first` ("e") or a stride ("s0") of an array."""
        if alias:
            return syntax.name(f"__{what}_{alias}", node)
        if isinstance(base, ast.NamedExpr) and what == "e":
            return syntax.attribute(base, "first", node)
        assert isinstance(base, (ast.Name, ast.NamedExpr))
        name = base.id if isinstance(base, ast.Name) else base.target.id
        of = syntax.name(name, node)
        if what == "v":
            return syntax.attribute(of, "view", node)
        if what == "e":
            return syntax.attribute(of, "first", node)
        strides = syntax.attribute(of, "strides", node)
        return syntax.item(strides, syntax.constant(int(what[1:]), node), node)

    def _element(
        self, base: ast.expr, alias: str, indices: list["Index"], node: Any
    ) -> ast.expr:
        made = self.of_array(base, alias, "v", node)
        if isinstance(base, ast.NamedExpr) and not self.context.noting:
            made = syntax.attribute(base, "view", node)
        for index in indices:
            made = syntax.item(made, self._checked(index, node), node)
        return made

    def _checked(self, index: "Index", node: ast.AST) -> ast.expr:
        """An index, looked at where it may be negative."""
        if index.natural:
            return index.use()
        zero = syntax.constant(0, node)
        test = syntax.placed(ast.Compare(index.use(), [ast.GtE()], [zero]), node)
        self.helpers.add("__pure_below")
        below = syntax.call("__pure_below", [index.use()], node)
        return syntax.choice(test, index.use(), below, node)

    def store(
        self, target: ast.Subscript, value: ast.expr, given: Kind, node: ast.stmt
    ) -> None:
        """`x[i] = value`; `value` has been translated."""
        of = kind(target.value)
        parts = _parts(target.slice)
        if not isinstance(of, Arr) or len(parts) != of.ndim:
            base, index = self.several([target.value, target.slice])
            self.out.append(syntax.put(base, index, value, node))
            return
        mark = len(self.out)
        base, alias = self.array(target.value)
        made = self.several(parts)
        if len(self.out) > mark and syntax.has_effect(value):
            name = self.temporary()
            self.out.insert(mark, syntax.assign(name, value, node))
            value = syntax.name(name, node)
        indices = [self._index(m, p) for m, p in zip(made, parts, strict=True)]
        self.put(target, base, alias, indices, value, given, node)

    def put(
        self, target: ast.Subscript, base: ast.expr, alias: str,
        indices: list["Index"], value: ast.expr, given: Kind, node: ast.stmt,
    ) -> None:
        of: Arr = kind(target.value)  # type: ignore[assignment]
        unit = size_of(of.number)
        number = self.spot(
            target, operation=WRITE, unit=unit, size=unit, array=alias,
            index=tuple(i.shown for i in indices),
        )
        row = self.of_array(base, alias, "v", target)
        for index in indices[:-1]:
            row = syntax.item(row, self._checked(index, target), target)
        value = self.fitted(value, given, of.number, node)
        last = self._checked(indices[-1], target)
        self.out.append(syntax.put(row, last, value, node))
        self.out[-1].targets[0] = ast.copy_location(self.out[-1].targets[0], target)
        note = self.note(number, base, alias, indices, target)
        if note is not None:
            self.out.append(syntax.placed(ast.Expr(note), node))

    def fitted(
        self, value: ast.expr, given: Kind, to: Number, node: ast.AST
    ) -> ast.expr:
        """A value as memory takes it: memory rounds to float32 by itself."""
        if not isinstance(given, Num) or given.number is to:
            return value
        if to.kind == "f":
            if given.whole and given.most > 53:
                return self.converted(value, given, to, node)
            return value
        if to is BOOL:
            return value
        return self.converted(value, given, to, node)

    # Calls

    def _call(self, node: ast.Call) -> ast.expr:
        function = kind(node.func)
        if isinstance(function, Conversion):
            return self._conversion(node, function.number)
        if isinstance(function, Named):
            if function.path[0] == "cuda":
                return self._of_cuda(node, ".".join(function.path[1:]))
            return self._of_python(node, function.path[-1])
        if isinstance(function, Outside):
            if getattr(node, "device", None) is not None:
                return self._device(node)
            if registry.of(function.value) is not None:
                return self._intrinsic(node, registry.of(function.value))
        made = [self.expr(node.func), *self.several(node.args)]
        self.context.unknown(node.func)
        return syntax.placed(ast.Call(made[0], made[1:], node.keywords), node)

    def _conversion(self, node: ast.Call, to: Number) -> ast.expr:
        raw = to is FLOAT32
        made = self.expr(node.args[0], raw)
        given = kind(node.args[0])
        if raw and isinstance(node.args[0], ast.BinOp) and given.number is to:
            return self.rounded(made, node)
        return self.converted(made, given, to, node)

    def _of_cuda(self, node: ast.Call, name: str) -> ast.expr:
        if name in ("grid", "gridsize"):
            return self._grid(node, name)
        if name in BARRIERS:
            return self._barrier(node, name)
        if name in WARP_OPERATIONS:
            return self._warp(node, name)
        if name in ("shared.array", "local.array"):
            return self._declared(node, name.partition(".")[0])
        if name.startswith("atomic."):
            return self._atomic(node, name.removeprefix("atomic."))
        if name.startswith("threadfence"):
            number = self.spot(node, name=name)
            wide = syntax.constant(name != "threadfence_block", node)
            return self._run("fence", node, syntax.constant(number, node), wide)
        kinds = [kind(a) for a in node.args]
        if name in ("popc", "clz", "ffs", "brev", "fma", "cbrt", "selp") and all(
            isinstance(k, Num) for k in kinds
        ):
            tail = "_".join(k.number.name for k in kinds)
            return self.pure(f"__pure_cuda.{name}_{tail}", node, *self.several(node.args))
        self.context.unknown(node.func)
        return node

    def _run(self, what: str, node: ast.AST, *args: ast.expr) -> ast.expr:
        """A call of the launch, which has an effect: `__fence(thread, ...)`."""
        thread = syntax.name("__t", node)
        return syntax.call(f"__{what}", [thread, *args], node)

    def _grid(self, node: ast.Call, name: str) -> ast.expr:
        count = self.context.constant(node.args[0]) or 1
        size = name == "gridsize"
        parts = []
        for axis in _AXES[:count]:
            where = f"__gs{axis}" if size else f"__g{axis}"
            value = f"__t.block.size.{axis}" if size else f"__t.g{axis}"
            parts.append(self.position(where, value, node))
        if count == 1:
            return parts[0]
        return syntax.placed(ast.Tuple(parts, ast.Load()), node)

    def key(self, node: ast.AST, number: int) -> ast.expr:
        """What threads that meet have in common: the place, and turns of loops."""
        made: ast.expr = syntax.constant(number, node)
        if self.context.kernel and not self.turns:
            return made
        turns = syntax.attribute(syntax.name("__t", node), "turns", node)
        shifted = syntax.two(turns, ast.LShift(), syntax.constant(16, node), node)
        made = syntax.two(made, ast.Add(), shifted, node)
        if not self.context.kernel:
            made = syntax.two(made, ast.Add(), syntax.name("__path", node), node)
        return made

    def _barrier(self, node: ast.Call, name: str) -> ast.expr:
        self.waits = True
        number = self.spot(node, name=name)
        what = self.key(node, number)
        if node.args:
            voted = self.pure("__pure_bool", node, self.expr(node.args[0]))
            what = syntax.placed(ast.Tuple([what, voted], ast.Load()), node)
        return syntax.placed(ast.Yield(what), node)

    def _warp(self, node: ast.Call, name: str) -> ast.expr:
        self.waits = True
        number = syntax.constant(self.spot(node, name=name), node)
        args = self.several(node.args) or [syntax.constant(0xFFFFFFFF, node)]
        what = syntax.placed(ast.Tuple([number, *args], ast.Load()), node)
        return syntax.placed(ast.Yield(what), node)

    def _declared(self, node: ast.Call, space: str) -> ast.expr:
        """A shared or local array."""
        found = kind(node)
        named = {k.arg: k.value for k in node.keywords}
        given = [*node.args]
        shape = given[0] if given else named["shape"]
        number = self.spot(node, name=space, array=getattr(node, "called", ""))
        letter = found.number.name if isinstance(found, Arr) else "f32"
        return self._run(
            space, node, syntax.constant(number, node), self.expr(shape),
            syntax.constant(letter, node),
        )

    def _atomic(self, node: ast.Call, name: str) -> ast.expr:
        of = kind(node.args[0])
        unit = size_of(of.number) if isinstance(of, Arr) and of.number else 0
        number = self.spot(node, operation=ATOMIC, unit=unit, size=unit, name=name)
        made = self.several(node.args)
        if isinstance(of, Arr):
            for k in range(2, len(made)):
                made[k] = self.converted(made[k], kind(node.args[k]), of.number, node)
        return self._run(f"atomic_{name}", node, syntax.constant(number, node), *made)

    def _of_python(self, node: ast.Call, name: str) -> ast.expr:
        kinds = [kind(a) for a in node.args]
        made = self.several(node.args)
        all_numbers = all(isinstance(k, Num) for k in kinds) and kinds
        if name == "range":
            return self._run("loop", node, syntax.call("range", made, node))
        if name == "bool" and all_numbers:
            return self.pure("__pure_bool", node, *made)
        if name in ("int", "float") and all_numbers and isinstance(kind(node), Num):
            return self.converted(made[0], kinds[0], kind(node).number, node)
        if all_numbers:
            if name in ("min", "max") and len(made) == 2 and kinds[0].number is kinds[1].number \
                    and kinds[0].whole:
                return syntax.call(f"__pure_{name}", made, node)
            tail = "_".join(k.number.name for k in kinds)
            return self.pure(f"__pure_math.{name}_{tail}", node, *made)
        func = syntax.name(name, node) if isinstance(node.func, ast.Name) else node.func
        return syntax.placed(ast.Call(func, made, []), node)

    def _device(self, node: ast.Call) -> ast.expr:
        value, kinds = node.device  # type: ignore[attr-defined]
        name, waits = self.context.device(value, kinds)
        made = self.several(node.args)
        if not waits:
            return self._run(name.removeprefix("__"), node, *made)
        self.waits = True
        number = self.spot(node, name="call")
        path = syntax.constant((number + 1) << 48, node)
        if not self.context.kernel:
            path = syntax.two(syntax.name("__path", node), ast.Add(), path, node)
        called = self._run(name.removeprefix("__"), node, path, *made)
        return syntax.placed(ast.YieldFrom(called), node)

    def _intrinsic(self, node: ast.Call, operation: Any) -> ast.expr:
        number = self.spot(node, name=operation.name)
        made = self.several(node.args)
        return self._run(f"intrinsic_{operation.name}", node,
                         syntax.constant(number, node), *made)


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
        again = self._again
        made: Any
        if isinstance(again, ast.Constant):
            made = ast.Constant(again.value)
        else:
            assert isinstance(again, ast.Name)
            made = ast.Name(again.id, ast.Load())
        return ast.copy_location(made, again)


def _parts(index: ast.expr) -> list[ast.expr]:
    return list(index.elts) if isinstance(index, ast.Tuple) else [index]


def _nonzero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and bool(node.value)


def _within(given: Num, to: Number) -> bool:
    """Whether an integer that is not converted fits all the same."""
    return to.kind == "i" and given.most < to.bits - 1


def _position(path: tuple[str, ...]) -> tuple[str, str] | None:
    """The name for a thread's position, and where it has it from."""
    if path[1:] == ("laneid",):
        return "__lane", "__t.lane"
    if path[1:] == ("warpsize",):
        return "32", ""
    if len(path) != 3 or path[2] not in _AXES:
        return None
    axis = path[2]
    return {
        "threadIdx": (f"__t{axis}", f"__t.{axis}"),
        "blockIdx": (f"__b{axis}", f"__t.block.{axis}"),
        "blockDim": (f"__bd{axis}", f"__t.block.dim.{axis}"),
        "gridDim": (f"__gd{axis}", f"__t.block.grid.{axis}"),
    }.get(path[1])
