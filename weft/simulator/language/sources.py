"""The source of a function: its syntax tree, its lines, and where they are."""

import ast
import inspect
import linecache
import textwrap
from dataclasses import dataclass
from types import CodeType, FunctionType

from weft.code_objects import nodes_of
from weft.places import Place
from weft.simulator.language import rules
from weft.simulator.translation.made import Position


@dataclass
class Source:
    """The source of a function.

    Lines of its `definition` are counted from 1; in the learner's file, the first of
    its `lines` is line `first`. `indent` is the number of columns removed from each
    line. The `definition` of a `lambda` is a function with a `return`, or None if the
    `lambda` cannot be found.
    """

    definition: ast.FunctionDef | None
    lines: dict[int, str]
    first: int = 1
    indent: int = 0

    @classmethod
    def of(
        cls, fn: FunctionType, change: ast.NodeTransformer, kernel: bool
    ) -> "Source":
        """Read the source of a function, and apply `change` to its tree.

        Raises `Fault` for a function without source, such as one made by `exec`, but
        not for a `lambda`.
        """
        name, code = fn.__name__, fn.__code__
        try:
            source, first = inspect.getsourcelines(fn)
            flat = textwrap.dedent("".join(source))
            tree = change.visit(ast.parse(flat))
        except (OSError, SyntaxError, TypeError):
            if name != "<lambda>":
                rules.refuse_code(code, name, {})
                raise rules.without_source(name, kernel) from None
            source, first, flat, tree = [], 1, "\n", ast.Module([], [])
        if name == "<lambda>":
            definition = from_lambda(tree, code)
            # its lines alone are not valid Python, or contain several lambdas
            if definition is None:
                source, first = linecache.getlines(code.co_filename) or ["\n"], 1
                flat = "".join(source)
                definition = at_its_place(change.visit(parsed(flat)), code)
        else:
            definition = defined(tree, name)
        lines = {first + i: line.rstrip("\n") for i, line in enumerate(source)}
        if definition is None and name != "<lambda>":
            rules.refuse_code(code, name, lines)
            raise rules.without_source(name, kernel)
        indent = (
            len(source[0]) - len(flat.splitlines(keepends=True)[0]) if source else 0
        )
        return cls(definition, lines, first, indent)

    def moved(self, at: Position) -> Position:
        """Convert a position in the definition to one in the learner's file."""
        line, end, start, stop = at
        down = self.first - 1
        return line + down, end + down, start + self.indent, stop + self.indent

    def place(self, at: Position, file: str) -> Place:
        """Return the place in `file` of an expression in the definition."""
        line, end, start, stop = self.moved(at)
        full = self.lines.get(line, "")
        expression = ""
        if end == line:
            expression = full.encode()[start:stop].decode(errors="replace")
        assert self.definition is not None
        return Place(self.definition.name, line, full.strip(), expression, file)


def defined(tree: ast.AST, name: str) -> ast.FunctionDef | None:
    """Return the first function in a tree that is named `name`, or None."""
    found = (n for n in nodes_of(tree) if isinstance(n, ast.FunctionDef))
    return next((n for n in found if n.name == name), None)


def from_lambda(tree: ast.AST, code: CodeType) -> ast.FunctionDef | None:
    """Return a tree's lambda with the arguments of `code`, as a function.

    Returns None unless exactly one lambda has these arguments.
    """
    found = _with_arguments(tree, code)
    return _as_function(found[0]) if len(found) == 1 else None


def at_its_place(tree: ast.AST, code: CodeType) -> ast.FunctionDef | None:
    """Return the lambda in a file's tree that became `code`, as a function definition.

    Returns None unless there is exactly one such lambda.
    """
    places = {
        (line, column)
        for line, last, column, end in code.co_positions()
        if line and last and column is not None and end is not None
        if (line, column) < (last, end)
    }
    found = [
        node
        for node in _with_arguments(tree, code)
        if places and all(_holds(node.body, *place) for place in places)
    ]
    return _as_function(found[0]) if len(found) == 1 else None


def parsed(source: str) -> ast.AST:
    """Parse `source`; return an empty tree if it is not Python."""
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.Module([], [])


def _holds(node: ast.expr, line: int, column: int) -> bool:
    """Return whether a position in a file is inside a node."""
    start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    return start <= (line, column) < end


def _with_arguments(tree: ast.AST, code: CodeType) -> list[ast.Lambda]:
    names = list(code.co_varnames[: code.co_argcount])
    return [
        node
        for node in nodes_of(tree)
        if isinstance(node, ast.Lambda) and [a.arg for a in node.args.args] == names
    ]


def _as_function(node: ast.Lambda) -> ast.FunctionDef:
    body = ast.copy_location(ast.Return(node.body), node.body)
    made = ast.parse("def __weft_lambda__(): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.args, made.body = node.args, [body]
    return ast.copy_location(made, node)
