"""Reads an answer before it runs, and refuses what no answer needs.

What an answer may use is in `allowed.toml`: names of Python, modules by full name, and
names of these. Whatever is not there is refused: files, other modules, the interpreter,
the course's own modules. This is not a wall: Python has more ways than a reader finds.
"""

import ast
import re
import symtable
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from string import Formatter
from typing import Protocol

from grading.allowed import (
    BUILTINS,
    METHODS,
    MODULES,
    NEVER,
    PYTHONS,
    may,
    usual,
)

NOTEBOOKS = {"In", "Out", "display", "get_ipython"}  # names that IPython adds
CALLED = {"getattr", "hasattr", "type"}  # built-ins that are only called
# Called with text, these run it: a signature may have no other words than these.
COMPILERS = {"cfunc", "declare_device", "guvectorize", "jit", "njit", "vectorize"}
PROTOTYPE = {"argtypes", "restype"}  # what a function of ctypes is given
SIGNATURES = {None, "func_or_sig", "sig", "signature"}  # arguments that have one
SIGNATURE = re.compile(
    r"(void|boolean|bool|b1|u?int(p|c|8|16|32|64)?|float(16|32|64)|complex(64|128)"
    r"|[iuf][1248]|[\s\[\]:,()])*"
)
ANNOTATION = re.compile(r"[A-Za-z][\w.]*(\[[\w., ]*\])?( \| None)?")

Imports = Mapping[str, set[str]]


class Code(Protocol):
    """A statement, and its text."""

    @property
    def text(self) -> str: ...

    @property
    def node(self) -> ast.stmt: ...


class Refused(Exception):
    """An answer uses what no answer needs; the message says what, and where."""


def imports(nodes: Iterable[ast.AST]) -> dict[str, set[str]]:
    """The full names of what a name may stand for, as imported in this code."""
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


def inspect(code: Sequence[Code], given: Imports, names: Iterable[str] = ()) -> None:
    """Refuse statements that reach for what no answer needs. Raises Refused.

    given: what the lab imports. names: what the lab defines.
    """
    nodes = [one.node for one in code]
    known = {name: set(full) for name, full in given.items()}
    around = Around(known, {*names, *given})
    around.read(nodes)
    for one in code:
        for part, found in _Reader(one, around).read():
            line = getattr(part, "lineno", one.node.lineno)
            raise Refused(f"Line {line} {found}, which an answer may not do.")


@dataclass
class Around:
    """What an answer consists of, and where.

    known: the full names of what its names stand for. given: names that the lab has.
    own: names that it imports itself, or assigns something imported, as in
    `gpu = cuda`. stored: other names that it assigns; used: names that it uses.
    """

    known: dict[str, set[str]]
    given: set[str]
    own: set[str] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)

    def read(self, nodes: Sequence[ast.AST]) -> None:
        """Find names that are imported, assigned and used."""
        assigned: list[tuple[str, ast.expr]] = []
        for part in (part for node in nodes for part in ast.walk(node)):
            match part:
                case ast.Assign(targets=targets, value=value) if _names(part):
                    names = [t.id for t in targets if isinstance(t, ast.Name)]
                    assigned += [(name, value) for name in names]
                case ast.arg(arg=name):
                    self.stored.add(name)
                case ast.Name(id=name, ctx=ast.Load()):
                    self.used.add(name)
                case ast.Name(id=name):
                    self.stored.add(name)
        for name, full in imports(nodes).items():
            self.own.add(name)
            self.known[name] = self.known.get(name, set()) | full
        for name, value in 3 * assigned:
            if full := full_names(value, self.known):
                self.own.add(name)
                self.known[name] = self.known.get(name, set()) | full


