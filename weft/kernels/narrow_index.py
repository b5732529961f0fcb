"""An index that goes through a type too small for it, such as int16 or float32.

`int16(cuda.grid(1))` is right only up to 32,767, and `float32` holds every integer only
up to 16,777,216. No size that the simulator could run goes that far, so this module
looks at the source. It reports where a thread's index in the whole grid is converted to
such a type, if the result then indexes a one-dimensional argument without a remainder
or a bound.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from weft import meaning
from weft.checking.cases import as_tuple
from weft.checking.source import at_line, parameter_names, scope_of, tree_of
from weft.checking.verdict import Failed, Verdict
from weft.code_objects import nodes_of
from weft.kernels.exercise import KernelExercise
from weft.places import Note
from weft.starters import source_function

# operations whose result is as large as their operand
GROWS = (ast.Add, ast.Sub, ast.Mult)
# conversions of a float to an integer
WHOLE = ("int", "round", "floor", "ceil", "trunc", "rint")


@dataclass(frozen=True)
class Narrow:
    """A conversion to a type too small for some indices. line: its line in the file."""

    kind: np.dtype[Any]
    line: int

    @property
    def limit(self) -> int:
        """The first integer that the type does not hold exactly."""
        if self.kind.kind == "f":
            return int(2 ** (np.finfo(self.kind).nmant + 1) + 1)
        return int(np.iinfo(self.kind).max) + 1


def run(exercise: KernelExercise) -> None:
    """Raise `Failed` if the kernel's index has a type too narrow for large data.

    A full size that the type just holds, such as 1 << 24 for float32, counts as large:
    the kernel is right for that size, but wrong for one a few elements larger.
    """
    function = source_function(exercise.kernel)
    if function is None or exercise.checks_launch:
        return
    flat = flat_parameters(exercise)
    for narrow, line in Reader(function, flat).found():
        if reach(exercise) >= narrow.limit - 1:
            raise Failed(too_narrow(exercise, function, narrow, line))


def reach(exercise: KernelExercise) -> int:
    """Return the largest number in the full size; 2³¹ if the exercise has none."""
    full = [part for part in as_tuple(exercise.full) if isinstance(part, int)]
    return max(full) if full else 2**31


def flat_parameters(exercise: KernelExercise) -> set[str]:
    """Return the names of the kernel's one-dimensional array parameters."""
    case = exercise.case(exercise.sizes[0])
    names = parameter_names(exercise.kernel)
    pairs = zip(names, (*case.inputs, *case.outputs), strict=False)
    return {name for name, value in pairs if np.ndim(value) == 1}


def too_narrow(
    exercise: KernelExercise, function: FunctionType, narrow: Narrow, line: int
) -> Verdict:
    """Return the verdict on a conversion and the line that indexes with its result."""
    most = narrow.limit - 1
    article = "an" if narrow.kind.kind == "i" else "a"
    if narrow.kind.kind == "f":
        kind, what = "unwritten", "holds every integer only up to"
        then = "Beyond that, neighbouring threads get the same index."
    elif narrow.kind.kind == "i":
        kind, what = "negative-index", "ends at"
        then = f"The next thread's index is {np.iinfo(narrow.kind).min:,}."
    else:
        kind, what = "unwritten", "ends at"
        then = "The next thread begins at 0 again, and the rest is never written."
    notes: list[Note] = [(at_line(function, narrow.line), f"{narrow.kind} here")]
    if line != narrow.line:
        notes.append((at_line(function, line), "the index"))
    return exercise.verdict(
        kind,
        f"A thread's number becomes {article} {narrow.kind} and then an index, and "
        f"{article} {narrow.kind} {what} {most:,}.",
        f"The sizes of this check are too small to show it, but a GPU's are not. "
        f"{then} An index is best an int32 or int64, as `cuda.grid` gives it.",
        notes,
        headline="right for small arrays only",
    )


