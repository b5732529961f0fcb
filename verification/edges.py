"""Where arithmetic on a GPU differs from a CPU's, case by case.

     python -m verification.edges      run them on a GPU, and keep the results

`edges.json` holds what an H200 gave; the simulator gives the same.
"""

import json
import linecache
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from verification.programs import CASTS, names
from weft.simulator.arithmetic.by_name import cast_to
from weft.simulator.arithmetic.numbers import NUMBERS, Number

KEPT = Path(__file__).with_name("edges.json")

# What a CPU and a GPU do differently, or what one of them leaves undefined: an
# expression of `a` and `b`, and the numbers to try. The module, run on a GPU, keeps the
# results.
FLOATS = ("nan", "inf", "-inf", "1e30", "-1e30", "300.7", "-3.5", "2.5", "3.5", "-0.0")
INTEGERS = (
    "0",
    "1",
    "-1",
    "5",
    "-7",
    "127",
    "-128",
    "200",
    "2147483647",
    "-2147483648",
)
LARGE = ("9223372036854775807", "-9223372036854775808", "4294967295")
EDGES: dict[str, tuple[str, tuple[str, ...]]] = {
    **{f"{c}(a)": ("f32 f64", FLOATS) for c in CASTS.values() if c[-2:] != "t8"},
    **{f"{c}(a)": ("f32 f64", ("127.9", "0.5", "3.0")) for c in ("int8", "uint8")},
    **{f"round(a){d}": ("f32 f64", FLOATS) for d in ("",)},
    **{
        f"math.{name}(a)": ("f32 f64", (*FLOATS, "0.5"))
        for name in ("floor", "ceil", "trunc", "fabs", "sqrt", "isnan", "isfinite")
    },
    **{
        f"math.{name}(a)": ("i8 i64 u32", INTEGERS)
        for name in ("floor", "sqrt", "fabs")
    },
    **{f"math.{name}(a)": ("f32 f64", ("0.0", "-1.0")) for name in ("log", "log2")},
    "1 / a": ("i32 f32 f64", ("0", "2")),
    "a / (a - a)": ("i32 f32 f64", ("0", "2", "-2")),
    **{
        f"{name}(a, b)": ("f32,f32 f64,f64 f32,f64", ("nan,1.0", "1.0,nan", "-0.0,0.0"))
        for name in ("max", "min")
    },
    **{
        f"a {op} b": (
            "i64,i64 i32,i32 u8,u8 u64,u64 u32,i64 f32,f32 f64,f64",
            ("5,0", "0,0", "7,3", "-7,3", "7,-3", "-7,-3"),
        )
        for op in ("//", "%")
    },
    "(a) % (b)": ("f32,f32 f64,f64", ("5.5,inf", "1e10,0.1", "-7.5,2.0")),
    "a // (b - 2)": ("i64,i64", ("-9223372036854775808,1", "5,1")),
    "a % (b - 2)": ("i64,i64", ("-9223372036854775808,1", "5,1")),
    **{
        f"a {op} b": (
            "i64,i64 u64,u64 i32,i64",
            ("1,63", "1,64", "1,70", "-1,64", "-8,2", "1,-1", "-5,63", "-5,64"),
        )
        for op in ("<<", ">>")
    },
    "a ** b": (
        "i64,i64 f32,i64 f64,i64",
        ("2,10", "2,-1", "-1,-3", "0,-1", "3,41", "7,0"),
    ),
    **{
        f"cuda.{name}(a)": ("i8 i32 i64 u8 u32 u64", (*INTEGERS, *LARGE))
        for name in ("popc", "clz", "brev")
    },
    "cuda.ffs(a)": ("i32 i64 u32 u64", (*INTEGERS, *LARGE)),
    **{f"{op}a": ("b i8 i32 i64 u8 u32 u64", (*INTEGERS, *LARGE)) for op in "-~+"},
    "abs(a)": ("i8 i32 i64 u8 u32", (*INTEGERS, *LARGE)),
    "a + b": (
        "u64,i64 u8,i8 b,b i32,f32 u8,f32 i64,f32",
        ("255,-1", "16777217,1", "1,1"),
    ),
    "a < b": ("u64,i64 i64,f32 u8,i8", ("1,-1", "16777217,16777216", "255,-1")),
    "a == b": ("u64,i64 i64,f32", ("18446744073709551615,-1", "16777217,16777216")),
}


def edge_values(number: Number, text: str) -> Any:
    """Return a number of a type from its text; an integer wraps around."""
    if number.kind == "f":
        return number.dtype.type(float(text))
    return cast_to(number)(int(float(text)) if "." in text else int(text))


def edge_cases() -> Iterator[tuple[str, str, tuple[np.ndarray[Any, Any], ...]]]:
    """Yield every edge: its expression, the types of its numbers, and their arrays."""
    for text, (kinds, values) in EDGES.items():
        for kind in kinds.split():
            numbers = [NUMBERS[name] for name in kind.split(",")]
            given = [value.split(",") for value in values]
            columns = tuple(
                np.array([edge_values(n, row[k]) for row in given], n.dtype)
                for k, n in enumerate(numbers)
            )
            yield text, kind, columns


def edge_kernel(
    text: str, columns: tuple[Any, ...], run: Callable[..., Any]
) -> list[str]:
    """Return what an edge gives for each of its numbers, as int64 and as float64.

    run: launches the kernel on its arguments.
    """
    from numba import cuda

    names_of = "ab"[: len(columns)]
    lines = [
        f"def edge({', '.join(f'x_{n}' for n in names_of)}, whole, real):",
        "    i = cuda.grid(1)",
        f"    if i < {len(columns[0])}:",
        *(f"        {n} = x_{n}[i]" for n in names_of),
        f"        r = {text}",
        "        whole[i] = r",
        "        real[i] = r",
        "",
    ]
    source, file = "\n".join(lines), f"<edge {text}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    scope = names(cuda)
    exec(compile(source, file, "exec"), scope)
    whole, real = np.zeros(len(columns[0]), np.int64), np.zeros(len(columns[0]))
    run(scope["edge"], (*columns, whole, real))
    return [
        f"{w} {float(r).hex()}"
        for w, r in zip(whole.tolist(), real.tolist(), strict=True)
    ]


def edges(gpu: bool) -> dict[str, list[str]]:
    """Return what every edge gives, on a GPU or in the simulator."""
    from numba import cuda

    from weft.simulator import simulate

    def run(fn: Any, args: tuple[Any, ...]) -> None:
        if gpu:
            cuda.jit(fn)[1, 32](*args)
        else:
            simulate(fn, (1, 32), args)

    found = {}
    for text, kind, columns in edge_cases():
        try:
            found[f"{text} of {kind}"] = edge_kernel(text, columns, run)
        except Exception as error:
            found[f"{text} of {kind}"] = [f"refused: {type(error).__name__}"]
    return found


if __name__ == "__main__":
    KEPT.write_text(json.dumps(edges(True), indent=1) + "\n", encoding="utf-8")
