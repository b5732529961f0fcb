"""The learner's source with what the simulator puts into it; places stay as they are.

Every loop counts its steps: `while test` becomes `while step() and test`, `for x in y`
becomes `for x in loop(y)`. A traced kernel also notes what it does, see `instrument`.
"""

import ast
import inspect
import textwrap
from dataclasses import dataclass
from types import CodeType, FunctionType

from weft.code_objects import code_tree
from weft.places import Place
from weft.simulator.language import rules, shapes
from weft.simulator.language.instrument import Notes, note

STEP, LOOP = "__weft_step__", "__weft_loop__"

_MOST_NOTES = 50_000  # in all functions of one launch


@dataclass(frozen=True)
class Rewritten:
    """A function's code with what was put into it, and its source lines.

    `notes` are the places of its notes, numbered from `first`, each with the number
    of arithmetic operations there.
    """

    code: CodeType
    lines: dict[int, str]
    first: int = 0
    notes: tuple[tuple[Place, int], ...] = ()


_known: dict[tuple[CodeType, str, bool, bool], Rewritten] = {}


def begin() -> None:
    """Begin a launch: where there are very many notes, number them from 0 again."""
    if sum(len(one.notes) for one in _known.values()) > _MOST_NOTES:
        _known.clear()


def rewritten(fn: FunctionType, noting: bool, kernel: bool) -> Rewritten:
    """The code of `fn` with loops that count their steps and, if so asked, notes.

    kernel: whether it is one, or a device function. Without source (a function made by
    `exec`) the code is returned as it is. Raises `Fault` for what Numba refuses.
    """
    file = fn.__code__.co_filename  # two cells may have equal code
    key = fn.__code__, file, noting, kernel
    if key not in _known:
        _known[key] = _rewrite(fn, noting, kernel)
    return _known[key]


def _rewrite(fn: FunctionType, noting: bool, kernel: bool) -> Rewritten:
    """See `rewritten`."""
    name, code = fn.__name__, fn.__code__
    try:
        source, first = inspect.getsourcelines(fn)
        flat = textwrap.dedent("".join(source))
        tree = ast.parse(flat)
    except (OSError, SyntaxError, TypeError):
        rules.refuse_code(code, name, {})
        return Rewritten(code, {})
    lines = {first + i: line.rstrip("\n") for i, line in enumerate(source)}
    indent = len(source[0]) - len(flat.splitlines(keepends=True)[0])
    definition = next((n for n in ast.walk(tree) if named(n, name)), None)
    if not isinstance(definition, ast.FunctionDef):
        rules.refuse_code(code, name, lines)
        return Rewritten(code, lines)
    shapes.refuse_unknown(definition, first, lines, kernel)
    rules.refuse(definition, name, first, lines)
    undecorate(definition)
    last = max((one.first + len(one.notes) for one in _known.values()), default=0)
    notes = note(definition, last) if noting else Notes()
    CountSteps().visit(definition)
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
    return Rewritten(found, lines, notes.first, noted)


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
