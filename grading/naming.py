"""What the names in an answer stand for, and where they come from."""

import ast
import symtable
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Imports = Mapping[str, set[str]]


def imports(nodes: Iterable[ast.AST]) -> dict[str, set[str]]:
    """Return the full names that each imported name may stand for in this code."""
    found: dict[str, set[str]] = {}
    for node in nodes:
        for part in ast.walk(node):
            match part:
                case ast.Import(names=aliases):
                    for a in aliases:
                        name = a.name if a.asname else a.name.partition(".")[0]
                        found.setdefault(a.asname or name, set()).add(name)
                case ast.ImportFrom(module=str(module), names=aliases):
                    for a in aliases:
                        found.setdefault(a.asname or a.name, set()).add(
                            f"{module}.{a.name}"
                        )
    return found


@dataclass
class Around:
    """The names of an answer and of its lab.

    known: the full names that each name stands for. given: names that the lab has.
    fixed: those that the answer may not define. lab: the full names that the lab
    imports. own: names that the answer imports, or assigns an import, as in `gpu =
    cuda`. again: those that it imports just as the lab does. defined: its functions and
    classes. stored: names that it assigns. used: names that it uses.
    """

    known: dict[str, set[str]]
    given: set[str]
    fixed: set[str]
    lab: frozenset[str]
    own: set[str] = field(default_factory=set)
    again: set[str] = field(default_factory=set)
    defined: set[str] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)

    def changes(self, name: str) -> bool:
        """Return whether the answer gives a new meaning to a name that is fixed."""
        same = name in self.again and name not in self.stored | self.defined
        return name in self.fixed and not same

    def read(self, nodes: Sequence[ast.AST]) -> None:
        """Record the names that are imported, defined, assigned and used."""
        assigned: list[tuple[str, ast.expr]] = []
        for part in (part for node in nodes for part in ast.walk(node)):
            match part:
                case ast.Assign(targets=targets, value=value) if plain(part):
                    names = [t.id for t in targets if isinstance(t, ast.Name)]
                    assigned += [(name, value) for name in names]
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    self.defined.add(name)
                case ast.arg(arg=name):
                    self.stored.add(name)
                case ast.Name(id=name, ctx=ast.Load()):
                    self.used.add(name)
                case ast.Name(id=name):
                    self.stored.add(name)
        for name, full in imports(nodes).items():
            if self.known.get(name) == full:
                self.again.add(name)
            self.own.add(name)
            self.known[name] = self.known.get(name, set()) | full
        for name, value in 3 * assigned:
            if full := full_names(value, self.known):
                self.own.add(name)
                self.known[name] = self.known.get(name, set()) | full


def scopes(text: str) -> tuple[set[str], set[str]]:
    """Return the names that code uses from outside, and those it defines there.

    What the body of a class looks up may come from outside even if the class defines
    it.
    """
    outside, waiting = set[str](), [symtable.symtable(text, "<answer>", "exec")]
    bound = {s.get_name() for s in waiting[0].get_symbols() if s.is_assigned()}
    bound |= {s.get_name() for s in waiting[0].get_symbols() if s.is_imported()}
    while waiting:
        table = waiting.pop()
        inner = table.get_type() not in ("module", "class")
        outside |= {
            s.get_name()
            for s in table.get_symbols()
            if s.is_referenced() and (s.is_global() or not inner)
        }
        waiting += table.get_children()
    return outside, bound


def full_names(node: ast.AST, known: Imports) -> set[str]:
    """Return the full names that a name or a chain of attributes may stand for."""
    match node:
        case ast.Name(id=name):
            return set(known.get(name, ()))
        case ast.Attribute(value=value, attr=attribute):
            return {f"{name}.{attribute}" for name in full_names(value, known)}
    return set()


def plain(node: ast.Assign) -> bool:
    """Return whether an assignment assigns only to names."""
    return all(isinstance(target, ast.Name) for target in node.targets)
