"""The code that a chapter's measurements depend on, wherever it is, and its digest.

A measurement is a call of `bench.compare`, or of another function in `ROOTS`. It
depends on the statements and functions that it needs: the kernels of its rows, their
launches, sizes and data, and what these need in turn. All else may change without
making a number stale: text, hints, starters, checks with their inputs, guesses, plots,
comments and docstrings.

It does not matter where the code is. The cells of the lab and the modules of the
chapter are read as one program: a function that measures is replaced by its statements,
and so is one without parameters that only returns names to those that measure; the
prefix of a module is dropped, and a parameter is renamed to what the lab passes for it.
So code may move from a cell to `measure.py` and keep its digest.
"""

import ast
import copy
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

ROOTS = ("bench.compare", "bench.time", "ranks.measured", "weft.ranks.measured")
# methods that measure, as of what `ranks.measured` returns
METHODS = ("compare", "measured")
UNMEASURED = ("guess", "unsteady")  # arguments of a measurement that do not affect it
CLAIMS = ("expect", "always", "sometimes")
ON_GPU = ("weft.GPU", "GPU")  # conditions that hold wherever something is measured


def digest(root: Path, stem: str, nb: NotebookNode) -> str:
    """Return the digest of what a chapter measures. nb: its solution's notebook."""
    text = json.dumps(sorted(_pieces(root, stem, nb)))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def code(root: Path, stem: str, nb: NotebookNode) -> list[str]:
    """Return the code that a chapter's measurements depend on, piece by piece."""
    return sorted(_pieces(root, stem, nb).values())


def _pieces(root: Path, stem: str, nb: NotebookNode) -> dict[str, str]:
    folder = root / "chapters" / stem
    return Program([*_cells(nb), *modules(folder)]).measured()


def _cells(nb: NotebookNode) -> Iterator[ast.Module]:
    for cell in nb.cells:
        if cell.cell_type != "code" or cell.source.startswith("%%"):
            continue
        yield ast.parse(TransformerManager().transform_cell(cell.source))


def modules(folder: Path) -> Iterator[ast.Module]:
    """Yield the modules of a chapter: `measure.py`, `kernels.py` and others."""
    for path in sorted(folder.rglob("*.py")):
        inside = path.relative_to(folder).parts
        if inside[0] not in ("lab.py", "answers"):
            yield ast.parse(path.read_text(encoding="utf-8"))


@dataclass
class Statement:
    """A simple statement, with the loops and conditions around it.

    names: what the lab passes for each parameter. loop: the statements of the innermost
    loop around it, which may prepare what it measures.
    """

    node: ast.stmt
    headers: tuple[ast.AST, ...]
    names: dict[str, str]
    loop: list[ast.stmt]


