"""The learner's source with what the simulator puts into it; places stay as they are.

Arithmetic becomes Numba's, see `lowering`. Every loop counts its steps, see `loops`.
Where a thread can wait it gives way to the others, see `waiting`. A traced kernel also
notes what it does, see `instrument`.
"""

import ast
import inspect
import linecache
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from weft import meaning
from weft.code_objects import code_tree
from weft.places import Place
from weft.simulator.inference.kinds import REFUSED, Kind
from weft.simulator.inference.statements import Function
from weft.simulator.language import forms, loops, rules, shapes, waiting
from weft.simulator.language.instrument import Notes, note
from weft.simulator.language.lambdas import at_its_place, from_lambda, parsed
from weft.simulator.language.lowering import Lower

_MOST_NOTES = 50_000  # in all functions of one launch


@dataclass(frozen=True)
class Rewritten:
    """A function's code with what was put into it, and its source lines.

    `notes` are the places of its notes, numbered from `first`, each with the number
    of arithmetic operations there. `helpers` are the names of arithmetic in the code;
    `devices` are those of device functions, each with the kinds of its arguments.
    `returned` is what the function returns. One that `waits` is a generator.
    """

    code: CodeType
    lines: dict[int, str]
    first: int = 0
    notes: tuple[tuple[Place, int], ...] = ()
    helpers: frozenset[str] = frozenset()
    devices: tuple[tuple[str, Any, tuple[Kind, ...]], ...] = ()
    returned: Kind = None

    @property
    def waits(self) -> bool:
        return bool(self.code.co_flags & inspect.CO_GENERATOR)


# What becomes of a device function for such arguments; None while that goes on.
Device = Callable[[Any, tuple[Kind, ...]], Rewritten | None]
Returned = Callable[[Any, tuple[Kind, ...]], Kind]
Scope = dict[str, Any]
_known: dict[tuple[Any, ...], Rewritten] = {}


def begin() -> None:
    """Begin a launch: where there are very many notes, number them from 0 again."""
    if sum(len(one.notes) for one in _known.values()) > _MOST_NOTES:
        _known.clear()


def rewritten(
    fn: FunctionType,
    given: tuple[Kind, ...],
    scope: Scope,
    device: Device,
    returns: Returned,
    noting: bool,
    kernel: bool,
) -> Rewritten:
    """The code of `fn` with Numba's arithmetic, counted loops and, if so asked, notes.

    given: what its arguments are. scope: what its names stand for outside. device:
    rewrites what it calls, `returns` says what that returns. kernel: whether it is one,
    or a device function. Raises `Fault` for what Numba refuses, and for a function
    without source, as `exec` makes it.
    """
    file = fn.__code__.co_filename  # two cells may have equal code
    key: tuple[Any, ...] = fn.__code__, file, noting, kernel, given, _seen(fn, set())
    if key not in _known:
        _known[key] = _rewrite(fn, given, scope, device, returns, noting, kernel)
    return _known[key]


def _seen(fn: FunctionType, known: set[FunctionType]) -> tuple[Any, ...]:
    """The values outside on which the rewriting of a function depends.

    Those of a device function that it calls are among them, but for the ones `known`.
    """
    known.add(fn)
    scope = loops.names_of(fn)
    names = [name for code in code_tree(fn.__code__) for name in code.co_names]
    found = {
        name: scope[name]
        for name in (*names, *fn.__code__.co_freevars)
        if name in scope
    }
    inner = [meaning.python_function(value) for value in found.values()]
    return (
        *((name, type(value), _stands_for(value)) for name, value in found.items()),
        *(_seen(each, known) for each in inner if each and each not in known),
    )


def _stands_for(value: Any) -> Any:
    """What distinguishes a value from outside from others of its type."""
    if isinstance(value, (int, float, str, np.generic)):
        return value
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim
    if isinstance(value, tuple):
        return tuple((type(part), _stands_for(part)) for part in value)
    return Same(value)


