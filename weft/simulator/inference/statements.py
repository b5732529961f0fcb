"""The types of a kernel's variables, from statement to statement.

Where two paths meet, a variable whose types on them differ gets a type that can hold
both, as in Numba. It is converted at the end of each path on which it has another type.
A statement marked for this has `casts`, a dict whose keys say where to convert:
"before", "body", "orelse", …
"""

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from typing import Any

from weft.code_objects import nodes_of
from weft.simulator.arithmetic.numbers import Number
from weft.simulator.inference import calls
from weft.simulator.inference.expressions import (
    OPERATORS,
    Env,
    Expressions,
    Names,
    Unset,
    settled,
    two,
)
from weft.simulator.inference.kinds import (
    NOTHING,
    REFUSED,
    Arr,
    Cast,
    Inner,
    Kind,
    Num,
    Tup,
    all_joined,
    cast_of,
    widened,
)
from weft.simulator.inference.outside import kind_of

# name → its conversion, and whether the name may be unset
Casts = dict[str, tuple[Cast, bool]]
_MOST_TURNS = 40  # passes over a loop until its variables' types are stable


class Loop:
    """A loop's `break` and `continue` statements, with the names' kinds at each."""

    def __init__(self) -> None:
        self.breaks: list[tuple[ast.stmt, Env]] = []
        self.continues: list[tuple[ast.stmt, Env]] = []


