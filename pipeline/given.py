"""chapters/NN/lab.py -> chapters/NN/given.json: what a notebook gives its checks.

A check takes its reference, its data and its launch from names of the notebook: a
constant such as `BLOCK`, a function such as `gemm`. For every exercise the file lists
these names, and for every name its definition, so that `weft.checking.given` can tell
when a learner's cell has changed it. Built-ins such as `len` count as well.
"""

import ast
import builtins
import json
from collections import Counter
from pathlib import Path
from types import CodeType

from IPython.core.inputtransformer2 import TransformerManager

from weft import cells
from weft.checking.given import collapsed
from weft.code_objects import global_names

from . import notebook

Names = dict[str, list[str]]

OURS = ("check", "streams", "weft", "bench", "answers")
# Functions that an expression may call and still have the same value every time.
PURE = frozenset(
    [
        *("int", "float", "range", "tuple", "max", "min", "len", "float32", "float64"),
        *("int32", "int64", "uint32", "uint8", "array", "arange", "iinfo", "finfo"),
        *("full", "zeros", "ones", "dtype", "log2", "sqrt"),
    ]
)
FIXED = (
    *(ast.Constant, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.Name, ast.Attribute),
    *(ast.Call, ast.operator, ast.unaryop, ast.expr_context, ast.List),
)


def file(root: Path, stem: str) -> Path:
    return root / "chapters" / stem / "given.json"


def write(root: Path, stem: str) -> bool:
    """Write a lab's file; return whether it changed."""
    path, text = file(root, stem), derive(root, stem)
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True


def derive(root: Path, stem: str) -> str:
    """Return the text of a lab's file."""
    script = notebook.read_script(notebook.script(root, stem))
    sources = [cell.source for cell in script.cells if cell.cell_type == "code"]
    parsed = [(text, tree) for text in sources if (tree := cells.parse(text))]
    names = given(parsed)
    bodies = {
        node.name: node
        for _, tree in parsed
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name in names
    }
    checks = {
        exercise: sorted(closure(call, names, bodies) - {exercise, *OURS})
        for text, _ in parsed
        if (call := cells.check(text)) and (exercise := cells.checked(text))
    }
    used = {name for each in checks.values() for name in each}
    kept = {name: names[name] for name in sorted(used)}
    parts = {
        title: ",\n".join(
            f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in each.items()
        )
        for title, each in (("checks", checks), ("names", kept))
    }
    rows = ",\n".join(f' "{title}": {{\n{text}\n }}' for title, text in parts.items())
    return f"{{\n{rows}\n}}\n"


def given(parsed: list[tuple[str, ast.Module]]) -> Names:
    """Return the names that are defined once, and not by the learner: how each is.

    Built-ins that the lab does not define are defined by Python.
    """
    times = Counter(name for _, tree in parsed for name in stored(tree))
    found: Names = {}
    for source, tree in parsed:
        if "BEGIN SOLUTION" in source:
            continue
        text = TransformerManager().transform_cell(source)
        for statement in tree.body:
            found |= defined(statement, text)
    python = {name: ["builtin", name] for name in dir(builtins) if name not in times}
    return python | {n: what for n, what in found.items() if times[n] == 1}


def stored(tree: ast.Module) -> set[str]:
    """Return the names that a cell gives a value outside its functions."""
    found: set[str] = set()
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
            continue
        if isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        if not isinstance(node, ast.Lambda | ast.comprehension):
            todo += ast.iter_child_nodes(node)
    return found


def defined(statement: ast.stmt, text: str) -> Names:
    """Return the names that a statement defines, with their definitions."""
    match statement:
        case ast.FunctionDef(name=name):
            return {name: ["def", collapsed(lines_of(statement, text))]}
        case ast.Import(names=aliases):
            return {
                a.asname or a.name: ["import", a.name]
                for a in aliases
                if a.asname or "." not in a.name
            }
        case ast.ImportFrom(module=str(module), names=aliases):
            return {
                a.asname or a.name: ["import", f"{module}:{a.name}"] for a in aliases
            }
        case ast.Assign(targets=[ast.Name(name)], value=value):
            return {name: ["value", ast.unparse(value)]} if is_fixed(value) else {}
        case ast.Assign(targets=[ast.Tuple(names)], value=ast.Tuple(values)):
            pairs = zip(names, values, strict=True)
            return {
                n.id: ["value", ast.unparse(v)]
                for n, v in pairs
                if isinstance(n, ast.Name) and is_fixed(v)
            }
    return {}


def is_fixed(value: ast.expr) -> bool:
    """Return whether an expression has the same value at every evaluation."""
    for node in ast.walk(value):
        if not isinstance(node, FIXED):
            return False
        if isinstance(node, ast.Call):
            func = node.func
            name = func.attr if isinstance(func, ast.Attribute) else ""
            if (func.id if isinstance(func, ast.Name) else name) not in PURE:
                return False
    return True


def lines_of(node: ast.FunctionDef, text: str) -> str:
    """Return the lines of a function with its decorators, as `inspect` would."""
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno])


def closure(
    call: ast.Call, names: Names, bodies: dict[str, ast.FunctionDef]
) -> set[str]:
    """Return the names that a check needs, and those that they need in turn."""
    expression = ast.fix_missing_locations(ast.Expression(call))
    todo = list(global_names(compile(expression, "<check>", "eval")))
    found: set[str] = set()
    while todo:
        name = todo.pop()
        if name in found or name not in names:
            continue
        found.add(name)
        what, text = names[name]
        code: CodeType | None = None
        if what == "value":
            code = compile(text, "<value>", "eval")
        elif what == "def":
            body = ast.Module([bodies[name]], [])
            code = compile(body, "<function>", "exec")
        todo += global_names(code) if code else ()
    return found