class _Reader:
    """Finds what is wrong with a statement, given what names stand for."""

    def __init__(self, code: Code, around: Around) -> None:
        self.node, self.around = code.node, around
        self.known, self.given = around.known, around.given
        self.globals, self.bound = scopes(code.text)
        self.reached = self.globals | around.own
        self.parents = {
            child: part
            for part in ast.walk(code.node)
            for child in ast.iter_child_nodes(part)
        }

    def read(self) -> Iterator[tuple[ast.AST, str]]:
        """Yield each part that may not be there, and what it does."""
        for part in ast.walk(self.node):
            for found in self._wrong(part):
                yield part, found
        for name in self.bound:
            if name in PYTHONS or _dunder(name):
                yield self.node, f"gives another meaning to `{name}`"

    def _wrong(self, part: ast.AST) -> Iterator[str]:
        match part:
            case ast.Import(names=aliases):
                outside = [a.name for a in aliases if a.name not in MODULES]
                yield from [f"imports `{name}`" for name in outside]
            case ast.ImportFrom(module=module, names=aliases, level=level):
                for a in aliases:
                    if level or not module or not may(f"{module}.{a.name}"):
                        yield f"imports `{a.name}` from `{module}`"
            case ast.Global(names=names):
                if outside := [n for n in names if n in self.given | PYTHONS]:
                    yield f"uses `global {outside[0]}`"
            case ast.Name(id=name, ctx=ast.Load()) if name in self.reached:
                yield from self._name(part)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if _dunder(name):
                yield f"gives another meaning to `{name}`"
            case ast.Attribute():
                yield from self._attribute(part)
            case ast.Call():
                yield from self._call(part)
            case ast.MatchClass(kwd_attrs=names):
                yield from [f"uses `.{n}`" for n in names if not usual(n)]
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if _dunder(name) and name not in METHODS:
                    yield f"defines `{name}`"
        for of in ("annotation", "returns"):
            for each in ast.walk(getattr(part, of, None) or ast.Pass()):
                match each:
                    case ast.Constant(value=str(text)) if not _is_type(text):
                        yield "has an annotation that is code"

    def _name(self, part: ast.Name) -> Iterator[str]:
        name = part.id
        if name in self.known or name in self.given:
            yield from self._imported(part, self.known.get(name, ()))
        elif name == "eval" and self._evaluates_an_argument(part):
            return
        elif name in NOTEBOOKS or (name in PYTHONS and name not in BUILTINS):
            yield f"uses `{name}`"
        elif name in CALLED and not self._is_called(part):
            yield f"uses `{name}` as a value"
        elif _dunder(name) and name not in BUILTINS:
            yield f"uses `{name}`"

    def _attribute(self, part: ast.Attribute) -> Iterator[str]:
        name, parent = part.attr, self.parents.get(part)
        root = _root(part)
        outside = not root or root in self.reached
        if not isinstance(part.ctx, ast.Load) and outside and name not in PROTOTYPE:
            yield f"changes `{ast.unparse(part)}`"
        if root in self.reached and (full := full_names(part, self.known)):
            yield from self._imported(part, full)
        elif name == "ctypes":
            if not (isinstance(parent, ast.Attribute) and parent.attr == "data"):
                yield "uses `.ctypes`"
        elif name == "format" and not _plain(part.value):
            yield "uses `.format` of what is no plain text"
        elif not usual(name) and not self._of_itself(part):
            yield f"uses `.{name}`"

    def _imported(self, part: ast.expr, full: Iterable[str]) -> Iterator[str]:
        """What is wrong with something imported: what it is, or as what it is used."""
        parent = self.parents.get(part)
        for each in full:
            if not may(each):
                yield f"uses `{ast.unparse(part)}`"
            elif each in MODULES and not (
                isinstance(parent, ast.Attribute)
                or (isinstance(parent, ast.Assign) and _names(parent))
            ):
                yield f"uses the module `{ast.unparse(part)}` as a value"

    def _of_itself(self, part: ast.Attribute) -> bool:
        """Whether this is what a method keeps for itself, such as `self._size`."""
        if not isinstance(part.value, ast.Name) or part.value.id != "self":
            return False
        outer: ast.AST | None = part
        while outer and not isinstance(outer, ast.ClassDef):
            outer = self.parents.get(outer)
        return bool(outer) and part.attr not in NEVER and not _dunder(part.attr)

    def _evaluates_an_argument(self, part: ast.Name) -> bool:
        """Whether only text is evaluated with which a check calls the function.

        That is an argument to which nothing else is assigned, of a function that the
        answer itself does not use.
        """
        outer = self.node
        match self.parents.get(part), outer:
            case (
                ast.Call(func=called, args=[ast.Name(id=name), *_]),
                ast.FunctionDef(args=ast.arguments(args=arguments, defaults=[])),
            ) if called is part:
                stored = {
                    n.id
                    for n in ast.walk(outer)
                    if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
                }
                inner = [
                    n
                    for n in ast.walk(outer)
                    if isinstance(n, ast.arg) and n.arg == name
                ]
                own = name in {a.arg for a in arguments} and len(inner) == 1
                return own and name not in stored and outer.name not in self.around.used
        return False

    def _is_called(self, part: ast.Name) -> bool:
        parent = self.parents.get(part)
        return isinstance(parent, ast.Call) and parent.func is part

    def _call(self, part: ast.Call) -> Iterator[str]:
        called = part.func
        name = called.id if isinstance(called, ast.Name) else ""
        match name, part.args:
            case "type", [ast.expr() as only] if not isinstance(only, ast.Starred):
                if part.keywords:
                    yield "makes a class with `type`"
            case "type", _:
                yield "makes a class with `type`"
            case (("getattr" | "hasattr"), [value, ast.Constant(value=str(text)), *_]):
                again = ast.Attribute(value, text, ast.Load())
                yield from self._attribute(ast.copy_location(again, part))
            case (("getattr" | "hasattr"), _):
                yield f"uses `{name}` with a name that is not written there"
        whose = full_names(called, self.known)
        if getattr(called, "attr", name) in COMPILERS and whose != {"triton.jit"}:
            named = [k.value for k in part.keywords if k.arg in SIGNATURES]
            for argument in (*part.args, *named):
                yield from self._signature(argument)

    def _signature(self, node: ast.expr) -> Iterator[str]:
        """What is wrong with a signature: numba runs its text as code."""
        for part in ast.walk(node):
            match part:
                case ast.JoinedStr() | ast.BinOp() | ast.Starred():
                    yield "computes a signature"
                case ast.Constant(value=str(text)) if not SIGNATURE.fullmatch(text):
                    yield "has a signature that is none"
                case ast.Name(id=name) if name in self.around.stored - self.given:
                    yield f"has a signature `{name}` that cannot be read"


