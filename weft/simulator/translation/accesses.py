"""Translation of memory accesses: indexing, checks, notes and marks."""

import ast
from typing import Any

from weft.simulator.inference.kinds import Arr, Kind, Num, Tup
from weft.simulator.translation import syntax
from weft.simulator.translation.iterations import WITHIN
from weft.simulator.translation.made import CHANGES, Access, kind, position_of
from weft.simulator.translation.notes import (
    LOAD,
    NOTE,
    OPERATION,
    READ,
    WRITE,
    Noting,
    Spotted,
)
from weft.simulator.translation.values import Values, again, name_of


class Accesses(Values):
    """Translates the expressions that access arrays."""

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
        """Return an array's expression, and its name, or '' if it has no aliases."""
        if isinstance(node, ast.Name) and node.id not in self._bare:
            self.made.aliases[node.id] = of.ndim
            return node, node.id
        value, name = self.expr(node), self.temporary()
        if self._lifting:
            self.out.append(syntax.assign(name, value, node))
            return syntax.name(name, node), ""
        return syntax.named(name, value, node), ""

    def is_element(self, of: Kind, parts: list[ast.expr]) -> bool:
        """Return whether `parts` index a number that can be accessed directly."""
        return (
            isinstance(of, Arr)
            and of.number is not None
            and of.direct
            and len(parts) == of.ndim
            and all(isinstance(kind(part), Num) for part in parts)
            and not (self.by_numbers and not of.space)
        )

    def load(self, node: ast.Subscript, of: Arr) -> ast.expr:
        """Translate the load `x[i]`."""
        parts = parts_of(node.slice)
        flops = getattr(node, "flops", 0)
        if self.function.noting is Noting.CALLS or not self.is_element(of, parts):
            return self._loaded(node, flops)
        base, alias = self.array(node.value, of)
        made = self.several(parts)
        indices = [self._index(m, p) for m, p in zip(made, parts, strict=True)]
        self._remember(node, base, alias, indices)
        if not self.noting or of.space == "constant":
            return self._element(base, alias, indices, node)
        note = self.noted(node, of, base, alias, indices, READ, flops)
        element = self._element(base, alias, indices, node)
        return syntax.either(note, element, where=node)

    def _loaded(self, node: ast.Subscript, flops: int) -> ast.expr:
        """Translate a load that needs a call, or the selection of part of an array."""
        self.by_calls = True
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
        verb: str = "read",
    ) -> None:
        """Record what `node` accesses, for the message if an index is out of bounds."""
        name = alias or name_of(base)
        shown = tuple(i.shown for i in indices)
        self.made.accesses[position_of(node)] = Access(name, shown, verb)

    def _index(self, made: ast.expr, written: ast.expr) -> "Index":
        """Prepare an index for several uses, so that it is evaluated only once."""
        natural = is_natural(written)
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
        kinds: frozenset[str] = frozenset(),
    ) -> ast.expr:
        """Make a call that notes an access and returns None.

        kinds: see `notes.Spot`.
        """
        apart = of.space != "local" and self.around is not None and not self.in_step
        if not self.by_numbers:
            number = self.function.number(node, flops) << OPERATION | operation
            made = self.note(number, base, alias, indices, node)
            return self._within(node, made) if apart and self.by_iterations else made
        assert of.number is not None
        spot = Spotted(operation, of.space, of.number.bytes, alias, kinds)
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
        made = syntax.call(f"__l{at}", [element], node)
        return self._in_iteration(spot, node, made) if apart else made

    def _within(self, node: ast.expr, note: ast.expr) -> ast.expr:
        """Return `note`, preceded by a call that notes the access's iteration."""
        assert self.around is not None
        within = syntax.call(WITHIN, [self.around.iteration(node)], node)
        return syntax.either(within, note, where=node)

    def _in_iteration(self, spot: Spotted, node: ast.expr, note: ast.expr) -> ast.expr:
        """Return `note`, and make sure that the access's iteration is noted.

        Adjacent statements share one note of the iteration.
        """
        together = self.together
        if self._lifting and together is not None:
            if together.number < 0:
                together.number, together.first.value = self._iteration(node)
            spot.iterations = together.number
            return note
        spot.iterations, noted = self._iteration(node)
        return syntax.either(noted, note, where=node)

    def _iteration(self, node: ast.expr) -> tuple[int, ast.expr]:
        """Return a new list's number, and a call that appends the iteration to it."""
        assert self.around is not None
        number = self.function.number(node, 0, Spotted())
        at = self.function.local_number(number)
        self.used.add(at)
        return number, syntax.call(f"__l{at}", [self.around.iteration(node)], node)

    def note(
        self, number: int, base: ast.expr, alias: str, indices: list["Index"], node: Any
    ) -> ast.expr:
        """Make a call such as `__note__((7, __n_x, i, j))`, which returns None."""
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

    def put(
        self,
        target: ast.expr,
        base: ast.expr,
        alias: str,
        indices: list["Index"],
        value: ast.expr,
        given: Kind,
        of: Any,
        node: ast.AST,
        operation: int = WRITE,
    ) -> None:
        """Add statements that store to an element.

        They also mark the element as written, and note a WRITE.
        """
        verb = "write" if operation == WRITE else CHANGES
        self._remember(target, base, alias, indices, verb)
        row = self.of_array(base, alias, "v", target)
        for index in indices[:-1]:
            row = syntax.item(row, self._checked(index, target), target)
        value = self.fitted(value, given, of.number, node)
        last = self._checked(indices[-1], target)
        stored = syntax.put(row, last, value, node)
        ast.copy_location(stored.targets[0], target)
        self.out.append(stored)
        if not (alias and alias in self.own):
            self._mark_written(base, alias, indices, target)
        if self.noting and of.space != "constant" and operation == WRITE:
            note = self.noted(target, of, base, alias, indices, WRITE)
            self.out.append(syntax.placed(ast.Expr(note), target))
            if self.by_numbers and alias:
                counting = mark("", target)
                counting.counts = self.function.last_access, alias  # type: ignore[attr-defined]
                self.out.append(counting)

    def _mark_written(
        self, base: ast.expr, alias: str, indices: list["Index"], node: ast.AST
    ) -> None:
        """Mark an element as written if its array has marks."""
        marks = self.of_array(base, alias, "w", node)
        none = syntax.constant(None, node)
        test = syntax.placed(ast.Compare(marks, [ast.IsNot()], [none]), node)
        row = self.of_array(base, alias, "w", node)
        for index in indices[:-1]:
            row = syntax.item(row, index.use(), node)
        yes = syntax.constant(True, node)
        self.out.append(
            syntax.placed(
                ast.If(test, [syntax.put(row, indices[-1].use(), yes, node)], []), node
            )
        )

    def fitted(self, value: ast.expr, given: Kind, to: Any, node: ast.AST) -> ast.expr:
        """Convert a value for a store, except where the memory itself rounds it."""
        if not isinstance(given, Num) or given.number is to or to.kind == "b":
            return value
        if to.kind == "f" and to.bits > 16:
            if given.whole and given.most > 53:
                return self.converted(value, given, to, node)
            return value
        return self.converted(value, given, to, node)

    def of_array(
        self, base: ast.expr, alias: str, what: str, node: ast.AST
    ) -> ast.expr:
        """Return an expression for a property of an array: see `attribute_of`."""
        if alias:
            return syntax.name(f"__{what}_{alias}", node)
        of = base
        if isinstance(base, ast.NamedExpr) and getattr(base, "used", False):
            of = syntax.name(name_of(base), node)
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
        """Return code for an index, with a check unless it cannot be negative."""
        if index.natural:
            return index.use()
        zero = syntax.constant(0, node)
        test = syntax.placed(ast.Compare(index.use(), [ast.GtE()], [zero]), node)
        below = self.pure("below", node, index.use())
        return syntax.choice(test, index.use(), below, node)


