"""Numba's own rules for the types of numbers, written down for the simulator.

     python -m verification.number_types          write the table again

The module asks the typing context of `numba.cuda`, which takes the real package but no
GPU, what every operator and function of `math` gives for every pair of types.
"""

import cmath
import importlib
import json
import math
import operator
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "weft" / "simulator" / "arithmetic" / "number_types.json"

SHORT = {
    **{"boolean": "b", "float16": "f16", "float32": "f32", "float64": "f64"},
    **{
        f"{'u' * u}int{n}": f"{'ui'[1 - u]}{n}" for u in (0, 1) for n in (8, 16, 32, 64)
    },
    **{"complex64": "c64", "complex128": "c128"},
}
NAMES = (
    *("boolean", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"),
    *("complex64", "complex128"),
)
# NumPy functions of numbers that a kernel is likely to use.
NUMPYS_OF_ONE = (
    "absolute arccos arccosh arcsin arcsinh arctan arctanh ceil conjugate cos cosh "
    "deg2rad degrees exp exp2 expm1 fabs floor invert isfinite isinf isnan log log10 "
    "log1p log2 logical_not negative positive rad2deg radians reciprocal rint sign "
    "signbit sin sinh sqrt square tan tanh trunc"
).split()
NUMPYS_OF_TWO = (
    "add arctan2 bitwise_and bitwise_or bitwise_xor copysign divide equal "
    "floor_divide fmax fmin fmod greater greater_equal hypot left_shift less "
    "less_equal logical_and logical_or logical_xor maximum minimum multiply "
    "not_equal power remainder right_shift subtract"
).split()
OF_COMPLEX = "acos asin asinh atan atanh cos exp isfinite isinf isnan log sin sqrt tan"
TWO = {
    **{
        name: getattr(operator, name)
        for name in (
            *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"),
            *("lshift", "rshift", "and_", "or_", "xor"),
            *("lt", "le", "gt", "ge", "eq", "ne"),
        )
    },
    **{name: getattr(math, name) for name in ("atan2", "fmod", "hypot", "copysign")},
    "math.pow": math.pow,
    "ldexp": math.ldexp,
    "divmod": divmod,
    "min": min,
    "max": max,
    "round2": round,
    "complex": complex,
    **{f"np.{name}": getattr(np, name) for name in NUMPYS_OF_TWO},
}
ONE = {
    **{name: getattr(operator, name) for name in ("neg", "pos", "invert", "not_")},
    **{f.__name__: f for f in (abs, round, int, float, bool, range, complex)},
    **{
        name: getattr(math, name)
        for name in (
            *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh"),
            *("sin", "sinh", "tan", "tanh", "exp", "expm1", "log", "log10", "log1p"),
            *("log2", "sqrt", "fabs", "floor", "ceil", "trunc", "degrees", "radians"),
            *("erf", "erfc", "gamma", "lgamma", "isnan", "isinf", "isfinite"),
            *("frexp", "modf", "exp2"),
        )
        if hasattr(math, name)
    },
    **{f"cmath.{name}": getattr(cmath, name) for name in OF_COMPLEX.split()},
    **{f"np.{name}": getattr(np, name) for name in NUMPYS_OF_ONE},
}
CUDA = "popc", "clz", "ffs", "brev", "cbrt"  # functions of one number


def real_cuda() -> Any:
    """Return the typing context of `numba.cuda`, without a GPU or a simulator."""
    # since importing it would choose the simulator
    package: Any = types.ModuleType("weft")
    package.__path__ = [str(ROOT / "weft")]
    sys.modules["weft"] = package
    importlib.import_module("weft.backend").pretend_device((9, 0))
    descriptor: Any = importlib.import_module("numba.cuda.descriptor")
    return descriptor.cuda_target.typing_context


def table() -> dict[str, Any]:
    """Return the rules: each operation's result and converted operands.

    "unify" is where two branches meet. An entry is "result first second" in short
    names, or "" if Numba refuses. Operations with the same rules share a matrix.
    """
    context = real_cuda()
    numba: Any = importlib.import_module("numba.cuda.types")
    context.refresh()
    kinds = [getattr(numba, name) for name in NAMES]
    short = {str(kind): SHORT[name] for kind, name in zip(kinds, NAMES, strict=True)}

    def named(kind: Any) -> str:
        if hasattr(kind, "types") or hasattr(kind, "count"):
            return "/".join(named(part) for part in kind)
        return short.get(str(kind).replace("range_state_", ""), str(kind))

    def rule(function: Any, *args: Any) -> str:
        try:
            found = context.resolve_function_type(function, args, {})
        except Exception:
            found = None
        if found is None:
            return ""
        results = named(found.return_type).split("/")
        if not {*results} <= {*SHORT.values()}:
            return ""  # such as an array, which no function of numbers takes
        given = [part for a in found.args for part in named(a).split("/")]
        return " ".join([named(found.return_type), *given])

    def unified(a: Any, b: Any) -> str:
        return named(context.unify_types(a, b))

    cuda: Any = importlib.import_module("numba.cuda")
    functions = ONE | {f"cuda.{name}": getattr(cuda, name) for name in CUDA}
    one = {name: [rule(f, a) for a in kinds] for name, f in functions.items()}
    matrices: dict[str, list[list[str]]] = {}
    two: dict[str, str] = {}
    for name, function in TWO.items():
        rows = [[rule(function, a, b) for b in kinds] for a in kinds]
        two[name] = next((k for k, known in matrices.items() if known == rows), name)
        matrices.setdefault(two[name], rows)
    return {
        "numbers": list(short.values()),
        "unify": [[unified(a, b) for b in kinds] for a in kinds],
        "two": two,
        "matrices": matrices,
        "one": one,
    }


def apart() -> dict[str, Any]:
    """Return `table` from a process in which Numba is not a simulator."""
    environment = {k: v for k, v in os.environ.items() if "CUDASIM" not in k}
    done = subprocess.run(
        [sys.executable, "-m", "verification.number_types", "--print"],
        cwd=ROOT,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    if "--print" in sys.argv:
        print(json.dumps(table()))
    else:
        TABLE.write_text(json.dumps(apart(), indent=0) + "\n", encoding="utf-8")