def scopes(text: str) -> tuple[set[str], set[str]]:
    """The names that code takes from outside, and those that it defines there.

    What the body of a class looks up may come from outside, even if it defines it.
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
    """The full names of what a name or a chain of attributes may stand for."""
    match node:
        case ast.Name(id=name):
            return set(known.get(name, ()))
        case ast.Attribute(value=value, attr=attribute):
            return {f"{name}.{attribute}" for name in full_names(value, known)}
    return set()


def _names(node: ast.Assign) -> bool:
    """Whether only names are given a value."""
    return all(isinstance(target, ast.Name) for target in node.targets)


def _changed(function: ast.FunctionDef, around: Around) -> set[str]:
    """The names that a function assigns to, or that the answer uses elsewhere."""
    stored = {
        n.id
        for n in ast.walk(function)
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    }
    return stored | ({function.name} & around.used)


def _is_type(text: str) -> bool:
    return ANNOTATION.fullmatch(text) is not None


def _dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _plain(node: ast.expr) -> bool:
    """Whether this is text to be formatted without a look into what is formatted."""
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return False
    try:
        fields = list(Formatter().parse(node.value))
    except ValueError:
        return True  # it raises this again
    return all(
        re.fullmatch(r"\w*", field or "") and "{" not in (spec or "")
        for _, field, spec, _ in fields
    )


def _root(node: ast.AST) -> str:
    """The name that a chain of attributes and indices begins with, "" if none."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