@dataclass
class Program:
    """All code of a chapter, as if it were one script."""

    trees: list[ast.Module]

    def measured(self) -> dict[str, str]:
        """Return the pieces of code that a measurement needs, by their keys."""
        plain = Plain(self._modules())
        trees = [plain.visit(tree) for tree in self.trees]
        self.measuring = _measuring(trees)
        self.parameters = _parameters(trees, self.measuring)
        self.passed = _passed(trees, self.parameters)
        self.preparing = _preparing(trees)
        self.statements: list[Statement] = []
        self.definitions: dict[str, list[ast.stmt]] = {}
        for tree in trees:
            self._flatten(tree.body, (), {}, [])
        found: dict[str, str] = {}
        todo: list[str] = []
        for statement in self.statements:
            if any(map(self._is_root, (statement.node, *statement.loop))) and not (
                _claims(statement.node) or _prints(statement.node)
            ):
                self._take(statement, found, todo)
        seen: set[str] = set()
        while todo:
            name = todo.pop()
            if name in seen or name in self.measuring:
                continue
            seen.add(name)
            for definition in self.definitions.get(name, ()):
                found[canonical(definition)] = ast.unparse(definition)
                todo += _free(definition)
            for statement in self.statements:
                if name in _stored(statement.node, statement.names):
                    self._take(statement, found, todo)
        return found

    def _modules(self) -> set[str]:
        """Return the names by which code refers to the chapter's modules."""
        found = {"chapter", "checks", "kernels", "measure"}
        for node in _walk(self.trees):
            match node:
                case ast.Assign(targets=[target], value=value):
                    pairs = [(target, value)]
                    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                        pairs = list(zip(target.elts, value.elts, strict=False))
                    for name, part in pairs:
                        if re.fullmatch(r"chapter\.\w+", ast.unparse(part)):
                            found.add(ast.unparse(name))
                case ast.ImportFrom(level=1, module=None, names=names):
                    found |= {alias.asname or alias.name for alias in names}
        return found

    def _flatten(
        self,
        body: list[ast.stmt],
        headers: tuple[ast.AST, ...],
        names: dict[str, str],
        loop: list[ast.stmt],
    ) -> None:
        for node in body:
            match node:
                case ast.FunctionDef(name=name) if name in self.measuring:
                    self._flatten(node.body, headers, self.passed.get(name, {}), loop)
                case ast.FunctionDef(name=name) if name in self.preparing:
                    self._flatten(node.body[:-1], headers, {}, loop)
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    self.definitions.setdefault(name, []).append(node)
                case ast.If(test=test):
                    tools = _asks(test, "weft.has_tools")
                    on_gpu = ast.unparse(test) in ON_GPU or _asks(test, "weft.on_gpu")
                    inside = headers if tools or on_gpu else (*headers, test)
                    self._flatten(node.body, inside, names, loop)
                    if not tools:  # without them, none of this is measured
                        self._flatten(node.orelse, inside, names, loop)
                case ast.For() | ast.While() | ast.With() | ast.Try():
                    inside = (*headers, *_header(node))
                    self._flatten(node.body, inside, names, node.body)
                case ast.Assign(value=ast.Call() as call) if (
                    _called(call) in self.preparing
                ):
                    continue
                case ast.Assign(targets=[name], value=value) if _same(name, value):
                    continue  # a module's own name, from `name = chapter.kernels.name`
                case _:
                    self.statements.append(Statement(node, headers, names, loop))

    def _is_root(self, node: ast.stmt) -> bool:
        if _claims(node) or isinstance(node, ast.FunctionDef | ast.ClassDef):
            return False
        return any(
            isinstance(part, ast.Call)
            and (_is_measurement(part) or _called(part) in self.measuring)
            for part in ast.walk(node)
        )

    def _take(
        self, statement: Statement, found: dict[str, str], todo: list[str]
    ) -> None:
        """Record a statement and what is around it; add the names that they need."""
        node = Renamed(statement.names).visit(_copy(statement.node))
        for part in filter(None, (self._essence(node), *statement.headers)):
            found[canonical(part)] = ast.unparse(part)
            todo += _free(part)

    def _essence(self, node: ast.stmt) -> ast.AST | None:
        """Return the part of a statement that counts: if it measures, the call."""
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Return(value=None):
                return None
            case (
                ast.Assign(value=ast.Call() as call)
                | ast.Return(value=ast.Call() as call)
                | ast.Expr(value=ast.Call() as call)
            ) if self._is_root(node):
                if _called(call) not in self.measuring:
                    return call
                return None if _passes_names(call) else self._without_names(call)
        return node

    def _without_names(self, call: ast.Call) -> ast.Call:
        """Return a call without arguments that are named as their parameters."""
        short, names = copy.deepcopy(call), self.parameters[_called(call)]
        while short.args and names[len(short.args) - 1 :][:1] == [
            ast.unparse(short.args[-1])
        ]:
            short.args.pop()
        short.keywords = [k for k in short.keywords if ast.unparse(k.value) != k.arg]
        return short