class Same:
    """Equal to another that holds the very same thing, which it keeps alive."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)


def _rewrite(
    fn: FunctionType,
    given: tuple[Kind, ...],
    scope: Scope,
    device: Device,
    returns: Returned,
    noting: bool,
    kernel: bool,
) -> Rewritten:
    """See `rewritten`."""
    name, code = fn.__name__, fn.__code__

    def waits(value: Any, args: tuple[Kind, ...]) -> bool | None:
        found = device(value, args)
        return None if found is None else found.waits

    try:
        source, first = inspect.getsourcelines(fn)
        flat = textwrap.dedent("".join(source))
        tree = FoldPowers().visit(ast.parse(flat))
    except (OSError, SyntaxError, TypeError):
        if name != "<lambda>":
            rules.refuse_code(code, name, {})
            raise rules.without_source(name, kernel) from None
        source, first, flat, tree = [], 1, "\n", ast.Module([], [])
    lines = {first + i: line.rstrip("\n") for i, line in enumerate(source)}
    definition: ast.AST | None
    if name == "<lambda>":
        name, definition = "__weft_lambda__", from_lambda(tree, code)
        if definition is None:  # its lines alone are no Python, or hold several
            source, first = linecache.getlines(code.co_filename) or ["\n"], 1
            flat = "".join(source)
            lines = {k: line.rstrip("\n") for k, line in enumerate(source, 1)}
            definition = at_its_place(FoldPowers().visit(parsed(flat)), code)
        if definition is None:  # nobody knows its source
            rules.refuse_code(code, name, lines)
            if waiting.waits_in(code, scope, waits):
                raise rules.without_source(fn.__name__, kernel)
            return Rewritten(with_float64(code), lines)
    else:
        definition = next((n for n in ast.walk(tree) if named(n, name)), None)
    if not isinstance(definition, ast.FunctionDef):
        rules.refuse_code(code, name, lines)
        raise rules.without_source(name, kernel)
    indent = len(source[0]) - len(flat.splitlines(keepends=True)[0])
    shapes.refuse_unknown(definition, first, lines, kernel)
    rules.refuse(definition, name, first, lines)
    loops.mark(definition, fn, first)
    undecorate(definition)
    defaults = fn.__defaults__ or ()
    inferred = Function(
        definition, given, scope, defaults, lambda kind, args: returns(kind.value, args)
    )
    if inferred.defines_functions:
        forms.put_in(definition)
    waiting.mark(definition, scope, waits)
    # What it calls has been rewritten by now, and has numbers of its own.
    last = max((one.first + len(one.notes) for one in _known.values()), default=0)
    notes = note(definition, last) if noting else Notes()
    devices: list[tuple[str, Any, tuple[Kind, ...]]] = []
    lower = Lower(lambda value, kinds: _device(devices, value, kinds))
    lower.visit(definition)
    loops.CountSteps().visit(definition)
    waiting.GiveWay().visit(definition)
    module = ast.Module([enclose(definition, code.co_freevars)], [])
    shift(module, first - 1, indent)
    compiled = compile(module, code.co_filename, "exec", dont_inherit=True)
    arguments = code.co_varnames[: code.co_argcount]
    found = next(
        c
        for c in code_tree(compiled)
        if c.co_name == name and c.co_varnames[: c.co_argcount] == arguments
    )
    places = [node_place(name, node, lines, code.co_filename) for node in notes.nodes]
    noted = tuple(zip(places, notes.flops, strict=True))
    return Rewritten(
        with_float64(found),
        lines,
        notes.first,
        noted,
        frozenset(lower.names),
        tuple(devices),
        inferred.returned,
    )


def returned_by(
    fn: FunctionType,
    given: tuple[Kind, ...],
    scope: Scope,
    returns: Returned,
) -> Kind:
    """What `fn` returns, as far as that takes no more than a look at its source."""
    try:
        tree = FoldPowers().visit(ast.parse(textwrap.dedent(inspect.getsource(fn))))
    except (OSError, SyntaxError, TypeError):
        return REFUSED
    definition = next((n for n in ast.walk(tree) if named(n, fn.__name__)), None)
    if not isinstance(definition, ast.FunctionDef):
        return REFUSED
    undecorate(definition)
    defaults = fn.__defaults__ or ()
    return Function(
        definition, given, scope, defaults, lambda kind, args: returns(kind.value, args)
    ).returned


def _device(
    devices: list[tuple[str, Any, tuple[Kind, ...]]],
    value: Any,
    kinds: tuple[Kind, ...],
) -> str:
    """The name by which a function calls a device function with such arguments."""
    for name, known, given in devices:
        if known is value and given == kinds:
            return name
    devices.append((f"__weft_device_{len(devices)}__", value, kinds))
    return devices[-1][0]


def with_float64(code: CodeType) -> CodeType:
    """The code with its floats as NumPy's, which no operation narrows or refuses."""
    return code.replace(co_consts=tuple(_as_numpys(value) for value in code.co_consts))


def _as_numpys(value: Any) -> Any:
    if isinstance(value, CodeType):
        return with_float64(value)
    if type(value) is float:
        return np.float64(value)
    return tuple(_as_numpys(v) for v in value) if type(value) is tuple else value


def undecorate(definition: ast.FunctionDef) -> None:
    """Leave out what is evaluated when the function is defined."""
    definition.decorator_list = []
    definition.returns = None
    for argument in ast.walk(definition.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None


def shift(module: ast.Module, lines: int, columns: int) -> None:
    """Let the places in `module` count as in the learner's file."""
    ast.fix_missing_locations(module)
    for node in ast.walk(module):
        if isinstance(node, (ast.expr, ast.stmt)):
            node.lineno += lines
            node.end_lineno = (node.end_lineno or 1) + lines
            node.col_offset += columns
            node.end_col_offset = (node.end_col_offset or 0) + columns


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


class FoldPowers(ast.NodeTransformer):
    """Replace a number to a negative power, both written down, by its value.

    Numba sees `2**-24` as the float that Python's compiler has made of it; as an
    operation on two integers it would be 0.
    """

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        power = node.right
        if not isinstance(node.op, ast.Pow) or not isinstance(power, ast.UnaryOp):
            return node
        base, size = _number(node.left), _number(power.operand)
        if not isinstance(power.op, ast.USub) or not base or size is None:
            return node
        try:
            value = base**-size
        except OverflowError:
            return node
        return ast.copy_location(ast.Constant(value), node)


def _number(node: ast.expr) -> Any:
    """The number that a constant is; None for anything else."""
    value = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
    return value if type(value) in (int, float) else None
