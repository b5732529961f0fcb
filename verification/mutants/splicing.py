"""A cell's source and tree, and how to replace one place by other text.

Only the place itself changes, so everything on other lines keeps its number.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

Function = ast.FunctionDef


@dataclass(frozen=True)
class Edit:
    """Replaces the text from `start` to `end`, each (line, byte column), by `text`."""

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
        """The functions with a `cuda.jit` decorator."""
        return [
            node
            for node in self.tree.body
            if isinstance(node, ast.FunctionDef)
            and any("cuda.jit" in ast.unparse(d) for d in node.decorator_list)
        ]

    def nodes(self) -> Iterator[tuple[Function, ast.AST]]:
        """Yield all nodes in functions' bodies, with the function; no docstrings."""
        for function in self.functions:
            for statement in function.body:
                if is_text(statement):
                    continue
                for node in ast.walk(statement):
                    yield function, node

    def text(self, node: ast.AST) -> str:
        """Return a node's source text."""
        return ast.get_source_segment(self.source, node) or ""

    def block_of(self, statement: ast.AST) -> list[ast.stmt]:
        """Return the list of statements that contains `statement`."""
        parent = self.parents[statement]
        for field in ("body", "orelse", "finalbody"):
            block = getattr(parent, field, None)
            if isinstance(block, list) and statement in block:
                return block
        raise ValueError("this node is no statement of a block")

    def spliced(self, edits: Edits) -> str:
        """Return the source after `edits`, which must not overlap."""
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
    """Return whether a statement is a docstring, or another constant."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def put(node: ast.AST, new: ast.AST | str) -> Edit:
    """Return the edit that replaces a node; a compound expression gets brackets."""
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
