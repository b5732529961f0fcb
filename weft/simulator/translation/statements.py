"""Translates the statements of a kernel, and assembles the function."""

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from weft.code_objects import nodes_of
from weft.simulator.arithmetic.numbers import Number, rule_of_two
from weft.simulator.inference.expressions import OPERATORS as NAMES
from weft.simulator.inference.kinds import Arr, Cast, Kind, Num, Tup, num
from weft.simulator.translation import syntax
from weft.simulator.translation.accesses import (
    attribute_of,
    is_natural,
    mark,
    parts_of,
)
from weft.simulator.translation.expressions import Expressions
from weft.simulator.translation.iterations import (
    COUNTER,
    DURING,
    ITERATION,
    Around,
    Sameness,
    Together,
    leaves,
    nothing,
)
from weft.simulator.translation.made import CELL, SHARED, Body, Given, kind
from weft.simulator.translation.notes import BASE, NOTES, READ, Spotted
from weft.simulator.translation.reaching import Calls, Reaching

_SIMPLE = ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Pass
UNSET = "__unset__"  # the exception that Python raises for a variable without a value


class Statements(Expressions):
    """Translates a function in place."""

    def __init__(self, function: Body, definition: ast.FunctionDef) -> None:
        """Translate `definition`, whose nodes have been marked by inference."""
        self._after: dict[ast.stmt, Calls] = {}  # see `Reaching`
        own = _own_arrays(definition)
        self._arguments, self._local = names_of(definition)
        super().__init__(function, own, self._arguments - given_in(definition))
        outside = {name for name in mentioned(definition.body) if self._is_known(name)}
        self._sameness = Sameness(definition, self.kept | outside)
        self._loops = 0  # loops so far
        body = self.block(definition.body)
        self._mentioned = mentioned(body)
        first: list[ast.stmt] = []
        for name in sorted(self.made.aliases):
            if name not in self._local:
                first += self._aliases(name, definition)
        if self.reads:
            self._after = Reaching(body, function.is_kernel).after
        body = self._renewed(body)
        if function.is_kernel:
            self._ask(definition)
        else:
            first += self._beginning(definition)
        definition.body = [*first, *body] or [ast.Pass()]
        ast.fix_missing_locations(definition)

    def _is_known(self, name: str) -> bool:
        return self.function.outside(name) is not None

    def _ask(self, definition: ast.FunctionDef) -> None:
        """Add parameters to a kernel for the values that are fixed once it begins."""
        given = [Given(f"__{part}", "", part) for part in self.made.positions]
        for name in sorted(self.made.aliases.keys() & self._arguments):
            parts = self._wanted(name)
            given += [Given(f"__{part}_{name}", name, part) for part in parts]
        given += [Given(f"__l{at}", None, at) for at in sorted(self.used)]
        every = [name for name in (NOTES, SHARED, CELL) if name in self._mentioned]
        given += [Given(name, None, name) for name in every]
        self.made.given = given
        put_first(definition, *(each.name for each in given))

    def _beginning(self, definition: ast.FunctionDef) -> list[ast.stmt]:
        """Return a device function's first statements: positions, aliases and lists."""
        first: list[ast.stmt] = [
            syntax.assign(f"__{part}", value, definition)
            for part, value in self.made.positions.items()
        ]
        for name in sorted(self.made.aliases.keys() & self._arguments):
            first += self._aliases(name, definition)
        if self.by_iterations:
            put_first(definition, ITERATION)
        if self.by_numbers:
            put_first(definition, NOTES)
            first += self._lists(definition)
        return first

    def _lists(self, node: ast.AST) -> list[ast.stmt]:
        """Make the statements that bind a thread's lists to names, such as `__l3`."""
        made: list[ast.stmt] = []
        for at in sorted(self.used):
            base = syntax.name(BASE, node)
            index = syntax.two(base, ast.Add(), syntax.constant(at, node), node)
            of_thread = syntax.item(syntax.name(NOTES, node), index, node)
            made.append(syntax.assign(f"__l{at}", of_thread, node))
        return made

    # Arrays by name

    def _wanted(self, name: str) -> list[str]:
        """Return the array properties that are used; see `accesses.attribute_of`."""
        axes = range(self.made.aliases[name])
        parts = ["v", "w", "e", "n", "size", "shape"]
        parts += [f"{stride}{axis}" for stride in "st" for axis in axes]
        return [part for part in parts if f"__{part}_{name}" in self._mentioned]

    def _aliases(self, name: str, node: ast.AST) -> list[ast.stmt]:
        """Return statements that assign an array's used properties to variables."""
        return [
            syntax.assign(
                f"__{what}_{name}",
                attribute_of(syntax.name(name, node), what, node),
                node,
            )
            for what in self._wanted(name)
        ]

    def _renew(self, name: str, node: ast.AST) -> None:
        """Mark where a variable, which may be an array, has been assigned."""
        self.out.append(mark(name, node))

    def _renewed(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return `body` with its marks replaced by the statements they stand for.

        These assign an array's used properties to variables, or note lengths of lists.
        """
        made: list[ast.stmt] = []
        for statement in body:
            if not isinstance(statement, ast.FunctionDef):
                for part in ("body", "orelse"):
                    inner = getattr(statement, part, None)
                    if inner:
                        found = self._renewed(inner)
                        empty = [syntax.placed(ast.Pass(), statement)]
                        setattr(
                            statement, part, found or (empty if part == "body" else [])
                        )
            name = getattr(statement, "renews", None)
            counting = getattr(statement, "counts", None)
            if counting is not None:
                spot, array = counting
                made += self._lengths(spot, array, statement)
            elif name is None:
                made.append(statement)
            elif name in self.made.aliases:
                made += self._aliases(name, statement)
        return made

    def _lengths(self, spot: Spotted, name: str, node: ast.stmt) -> list[ast.stmt]:
        """Return statements that note, at a store, how often the array has been read.

        This distinguishes reads before the store from reads after it, in memory that
        held nothing before the launch.
        """
        made: list[ast.stmt] = []
        for read in self.reads.get(name, []):
            of = self.function.local_number(read)
            if node in self._after and f"__l{of}" not in self._after[node]:
                continue
            number = self.function.number(node, 0, Spotted())  # type: ignore[arg-type]
            spot.counts[read] = number
            to = self.function.local_number(number)
            self.used.add(to)
            reads = syntax.attribute(syntax.name(f"__l{of}", node), "__self__", node)
            length = self.applied("len", len, node, reads)
            called = syntax.call(f"__l{to}", [length], node)
            made.append(syntax.placed(ast.Expr(called), node))
        return made

    # Blocks

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Translate a block of statements, leaving out unreachable ones."""
        before = self.out, self.together, self.in_step
        self.out, self.together = [], None
        for statement in body:
            if not getattr(statement, "reached", False):
                break  # unreachable, as inference has found
            visit = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if visit is None:
                self.out.append(statement)
                continue
            skips = leaves(statement, ast.Continue)
            if self.around is None or self.in_step or not self.by_iterations:
                visit(statement)
            else:
                self._out_of_step(statement, visit)
            self.in_step = self.in_step and not skips
        made = self.out
        self.out, self.together, self.in_step = before
        return made

    def _out_of_step(self, node: ast.stmt, visit: Callable[[Any], None]) -> None:
        """Translate a statement, and make it note the iteration in which it runs."""
        if self.together is None:
            self.together = Together(nothing(node))
            self.out.append(self.together.first)
        simple, during, self.by_calls = isinstance(node, _SIMPLE), nothing(node), False
        self.out.append(during)
        visit(node)
        if not simple:  # some lanes may not get any further
            self.together = None
        elif self.by_calls:
            assert self.around is not None
            during.value = syntax.call(DURING, [self.around.iteration(node)], node)
            over = syntax.call(DURING, [syntax.constant(None, node)], node)
            self.out.append(syntax.placed(ast.Expr(over), node))

    def _casts(self, node: ast.AST, place: str) -> list[ast.stmt]:
        """Make the statements that convert variables at position `place` of `node`."""
        casts = getattr(node, "casts", {}).get(place) or {}
        where = node if isinstance(node, ast.stmt) else node.body[-1]  # type: ignore[attr-defined]
        return [
            self._converting_variable(name, to, unset, where)
            for name, (to, unset) in casts.items()
        ]

    def _converting_variable(
        self, name: str, to: Cast, unset: bool, node: ast.stmt
    ) -> ast.stmt:
        """Return a statement that converts a variable.

        unset: whether the variable may have no value yet, in which case the statement
        does nothing.
        """
        made = self.variable(syntax.name(name, node), to, node)
        new: ast.stmt = syntax.assign(name, made, node)
        if unset:
            self.made.helpers[UNSET] = UnboundLocalError
            nothing: list[ast.stmt] = [syntax.placed(ast.Pass(), node)]
            handler = ast.ExceptHandler(syntax.name(UNSET, node), None, nothing)
            new = syntax.placed(ast.Try([new], [handler], [], []), node)
        return new

    def _pass(self, node: ast.Pass) -> None:
        self.out.append(node)

    def _leave(self, node: ast.stmt) -> None:
        self.out += self._casts(node, "before")
        self.out.append(node)

    _break = _continue = _leave

    def _expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        node.value = self.expr(node.value)
        self.out.append(node)

    def _return(self, node: ast.Return) -> None:
        if node.value is not None:
            given = kind(node.value)
            made = self.expr(node.value)
            to = getattr(node, "casts", {}).get("value")
            if isinstance(to, tuple):
                made = self.variable(made, to, node)
            elif to is not None:
                made = self.converted(made, given, to, node)
            node.value = made
        self.out.append(node)

    def _raise(self, node: ast.Raise) -> None:
        self.out.append(node)

    def _assert(self, node: ast.Assert) -> None:
        node.test = self.expr(node.test)
        self.out.append(node)

    # Assignments

    def _assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        of = kind(target.value) if isinstance(target, ast.Subscript) else None
        raw = (
            len(node.targets) == 1
            and isinstance(of, Arr)
            and of.number is not None
            and of.number.name == "f32"
        )
        given = kind(node.value)
        made = self.expr(node.value, raw)
        if len(node.targets) == 1:
            self._give(target, made, given, node)
            return
        made = self.held(made, node)
        for each in node.targets:
            self._give(each, made, given, node)

    def _annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            given = kind(node.value)
            self._give(node.target, self.expr(node.value), given, node)

    def _give(
        self, target: ast.expr, made: ast.expr, given: Kind, node: ast.stmt
    ) -> None:
        if isinstance(target, ast.Name):
            self._name_given(target.id, made, node)
        elif isinstance(target, ast.Subscript):
            self._store(target, made, given, node)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, made, given, node)
        else:
            self._store_elsewhere(target, made, given, node)

    def _unpack(self, target: Any, made: ast.expr, given: Kind, node: ast.stmt) -> None:
        if all(isinstance(each, ast.Name) for each in target.elts):
            self.out.append(syntax.placed(ast.Assign([target], made), node))
            for each in target.elts:
                self._renew(each.id, node)
            return
        parts = given.parts if isinstance(given, Tup) else ()
        names = [self.temporary() for _ in target.elts]
        stored: list[ast.expr] = [
            syntax.placed(ast.Name(n, ast.Store()), node) for n in names
        ]
        whole = syntax.placed(ast.Tuple(stored, ast.Store()), node)
        self.out.append(syntax.placed(ast.Assign([whole], made), node))
        for k, (each, name) in enumerate(zip(target.elts, names, strict=True)):
            part = parts[k] if k < len(parts) else None
            self._give(each, syntax.name(name, node), part, node)

    def _name_given(self, name: str, made: ast.expr, node: ast.stmt) -> None:
        last = self.out[-1] if self.out else None
        if (  # `__3 = cell[0]; total = __3` is one assignment
            len(getattr(node, "targets", [name])) == 1
            and isinstance(made, ast.Name)
            and made.id[2:].isdecimal()
            and isinstance(last, ast.Assign)
            and isinstance(last.targets[0], ast.Name)
            and last.targets[0].id == made.id
        ):
            last.targets[0] = syntax.placed(ast.Name(name, ast.Store()), node)
        else:
            self.out.append(syntax.assign(name, made, node))
        self._renew(name, node)

    def _augassign(self, node: ast.AugAssign) -> None:
        """Translate `x += y` for a name or an element; evaluate any index only once."""
        target, given = node.target, kind(node.value)
        before = getattr(node, "old", None)
        if isinstance(target, ast.Name) and isinstance(before, (Num, Tup)):
            old = syntax.name(target.id, target)
            value = self.expr(node.value)
            made = self.two(node, node.op, (old, before), (value, given))
            self._name_given(target.id, made, node)
            return
        if isinstance(target, ast.Subscript) and self._is_plain(target, given):
            self._changed(node, target, kind(target.value))  # type: ignore[arg-type]
            return
        for name in ("value", "slice"):
            if hasattr(target, name):
                setattr(target, name, self.expr(getattr(target, name)))
        value = self.numpys(self.expr(node.value), given, node)
        node.value = self.pure("operand", node, value)
        self.out.append(node)

    def _is_plain(self, target: ast.Subscript, given: Kind) -> bool:
        """Return whether a number is stored directly to an element."""
        parts = parts_of(target.slice)
        return isinstance(given, Num) and self.is_element(kind(target.value), parts)

    def _changed(self, node: ast.AugAssign, target: ast.Subscript, of: Arr) -> None:
        """Translate `x[i] += value`."""
        base, alias = self.array(target.value, of)
        parts = parts_of(target.slice)
        indices = []
        for made, part in zip(self.several(parts), parts, strict=True):
            held = self.held(made, target)
            indices.append(self._index(held, part))
            indices[-1].natural = is_natural(part)
        self._remember(target, base, alias, indices)
        noted = []
        if self.noting and of.space != "constant":
            noted = [self.noted(target, of, base, alias, indices, READ)]
        old = self._element(base, alias, indices, target)
        if noted:
            old = syntax.either(*noted, old, where=target)
        made_ = [old]
        mark = len(self.out)
        value = self.expr(node.value)
        self._spill(made_, mark)
        assert of.number is not None
        a, b = num(of.number), kind(node.value)
        raw = of.number.name == "f32"
        made = self.two(node, node.op, (made_[0], a), (value, b), raw)
        assert isinstance(b, Num)
        rule = rule_of_two(NAMES[type(node.op)], a.number, b.number)
        result = None if rule is None else num(rule.result)
        self.put(target, base, alias, indices, made, result, of, node)

    def _store(
        self, target: ast.Subscript, value: ast.expr, given: Kind, node: ast.stmt
    ) -> None:
        """Translate `x[i] = value`, where `value` has already been translated."""
        of, parts = kind(target.value), parts_of(target.slice)
        if not self._is_plain(target, given):
            self._store_elsewhere(target, value, given, node)
            return
        before = [value]
        mark = len(self.out)
        base, alias = self.array(target.value, of)  # type: ignore[arg-type]
        made = self.several(parts)
        self._spill(before, mark)
        indices = [self._index(m, p) for m, p in zip(made, parts, strict=True)]
        self.put(target, base, alias, indices, before[0], given, of, node)

    def _store_elsewhere(
        self, target: Any, value: ast.expr, given: Kind, node: ast.stmt
    ) -> None:
        """Translate a store to a slice, to a record or to a field of a record."""
        self.by_calls = True
        before, mark = [value], len(self.out)
        for name in ("value", "slice"):
            if hasattr(target, name):
                setattr(target, name, self.expr(getattr(target, name)))
        self._spill(before, mark)
        made, to = before[0], getattr(node, "casts", {}).get("store")
        if isinstance(to, Number):
            made, given = self.converted(made, given, to, node), num(to)
        made = self.numpys(made, given, node)
        self.out.append(syntax.placed(ast.Assign([target], made), node))

    # Where paths meet

    def _if(self, node: ast.If) -> None:
        decided = getattr(node, "decided", None)
        if decided is not None:
            self.out += self.block(node.body if decided else node.orelse)
            self.out += self._casts(node, "body" if decided else "orelse")
            return
        node.test = self.expr(node.test)
        with self.sometimes():
            node.body = self.block(node.body) + self._casts(node, "body")
            node.orelse = self.block(node.orelse) + self._casts(node, "orelse")
        node.body = node.body or [syntax.placed(ast.Pass(), node)]
        self.out.append(node)

    def _for(self, node: ast.For) -> None:
        self.out += self._casts(node, "before")
        same = self._sameness.counts(node)
        node.iter = self._items(node.iter)
        renewed = [
            mark(n.id, node) for n in nodes_of(node.target) if isinstance(n, ast.Name)
        ]
        if same:
            self._sameness.add(node.target)
        self._loop(node, renewed, self._begun(node), same)
        self._sameness.drop(node.target)

    def _items(self, node: ast.expr) -> ast.expr:
        """Translate a loop's iterable; an array's elements become plain numbers."""
        of = kind(node)
        made = self.expr(node)
        if isinstance(of, Arr):
            return self.pure("each", node, made)
        return made

    def _while(self, node: ast.While) -> None:
        self.out += self._casts(node, "before")
        around = self._begun(node)
        with self._iterating(around, same=False):
            lifting, self._lifting = self._lifting, False
            node.test = self.expr(node.test)
            self._lifting = lifting
        self._loop(node, [], around, same=False)

    def _begun(self, node: ast.For | ast.While) -> Around:
        """Return the `Around` of a new loop, after adding its statement `begins`."""
        self._loops += 1
        around = Around(COUNTER.format(self._loops), self.around, node.body[0])
        self.out.append(around.begins)
        return around

    @contextmanager
    def _iterating(self, around: Around, same: bool) -> Iterator[None]:
        """Treat what is translated within a `with` block as repeated by a loop.

        same: whether all lanes that begin the loop execute the same number of its
        iterations.
        """
        before = self.around, self.in_step
        self.in_step = self.in_step and (self.around is None or same)
        self.around = around
        yield
        self.around, self.in_step = before

    def _loop(
        self, node: Any, first: list[ast.stmt], around: Around, same: bool
    ) -> None:
        with self._iterating(around, same):
            body = self.block(node.body) + self._casts(node, "body")
        node.body = [around.each, *first, *body]
        with self.sometimes():
            node.orelse = self.block(node.orelse) + self._casts(node, "after")
        self.out.append(node)

    def _match(self, node: ast.Match) -> None:
        node.subject = self.expr(node.subject)
        for case in node.cases:
            if case.guard is not None:
                with self.inline():
                    case.guard = self.expr(case.guard)
            with self.sometimes():
                body = self.block(case.body)
            case.body = body + self._casts(case, "body")
            case.body = case.body or [syntax.placed(ast.Pass(), node)]
        left = self._casts(node, "orelse")
        if left:
            node.cases.append(ast.match_case(ast.MatchAs(None, None), None, left))
        self.out.append(node)

    def _functiondef(self, node: ast.FunctionDef) -> None:
        """Translate an inner function, with aliases for its own arrays."""
        outer, arguments, local = self.made.aliases, self._arguments, self._local
        self._arguments, inner_local = names_of(node)
        self._local = inner_local
        self.made.aliases = {}
        before = self.around, self.in_step
        self.around, self.in_step = None, True  # its callers are not known
        body = self.block(node.body)
        self.around, self.in_step = before
        self._mentioned = mentioned(body)
        mine = {
            name: axes
            for name, axes in self.made.aliases.items()
            if name in inner_local
        }
        theirs = {n: a for n, a in self.made.aliases.items() if n not in inner_local}
        self.made.aliases = mine
        first: list[ast.stmt] = []
        for name in sorted(mine.keys() & self._arguments):
            first += self._aliases(name, node)
        node.body = [*first, *self._renewed(body)] or [syntax.placed(ast.Pass(), node)]
        self.made.aliases = outer | theirs
        self._arguments, self._local = arguments, local
        self.out.append(node)


