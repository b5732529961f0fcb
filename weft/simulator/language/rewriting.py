"""Rewrite the learner's source for the simulator, keeping all source positions.

Numbers become plain Python numbers, and array accesses become checked ones (see
`translation`); a traced kernel also records what it does. Every loop counts its
iterations (see `loops`). Where a thread can wait, it yields to the others (see
`waiting`).
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from weft import meaning
from weft.code_objects import code_tree, nodes_of
from weft.places import Place
from weft.simulator.inference.kinds import REFUSED, Kind
from weft.simulator.inference.statements import Function
from weft.simulator.language import forms, loops, rules, shapes, waiting
from weft.simulator.language.sources import Source, defined
from weft.simulator.translation.made import Access, Body, Given, Position, Scope
from weft.simulator.translation.notes import MarkArithmetic, Noting, Spotted
from weft.simulator.translation.statements import Statements

_MOST_NOTES = 50_000  # notes in all functions of one launch


@dataclass(frozen=True)
class Rewritten:
    """A rewritten function's code, its source lines, and what the code refers to.

    `notes` are the places of its notes (see `translation.notes`), numbered from
    `first`, each with the number of arithmetic operations there. `helpers` are the
    values of the names that its arithmetic uses; `devices` are the names of device
    functions, each with the function and the kinds of its arguments. `returned` is the
    kind of its result. If it `waits`, the function is a generator. `accesses` maps
    places in the source to what is accessed there. `spots` describes each note that is
    the number of an element, and has None for all other notes. `given` lists the
    parameters that a kernel has before its own.
    """

    code: CodeType
    lines: dict[int, str]
    first: int = 0
    notes: tuple[tuple[Place, int], ...] = ()
    helpers: dict[str, Any] = field(default_factory=dict)
    devices: tuple[tuple[str, Any, tuple[Kind, ...]], ...] = ()
    returned: Kind = None
    accesses: dict[Position, Access] = field(default_factory=dict)
    spots: tuple[Spotted | None, ...] = ()
    given: tuple[Given, ...] = ()

    @property
    def waits(self) -> bool:
        return bool(self.code.co_flags & inspect.CO_GENERATOR)


# Returns a device function rewritten for these kinds; None while that is in progress.
Device = Callable[[Any, tuple[Kind, ...]], Rewritten | None]
Returned = Callable[[Any, tuple[Kind, ...]], Kind]
Callees = tuple[Device, Returned]
_known: dict[tuple[Any, ...], Rewritten] = {}
_notes = 0  # the number after the last known note


def begin() -> None:
    """Begin a launch: if there are very many notes, discard all rewritten functions."""
    if _notes > _MOST_NOTES:
        forget()


def forget() -> None:
    """Discard all rewritten functions, so that they are rewritten on their next use."""
    global _notes
    _notes = 0
    _known.clear()


def rewritten(
    fn: FunctionType,
    given: tuple[Kind, ...],
    scope: Scope,
    callees: Callees,
    noting: Noting,
    kernel: bool,
    change: type[ast.NodeTransformer] | None = None,
) -> Rewritten:
    """Rewrite `fn` with Numba's arithmetic, counted loops and, on request, notes.

    given: the kinds of its arguments. scope: the values of the outside names it uses.
    callees: functions that rewrite what it calls, and infer the results. kernel:
    whether it is a kernel rather than a device function. change: a further change to
    its source. Raises `Fault` for what Numba refuses, and for a function without
    source, such as one made by `exec`.
    """
    global _notes
    file = fn.__code__.co_filename  # two cells may have equal code
    how = noting, kernel, change
    key: tuple[Any, ...] = fn.__code__, file, how, given, _seen(fn, set())
    if key not in _known:
        _known[key] = new = _rewrite(fn, given, scope, callees, *how)
        _notes = max(_notes, new.first + len(new.notes))
    return _known[key]


def _seen(fn: FunctionType, known: set[FunctionType]) -> tuple[Any, ...]:
    """Return the values from outside a function on which its rewriting depends.

    Includes the values for the device functions that it calls, except the `known` ones.
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
    """Return what rewriting depends on in an outside value, apart from its type."""
    if isinstance(value, (int, float, str, np.generic)):
        return value
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim
    if isinstance(value, tuple):
        return tuple((type(part), _stands_for(part)) for part in value)
    return Same(value)


