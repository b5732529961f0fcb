"""Advice on errors in a learner's line, where Python's own message says little."""

import ast
import re

DIMENSIONS = ("threadIdx", "blockIdx", "blockDim", "gridDim")
NUMBERS = ("laneid", "warpsize")
BITWISE = {
    "bitwise_xor": "^",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "left_shift": "<<",
    "right_shift": ">>",
}
CUDA = r"cuda\.([A-Za-z_]\w*)"
FUNCTION = re.compile(r"'(method|function|builtin_function_or_method)'")


def advice(error: Exception, text: str, functions: frozenset[str]) -> str:
    """Return advice on an error in the line `text`, or '' if there is none.

    functions: the names of the functions of `cuda` that a kernel can call.

    >>> advice(TypeError("'<' not supported"), "if i < out.shape:", frozenset())
    '`out.shape` holds a number for each dimension; `out.size` is one number.'
    """
    if isinstance(error, NameError):
        return _unknown(error, functions)
    if isinstance(error, IndexError) and "scalar variable" in str(error):
        return "What comes before the brackets is a number, which has no elements."
    if not isinstance(error, TypeError):
        return ""
    if re.match(r"'(int|float|bool)' object is not subscriptable", str(error)):
        return (
            "What comes before the brackets is one number, which has no elements. "
            "Which line assigns it, and does it read one element or several?"
        )
    if said := power(error):
        return said
    for name in re.findall(rf"{CUDA}(?![\w.(])", text):
        if name in DIMENSIONS:
            return f"`cuda.{name}` has three parts: `cuda.{name}.x`, `.y` and `.z`."
        if name in functions:
            return f"`cuda.{name}` is a function: call it, with round brackets."
    if "not subscriptable" in str(error) and re.search(r"\w\[[^\]]*\]\(", text):
        return (
            "A kernel cannot launch another one. A device function is called without a "
            "grid, `f(x)`; a second kernel is launched afterwards, by the host."
        )
    if FUNCTION.search(str(error)):
        return (
            "One side is a function. Where was it assigned, and which call is missing "
            "its round brackets there? `cuda.grid(1)` is a number, `cuda.grid` is not."
        )
    if "not callable" in str(error):
        return _not_callable(text)
    if shape := re.search(r"(\w+)\.shape(?!\s*[\[\w])", text):
        of = shape[1]
        return (
            f"`{of}.shape` holds a number for each dimension; `{of}.size` is one "
            "number."
        )
    if "'tuple'" in str(error) and "cuda.grid" in text:
        return "`cuda.grid(1)` is one number, `cuda.grid(2)` a pair."
    if "'tuple'" in str(error):
        return (
            "One side is a tuple. `cuda.grid(2)` and `cuda.gridsize(2)` return one, "
            "and a shape is one too. With 1 in the brackets, the first two return a "
            "number."
        )
    return ""


def power(error: Exception) -> str:
    """Return a hint to use `**` if `error` came from using `^`, or else ''.

    >>> power(TypeError("unsupported operand type(s) for ^: 'float' and 'int'"))
    'In Python, `**` is the power and `^` is a bitwise exclusive or.'
    """
    if isinstance(error, TypeError) and re.search(r"bitwise_xor|for \^", str(error)):
        return "In Python, `**` is the power and `^` is a bitwise exclusive or."
    return ""


def in_plain_words(error: BaseException) -> str:
    """Return an error's message, reworded if it is about NumPy's bitwise operators.

    >>> in_plain_words(TypeError("ufunc 'bitwise_xor' not supported for ..."))
    '`^` takes integers, and one side is something else'
    """
    said = str(error)
    for name, sign in BITWISE.items():
        if said.startswith(f"ufunc '{name}' not supported"):
            return f"`{sign}` takes integers, and one side is something else"
    return said


def comparison(text: str) -> str:
    """Return a hint on a line such as `out[i] == a[i]`; '' for other lines.

    >>> comparison("out[i] == a[i]"), comparison("x = out[i] == a[i]")
    ('`==` compares; `=` stores.', '')
    """
    try:
        (statement,) = ast.parse(text.strip()).body
    except (SyntaxError, ValueError):  # part of a statement, or no Python
        return ""
    match statement:
        case ast.Expr(ast.Compare(left=ast.Subscript(), ops=[ast.Eq()])):
            return "`==` compares; `=` stores."
    return ""


def _unknown(error: NameError, functions: frozenset[str]) -> str:
    if isinstance(error, UnboundLocalError):
        return (
            "This thread has skipped every line that gives it a value. On a GPU it "
            "would carry on with whatever happens to be there."
        )
    if error.name in functions | {*NUMBERS, *DIMENSIONS}:
        return f"It belongs to `cuda`: `cuda.{error.name}`."
    return ""


def _not_callable(text: str) -> str:
    for name, axis in re.findall(rf"{CUDA}(\.[xyz])?\(", text):
        if name in NUMBERS or (name in DIMENSIONS and axis):
            return f"`cuda.{name}{axis}` is a number: it takes no brackets."
        if name in DIMENSIONS:
            return f"`cuda.{name}` has three parts: `cuda.{name}.x`, `.y` and `.z`."
    return ""


def precedence(test: ast.expr) -> str:
    """Return how Python reads a condition like `a < b & c < d`, or '' for any other.

    >>> precedence(ast.parse("i < n & j < m", mode="eval").body).partition(",")[0]
    '`&` binds more tightly than a comparison: Python evaluates `n & j` first'
    """
    for node in ast.walk(test):
        if not isinstance(node, ast.Compare):
            continue
        for middle in node.comparators[:-1]:  # operands of two comparisons
            if not isinstance(middle, ast.BinOp):
                continue
            if isinstance(middle.op, ast.BitAnd | ast.BitOr):
                sign, word = "&", "and"
                if isinstance(middle.op, ast.BitOr):
                    sign, word = "|", "or"
                return (
                    f"`{sign}` binds more tightly than a comparison: Python evaluates "
                    f"`{ast.unparse(middle)}` first, and compares with the result. "
                    f"Join two conditions with `{word}`."
                )
    return ""
