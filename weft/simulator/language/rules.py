"""What of Python a kernel may be written in: what Numba compiles for a GPU.

The simulator runs Python, so it could run anything. It refuses what Numba refuses, and
names the line: a kernel that passes here should compile. That also leaves a kernel no
way out of the simulation: it cannot catch a fault, keep anything from one launch to the
next, or reach more of the host than its arguments.
"""

import ast
import builtins
import enum
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from weft import backend
from weft.places import Place
from weft.simulator.faults import Fault, kind_of

_SIZES = (
    "What a thread keeps must have a size that is known when the kernel is compiled: "
    "numbers, tuples, and arrays from `cuda.local.array` and `cuda.shared.array`."
)

_STATEMENTS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Try: (
        "a kernel cannot catch exceptions: it has no `try`",
        "On a GPU nothing is raised. Test beforehand, with `if`.",
    ),
    ast.With: ("a kernel has no `with`", "There is nothing to open or to close."),
    ast.Import: ("a kernel cannot import", "Import in a cell, above the kernel."),
    ast.Global: (
        "a kernel cannot change what is outside it",
        "A name from outside is a constant to the kernel: Numba puts its value into "
        "the code. Results go into an array.",
    ),
    ast.Yield: ("a kernel has no `yield`", "Results go into an output array."),
    ast.ClassDef: ("a kernel has no classes", "Numba compiles functions."),
    ast.List: ("a kernel cannot make a list", _SIZES),
    ast.Dict: ("a kernel cannot make a dict", _SIZES),
    ast.Set: ("a kernel cannot make a set", _SIZES),
    ast.JoinedStr: ("a kernel cannot make strings", _SIZES),
    ast.Delete: ("a kernel has no `del`", "Leave the name alone."),
    ast.Starred: (
        "a kernel cannot unpack with `*`",
        "The source has to show how many values there are: name each of them.",
    ),
}
for _same, _like in (
    ("TryStar", ast.Try),
    ("AsyncWith", ast.With),
    ("ImportFrom", ast.Import),
    ("Nonlocal", ast.Global),
    ("YieldFrom", ast.Yield),
    ("Await", ast.Yield),
    ("ListComp", ast.List),
    ("GeneratorExp", ast.List),
    ("SetComp", ast.Set),
    ("DictComp", ast.Dict),
):
    _STATEMENTS[getattr(ast, _same)] = _STATEMENTS[_like]

# What Numba knows of Python's builtins in a kernel.
_BUILTINS = frozenset(
    [
        "abs",
        "bool",
        "chr",
        "complex",
        "divmod",
        "enumerate",
        "float",
        "int",
        "isinstance",
        "iter",
        "len",
        "max",
        "min",
        "next",
        "ord",
        "pow",
        "print",
        "range",
        "round",
        "slice",
        "sum",
        "tuple",
        "type",
        "zip",
    ]
)
_MODULES = frozenset(["math", "cmath", "operator", "numba", "numpy"])


def refuse(
    definition: ast.FunctionDef, name: str, first: int, lines: dict[int, str]
) -> None:
    """Raise `Fault` for the first thing in a kernel that Numba does not compile.

    `definition` counts its lines from 1, the source from `first`.
    """
    local = {_stored(n) for n in ast.walk(definition)}
    local |= {a.arg for a in ast.walk(definition.args) if isinstance(a, ast.arg)}
    fine = {id(n) for n in ast.walk(definition) for n in _constant_lists(n)}
    # A call with a tuple, `store4(out, i, *four)`, is compiled.
    calls = [n for n in ast.walk(definition) if isinstance(n, ast.Call)]
    fine |= {id(a) for n in calls for a in n.args if isinstance(a, ast.Starred)}
    words: list[tuple[Any, str, str]] = [
        (n, *_STATEMENTS[type(n)])
        for statement in definition.body
        for n in ast.walk(statement)
        if type(n) in _STATEMENTS and id(n) not in fine
    ]
    words += [
        (n, f"`{ast.unparse(n)}` cannot be used in a kernel", "There is no such thing.")
        for n in ast.walk(definition)
        if isinstance(n, ast.Attribute) and n.attr.startswith("_")
    ]
    words += [
        (
            n,
            f"the kernel changes `{ast.unparse(n)}`",
            "It is outside the kernel, and a constant to it.",
        )
        for n in ast.walk(definition)
        if isinstance(n, ast.Attribute)
        and isinstance(n.ctx, ast.Store)
        and isinstance(n.value, ast.Name)
        and n.value.id not in local
    ]
    if not words:
        return
    node, message, why = min(words, key=lambda w: (w[0].lineno, w[0].col_offset))
    line = first + node.lineno - 1
    text = lines.get(line, "").strip()
    raise Fault("type", message, why, places=[Place(name, line, text)])


