"""Turn a learner's kernel into a Python function that runs against the simulator.

The function keeps its source positions. Three things change: `cuda`, `math` and
Numba's types in its globals and closure become their simulated twins, device
functions are bound likewise, and every loop counts its steps.
"""

import ast
import inspect
import textwrap
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft import backend, intrinsics
from weft.code_objects import code_tree, global_names, with_globals
from weft.intrinsics import registry
from weft.places import Place
from weft.simulator.language import mathematics, rules, shapes
from weft.simulator.language.instrument import Notes, note
from weft.simulator.language.modules import Cast, NumbaModule, NumpyModule

STEP, LOOP = "__weft_step__", "__weft_loop__"


class Bound:
    """A kernel and the device functions it calls, bound to one simulated `cuda`.

    `call` runs it; `lines` maps every code object of the learner's to its source
    lines, by line number. With `notes` (see `instrument`: what its two names stand for)
    the kernel notes what it does, and `noted` gives the place of each number, and the
    operations of arithmetic there.
    """

    def __init__(
        self,
        fn: types.FunctionType,
        cuda: Any,
        step: Callable[[], bool],
        loop: Callable[[Any], Any],
        refuse: Callable[[str, str], Any],
        notes: dict[str, Any] | None = None,
    ) -> None:
        self.lines: dict[types.CodeType, dict[int, str]] = {}
        self.noted: dict[int, tuple[Place, int]] = {}
        self._notes = notes
        self._cuda, self._step, self._loop, self._refuse = cuda, step, loop, refuse
        self._done: dict[types.FunctionType, types.FunctionType] = {}
        self._builtins = rules.builtins_of_a_kernel(refuse)
        if sum(len(c.notes) for c in _counted.values()) > _MOST_NOTES:
            _counted.clear()  # the numbers begin anew
        self.call = self._bind(fn, kernel=True)

    def _bind(self, fn: types.FunctionType, kernel: bool = False) -> types.FunctionType:
        """The function as it runs here, and so what it calls."""
        if fn in self._done:
            return self._done[fn]
        found = counted(fn, self._notes is not None, kernel)
        code, lines = found.code, found.lines
        for inner in code_tree(code):
            self.lines[inner] = lines
        self.noted.update(enumerate(found.notes, found.first))
        scope = fn.__globals__ | {"__builtins__": self._builtins}
        closure = None
        if fn.__closure__:
            cells = dict(zip(fn.__code__.co_freevars, fn.__closure__, strict=True))
            closure = tuple(types.CellType() for _ in code.co_freevars)
        bound = with_globals(fn, scope, code, closure)
        self._done[fn] = bound  # before its names: it may call itself

        for name in global_names(code) & scope.keys():
            scope[name] = self._twin(name, scope[name])
        scope |= {STEP: self._step, LOOP: self._loop} | (self._notes or {})
        for name, cell in zip(code.co_freevars, closure or (), strict=True):
            cell.cell_contents = self._twin(name, cells[name].cell_contents)
        return bound

    def _twin(self, name: str, value: Any) -> Any:
        """What the kernel finds under a name, given what the host has there."""
        if isinstance(value, types.ModuleType):
            if value.__name__ == "math":
                return mathematics
            if backend.is_cuda(value):
                return self._cuda
            if value.__name__ == "numba":
                return NumbaModule(value, self._cuda)
            if value.__name__ == "numpy":
                return NumpyModule(value, self._refuse)
            if backend.is_libdevice(value):
                return mathematics.Libdevice()
            if value is intrinsics:
                return self._cuda.intrinsics.module()
        if backend.is_number_type(value):
            return Cast(backend.as_dtype(value))
        operation = registry.of(value)
        if operation is not None:
            return self._cuda.intrinsics.form(operation)
        inner = backend.python_function(value)
        if inner is not None:
            return self._bind(inner)
        if is_python(value) and not rules.usable(value):
            return self._not_compiled(name)
        if isinstance(value, np.ndarray):
            return self._cuda._constant(value, name)
        stub = self._cuda.twin_of(value)
        if stub is None and not rules.usable(value):
            return rules.Refused(self._refuse, *rules.described(name, value))
        return value if stub is None else stub

    def _not_compiled(self, name: str) -> Callable[..., Any]:
        def refuse(*_: Any, **__: Any) -> Any:
            return self._refuse(
                f"`{name}` is a plain Python function",
                "A kernel can only call functions that are compiled for the GPU: "
                "decorate it with @cuda.jit(device=True).",
            )

        return refuse


