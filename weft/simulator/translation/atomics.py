"""Translates atomic operations into plain ones, because no thread is interrupted."""

import ast

from weft.simulator.arithmetic.numbers import FLOAT32, rule_of_two
from weft.simulator.inference.kinds import Arr, Kind, Num, Tup, num
from weft.simulator.translation import syntax
from weft.simulator.translation.accesses import Accesses, parts_of
from weft.simulator.translation.made import kind
from weft.simulator.translation.notes import ATOMIC

_OPERATORS = {
    **{"add": ast.Add, "sub": ast.Sub},
    **{"and_": ast.BitAnd, "or_": ast.BitOr, "xor": ast.BitXor},
}
_NUMBERS = dict.fromkeys(("and_", "or_", "xor"), "iu")


class Atomics(Accesses):
    """Translates `cuda.atomic`."""

    def atomic(self, node: ast.Call, name: str) -> ast.expr:
        """Translate an atomic operation, such as `cuda.atomic.add(x, i, value)`.

        name: the name of the operation, such as "add".
        """
        given = [kind(argument) for argument in node.args]
        known = not any(part.loaded for part in _flat(given[1:2]))
        if self._is_direct(node, name, given):
            return self._changed_at_once(node, name, known)
        self.by_calls = True
        of, made = given[0] if given else None, self.several(node.args)
        for n, (one, each) in enumerate(zip(made, given, strict=True)):
            if n > 1 and isinstance(of, Arr) and of.number is not None:
                made[n] = self.converted(one, each, of.number, node)
        if not known:
            made[1:2] = [self.pure("from_data", node, one) for one in made[1:2]]
        node.args = made
        return self.plain(node, node)

    def _is_direct(self, node: ast.Call, name: str, given: list[Kind]) -> bool:
        """Return whether an operation can be done inside the kernel, without a call."""
        if len(given) != 3 or node.keywords or not self._lifting:
            return False
        of, value = given[0], given[2]
        if name not in _OPERATORS and name not in ("max", "min"):
            return False
        if not isinstance(of, Arr) or not isinstance(value, Num) or of.number is None:
            return False
        if of.space == "constant" or not self.is_element(of, parts_of(node.args[1])):
            return False
        holds = of.number.kind in _NUMBERS.get(name, "iuf")
        if not holds or of.number.bytes not in (4, 8) or value.number.kind == "c":
            return False
        if not self.noting:
            return True
        # In shared memory it matters whether 1 is added, which may be unknown here.
        known = name != "add" or of.space == "global" or not of.number.whole
        known = known or node.known[2] is not None  # type: ignore[attr-defined]
        return self.by_numbers and known

    def _changed_at_once(self, node: ast.Call, name: str, known: bool) -> ast.expr:
        """Translate an atomic operation into a load, arithmetic and a store."""
        x, index, value = node.args
        of, given = kind(x), kind(value)
        assert isinstance(of, Arr)
        assert of.number is not None
        base, alias = self.array(x, of)
        parts = parts_of(index)
        *made, new = self.several([*parts, value])
        new = self.held(self.converted(new, given, of.number, node), node)
        made = [self.held(one, node) for one in made]
        indices = [self._index(m, p) for m, p in zip(made, parts, strict=True)]
        noted = []
        if self.noting:
            narrow = of.number.whole and of.number.bytes == 4
            one = name == "add" and narrow and node.known[2] == 1  # type: ignore[attr-defined]
            kinds = {"one"} if one else set()
            kinds |= {"known"} if known else set()
            what = ATOMIC, 0, frozenset(kinds)
            noted = [self.noted(node, of, base, alias, indices, *what)]
        old = self._element(base, alias, indices, node)
        if noted:
            old = syntax.either(*noted, old, where=node)
        before = syntax.name(self.temporary(), node)
        self.out.append(syntax.assign(before.id, old, node))
        own = result = num(of.number)
        if name in _OPERATORS:
            raw, here = of.number is FLOAT32, syntax.constant(None, node)
            operator = _OPERATORS[name]()
            after = self.two(here, operator, (before, own), (new, own), raw)
            rule = rule_of_two(name, of.number, of.number)
            assert rule is not None
            result = num(rule.result)
        else:
            after = self.pure(name, node, before, new)
        self.put(node, base, alias, indices, after, result, of, node, ATOMIC)
        return syntax.name(before.id, node)


def _flat(kinds: list[Kind]) -> list[Num]:
    found = [p for k in kinds for p in (k.parts if isinstance(k, Tup) else (k,))]
    return [part for part in found if isinstance(part, Num)]
