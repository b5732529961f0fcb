"""Read an answer before it runs, and refuse what no answer needs.

`allowed.toml` lists what an answer may use: names of Python, modules by full name, and
names of these. Anything else is refused: files, other modules, the interpreter, the
course's own modules. This is no security boundary: Python has more ways than a reader
finds.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from string import Formatter
from typing import Protocol

from grading.allowed import (
    BUILTINS,
    GIVEN,
    METHODS,
    MODULES,
    NEVER,
    PYTHONS,
    may,
    usual,
)
from grading.naming import Around, Imports, full_names, plain, scopes

NOTEBOOKS = {"In", "Out", "display", "get_ipython"}  # names that IPython adds
CALLED = {"getattr", "hasattr", "type"}  # built-ins that may only be called
# These run the text that they are called with, so a signature may have only these
# words.
COMPILERS = {
    *("cfunc", "compile", "compile_all", "compile_for_current_device", "compile_ptx"),
    *("compile_ptx_for_current_device", "declare_device", "guvectorize", "jit"),
    *("njit", "vectorize"),
}
HARMLESS = {"re.compile", "triton.jit"}  # called like these, but they run no text
# attributes of a ctypes function that an answer may set
PROTOTYPE = {"argtypes", "restype"}
# arguments that hold a signature
SIGNATURES = {None, "func_or_sig", "sig", "signature"}
SIGNATURE = re.compile(
    r"(void|boolean|bool|b1|u?int(p|c|8|16|32|64)?|float(16|32|64)|complex(64|128)"
    r"|[iuf][1248]|[\s\[\]:,()])*"
)
ANNOTATION = re.compile(r"[A-Za-z][\w.]*(\[[\w., ]*\])?( \| None)?")


class Code(Protocol):
    """Statements: their text, and the line of the cell in which they begin."""

    @property
    def text(self) -> str: ...

    @property
    def line(self) -> int: ...


class Refused(Exception):
    """An answer uses what no answer needs; the message says what and where."""


def inspect(
    code: Sequence[Code],
    given: Imports,
    names: Iterable[str] = (),
    fixed: Iterable[str] = (),
) -> None:
    """Refuse statements that use what no answer needs. Raises Refused.

    given: the lab's imports. names: the names that the lab defines. fixed: those of
    them that an answer may not define again. What is inspected is the text, since that
    is what runs.
    """
    trees = [ast.parse(one.text) for one in code]
    nodes = [node for tree in trees for node in tree.body]
    known = {name: set(full) for name, full in given.items()}
    lab = frozenset(full for each in given.values() for full in each)
    around = Around(known, {*names, *given}, set(fixed), lab)
    around.read(nodes)
    for one, tree in zip(code, trees, strict=True):
        globals, bound = scopes(one.text)
        for node in tree.body:
            for part, found in _Reader(node, globals, around).read():
                line = getattr(part, "lineno", node.lineno) + one.line - 1
                raise Refused(f"Line {line} {found}, which an answer may not do.")
        for name in sorted(bound):
            if name in PYTHONS or _dunder(name) or around.changes(name):
                what = f"gives another meaning to `{name}`"
                raise Refused(f"Line {one.line} {what}, which an answer may not do.")


class _Reader:
    """Finds what is wrong with a statement, given what its names stand for."""

    def __init__(self, node: ast.stmt, globals: set[str], around: Around) -> None:
        self.node, self.globals, self.around = node, globals, around
        self.known, self.given = around.known, around.given
        self.reached = self.globals | around.own
        self.parents = {
            child: part
            for part in ast.walk(node)
            for child in ast.iter_child_nodes(part)
        }

    def read(self) -> Iterator[tuple[ast.AST, str]]:
        """Yield each part that is not allowed, and what it does, such as "uses `x`"."""
        for part in ast.walk(self.node):
            for found in self._wrong(part):
                yield part, found

    def _wrong(self, part: ast.AST) -> Iterator[str]:
        match part:
            case ast.Import(names=aliases):
                for a in aliases:
                    if a.name not in MODULES or self._not_given(a.name):
                        yield f"imports `{a.name}`"
            case ast.ImportFrom(module=module, names=aliases, level=level):
                for a in aliases:
                    full = f"{module}.{a.name}"
                    if level or a.name == "*" or self._not_given(full) or not may(full):
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
        """Yield what is wrong with an imported object: itself, or how it is used."""
        parent = self.parents.get(part)
        for each in full:
            if not may(each):
                yield f"uses `{ast.unparse(part)}`"
            elif each in MODULES and not (
                isinstance(parent, ast.Attribute)
                or (isinstance(parent, ast.Assign) and plain(parent))
            ):
                yield f"uses the module `{ast.unparse(part)}` as a value"

    def _of_itself(self, part: ast.Attribute) -> bool:
        """Return whether this is a method's own attribute, such as `self._size`."""
        if not isinstance(part.value, ast.Name) or part.value.id != "self":
            return False
        outer: ast.AST | None = part
        while outer and not isinstance(outer, ast.ClassDef):
            outer = self.parents.get(outer)
        return bool(outer) and part.attr not in NEVER and not _dunder(part.attr)

    def _evaluates_an_argument(self, part: ast.Name) -> bool:
        """Return whether this `eval` evaluates only text that a check passes.

        That is an argument of a function which the function does not assign to and
        which the answer itself does not call.
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
            case "type", _:
                if len(part.args) != 1 or part.keywords or not self._only_named(part):
                    yield "uses `type` for more than a comparison"
            case (("getattr" | "hasattr"), [value, ast.Constant(value=str(text)), *_]):
                again = ast.Attribute(value, text, ast.Load())
                yield from self._attribute(ast.copy_location(again, part))
            case (("getattr" | "hasattr"), _):
                yield f"uses `{name}` with a name that is not written there"
        whose = full_names(called, self.known)
        if getattr(called, "attr", name) in COMPILERS and not whose & HARMLESS:
            named = [k.value for k in part.keywords if k.arg in SIGNATURES]
            for argument in (*part.args, *named):
                yield from self._signature(argument)

    def _only_named(self, part: ast.Call) -> bool:
        """Return whether a class is only compared or printed."""
        match self.parents.get(part):
            case ast.Compare() | ast.FormattedValue() | ast.Attribute(attr="__name__"):
                return True
            case ast.Call(func=called, args=[one], keywords=[]) if called is part:
                # with three arguments, `type` would make a class
                return not isinstance(one, ast.Starred)
            case ast.Call(func=ast.Name(id=name)):
                return name in ("isinstance", "issubclass", "print", "repr", "str")
        return False

    def _not_given(self, full: str) -> bool:
        """Return whether this is of a module that the lab must import but does not."""
        return any(
            f"{full}.".startswith(f"{module}.")
            and not any(f"{each}.".startswith(f"{module}.") for each in self.around.lab)
            for module in GIVEN
        )

    def _signature(self, node: ast.expr) -> Iterator[str]:
        """Yield what is wrong with a signature, whose text Numba runs as code."""
        for part in ast.walk(node):
            match part:
                case ast.JoinedStr() | ast.BinOp() | ast.Starred():
                    yield "computes a signature"
                case ast.Constant(value=str(text)) if not SIGNATURE.fullmatch(text):
                    yield "has a signature that is none"
                case ast.Name(id=name) if name in self.around.stored - self.given:
                    yield f"has a signature `{name}` that cannot be read"


def _changed(function: ast.FunctionDef, around: Around) -> set[str]:
    """Return the names that a function assigns, and its own if the answer uses it."""
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
    """Return whether this is a format that reads no attributes of what it formats."""
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return False
    try:
        fields = list(Formatter().parse(node.value))
    except ValueError:
        return True  # the answer will raise it again
    inner = [spec for _, _, spec, _ in fields if spec and "{" in spec]
    return all(re.fullmatch(r"\w*", field or "") for _, field, _, _ in fields) and all(
        _plain(ast.Constant(spec)) for spec in inner
    )


def _root(node: ast.AST) -> str:
    """Return the name at the root of attributes and indices; "" if there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
