"""Code without comments and docstrings, which may change without a new run."""

import ast
import io
import tokenize


def wordless(source: str) -> str:
    """Return Python source without comments and docstrings, on the same lines.

    A verdict names lines, so every line keeps its number. Source that is not Python,
    such as a cell of C, is returned unchanged.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return source
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            text = node.body[0]
            if lines[text.lineno - 1][: text.col_offset].strip():
                continue  # it is on the line of its `def`
            lines[text.lineno - 1] = lines[text.lineno - 1][: text.col_offset] + "..."
            for row in range(text.lineno, text.end_lineno or text.lineno):
                lines[row] = ""
    return "\n".join(line.rstrip() for line in lines)
