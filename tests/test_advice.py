"""What a verdict adds to Python's own words about a learner's line."""

import ast

import pytest

from weft.python_errors import (
    advice,
    comparison,
    in_plain_words,
    power,
    precedence,
)

FUNCTIONS = frozenset({"grid", "gridsize", "lanemask_lt", "shfl_down_sync"})


@pytest.mark.parametrize(
    ("error", "line", "told"),
    [
        (TypeError("'<' not supported"), "if i < out.shape:", "`out.size` is one"),
        (TypeError("'tuple' and 'int'"), "if i < out.size:", "One side is a tuple"),
        (TypeError("'tuple' and 'int'"), "if cuda.grid(2) < n:", "a pair"),
        (TypeError("'Dim3'"), "i = cuda.blockIdx * 64", "`cuda.blockIdx.x`"),
        (TypeError("'method'"), "range(0, n, cuda.gridsize)", "`cuda.gridsize` is a f"),
        (TypeError("'method' and 'int'"), "if i < out.size:", "One side is a function"),
        (TypeError("'int' object is not callable"), "cuda.laneid() == 0", "no brack"),
        (
            TypeError("'int' object is not callable"),
            "cuda.blockIdx.x()",
            "`cuda.blockIdx.x` is a number",
        ),
        (
            NameError("name 'shfl_down_sync' is not defined", name="shfl_down_sync"),
            "value += shfl_down_sync(FULL, value, 1)",
            "`cuda.shfl_down_sync`",
        ),
        (NameError("", name="laneid"), "if laneid == 0:", "`cuda.laneid`"),
        (UnboundLocalError("", name="s"), "out[i] = s", "has skipped"),
        (IndexError("invalid index to scalar variable."), "alpha[i]", "no elements"),
        (TypeError("'int' object is not subscriptable"), "f(a, b[:2])", "no elements"),
    ],
)
def test_the_word_fits_the_line(error: Exception, line: str, told: str) -> None:
    assert told in advice(error, line, FUNCTIONS)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (TypeError("missing 1 required positional argument"), "f(cuda.grid(1))"),
        (TypeError("'float' object is not callable"), "value(3)"),
        (TypeError("unsupported operand"), "x.shape[0] + None"),
        (NameError("name 'c' is not defined", name="c"), "a[i] + c[i]"),
        (ZeroDivisionError("division by zero"), "i // cuda.gridsize"),
    ],
)
def test_nothing_is_said_where_nothing_is_known(error: Exception, line: str) -> None:
    assert advice(error, line, FUNCTIONS) == ""


@pytest.mark.parametrize(
    ("test", "told"),
    [
        ("col < x.shape[1] & row < x.shape[0]", "evaluates `x.shape[1] & row` first"),
        ("i < 0 | i >= n", "Join two conditions with `or`"),
        ("ok and not (i < n & j < m)", "`n & j`"),
        ("i < n and j < m", ""),
        ("(i < n) & (j < m)", ""),
        ("i & 1 == 0", ""),
        ("0 <= i < n", ""),
        ("0 <= i + 1 < n", ""),
    ],
)
def test_a_condition_that_python_reads_otherwise(test: str, told: str) -> None:
    word = precedence(ast.parse(test, mode="eval").body)
    assert told in word
    assert bool(word) == bool(told)


XOR = "ufunc 'bitwise_xor' not supported for the input types, and the inputs could not"


@pytest.mark.parametrize(
    "said", [XOR, "unsupported operand type(s) for ^=: 'float' and 'int'"]
)
def test_a_power_of_floats_is_not_a_caret(said: str) -> None:
    told = "In Python, `**` is the power and `^` is a bitwise exclusive or."
    assert power(TypeError(said)) == told
    assert advice(TypeError(said), "out[i] = x[i]^2", FUNCTIONS) == told
    assert power(TypeError("unsupported operand type(s) for +")) == ""


def test_numpys_names_of_operators_are_not_shown() -> None:
    assert in_plain_words(TypeError(XOR)).startswith("`^` takes integers")
    assert in_plain_words(TypeError("ufunc 'sin' not")) == "ufunc 'sin' not"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("out[i] == a[i] + b[i]", True),
        ("tile[ty, tx] == x[row, col]  # load", True),
        ("out[i] = a[i] == b[i]", False),
        ("if out[i] == a[i]:", False),
        ("total == a[i]", False),
        ("out[i] < a[i]", False),
        ("out[i] == (a[i] +", False),
    ],
)
def test_a_comparison_in_place_of_a_store_is_named(line: str, told: bool) -> None:
    assert comparison(line) == "`==` compares; `=` stores." * told