class Function:
    """Infers the kinds of a function's values, and marks its nodes with them."""

    def __init__(
        self,
        definition: ast.FunctionDef,
        given: tuple[Kind, ...],
        scope: dict[str, Any],
        defaults: tuple[Any, ...],
        device: calls.Device,
        outer: Names | None = None,
    ) -> None:
        """Infer the kinds in `definition`; `returned` is then the kind of its result.

        outer: the names of the enclosing function, if there is one.
        """
        arguments = definition.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        every = [*names, *(a.arg for a in arguments.kwonlyargs)]
        if arguments.vararg is not None:
            rest, given = given[len(names) :], given[: len(names)]
            every.append(arguments.vararg.arg)
        nodes = _own_nodes(definition)
        stored = [*_stored(nodes)]
        functions = ast.FunctionDef, ast.Lambda
        self.defines_functions = any(isinstance(node, functions) for node in nodes)
        self._scope, self._device = scope, device
        fixed = _fixed(nodes, stored, {*every})
        self._names = Names(scope, {*stored, *every}, fixed, outer)
        self._expressions = Expressions(self._names, device, self._inner)
        late = [kind_of(value) for value in defaults]
        kinds = [*given, *late[len(late) - (len(names) - len(given)) :]]
        self._names.now = dict(zip(every, kinds, strict=False))
        if arguments.vararg is not None:
            self._names.now[arguments.vararg.arg] = Tup(rest)
        self._reached = True
        self._loops: list[Loop] = []
        self._returns: list[tuple[ast.Return, Kind]] = []
        self._block(definition.body)
        self.returned = self._result()

    @property
    def variables(self) -> dict[str, Kind]:
        """The kinds of the names at the function's end."""
        return {name: _kind(value) for name, value in self._names.now.items()}

    def _result(self) -> Kind:
        ends: list[Kind] = [NOTHING] if self._reached else []
        found = all_joined([*(kind for _, kind in self._returns), *ends])
        for node, kind in self._returns:
            _mark(node, "value", cast_of(kind, found))
        return found

    def _inner(
        self, function: Inner, given: tuple[Kind, ...], named: dict[str | None, Kind]
    ) -> tuple[int, Kind]:
        """Infer the kinds in a call to an inner function.

        Returns the index of the form that is called, and the kind of the call's result.
        A form is a copy of the function's node for one combination of argument types.
        The node's `forms` holds all its forms.
        """
        node = function.node
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        late = getattr(node, "late", [])
        defaults = dict(zip(names[len(names) - len(late) :], late, strict=False))
        given += tuple(
            named.get(name, defaults.get(name, REFUSED)) for name in names[len(given) :]
        )
        forms = node.__dict__.setdefault("forms", {})
        if given not in forms:
            if any(found is None for _, found in forms.values()):
                return 0, REFUSED  # it calls itself, which Numba does not compile
            made = _as_function(node)
            forms[given] = made, None
            inferred = Function(made, given, self._scope, (), self._device, function.of)
            forms[given] = made, inferred.returned
        return [*forms].index(given), forms[given][1]

    # Blocks and statements

    def _block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if not self._reached:
                return
            statement.reached = True  # type: ignore[attr-defined]
            visit = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if visit is not None:
                visit(statement)
            else:
                for child in ast.iter_child_nodes(statement):
                    if isinstance(child, ast.expr):
                        self._expressions.kind(child)

    def _assign(self, node: ast.Assign) -> None:
        kind = self._expressions.kind(node.value)
        for target in node.targets:
            self._give(target, kind)
        if len(node.targets) == 1:
            _mark(node, "store", self._stored(node.targets[0], kind))

    def _annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._give(node.target, self._expressions.kind(node.value))

    def _augassign(self, node: ast.AugAssign) -> None:
        value = self._expressions.kind(node.value)
        name = OPERATORS.get(type(node.op), "")
        if isinstance(node.target, ast.Name):
            old = self._names.kind(node.target.id)
            node.old = old  # type: ignore[attr-defined]
            if not name:  # the operator `@`
                self._names.give(node.target.id, REFUSED)
                return
            found = two(name, old, value, self._expressions.constant(node.value))
            node.by = self._expressions.fixed(node.value)  # type: ignore[attr-defined]
            node.cast = None  # type: ignore[attr-defined]
            self._names.give(node.target.id, settled(node, found))
            return
        self._expressions.kind(_loaded(node.target))

    def _give(self, target: ast.expr, kind: Kind) -> None:
        if isinstance(target, ast.Name):
            self._names.give(target.id, kind)
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = kind.parts if isinstance(kind, Tup) else ()
            if len(parts) != len(target.elts):
                parts = (calls.element(kind),) * len(target.elts)
            for each, part in zip(target.elts, parts, strict=True):
                self._give(each, part)
        elif isinstance(target, ast.Subscript):
            self._expressions.kind(target.value)
            self._expressions.kind(target.slice)
        elif isinstance(target, ast.Attribute):
            self._expressions.kind(target.value)

    def _stored(self, target: ast.expr, kind: Kind) -> Number | None:
        """Return the type to which to convert a value before a store, or None.

        NumPy's own conversion is right, except for floats beyond an integer's range,
        and for integers beyond 2^53 that are stored as floats.
        """
        fields = ast.Subscript, ast.Attribute
        if not isinstance(target, fields) or not isinstance(kind, Num):
            return None
        element = self._expressions.kind(_loaded(target))
        if isinstance(element, Arr):
            element = element.element
        if not isinstance(element, Num):
            return None
        to = element.number
        if to.kind in "iu" and kind.number.kind == "f":
            return to
        return to if to.kind == "f" and kind.whole and kind.most > 53 else None

    def _expr(self, node: ast.Expr) -> None:
        self._expressions.kind(node.value)

    def _return(self, node: ast.Return) -> None:
        kind = NOTHING if node.value is None else self._expressions.kind(node.value)
        self._returns.append((node, kind))
        self._reached = False

    def _raise(self, node: ast.Raise) -> None:
        self._expressions.kind(node.exc)
        self._reached = False

    def _assert(self, node: ast.Assert) -> None:
        self._expressions.test(node.test)
        self._expressions.kind(node.msg)

    def _break(self, node: ast.Break) -> None:
        self._loops[-1].breaks.append((node, dict(self._names.now)))
        self._reached = False

    def _continue(self, node: ast.Continue) -> None:
        self._loops[-1].continues.append((node, dict(self._names.now)))
        self._reached = False

    def _functiondef(self, node: ast.FunctionDef) -> None:
        late = [self._expressions.kind(default) for default in node.args.defaults]
        node.late = late  # type: ignore[attr-defined]
        self._names.give(node.name, self._names.inner(node))

    # Where paths meet

    def _if(self, node: ast.If) -> None:
        self._expressions.test(node.test)
        before = dict(self._names.now)
        ends: list[tuple[str, Env]] = []
        decided = self._expressions.decided(node.test)
        node.decided = decided  # type: ignore[attr-defined]
        for part, body in (("body", node.body), ("orelse", node.orelse)):
            if decided is not None and decided != (part == "body"):
                continue
            self._names.now, self._reached = dict(before), True
            self._block(body)
            if self._reached:
                ends.append((part, self._names.now))
        self._reached = bool(ends)
        if ends:
            after = _joined([env for _, env in ends])
            node.casts = {part: _casts(env, after) for part, env in ends}  # type: ignore[attr-defined]
            self._names.now = after

    def _match(self, node: ast.Match) -> None:
        """Infer the kinds in a `match`, each case of which is a path.

        On one more path, no case matches, unless the last case matches everything.
        """
        subject = self._expressions.kind(node.subject)
        before, ends = dict(self._names.now), []
        for case in node.cases:
            self._names.now, self._reached = dict(before), True
            self._captured(case.pattern, subject)
            if case.guard is not None:
                self._expressions.test(case.guard)
            self._block(case.body)
            if self._reached:
                ends.append((case, self._names.now))
        last = node.cases[-1]
        certain = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
        after = [env for _, env in ends]
        if not certain or last.guard is not None:
            after.append(before)
        self._reached = bool(after)
        if after:
            self._names.now = _joined(after)
            for case, env in ends:
                _mark(case, "body", _casts(env, self._names.now))
            left = _casts(before, self._names.now)
            node.casts = {"orelse": left if before in after else {}}  # type: ignore[attr-defined]

    def _captured(self, pattern: ast.pattern, kind: Kind) -> None:
        """Give the names in a pattern the kinds of the values they capture."""
        if isinstance(pattern, ast.MatchValue):
            self._expressions.kind(pattern.value)
        elif isinstance(pattern, ast.MatchAs):
            if pattern.pattern is not None:
                self._captured(pattern.pattern, kind)
            if pattern.name is not None:
                self._names.give(pattern.name, kind)
        elif isinstance(pattern, ast.MatchOr):
            for one in pattern.patterns:
                self._captured(one, kind)
        elif isinstance(pattern, ast.MatchSequence):
            parts: tuple[Kind, ...] = kind.parts if isinstance(kind, Tup) else ()
            if len(parts) != len(pattern.patterns):
                parts = (calls.element(kind),) * len(pattern.patterns)
            for one, part in zip(pattern.patterns, parts, strict=True):
                self._captured(one, part)

    def _while(self, node: ast.While) -> None:
        def enter() -> None:
            self._expressions.test(node.test)

        forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
        self._loop(node, enter, None, not forever)

    def _for(self, node: ast.For) -> None:
        kind = calls.element(self._expressions.kind(node.iter))
        targets = {n.id for n in nodes_of(node.target) if isinstance(n, ast.Name)}

        def enter() -> None:
            self._give(node.target, kind)

        self._loop(node, enter, targets, True)

    def _loop(self, node: Any, enter: Any, own: set[str] | None, ends: bool) -> None:
        """Infer a loop's types repeatedly, until those of its variables are stable."""
        before = dict(self._names.now)
        head = dict(before)
        for turn in range(_MOST_TURNS):
            loop = Loop()
            self._loops.append(loop)
            self._names.now, self._reached = dict(head), True
            enter()
            inside = dict(self._names.now)
            self._block(node.body)
            self._loops.pop()
            backs = [env for _, env in loop.continues]
            if self._reached:
                backs.append(self._names.now)
            new = _joined([before, head, *backs])
            if turn:
                new = {name: _wider(kind, head.get(name)) for name, kind in new.items()}
            if new == head:
                break
            head = new
        self._settle(
            node, loop, before, head, self._names.now if self._reached else None
        )
        exits = [env for _, env in loop.breaks]
        if ends:
            if own is not None:  # it may have run zero times
                caught = {name: inside[name] for name in own - head.keys()}
                inside = {**_joined([caught, {}]), **head}
            self._names.now = dict(inside)
            self._reached = True
            self._block(node.orelse)
            ends = self._reached
        if ends:
            exits.append(self._names.now)
        self._reached = bool(exits)
        after = _joined(exits) if exits else head
        for statement, env in loop.breaks:
            _mark(statement, "before", _casts(env, after))
        _add(node, "after", _casts(exits[-1], after) if ends else {})
        self._names.now = after

    def _settle(
        self, node: Any, loop: Loop, before: Env, head: Env, end: Env | None
    ) -> None:
        """Mark the conversions of a loop's variables on all paths to its start."""
        _mark(node, "before", _casts(before, head))
        _add(node, "body", _casts(end, head) if end is not None else {})
        for statement, env in loop.continues:
            _mark(statement, "before", _casts(env, head))