def _stored(node: ast.AST) -> str:
    """The name that a node gives a value to, '' if it does not."""
    stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    return node.id if stored and isinstance(node, ast.Name) else ""


def _constant_lists(node: ast.AST) -> list[ast.AST]:
    """The lists in a node that Python makes into tuples, and targets written as lists.

    `for k in [1, 2]` and `k in [1, 2]`: nothing changes them.
    """
    here: list[ast.AST] = []
    if isinstance(node, ast.For):
        here = [node.iter]
    elif isinstance(node, ast.Compare):
        here = list(node.comparators)
    elif isinstance(node, ast.List) and isinstance(node.ctx, ast.Store):
        return [node]
    return [
        n
        for n in here
        if isinstance(n, (ast.List, ast.Set))
        and all(isinstance(e, ast.Constant) for e in n.elts)
    ]


class Refused:
    """Something outside that a kernel names and cannot use: every use raises."""

    def __init__(self, fault: Any, message: str, why: str) -> None:
        vars(self)["_weft"] = fault, message, why

    def _refuse(self, *_: Any, **__: Any) -> Any:
        fault, message, why = vars(self)["_weft"]
        return fault(message, why)

    def __getattr__(self, name: str) -> Any:
        return self._refuse()

    __call__ = __getitem__ = __setitem__ = __setattr__ = _refuse
    __iter__ = __len__ = __bool__ = __contains__ = __index__ = __float__ = _refuse
    __int__ = __array__ = __array_ufunc__ = __eq__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = __lt__ = __gt__ = _refuse
    __hash__ = object.__hash__


class RefusedImport(Refused):
    """`__import__`, except for C code: NumPy imports as it raises some errors.

    It uses the builtins of its caller, here a kernel, and gives all five arguments
    (`PyImport_Import`).
    """

    def __call__(self, *args: Any) -> Any:
        return builtins.__import__(*args) if len(args) == 5 else self._refuse()


def usable(value: Any) -> bool:
    """Whether a kernel may use a value from outside as it is."""
    if isinstance(value, tuple):
        return all(usable(part) for part in value)
    kinds = (bool, int, float, complex, str, bytes, np.generic, np.dtype, enum.Enum)
    if value is None or value is Ellipsis or isinstance(value, kinds):
        return True
    if isinstance(value, type):
        allowed = (np.generic, BaseException, enum.Enum, tuple)
        return issubclass(value, allowed) or value in _TYPES
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] in _MODULES
    if backend.is_numba(value) or isinstance(value, np.ufunc):
        return True
    functions = (FunctionType, BuiltinFunctionType)
    return isinstance(value, functions) and _package(value) in _MODULES


def _package(value: Any) -> str:
    return (getattr(value, "__module__", None) or "").partition(".")[0]


_TYPES = (bool, int, float, complex, range, slice)


def described(name: str, value: Any) -> tuple[str, str]:
    """Why a kernel cannot use `value`, which it calls `name`."""
    if isinstance(value, ModuleType):
        return (
            f"the module `{name}` cannot be used in a kernel",
            "Numba compiles arithmetic, `math`, some of NumPy and `cuda` for a GPU; "
            "everything else stays on the host.",
        )
    if of_cuda := vars(value).get("of_cuda") if hasattr(value, "__dict__") else None:
        return (
            f"Numba knows `{of_cuda}` only as `cuda.{of_cuda}`",
            "Imported from `numba.cuda` by its name, it is a plain class to Numba, "
            f"which has no type for it. Write `cuda.{of_cuda}` in the kernel, after "
            "`from numba import cuda`.",
        )
    kind = type(value).__name__
    if isinstance(value, (list, dict, set)):
        return (
            f"the {kind} `{name}` cannot be used in a kernel",
            "A tuple can, and so can a NumPy array; both are constants to it.",
        )
    return (
        f"`{name}`, {kind_of(value)}, cannot be used in a kernel",
        "A kernel takes numbers and arrays.",
    )


def builtins_of_a_kernel(fault: Any) -> dict[str, Any]:
    """The builtins of a kernel: those Numba has, the others as `Refused`."""
    known: dict[str, Any] = {}
    for name, value in vars(builtins).items():
        if name in _BUILTINS or usable(value):
            known[name] = value
        elif callable(value):
            refused = RefusedImport if value is builtins.__import__ else Refused
            known[name] = refused(
                fault,
                f"`{name}` cannot be used in a kernel",
                "Numba does not compile it for a GPU.",
            )
    return known