def mark(name: str, node: ast.AST) -> ast.stmt:
    mark: Any = syntax.placed(ast.Pass(), node)
    mark.renews = name
    return mark  # type: ignore[no-any-return]


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
        return again(self._again)


def attribute_of(of: ast.expr, what: str, node: ast.AST) -> ast.expr:
    """Return an expression for a property of an array.

    "v": what is indexed. "w": where stores leave marks. "n": its number in a log. "e":
    the number of its first element. "s0", "t0": its first stride, in bytes and in
    elements.
    """
    if what in _ATTRIBUTES:
        return syntax.attribute(of, _ATTRIBUTES[what], node)
    strides = syntax.attribute(of, _STRIDES[what[0]], node)
    return syntax.item(strides, syntax.constant(int(what[1:]), node), node)


def part_of(array: Any, what: str) -> Any:
    """Return the property of `array` that `attribute_of` calls `what`, or None."""
    if what in _ATTRIBUTES:
        return getattr(array, _ATTRIBUTES[what], None)
    strides, axis = getattr(array, _STRIDES[what[0]], ()), int(what[1:])
    return strides[axis] if axis < len(strides) else None


_ATTRIBUTES = {"v": "rows", "w": "marks", "n": "_number", "e": "_first"}
_ATTRIBUTES |= {name: name for name in ("size", "shape")}
_STRIDES = {"s": "strides", "t": "_steps"}


def is_natural(index: ast.expr) -> bool:
    """Return whether an index is known not to be negative.

    Python counts a negative index from the end.
    """
    found = kind(index)
    return isinstance(found, Num) and found.natural


def parts_of(index: ast.expr) -> list[ast.expr]:
    return list(index.elts) if isinstance(index, ast.Tuple) else [index]