def _as_function(node: ast.Lambda | ast.FunctionDef) -> ast.FunctionDef:
    """Copy a function's node for inference; a `lambda` becomes a `def`."""
    body: Any = copy.deepcopy(node.body)
    name = getattr(node, "name", "<lambda>")
    if isinstance(node, ast.Lambda):
        body = [ast.copy_location(ast.Return(body), node.body)]
    return ast.copy_location(ast.FunctionDef(name, node.args, body, []), node)


def _own_nodes(definition: ast.FunctionDef) -> list[ast.AST]:
    """Return the nodes of a function, except those in functions that it defines."""
    found: list[ast.AST] = [*definition.body]
    for node in found:
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            found.extend(ast.iter_child_nodes(node))
    return found


def _fixed(nodes: list[ast.AST], stored: list[str], given: set[str]) -> dict[str, Any]:
    """Return the value of each name whose only assignment gives it a literal number."""
    times = Counter(stored)
    return {
        node.targets[0].id: node.value.value
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, (int, float))
        and isinstance(node.targets[0], ast.Name)
        and times[node.targets[0].id] == 1
        and node.targets[0].id not in given
    }


def _stored(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the names to which `nodes` assign, once per assignment."""
    for node in nodes:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                yield node.id
        elif isinstance(node, (ast.FunctionDef, ast.MatchAs)) and node.name:
            yield node.name


def _loaded(target: ast.expr) -> ast.expr:
    """Return an assignment target as an expression that reads it.

    A name is returned as it is.
    """
    if isinstance(target, ast.Subscript):
        return ast.Subscript(target.value, target.slice, ast.Load())
    if isinstance(target, ast.Attribute):
        return ast.Attribute(target.value, target.attr, ast.Load())
    return target


def _joined(envs: list[Env]) -> Env:
    """Join the kinds of names after several paths, not all of which set every name."""
    found: Env = {}
    first, *rest = envs
    for name in {name: 0 for env in envs for name in env}:
        same = first.get(name)
        if same is not None and all(env.get(name) is same for env in rest):
            found[name] = same
            continue
        kinds = [env[name] for env in envs if name in env]
        unset = len(kinds) < len(envs) or any(isinstance(k, Unset) for k in kinds)
        kind = all_joined(map(_kind, kinds))
        found[name] = Unset(kind) if unset else kind
    return found


def _kind(value: Kind | Unset) -> Kind:
    return value.kind if isinstance(value, Unset) else value


def _wider(kind: Kind | Unset, earlier: Kind | Unset) -> Kind | Unset:
    """Apply `widened`, and keep an unset name unset."""
    wide = widened(_kind(kind), _kind(earlier))
    return Unset(wide) if isinstance(kind, Unset) else wide


def _casts(env: Env, after: Env) -> Casts:
    """Return the conversions of names from their kinds in `env` to those in `after`."""
    found: Casts = {}
    for name, there in after.items():
        here = env.get(name)
        cast = None if here is there else cast_of(_kind(here), _kind(there))
        if cast is not None:
            found[name] = cast, isinstance(here, Unset)
    return found


def _mark(node: Any, place: str, casts: Any) -> None:
    node.casts = {place: casts}


def _add(node: Any, place: str, casts: Casts) -> None:
    node.casts = {**getattr(node, "casts", {}), place: casts}
