"""The types of a kernel's variables, from statement to statement.

Where two paths meet, a variable that has one type on the one and another on the other
gets the type that holds both, as Numba's does: it is converted at the end of a path.
A statement so marked has `casts`, a dict by the place: "before", "body", "orelse".
"""

import ast
from collections import Counter
from typing import Any

from weft.simulator.arithmetic.numbers import INT64, Number, rule_of_two
from weft.simulator.inference import calls
from weft.simulator.inference.expressions import (
    OPERATORS,
    Expressions,
    Names,
    Plan,
    set_plan,
    settled,
    two,
)
from weft.simulator.inference.kinds import Kind, Num, Tup, joined, widened
from weft.simulator.inference.outside import kind_of

Env = dict[str, Kind]
Casts = dict[str, Number]
_MOST_TURNS = 12  # around a loop, until its variables have settled


class Loop:
    """The ways out of a loop and back to its beginning, with what holds there."""

    def __init__(self) -> None:
        self.breaks: list[tuple[ast.stmt, Env]] = []
        self.continues: list[tuple[ast.stmt, Env]] = []


class Function:
    """Infers one function for arguments of given kinds; marks its nodes."""

    def __init__(
        self,
        definition: ast.FunctionDef,
        given: tuple[Kind, ...],
        scope: dict[str, Any],
        defaults: tuple[Any, ...],
        device: calls.Device,
    ) -> None:
        """Infer `definition`; `returned` is then what it returns."""
        arguments = definition.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        local = {n.id for n in _stored(definition)} | set(names)
        self._names = Names(scope, local, _fixed(definition, names))
        self._expressions = Expressions(self._names, device)
        late = [kind_of(value) for value in defaults]
        kinds = [*given, *late[len(late) - (len(names) - len(given)) :]]
        self._names.now = dict(zip(names, kinds, strict=False))
        self._reached = True
        self._loops: list[Loop] = []
        self._returns: list[tuple[ast.Return, Kind]] = []
        self._block(definition.body)
        self.returned = self._result()

    def _result(self) -> Kind:
        found: Kind = None
        for k, (_, kind) in enumerate(self._returns):
            found = joined(found, kind) if k else kind
        for node, kind in self._returns:
            _mark(node, "value", _casts({"": kind}, {"": found}).get("", None))
        return found

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
            if isinstance(old, Tup) or not name:
                self._names.give(node.target.id, None)
                return
            plan, found = two(name, old, value, self._expressions.constant(node.value))
            set_plan(node, plan)
            self._names.give(node.target.id, settled(node, found))
            return
        element = self._expressions.kind(_loaded(node.target))
        set_plan(node, Plan() if _numpys(name, element, value) else Plan(name))

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

    def _stored(self, target: ast.expr, kind: Kind) -> Number | None:
        """What a value is converted to before it is stored, where NumPy does it else.

        NumPy converts too, but for floats that no integer holds, and large integers.
        """
        if not isinstance(target, ast.Subscript) or not isinstance(kind, Num):
            return None
        element = self._expressions.kind(_loaded(target))
        if not isinstance(element, Num):
            return None
        to = element.number
        if to.kind in "iu" and kind.number.kind == "f":
            return to
        return to if to.kind == "f" and kind.whole and kind.most > 53 else None

    def _expr(self, node: ast.Expr) -> None:
        self._expressions.kind(node.value)

    def _return(self, node: ast.Return) -> None:
        self._returns.append((node, self._expressions.kind(node.value)))
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
        self._names.give(node.name, None)  # what is in it is looked at when it runs

    # Where paths meet

    def _if(self, node: ast.If) -> None:
        self._expressions.test(node.test)
        before = dict(self._names.now)
        ends: list[tuple[str, Env]] = []
        decided = self._expressions.decided(node.test)
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

    def _while(self, node: ast.While) -> None:
        def enter() -> None:
            self._expressions.test(node.test)

        forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
        self._loop(node, enter, None, not forever)

    def _for(self, node: ast.For) -> None:
        kind = calls.element(self._expressions.kind(node.iter))
        targets = {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}

        def enter() -> None:
            self._give(node.target, kind)

        self._loop(node, enter, targets, True)

    def _loop(self, node: Any, enter: Any, own: set[str] | None, ends: bool) -> None:
        """A loop: around and around, until its variables keep their types."""
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
                new = {n: widened(kind, head.get(n)) for n, kind in new.items()}
            if turn > _MOST_TURNS // 2:
                new = {n: k if k == head.get(n) else None for n, k in new.items()}
            if new == head:
                break
            head = new
        self._settle(
            node, loop, before, head, self._names.now if self._reached else None
        )
        exits = [env for _, env in loop.breaks]
        if ends:
            self._names.now = dict(head if own is None else {**inside, **head})
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
        """Mark where a loop's variables are converted, on the ways to its beginning."""
        _mark(node, "before", _casts(before, head))
        _add(node, "body", _casts(end, head) if end is not None else {})
        for statement, env in loop.continues:
            _mark(statement, "before", _casts(env, head))


def _fixed(definition: ast.FunctionDef, arguments: list[str]) -> dict[str, Any]:
    """The names that are given a value once, and that a number."""
    times = Counter(n.id for n in _stored(definition))
    return {
        node.targets[0].id: node.value.value
        for node in ast.walk(definition)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, (int, float))
        and isinstance(node.targets[0], ast.Name)
        and times[node.targets[0].id] == 1
        and node.targets[0].id not in arguments
    }


def _stored(definition: ast.FunctionDef) -> list[ast.Name]:
    """The names to which a function gives a value, each time that it does."""
    names = (n for n in ast.walk(definition) if isinstance(n, ast.Name))
    return [n for n in names if isinstance(n.ctx, ast.Store)]


def _loaded(target: ast.expr) -> ast.expr:
    """A target as an expression that is read."""
    if isinstance(target, ast.Subscript):
        return ast.Subscript(target.value, target.slice, ast.Load())
    if isinstance(target, ast.Attribute):
        return ast.Attribute(target.value, target.attr, ast.Load())
    return target


def _numpys(name: str, element: Kind, value: Kind) -> bool:
    """Whether NumPy makes of `x[i] op= value` what Numba does."""
    if not isinstance(element, Num) or not isinstance(value, Num):
        return False
    rule = rule_of_two(name, element.number, value.number) if name else None
    if rule is None or name not in ("add", "sub", "mul", "truediv"):
        return rule is None
    if not element.whole and not value.whole:
        return True
    return element.number is INT64 and value.number is INT64 and name != "truediv"


def _joined(envs: list[Env]) -> Env:
    """What holds after several paths.

    Of a name to which some give no value nothing is known: it could not be converted.
    """
    found: Env = {name: None for env in envs for name in env}
    for name in set.intersection(*(set(env) for env in envs)):
        found[name] = envs[0][name]
        for env in envs[1:]:
            found[name] = joined(found[name], env[name])
    return found


def _casts(env: Env, after: Env) -> Casts:
    """What has to be converted at the end of a path."""
    return {
        name: there.number
        for name, there in after.items()
        if isinstance(there, Num)
        and isinstance(here := env.get(name), Num)
        and here.number is not there.number
    }


def _mark(node: Any, place: str, casts: Any) -> None:
    node.casts = {place: casts}


def _add(node: Any, place: str, casts: Casts) -> None:
    node.casts = {**getattr(node, "casts", {}), place: casts}