def mentioned(body: list[ast.stmt]) -> set[str]:
    """Return the names in the statements of `body`."""
    found = (node for statement in body for node in nodes_of(statement))
    return {node.id for node in found if isinstance(node, ast.Name)}


def put_first(definition: ast.FunctionDef, *names: str) -> None:
    """Insert parameters before those of a function."""
    own = definition.args.posonlyargs or definition.args.args
    own[:0] = [ast.copy_location(ast.arg(name), definition) for name in names]


def given_in(definition: ast.FunctionDef) -> set[str]:
    """Return the names assigned in a function's body, inner functions included.

    The parameters of inner functions count as assigned.
    """
    found = [node for part in definition.body for node in nodes_of(part)]
    stored = [n.id for n in found if isinstance(n, ast.Name) and is_stored(n)]
    return {*stored, *(node.arg for node in found if isinstance(node, ast.arg))}


def is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def names_of(definition: ast.FunctionDef) -> tuple[set[str], set[str]]:
    """Return the names of a function's arguments, and of all its local variables."""
    arguments = {a.arg for a in nodes_of(definition.args) if isinstance(a, ast.arg)}
    stored = {
        n.id
        for statement in definition.body
        for n in nodes_of(statement)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    return arguments, arguments | stored


def _own_arrays(definition: ast.FunctionDef) -> set[str]:
    """Return the names whose only assignment is a new shared or local array."""
    given: dict[str, bool] = {}
    stored = [
        n.id
        for n in nodes_of(definition)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ]
    for node in nodes_of(definition):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                given[name] = bool(syntax.declared(call)) and stored.count(name) == 1
    arguments = {a.arg for a in nodes_of(definition.args) if isinstance(a, ast.arg)}
    return {name for name, own in given.items() if own} - arguments
