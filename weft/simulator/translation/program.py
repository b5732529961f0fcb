"""A kernel and the functions that it calls, translated for arguments of given kinds."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

from weft import backend
from weft.code_objects import code_tree
from weft.places import Place
from weft.simulator.inference.kinds import Arr, Kind
from weft.simulator.inference.outside import kind_of
from weft.simulator.inference.statements import Function as Inferred
from weft.simulator.language import loops, rules, shapes
from weft.simulator.language.rewriting import FoldPowers, named, shift, undecorate
from weft.simulator.translation import numbers, syntax
from weft.simulator.translation.expressions import kind
from weft.simulator.translation.signs import Signs
from weft.simulator.translation.spots import Spot, Spots
from weft.simulator.translation.statements import Statements


@dataclass
class Translated:
    """A function as it runs: `waits` says whether it is a generator."""

    name: str
    code: CodeType | None = None
    waits: bool = False
    returned: Kind = None
    helpers: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    fn: Any = None
    source: str = ""


class Context:
    """What the translation of one function asks of the rest."""

    def __init__(
        self, program: "Program", fn: FunctionType, lines: dict[int, str],
        scope: dict[str, Any], kernel: bool,
    ) -> None:
        self.program, self.fn, self.lines, self.scope = program, fn, lines, scope
        self.kernel, self.noting = kernel, program.noting
        self.arrays: dict[str, Arr] = {}
        self.contiguous: set[str] = set()
        self.local: set[str] = set()
        self.outside: set[str] = set()

    def spot(self, node: Any, **about: Any) -> int:
        line = self.lines.get(node.lineno, "")
        text = ""
        if node.end_lineno == node.lineno:
            part = line.encode()[node.col_offset : node.end_col_offset]
            text = part.decode(errors="replace")
        place = Place(
            self.fn.__name__, node.lineno, line.strip(), text,
            self.fn.__code__.co_filename,
        )
        return self.program.spots.add(Spot(place, **about))

    def device(self, value: Any, kinds: tuple[Kind, ...]) -> tuple[str, bool]:
        found = self.program.device(value, kinds)
        return found.name, found.waits

    def unknown(self, node: ast.AST) -> None:
        self.program.unknown.append((self.fn.__name__, ast.unparse(node)))

    def name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.local and node.id in self.scope:
            value = self.scope[node.id]
            if type(value) in (int, float, bool):
                return syntax.constant(value, node)
            self.outside.add(node.id)
        return node

    def constant(self, node: ast.expr | None) -> int | None:
        """The integer that an expression always is."""
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.constant(node.operand)
            return None if inner is None else -inner
        if isinstance(node, ast.Name) and node.id not in self.local:
            value = self.scope.get(node.id)
            return value if type(value) is int else None
        return None

    def is_local(self, name: str) -> bool:
        return name in self.local

    def is_array(self, name: str) -> bool:
        return name in self.arrays

    def ndim_of(self, name: str) -> int:
        return self.arrays[name].ndim

    def is_contiguous(self, name: str) -> bool:
        return name in self.contiguous


class Program:
    """Translates a kernel, and what it calls, for arguments of given kinds."""

    def __init__(
        self, fn: FunctionType, given: tuple[Kind, ...], contiguous: tuple[bool, ...],
        noting: bool,
    ) -> None:
        self.noting = noting
        self.spots = Spots()
        self.unknown: list[tuple[str, str]] = []
        self._done: dict[Any, Translated] = {}
        self._contiguous = contiguous
        self.lines: dict[CodeType, dict[int, str]] = {}
        self.kernel = self._translate(fn, given, kernel=True)

    @property
    def functions(self) -> list[Translated]:
        return list(self._done.values())

    def device(self, value: Any, kinds: tuple[Kind, ...]) -> Translated:
        fn = backend.python_function(value)
        assert fn is not None
        return self._translate(fn, kinds)

    def _returned(self, value: Any, kinds: tuple[Kind, ...]) -> Kind:
        fn = backend.python_function(value)
        return None if fn is None else self._translate(fn, kinds).returned

    def _translate(
        self, fn: FunctionType, given: tuple[Kind, ...], kernel: bool = False
    ) -> Translated:
        form = fn, given
        if form in self._done:
            return self._done[form]
        number = len(self._done)
        name = fn.__name__ if kernel else f"__device_{number}"
        made = self._done[form] = Translated(name)  # it may call itself
        cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
        scope = fn.__globals__ | {n: c.cell_contents for n, c in cells}
        definition, lines, first, indent = definition_of(fn, kernel)
        module = ast.Module([definition], [])
        shift(module, first - 1, indent)
        inferred = Inferred(
            definition, given, scope, fn.__defaults__ or (),
            lambda kind, args: self._returned(kind.value, args),
        )
        made.returned = inferred.returned
        context = Context(self, fn, lines, scope, kernel)
        arguments = [a.arg for a in definition.args.args]
        context.local = set(arguments) | {
            n.id for n in ast.walk(definition)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        for node in ast.walk(definition):
            if isinstance(node, ast.Name) and isinstance(kind(node), Arr):
                context.arrays[node.id] = kind(node)  # type: ignore[assignment]
        stored = {
            n.id for n in ast.walk(definition)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        if kernel:
            context.contiguous = {
                n for n, c in zip(arguments, self._contiguous, strict=False)
                if c and n not in stored
            }
        for node in ast.walk(definition):
            match node:
                case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call() as call):
                    once = sum(
                        isinstance(n, ast.Name) and n.id == target
                        and isinstance(n.ctx, ast.Store) for n in ast.walk(definition)
                    )
                    if once == 1 and shapes.declared(call):
                        context.contiguous.add(target)

        def number_outside(name: str) -> int | None:
            value = None if name in context.local else scope.get(name)
            return value if type(value) is int else None

        signs = Signs(definition, number_outside)
        translator = Statements(context, signs)
        translated = translator.function(definition)
        translated.name = name
        module = ast.Module([translated], [])
        made.source = ast.unparse(module)
        compiled = compile(module, fn.__code__.co_filename, "exec", dont_inherit=True)
        made.code = next(c for c in code_tree(compiled) if c.co_name == name)
        for inner in code_tree(made.code):
            self.lines[inner] = lines
        made.waits = translator.waits
        made.helpers = translator.helpers
        made.names = context.outside
        made.fn = fn
        return made

    def bound(self, run: dict[str, Any]) -> FunctionType:
        """The kernel as it runs in a launch.

        run: what the launch gives, such as `__shared` and `__atomic_add`.
        """
        functions = self.functions
        scope_of_devices: dict[str, Any] = {}
        result = None
        for one in functions:
            assert one.code is not None
            scope: dict[str, Any] = {"__builtins__": BUILTINS, **run}
            scope |= {name: HELPERS.get(name) or numbers.helper(name) for name in one.helpers}
            scope |= {name: outside(self.scope_value(one.fn, name)) for name in one.names}
            made = FunctionType(one.code, scope, one.name)
            if one.name.startswith("__device"):
                scope_of_devices[f"__{one.name.removeprefix('__')}"] = made
            else:
                result = made
            one_scope = scope
            one_scope["__all__"] = None
        for one_made in [result, *scope_of_devices.values()]:
            one_made.__globals__.update(scope_of_devices)  # type: ignore[union-attr]
        assert result is not None
        return result

    @staticmethod
    def scope_value(fn: FunctionType, name: str) -> Any:
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
        return cells[name].cell_contents if name in cells else fn.__globals__[name]


def outside(value: Any) -> Any:
    """A value from outside a kernel as the kernel has it."""
    import numpy as np

    from weft.simulator.translation.host import constant

    if isinstance(value, np.ndarray):
        return constant(value)
    if isinstance(value, np.generic):
        return value.item()
    if type(value) is tuple:
        return tuple(map(outside, value))
    return value


def below(index: int) -> Any:
    raise Below(index)


class Below(IndexError):
    """A negative index, which Python would count from the end."""


HELPERS: dict[str, Any] = {"__pure_below": below, "__pure_min": min, "__pure_max": max}
BUILTINS: dict[str, Any] = {
    n: __builtins__[n] if isinstance(__builtins__, dict) else getattr(__builtins__, n)
    for n in ("range", "len", "slice", "enumerate", "zip", "print", "min", "max", "abs",
              "AssertionError", "tuple", "int", "float", "bool", "sum", "divmod", "round", "pow")
}


def definition_of(
    fn: FunctionType, kernel: bool
) -> tuple[ast.FunctionDef, dict[int, str], int, int]:
    """A function's syntax tree, its source lines, its first line and indentation."""
    name = fn.__name__
    source, first = inspect.getsourcelines(fn)
    flat = textwrap.dedent("".join(source))
    tree = FoldPowers().visit(ast.parse(flat))
    lines = {first + i: line.rstrip("\n") for i, line in enumerate(source)}
    indent = len(source[0]) - len(flat.splitlines(keepends=True)[0])
    definition = next(n for n in ast.walk(tree) if named(n, name))
    assert isinstance(definition, ast.FunctionDef)
    shapes.refuse_unknown(definition, first, lines, kernel)
    rules.refuse(definition, name, first, lines)
    loops.mark(definition, fn, first)
    undecorate(definition)
    return definition, lines, first, indent
