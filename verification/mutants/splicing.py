"""A cell's source and its tree, and how one place of it is replaced by other text.

Only the place itself changes, so everything on other lines keeps its number.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

Function = ast.FunctionDef


@dataclass(frozen=True)
class Edit:
    """Replace the bytes from `start` to `end`, (line, column) each, by `text`."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


Edits = tuple[Edit, ...]


@dataclass(frozen=True)
class Cell:
    """The text of a cell, with its kernels and device functions."""

    source: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)

    @cached_property
    def rows(self) -> list[bytes]:
        return self.source.encode().splitlines(keepends=True)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {
            child: node
            for node in ast.walk(self.tree)
            for child in ast.iter_child_nodes(node)
        }

    @cached_property
    def functions(self) -> list[Function]:
        """The functions that `cuda.jit` compiles."""
        return [
            node
            for node in self.tree.body
            if isinstance(node, ast.FunctionDef)
            and any("cuda.jit" in ast.unparse(d) for d in node.decorator_list)
        ]

    def nodes(self) -> Iterator[tuple[Function, ast.AST]]:
        """Everything in the bodies of the functions, docstrings left out."""
        for function in self.functions:
            for statement in function.body:
                if is_text(statement):
                    continue
                for node in ast.walk(statement):
                    yield function, node

    def text(self, node: ast.AST) -> str:
        """A node as it is written."""
        return ast.get_source_segment(self.source, node) or ""

    def block_of(self, statement: ast.AST) -> list[ast.stmt]:
        """The statements among which `statement` stands."""
        parent = self.parents[statement]
        for field in ("body", "orelse", "finalbody"):
            block = getattr(parent, field, None)
            if isinstance(block, list) and statement in block:
                return block
        raise ValueError("this node is no statement of a block")

    def spliced(self, edits: Edits) -> str:
        """The source with all of `edits` made; they must not overlap."""
        rows = self.rows
        starts = [0]
        for row in rows:
            starts.append(starts[-1] + len(row))
        data = b"".join(rows)
        at = sorted(edits, key=lambda e: e.start, reverse=True)
        for edit in at:
            begin = starts[edit.start[0] - 1] + edit.start[1]
            end = starts[edit.end[0] - 1] + edit.end[1]
            data = data[:begin] + edit.text.encode() + data[end:]
        return data.decode()


def is_text(statement: ast.AST) -> bool:
    """Whether a statement is a docstring, or another text that does nothing."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def put(node: ast.AST, new: ast.AST | str) -> Edit:
    """Replace a node. An expression that is computed gets brackets."""
    if isinstance(new, str):
        text = new
    else:
        text = ast.unparse(new)
        bare = ast.Name | ast.Constant | ast.Attribute | ast.Subscript | ast.Call
        if isinstance(new, ast.expr) and not isinstance(new, bare):
            text = f"({text})"
    return Edit(begin(node), end(node), text)


def begin(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def end(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