class Reader:
    """Follows a thread's index through a kernel's assignments, in order."""

    def __init__(self, function: FunctionType, flat: set[str]) -> None:
        self._flat, self._scope = flat, scope_of(function)
        self._wide: set[str] = set()  # names that hold a thread's index in the grid
        # names whose value went through a conversion
        self._narrow: dict[str, Narrow] = {}
        self._tree = tree_of(function)

    def found(self) -> Iterator[tuple[Narrow, int]]:
        """Yield each narrow conversion of an index, and the line of the index."""
        for _ in range(3):  # a loop's next iteration uses what the last one computed
            self.read(self._tree)
        for node in nodes_of(self._tree):
            for index in indices(node, self._flat):
                narrow = self.narrow(index)
                if narrow is not None:
                    yield narrow, index.lineno

    def read(self, tree: ast.AST) -> None:
        """Record the names that assignments and loops set to a wide or narrow index."""
        for node in nodes_of(tree):
            match node:
                case ast.Assign(targets=[ast.Name(name)], value=value):
                    self.note(name, value)
                case ast.AnnAssign(target=ast.Name(name), value=ast.expr() as value):
                    self.note(name, value)
                case ast.NamedExpr(target=ast.Name(name), value=value):
                    self.note(name, value)
                case ast.For(target=ast.Name(name), iter=ast.Call(args=[first, _, *_])):
                    self.note(name, first)

    def note(self, name: str, value: ast.expr) -> None:
        narrow = self.narrow(value)
        if narrow is not None:
            self._narrow[name] = narrow
        elif self.wide(value):
            self._wide.add(name)

    def wide(self, node: ast.expr) -> bool:
        """Return whether a value grows with a thread's index in the whole grid."""
        match node:
            case ast.Name(name):
                return name in self._wide
            case ast.Attribute(value=owner, attr="x"):
                return named(owner) == "blockIdx"
            case ast.Call(func=func, args=[ast.Constant(1)]):
                return named(func) == "grid"
            case ast.Call(func=func, args=[inner]) if self.converts(func):
                return self.wide(inner)
            case ast.BinOp(left=left, op=op, right=right):
                return isinstance(op, GROWS) and (self.wide(left) or self.wide(right))
        return False

    def narrow(self, node: ast.expr) -> Narrow | None:
        """Return the conversion that may cut off part of an index, or None."""
        match node:
            case ast.Name(name):
                return self._narrow.get(name)
            case ast.Call(func=func, args=[inner]):
                kind = self.kind(func)
                small = kind is not None and is_small(kind)
                if small and kind is not None and self.wide(inner):
                    return Narrow(kind, node.lineno)
                return self.narrow(inner) if self.converts(func) else None
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, GROWS):
                return self.narrow(left) or self.narrow(right)
        return None

    def converts(self, func: ast.expr) -> bool:
        """Return whether calling `func` converts its argument to another type."""
        return named(func) in WHOLE or self.kind(func) is not None

    def kind(self, func: ast.expr) -> np.dtype[Any] | None:
        """Return the number type that `func` names, or None for anything else."""
        match func:
            case ast.Name(name):
                value = self._scope.get(name)
            case ast.Attribute(value=ast.Name(name), attr=attribute):
                value = getattr(self._scope.get(name), attribute, None)
            case _:
                return None
        if isinstance(value, type) and issubclass(value, np.number):
            return np.dtype(value)
        return meaning.as_dtype(value) if meaning.is_number_type(value) else None


def is_small(kind: np.dtype[Any]) -> bool:
    """Return whether a type cannot hold the indices of large arrays."""
    return kind.itemsize <= (4 if kind.kind == "f" else 2) and kind.kind in "fiu"


def named(node: ast.expr) -> str:
    """Return the last part of a name: `grid` for `cuda.grid`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def indices(node: ast.AST, flat: set[str]) -> Iterator[ast.expr]:
    """Yield the expressions that a node uses to index the arrays in `flat`."""
    match node:
        case ast.Subscript(value=ast.Name(name), slice=index) if name in flat:
            yield index
        case ast.Call(args=[ast.Name(name), index, *_]) if name in flat:
            yield index