class Plain(ast.NodeTransformer):
    """Drops docstrings, guesses, annotations, and the prefixes of modules."""

    def __init__(self, modules: set[str]) -> None:
        self.modules = modules

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id in self.modules:
            return ast.copy_location(ast.Name(node.attr, node.ctx), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        node.keywords = [k for k in node.keywords if k.arg not in UNMEASURED]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        self.generic_visit(node)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        self.generic_visit(node)
        return node


class Renamed(ast.NodeTransformer):
    """Replaces parameters by what is passed for them."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(
            ast.Name(self.names.get(node.id, node.id), node.ctx), node
        )


def _walk(trees: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for tree in trees:
        yield from ast.walk(tree)


def _copy(node: ast.stmt) -> ast.stmt:
    return copy.deepcopy(node)


def _called(call: ast.Call) -> str:
    """Return the name of the function that is called; "" if it has a prefix."""
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _same(one: ast.expr, other: ast.expr) -> bool:
    return ast.unparse(one) == ast.unparse(other)


def _is_measurement(call: ast.Call) -> bool:
    if ast.unparse(call.func) in ROOTS:
        return True
    return isinstance(call.func, ast.Attribute) and call.func.attr in METHODS


def _asks(test: ast.expr, function: str) -> bool:
    """Return whether a condition calls a function, such as `weft.on_gpu("why")`."""
    return isinstance(test, ast.Call) and ast.unparse(test.func) == function


def _claims(node: ast.stmt) -> bool:
    """Return whether a statement is a claim about a measurement."""
    call = node.value if isinstance(node, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in CLAIMS
    )


def _prints(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and _called(call) in ("print", "display")


def _measuring(trees: list[ast.Module]) -> set[str]:
    """Return the names of the functions that measure, or call one that does."""
    functions = {
        node.name: node
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }
    found: set[str] = set()
    while True:
        more = {
            name
            for name, node in functions.items()
            if name not in found
            and any(
                isinstance(part, ast.Call)
                and (_is_measurement(part) or _called(part) in found)
                for part in ast.walk(node)
            )
        }
        if not more:
            return found
        found |= more


def _preparing(trees: list[ast.Module]) -> set[str]:
    """Return the names of functions that prepare data, as in `x, out = data()`.

    Such a function has no parameters, and returns names that every call assigns to the
    same names.
    """
    returned = {
        node.name: _plain(ast.unparse(value))
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not ast.unparse(node.args)
        if isinstance(last := node.body[-1], ast.Return) and _is_names(last.value)
        if (value := last.value)
    }
    taken = {
        id(node.value): _plain(ast.unparse(node.targets[0]))
        for node in _walk(trees)
        if isinstance(node, ast.Assign)
    }
    calls = [
        (_called(node), taken.get(id(node)))
        for node in _walk(trees)
        if isinstance(node, ast.Call) and _called(node) in returned
    ]
    others = {name for name, names in calls if names != returned[name]}
    return {name for name, _ in calls} - others


def _plain(names: str) -> str:
    return names.strip("()")


def _is_names(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Tuple):
        return all(isinstance(part, ast.Name) for part in value.elts)
    return isinstance(value, ast.Name)


def _parameters(trees: list[ast.Module], measuring: set[str]) -> dict[str, list[str]]:
    """Return the parameters' names of each function that measures."""
    return {
        node.name: [a.arg for a in (*node.args.args, *node.args.kwonlyargs)]
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name in measuring
    }


def _passed(
    trees: list[ast.Module], parameters: dict[str, list[str]]
) -> dict[str, dict[str, str]]:
    """Return the names that are passed for parameters, by function and parameter."""
    found: dict[str, dict[str, str]] = {}
    for node in _walk(trees):
        if not isinstance(node, ast.Call) or _called(node) not in parameters:
            continue
        name = _called(node)
        pairs = [
            *zip(parameters[name], node.args, strict=False),
            *((k.arg, k.value) for k in node.keywords),
        ]
        for parameter, value in pairs:
            if parameter and isinstance(value, ast.Name):
                found.setdefault(name, {})[parameter] = value.id
    return found


def _passes_names(call: ast.Call) -> bool:
    """Return whether all arguments of a call are names, to be renamed inside."""
    given = [*call.args, *(k.value for k in call.keywords)]
    return all(isinstance(value, ast.Name) for value in given)


def _header(node: ast.stmt) -> list[ast.AST]:
    """Return what a loop or a `with` evaluates before its first statement."""
    match node:
        case ast.For(target=target, iter=values):
            return [target, values]
        case ast.While(test=test):
            return [test]
        case ast.With(items=items):
            return [part.context_expr for part in items]
    return []


def canonical(node: ast.AST) -> str:
    """Return a piece of code as text that is the same under every Python version."""
    parts = [type(node).__name__]
    for name in sorted(node._fields):
        value = getattr(node, name, None)
        if name in ("ctx", "kind", "type_comment", "type_params", "simple"):
            continue
        if isinstance(value, ast.AST):
            parts.append(f"{name}={canonical(value)}")
        elif isinstance(value, list):
            inner = [canonical(v) if isinstance(v, ast.AST) else repr(v) for v in value]
            parts += [f"{name}=[{','.join(inner)}]"] if inner else []
        elif value is not None or isinstance(node, ast.Constant):
            parts.append(f"{name}={value!r}")
    return f"({' '.join(parts)})"


def _stored(node: ast.stmt, names: dict[str, str]) -> set[str]:
    """Return the names that a statement gives a value, or whose contents it changes."""
    found = set()
    targets: list[ast.expr] = []
    match node:
        case ast.Assign(targets=several):
            targets = several
        case ast.AugAssign(target=one) | ast.AnnAssign(target=one):
            targets = [one]
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return set() if _claims(node) or name == "weft" else {names.get(name, name)}
    for target in targets:
        for part in ast.walk(target):
            if isinstance(part, ast.Name):
                changed = isinstance(part.ctx, ast.Store) or not isinstance(
                    target, ast.Name
                )
                if changed:
                    found.add(names.get(part.id, part.id))
    return found


def _free(node: ast.AST) -> list[str]:
    """Return the names that a piece of code takes from outside."""
    bound: set[str] = set()
    used: list[str] = []
    for part in ast.walk(node):
        match part:
            case ast.arg(arg=name):
                bound.add(name)
            case ast.Name(id=name, ctx=ast.Store()) if isinstance(
                node, ast.FunctionDef | ast.ClassDef
            ):
                bound.add(name)
            case ast.comprehension(target=target):
                bound |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
            case ast.Name(id=name, ctx=ast.Load()):
                used.append(name)
    return [name for name in dict.fromkeys(used) if name not in bound]
