"""Translates the statements of a kernel, and puts a function together."""

import ast
from typing import Any

from weft.simulator.inference.expressions import OPERATORS as NAMES
from weft.simulator.inference.expressions import plan_of
from weft.simulator.inference.kinds import Arr, Num, Tup
from weft.simulator.memory.plain import size_of
from weft.simulator.translation import syntax
from weft.simulator.translation.calls import BARRIERS
from weft.simulator.translation.expressions import Expressions, Index, _parts, kind
from weft.simulator.translation.spots import READ

TURN = 64  # iterations after which a `while` lets others run


class Statements(Expressions):
    """Translates blocks of statements."""

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """A block of statements; what comes after one that leaves it is dropped."""
        before, self.out = self.out, []
        for statement in body:
            self._statement(statement)
            if isinstance(statement, (ast.Return, ast.Break, ast.Continue, ast.Raise)):
                break
        made, self.out = self.out, before
        return made

    def _statement(self, node: ast.stmt) -> None:
        visit = getattr(self, f"_{type(node).__name__.lower()}", None)
        if visit is None:
            self.context.unknown(node)
            self.out.append(node)
            return
        visit(node)

    def _casts(self, node: ast.AST, place: str) -> list[ast.stmt]:
        """The statements that convert variables at a place of `node`."""
        casts = getattr(node, "casts", {}).get(place) or {}
        return [
            syntax.assign(
                name,
                self.pure(
                    "__pure_float" if to.kind == "f" else "__pure_int", node,
                    syntax.name(name, node),
                ),
                node,
            )
            for name, to in casts.items()
        ]

    def _pass(self, node: ast.Pass) -> None:
        self.out.append(node)

    def _leave(self, node: ast.stmt) -> None:
        self.out += self._casts(node, "before")
        self.out.append(node)

    _break = _continue = _leave

    def _expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        made = self.expr(node.value)
        self.out.append(syntax.placed(ast.Expr(made), node))

    def _return(self, node: ast.Return) -> None:
        made = None if node.value is None else self.expr(node.value)
        casts = getattr(node, "casts", {}).get("value")
        if casts is not None and made is not None:
            made = self.converted(made, kind(node.value), casts, node)
        self.out.append(syntax.placed(ast.Return(made), node))

    def _raise(self, node: ast.Raise) -> None:
        self.out.append(node)

    def _assert(self, node: ast.Assert) -> None:
        self.out.append(syntax.placed(ast.Assert(self.expr(node.test), node.msg), node))

    # Assignments

    def _assign(self, node: ast.Assign) -> None:
        target, value = node.targets[0], node.value
        if isinstance(value, ast.Call) and isinstance(target, ast.Name):
            value.called = target.id  # type: ignore[attr-defined]
        store = len(node.targets) == 1 and isinstance(target, ast.Subscript)
        of = kind(target.value) if isinstance(target, ast.Subscript) else None
        raw = store and isinstance(of, Arr) and of.number is not None and (
            of.number.name == "f32"
        )
        made = self.expr(value, raw)
        if len(node.targets) > 1:
            made = self.held(made, node)
        for each in node.targets:
            self._give(each, made, value, node)

    def _annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._give(node.target, self.expr(node.value), node.value, node)

    def _give(
        self, target: ast.expr, made: ast.expr, value: ast.expr, node: ast.stmt
    ) -> None:
        if isinstance(target, ast.Name):
            self._name_given(target.id, made, node)
            return
        if isinstance(target, ast.Subscript):
            self.store(target, made, kind(value), node)
            return
        if isinstance(target, (ast.Tuple, ast.List)):
            found = kind(value)
            if all(isinstance(t, ast.Name) for t in target.elts):
                self.out.append(syntax.placed(ast.Assign([target], made), node))
                for each in target.elts:
                    self._renew(each.id, node)  # type: ignore[attr-defined]
                return
            parts = found.parts if isinstance(found, Tup) else ()
            whole = self.held(made, node)
            for k, each in enumerate(target.elts):
                part = syntax.item(whole, syntax.constant(k, node), node)
                stand_in = syntax.constant(None, node)
                stand_in.seen = parts[k] if k < len(parts) else None  # type: ignore
                self._give(each, part, stand_in, node)
            return
        self.context.unknown(target)
        self.out.append(syntax.placed(ast.Assign([target], made), node))

    def _name_given(self, name: str, made: ast.expr, node: ast.stmt) -> None:
        last = self.out[-1] if self.out else None
        if (  # `__3 = __R[0]; acc = __3` is one assignment
            isinstance(made, ast.Name)
            and isinstance(last, ast.Assign)
            and isinstance(last.targets[0], ast.Name)
            and last.targets[0].id == made.id
            and made.id[2:].isdecimal()
        ):
            last.targets[0] = syntax.placed(ast.Name(name, ast.Store()), node)
        else:
            self.out.append(syntax.assign(name, made, node))
        self._renew(name, node)

    def _renew(self, name: str, node: ast.AST) -> None:
        """Mark where a variable has got a value: it may be an array."""
        mark = syntax.placed(ast.Pass(), node)
        mark.renews = name
        self.out.append(mark)

    def _augassign(self, node: ast.AugAssign) -> None:
        target, name = node.target, NAMES.get(type(node.op), "")
        if isinstance(target, ast.Name):
            value = self.expr(node.value)
            old = syntax.name(target.id, target)
            given = getattr(node, "old", None)
            made = self.two(
                node, node.op, old, value, given, kind(node.value), node.value
            )
            self._name_given(target.id, made, node)
            return
        if isinstance(target, ast.Subscript):
            self._changed(node, target)
            return
        self.context.unknown(target)
        self.out.append(node)

    def _changed(self, node: ast.AugAssign, target: ast.Subscript) -> None:
        """`x[i] += value`."""
        of = kind(target.value)
        if not isinstance(of, Arr) or of.number is None:
            self.out.append(node)
            return
        base, alias = self.array(target.value)
        parts = _parts(target.slice)
        indices = []
        for made, part in zip(self.several(parts), parts, strict=True):
            held = self.held(made, target)
            indices.append(self._index(held, part))
            indices[-1].natural = self.signs.natural(part)
        unit = size_of(of.number)
        number = self.spot(
            target, operation=READ, unit=unit, size=unit, array=alias,
            index=tuple(i.shown for i in indices),
        )
        note = self.note(number, base, alias, indices, target)
        old = self._element(base, alias, indices, target)
        if note is not None:
            old = syntax.either(note, old, where=target)
        mark = len(self.out)
        value = self.expr(node.value)
        if len(self.out) > mark or syntax.has_effect(value):
            spare = self.temporary()
            self.out.insert(mark, syntax.assign(spare, old, target))
            old = syntax.name(spare, target)
        from weft.simulator.inference.kinds import num

        a = num(of.number)
        raw = of.number.name == "f32"
        made = self.two(node, node.op, old, value, a, kind(node.value), node.value, raw)
        result = _result(NAMES.get(type(node.op), ""), a, kind(node.value))
        self.put(target, base, alias, indices, made, result, node)

    # Where paths meet

    def _if(self, node: ast.If) -> None:
        decided = getattr(node, "decided", None)
        if decided is not None:
            body = node.body if decided else node.orelse
            self.out += self.block(body) + self._casts(node, "body" if decided else "orelse")
            return
        test = self.truth(node.test)
        body = self.block(node.body) + self._casts(node, "body")
        other = self.block(node.orelse) + self._casts(node, "orelse")
        self.out.append(
            syntax.placed(ast.If(test, body or [ast.Pass()], other), node)
        )

    def _for(self, node: ast.For) -> None:
        self.out += self._casts(node, "before")
        items = self.expr(node.iter)
        counting = self._counting(node)
        body = self.block(node.body) + self._casts(node, "body")
        renewed: list[ast.stmt] = []
        for name in ast.walk(node.target):
            if isinstance(name, ast.Name):
                mark = syntax.placed(ast.Pass(), node)
                mark.renews = name.id
                renewed.append(mark)
        other = self.block(node.orelse) + self._casts(node, "after")
        self.out.append(
            syntax.placed(
                ast.For(node.target, items, [*renewed, *counting, *body] or [ast.Pass()],
                        other),
                node,
            )
        )

    def _counting(self, node: Any) -> list[ast.stmt]:
        """What a loop does in which threads meet."""
        number = getattr(node, "meets", None)
        if number is None:
            return []
        self.turns = True
        self.out += syntax.statements(f"__round_{number} = 0", node)
        return syntax.statements(f"__round_{number} += 1\n__t.turns += 1", node)

    def _while(self, node: ast.While) -> None:
        self.waits = self.steps = True
        self.out += self._casts(node, "before")
        counting = self._counting(node)
        with self.inline():
            test = self.truth(node.test)
        step = syntax.statements(
            f"__steps += 1\nif not __steps & {TURN - 1}: yield -__steps", node
        )
        body = self.block(node.body) + self._casts(node, "body")
        other = self.block(node.orelse) + self._casts(node, "after")
        self.out.append(
            syntax.placed(ast.While(test, [*step, *counting, *body], other), node)
        )

    steps = False

    def _functiondef(self, node: ast.FunctionDef) -> None:
        self.context.unknown(node)
        self.out.append(node)

    # The function

    def function(self, definition: ast.FunctionDef) -> ast.FunctionDef:
        """The whole function, with what has to be done at its beginning."""
        if any(_meets(n) for n in ast.walk(definition)):
            self.turns = any(
                getattr(n, "meets", None) is not None for n in ast.walk(definition)
            )
        body = self.block(definition.body)
        names = [a.arg for a in (*definition.args.posonlyargs, *definition.args.args)]
        first: list[ast.stmt] = []
        for name, value in self.positions.items():
            first += syntax.statements(f"{name} = {value}", definition)
        if self.steps:
            first += syntax.statements("__steps = 0", definition)
        outside = {
            a for a in self.aliases
            if a in names or not self.context.is_local(a)
        }
        for name in sorted(outside):
            first += self._aliases(name, definition)
        if self.used:
            first += syntax.statements("__n = __t.notes", definition)
        for number in sorted(self.used):
            first += syntax.statements(f"__l{number} = __n[{number}].append", definition)
        made = [*first, *self._filled(body)]
        if self.waits and not any(
            isinstance(n, (ast.Yield, ast.YieldFrom)) for s in made for n in ast.walk(s)
        ):
            made += syntax.statements("if 0: yield", definition)
        arguments = definition.args
        extra = ["__t"] if self.context.kernel or not self.waits else ["__t", "__path"]
        arguments.args = [
            *(ast.copy_location(ast.arg(n), definition) for n in extra),
            *arguments.posonlyargs, *arguments.args,
        ]
        arguments.posonlyargs = []
        definition.body = made or [ast.Pass()]
        return ast.fix_missing_locations(definition)

    def _aliases(self, name: str, node: ast.AST) -> list[ast.stmt]:
        """What an array is indexed through, in variables of their own."""
        text = f"__v_{name} = {name}.view"
        if self.context.noting:
            text += f"\n__e_{name} = {name}.first"
            ndim = self.context.ndim_of(name)
            for axis in range(ndim - self.context.is_contiguous(name)):
                text += f"\n__s{axis}_{name} = {name}.strides[{axis}]"
        return syntax.statements(text, node)

    def _filled(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements with what has to follow where arrays get a name."""
        made: list[ast.stmt] = []
        for statement in body:
            for part in ("body", "orelse"):
                inner = getattr(statement, part, None)
                if inner:
                    found = self._filled(inner)
                    setattr(statement, part, found or [syntax.placed(ast.Pass(), statement)])
            name = getattr(statement, "renews", None)
            if name is None:
                made.append(statement)
            elif name in self.aliases and self.context.is_array(name):
                made += self._aliases(name, statement)
        return made


def _meets(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in BARRIERS


def _result(name: str, a: Any, b: Any) -> Any:
    """What `a name b` gives."""
    from weft.simulator.inference.expressions import two

    if not isinstance(b, Num) or not name:
        return None
    return two(name, a, b)[1]