class Same:
    """A wrapper that keeps an object alive and equals any other wrapper of it."""

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
    callees: Callees,
    noting: Noting,
    kernel: bool,
    change: type[ast.NodeTransformer] | None,
) -> Rewritten:
    """Rewrite `fn` as `rewritten` does, without looking for an earlier result."""
    code, (device, returns) = fn.__code__, callees

    def waits(value: Any, args: tuple[Kind, ...]) -> bool | None:
        found = device(value, args)
        return None if found is None else found.waits

    source = Source.of(fn, FoldConstants(), kernel)
    if source.definition is None:  # a lambda without a known source
        rules.refuse_code(code, "__weft_lambda__", source.lines)
        if waiting.waits_in(code, scope, waits):
            raise rules.without_source(fn.__name__, kernel)
        return Rewritten(code, source.lines)
    definition, lines, first = source.definition, source.lines, source.first
    if change is not None:
        definition = ast.fix_missing_locations(change().visit(definition))
    shapes.refuse_unknown(definition, first, lines, kernel)
    rules.refuse(definition, definition.name, first, lines)
    loops.mark(definition, fn, first)
    undecorate(definition)
    defaults = fn.__defaults__ or ()
    inferred = Function(
        definition, given, scope, defaults, lambda kind, args: returns(kind.value, args)
    )
    if inferred.defines_functions:
        forms.put_in(definition)
    waiting.mark(definition, scope, waits)
    # What it calls has been rewritten by now, and has its own numbers.
    last = _notes
    if noting is not Noting.NONE:
        MarkArithmetic().visit(definition)
    body = Body(definition, scope, last, noting, kernel)
    made = Statements(body, definition).made
    loops.CountSteps().visit(definition)
    waiting.GiveWay(kernel).visit(definition)
    found = compiled(definition, code, source)
    places = [source.place(at, code.co_filename) for at in body.numbered]
    return Rewritten(
        found,
        lines,
        last,
        tuple(zip(places, body.flops, strict=True)),
        made.helpers,
        tuple(body.devices),
        inferred.returned,
        {source.moved(at): access for at, access in made.accesses.items()},
        tuple(body.spots),
        tuple(made.given),
    )


def compiled(definition: ast.FunctionDef, code: CodeType, source: Source) -> CodeType:
    """Compile a definition, with positions as in the learner's file.

    code: the code of the original function.
    """
    module = ast.Module([enclose(definition, code.co_freevars)], [])
    shift(module, source.first - 1, source.indent)
    made = compile(module, code.co_filename, "exec", dont_inherit=True)
    own = [*definition.args.posonlyargs, *definition.args.args]
    arguments = tuple(argument.arg for argument in own)
    return next(
        c
        for c in code_tree(made)
        if c.co_name == definition.name and c.co_varnames[: c.co_argcount] == arguments
    )


def returned_by(
    fn: FunctionType,
    given: tuple[Kind, ...],
    scope: Scope,
    returns: Returned,
) -> Kind:
    """Infer the kind of `fn`'s result, or return REFUSED if `fn` has no source."""
    found = looked_at(fn, given, scope, returns)
    return REFUSED if found is None else found[1]


def looked_at(
    fn: FunctionType,
    given: tuple[Kind, ...],
    scope: Scope,
    returns: Returned,
) -> tuple[ast.FunctionDef, Kind] | None:
    """Return the tree of `fn`, with kinds marked on its nodes, and its result's kind.

    Returns None if there is no source. Line 1 of the tree is the function's first line.
    """
    try:
        tree = FoldConstants().visit(ast.parse(textwrap.dedent(inspect.getsource(fn))))
    except (OSError, SyntaxError, TypeError):
        return None
    definition = defined(tree, fn.__name__)
    if definition is None:
        return None
    undecorate(definition)
    defaults = fn.__defaults__ or ()
    inferred = Function(
        definition, given, scope, defaults, lambda kind, args: returns(kind.value, args)
    )
    return definition, inferred.returned


def undecorate(definition: ast.FunctionDef) -> None:
    """Remove a function's decorators and annotations."""
    definition.decorator_list = []
    definition.returns = None
    for argument in nodes_of(definition.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None


def shift(module: ast.Module, lines: int, columns: int) -> None:
    """Shift the positions in `module` to those of the learner's file."""
    ast.fix_missing_locations(module)
    for node in nodes_of(module):
        if isinstance(node, (ast.expr, ast.stmt)):
            node.lineno += lines
            node.end_lineno = (node.end_lineno or 1) + lines
            node.col_offset += columns
            node.end_col_offset = (node.end_col_offset or 0) + columns


def enclose(definition: ast.FunctionDef, free: tuple[str, ...]) -> ast.FunctionDef:
    """Wrap `definition` in a function whose parameters are the names `free`, if any."""
    if not free:
        return definition
    outer = ast.parse(f"def __weft_scope__({', '.join(free)}): pass").body[0]
    assert isinstance(outer, ast.FunctionDef)
    outer.body = [definition]
    return outer


class FoldConstants(ast.NodeTransformer):
    """Replaces an operation on literal numbers with its result, as Python does.

    Numba sees only the result: `2**-24` is a float, although as an operation on two
    integers it would be 0. `1 << 63` is a uint64, and `~True` is -2.
    """

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if _is_number(node.left) and _is_number(node.right):
            return _folded(node)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        folds = isinstance(node.op, (ast.Invert, ast.UAdd))  # a `-` is left as written
        return _folded(node) if folds and _is_number(node.operand) else node


def _is_number(node: ast.expr) -> bool:
    """Return whether a node is a literal number, perhaps after `+`, `-` or `~`."""
    if isinstance(node, ast.UnaryOp):
        return not isinstance(node.op, ast.Not) and _is_number(node.operand)
    return isinstance(node, ast.Constant) and type(node.value) in (bool, int, float)


def _folded(node: ast.expr) -> ast.expr:
    value = shapes.constant(node)
    return node if value is None else ast.copy_location(ast.Constant(value), node)
