"""Define the part of Python that Numba compiles for a GPU, and refuse the rest.

The simulator runs Python, so it could run anything. It refuses what Numba refuses, and
names the line: a kernel that passes here should compile. That also leaves a kernel no
way out of the simulation: it cannot catch a fault, keep anything from one launch to the
next, or reach more of the host than its arguments.
"""

import ast
import builtins
import dis
import enum
from collections.abc import Callable
from functools import cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from weft import meaning, own_classes
from weft.code_objects import code_tree, nodes_of
from weft.places import Place
from weft.simulator.faults import Fault
from weft.wording import kind_of

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
    ast.NamedExpr: ("a kernel has no `:=`", "Assign in a line of its own."),
    ast.Delete: ("a kernel has no `del`", "Leave the name alone."),
    ast.Starred: (
        "a kernel cannot unpack with `*`",
        "The source has to show how many values there are: name each of them.",
    ),
}
_STATEMENTS[ast.MatchClass] = (
    "a kernel cannot match classes",
    "There are no objects to look into. Compare numbers, with `if`.",
)
for _same, _like in (
    ("MatchMapping", ast.MatchClass),
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

# The Python built-ins that Numba supports in a kernel.
_BUILTINS = frozenset(
    (
        "abs bool chr complex divmod enumerate float int isinstance iter "
        "len max min next ord pow print range round slice sum tuple type "
        "zip"
    ).split()
)
_MODULES = frozenset(
    ["math", "cmath", "operator", "_operator", "numpy", *meaning.PACKAGES]
)


def refuse(
    definition: ast.FunctionDef, name: str, first: int, lines: dict[int, str]
) -> None:
    """Raise `Fault` for the first thing in a kernel that Numba does not compile.

    definition: the kernel's source, with lines counted from 1. first: the line of the
    file where the kernel begins.
    """
    nodes = nodes_of(definition)
    local = {_stored(n) for n in nodes}
    local |= {a.arg for a in nodes_of(definition.args) if isinstance(a, ast.arg)}
    fine = {id(n) for n in nodes for n in _constant_lists(n)}
    # A call with a tuple, `store4(out, i, *four)`, is compiled.
    calls = [n for n in nodes if isinstance(n, ast.Call)]
    fine |= {id(a) for n in calls for a in n.args if isinstance(a, ast.Starred)}
    words: list[tuple[Any, str, str]] = [
        (n, *_STATEMENTS[type(n)])
        for statement in definition.body
        for n in nodes_of(statement)
        if type(n) in _STATEMENTS and id(n) not in fine
    ]
    words += [
        (n, f"`{ast.unparse(n)}` cannot be used in a kernel", "There is no such thing.")
        for n in nodes
        if isinstance(n, ast.Attribute) and n.attr.startswith("_")
    ]
    words += [
        (n, "a kernel cannot make strings", _SIZES)
        for n in nodes
        if isinstance(n, ast.Attribute) and n.attr in ("format", "format_map")
    ]
    words += [
        (n, "a kernel has no classes", "`type(x)`, of one value, gives its type.")
        for n in calls
        if isinstance(n.func, ast.Name) and n.func.id == "type" and len(n.args) != 1
    ]
    words += [
        (
            n,
            f"the kernel changes `{ast.unparse(n)}`",
            "It is outside the kernel, and a constant to it.",
        )
        for n in nodes
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


def refuse_code(code: CodeType, name: str, lines: dict[int, str]) -> None:
    """Raise `Fault` for what Numba refuses in code that has no definition to read.

    Such code is a `lambda`, or a function made by `exec`. lines: its source, if known.
    """
    for part in code_tree(code):
        line = part.co_firstlineno
        for step in dis.get_instructions(part):
            line = (step.positions and step.positions.lineno) or line
            words = None
            if step.opname in _BY_ATTRIBUTE and str(step.argval).startswith("_"):
                message = f"`.{step.argval}` cannot be used in a kernel"
                words = message, "There is no such thing."
            elif step.opname in _STEPS:
                words = _STATEMENTS[_STEPS[step.opname]]
            if words:
                at = Place(name, line, lines.get(line, "").strip())
                raise Fault("type", *words, places=[at])


_BY_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "LOAD_SUPER_ATTR")
_STEPS: dict[str, type[ast.AST]] = {
    "IMPORT_NAME": ast.Import,
    "STORE_GLOBAL": ast.Global,
    "DELETE_GLOBAL": ast.Global,
    "YIELD_VALUE": ast.Yield,
    "BUILD_LIST": ast.List,
    "BUILD_MAP": ast.Dict,
    "BUILD_SET": ast.Set,
    "LIST_APPEND": ast.List,
    "BUILD_STRING": ast.JoinedStr,
    "LOAD_BUILD_CLASS": ast.ClassDef,
    "PUSH_EXC_INFO": ast.Try,
    "SETUP_FINALLY": ast.Try,
    "MATCH_CLASS": ast.MatchClass,
}


def _stored(node: ast.AST) -> str:
    """Return the name to which a node assigns, or ''."""
    stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    return node.id if stored and isinstance(node, ast.Name) else ""


def _constant_lists(node: ast.AST) -> list[ast.AST]:
    """Return the lists in a node that Python compiles to tuples, and lists of targets.

    Examples are `for k in [1, n]` and `k in [1, n]`: nothing changes these lists. A set
    counts only if it consists of constants.
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
        if (
            isinstance(n, ast.List)
            and not any(isinstance(e, ast.Starred) for e in n.elts)
        )
        or (isinstance(n, ast.Set) and all(isinstance(e, ast.Constant) for e in n.elts))
    ]


class Refused:
    """A value from outside that a kernel names but cannot use.

    Every use of it raises an error.
    """

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
    """`__import__`, refused except for C code.

    NumPy's C code imports modules when it raises some errors. Such code uses the
    built-ins of its caller, here a kernel, and passes all five arguments: see
    `PyImport_Import`.
    """

    def __call__(self, *args: Any) -> Any:
        return builtins.__import__(*args) if len(args) == 5 else self._refuse()


def usable(value: Any) -> bool:
    """Return whether a kernel may use an outside value as it is."""
    if isinstance(value, tuple) and not all(usable(part) for part in value):
        return False
    plain = bool, int, float, complex, str, bytes, tuple
    kinds = (*plain, np.generic, np.dtype, enum.Enum)
    own = value if isinstance(value, type) else type(value)
    if own_classes.operators_of(own) and own_classes.acts_as_a_value(own):
        return False
    if value is None or value is Ellipsis or isinstance(value, kinds):
        return True
    if isinstance(value, type):
        allowed = (np.generic, BaseException, enum.Enum, tuple)
        return issubclass(value, allowed) or value in _TYPES
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] in _MODULES
    if meaning.known(value) or isinstance(value, np.ufunc):
        return True
    functions = (FunctionType, BuiltinFunctionType)
    if not isinstance(value, functions) or _package(value) not in _MODULES:
        return False
    return _package(value) != "_operator" or value.__name__ in _OPERATORS


def _package(value: Any) -> str:
    return (getattr(value, "__module__", None) or "").partition(".")[0]


class OpenModule:
    """A module as a kernel sees it: only what Numba could compile.

    twin: returns the value that the kernel finds under a name, given the module's
    value.
    """

    def __init__(
        self,
        module: ModuleType,
        refuse: Callable[[str, str], Any],
        twin: Callable[[str, Any], Any],
    ) -> None:
        vars(self)["_weft"] = module, refuse, twin

    def __getattr__(self, name: str) -> Any:
        module, refuse, twin = vars(self)["_weft"]
        value = getattr(module, name)
        if isinstance(value, ModuleType):
            if meaning.is_cuda(value):
                return twin(name, value)
            if meaning.is_module_of_types(value):
                return OpenModule(value, refuse, twin)
        return twin(name, part_of(module, name, refuse))


def part_of(module: ModuleType, name: str, refuse: Callable[[str, str], Any]) -> Any:
    """Return an attribute of a module for a kernel; a nested module is refused.

    refuse: raises for a value that a kernel cannot use. Raises AttributeError for a
    name that does not exist.
    """
    value = getattr(module, name)
    package = module.__name__.partition(".")[0]
    if package == "numpy" and name in _MAKERS:
        refuse(
            f"`np.{name}` makes or takes a whole array",
            "A kernel cannot do that: it gets its arrays as arguments, or declares "
            "small ones with cuda.shared.array and cuda.local.array, and works on "
            "single elements.",
        )
    known = name in _OPERATORS if package == "operator" else usable(value)
    if known and not isinstance(value, ModuleType):
        return value
    return refuse(
        f"`{package}.{name}` cannot be used in a kernel",
        "Numba compiles arithmetic, `math`, some of NumPy and `cuda` for a GPU; "
        "everything else stays on the host.",
    )


_MAKERS = frozenset(
    (
        "arange array asarray concatenate copy dot empty empty_like eye full hstack "
        "linspace matmul mean ones ones_like stack sum transpose vstack zeros"
    ).split()
)

# The functions of the module `operator` that Numba compiles.
_OPERATORS = frozenset(
    (
        "add sub mul truediv floordiv mod pow neg pos lshift rshift and_ "
        "or_ xor invert inv not_ abs lt le eq ne ge gt is_ is_not contains "
        "getitem setitem iadd isub imul itruediv ifloordiv imod ipow "
        "ilshift irshift iand ior ixor"
    ).split()
)

_TYPES = (bool, int, float, complex, range, slice, np.finfo, np.iinfo)


def described(name: str, value: Any) -> tuple[str, str]:
    """Return the message and the explanation for a value that a kernel cannot use.

    name: the kernel's name for it.
    """
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
    own = value if isinstance(value, type) else type(value)
    changed = own_classes.operators_of(own)
    if changed and own_classes.acts_as_a_value(own):
        return (
            f"`{name}` is of the class {own.__name__}, which has a `{changed[0]}` of "
            "its own",
            "Numba does not call the operators of Python's classes in a kernel: to it "
            "a member of an enum is its value.",
        )
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
    """Return the built-ins of a kernel, with a `Refused` for each that Numba lacks."""
    known, others = _builtins()
    found = dict(known)
    for name, refused in others.items():
        found[name] = refused(
            fault,
            f"`{name}` cannot be used in a kernel",
            "Numba does not compile it for a GPU.",
        )
    return found | {"iter": _iterator(fault), "print": Printer()}


@cache
def _builtins() -> tuple[dict[str, Any], dict[str, type[Refused]]]:
    """Return a kernel's built-ins, and the class that refuses each of the others."""
    known: dict[str, Any] = {}
    others: dict[str, type[Refused]] = {}
    for name, value in vars(builtins).items():
        if name in _BUILTINS or usable(value):
            known[name] = value
        elif callable(value):
            others[name] = RefusedImport if name == "__import__" else Refused
    return known, others


def _iterator(fault: Any) -> Any:
    """Return a version of `iter` that accepts one argument only, as Numba's does."""

    def iterator(*items: Any) -> Any:
        if len(items) != 1:
            fault(
                "`iter` takes one argument in a kernel",
                "Numba does not compile `iter(function, last)`. Use a `while` loop.",
            )
        return iter(*items)

    return iterator


MOST_LINES = 1_000  # the most that one launch may print


class Printer:
    """The `print` of a kernel: a limited number of lines per launch."""

    def __init__(self) -> None:
        self._left = MOST_LINES

    def __call__(self, *values: Any, **how: Any) -> None:
        self._left -= 1
        if self._left >= 0:
            print(*values, **how)
        elif self._left == -1:
            print(
                f"... This launch has printed {MOST_LINES:,} lines, and the simulator "
                "shows no more of them. To see less, let one thread print: "
                "`if cuda.grid(1) == 0:`."
            )


def without_source(name: str, kernel: bool) -> Fault:
    """Return the fault for a function whose source cannot be read."""
    what = "kernel" if kernel else "device function"
    return Fault(
        "source",
        f"the source of the {what} `{name}` cannot be read",
        "The simulator works on the source. Define the function in a cell or in a "
        "file: what `exec` makes of a string has none.",
    )