def is_python(value: Any) -> bool:
    return isinstance(value, types.FunctionType)


@dataclass(frozen=True)
class Counted:
    """A function's code with what was put into it, and its source lines.

    `notes` are the places of its notes, numbered from `first`, each with the number
    of arithmetic operations there.
    """

    code: types.CodeType
    lines: dict[int, str]
    first: int = 0
    notes: tuple[tuple[Place, int], ...] = ()


_counted: dict[tuple[types.CodeType, str, bool, bool], Counted] = {}
_MOST_NOTES = 50_000  # in all functions of one launch


def counted(fn: types.FunctionType, noting: bool, kernel: bool) -> Counted:
    """The code of `fn` with loops that count their steps and, if so asked, notes.

    kernel: whether it is one, or a device function. Without source (a function made by
    `exec`) the code is returned as it is.
    """
    file = fn.__code__.co_filename  # two cells may have equal code
    key = fn.__code__, file, noting, kernel
    if key not in _counted:
        _counted[key] = _count(fn, noting, kernel)
    return _counted[key]


def _count(fn: types.FunctionType, noting: bool, kernel: bool) -> Counted:
    code = fn.__code__
    try:
        source, first = inspect.getsourcelines(fn)
        flat = textwrap.dedent("".join(source))
        tree = ast.parse(flat)
    except (OSError, SyntaxError, TypeError):
        return Counted(code, {})
    lines = {first + i: line.rstrip("\n") for i, line in enumerate(source)}
    indent = len(source[0]) - len(flat.splitlines(keepends=True)[0])
    definition = next((n for n in ast.walk(tree) if named(n, fn.__name__)), None)
    if not isinstance(definition, ast.FunctionDef):
        return Counted(code, lines)
    shapes.refuse_unknown(definition, first, lines, kernel)
    rules.refuse(definition, fn.__name__, first, lines)
    definition.decorator_list = []
    definition.returns = None
    for argument in ast.walk(definition.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    last = max((c.first + len(c.notes) for c in _counted.values()), default=0)
    notes = note(definition, last) if noting else Notes()
    CountSteps().visit(definition)
    module = ast.Module([enclose(definition, code.co_freevars)], [])
    ast.fix_missing_locations(module)
    for node in ast.walk(module):
        if isinstance(node, (ast.expr, ast.stmt)):
            node.lineno += first - 1
            node.end_lineno = (node.end_lineno or 1) + first - 1
            node.col_offset += indent
            node.end_col_offset = (node.end_col_offset or 0) + indent
    compiled = compile(module, code.co_filename, "exec", dont_inherit=True)
    found = next(
        c
        for c in code_tree(compiled)
        if c.co_name == fn.__name__
        and c.co_varnames[: c.co_argcount] == code.co_varnames[: code.co_argcount]
    )
    file = fn.__code__.co_filename
    places = [node_place(fn.__name__, node, lines, file) for node in notes.nodes]
    noted = tuple(zip(places, notes.flops, strict=True))
    return Counted(found, lines, notes.first, noted)


def node_place(
    function: str, node: ast.expr, lines: dict[int, str], file: str
) -> Place:
    """The source place of a node whose lines count as the learner's do."""
    full = lines.get(node.lineno, "")
    expression = ""
    if node.end_lineno == node.lineno:
        part = full.encode()[node.col_offset : node.end_col_offset]
        expression = part.decode(errors="replace")
    return Place(function, node.lineno, full.strip(), expression, file)


def named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == name


def enclose(definition: ast.FunctionDef, free: tuple[str, ...]) -> ast.FunctionDef:
    """Wrap `definition` so that its free variables are free again."""
    if not free:
        return definition
    outer = ast.parse(f"def __weft_scope__({', '.join(free)}): pass").body[0]
    assert isinstance(outer, ast.FunctionDef)
    outer.body = [definition]
    return outer


class CountSteps(ast.NodeTransformer):
    """Make `while test` `while step() and test`, and `for x in y` `… in loop(y)`."""

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        step = ast.Call(ast.Name(STEP, ast.Load()), [], [])
        test = ast.BoolOp(ast.And(), [step, node.test])
        for new in (step, step.func, test):
            ast.copy_location(new, node.test)
        node.test = test
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        call = ast.Call(ast.Name(LOOP, ast.Load()), [node.iter], [])
        for new in (call, call.func):
            ast.copy_location(new, node.iter)
        node.iter = call
        return node
