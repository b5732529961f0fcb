"""An exercise, as the arguments of `check` describe it."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from weft.backend import python_function

Arrays = tuple[Any, ...]
SEED = 20_26


@dataclass(frozen=True)
class Exercise:
    """What to run, on what, and what is right.

    `kernel` is called as `kernel(*inputs, *outputs)`. `written_by_learner` is the
    function that a verdict is about: the kernel, or a function that chooses its launch.
    """

    written_by_learner: Any
    kernel: Any
    spec: Callable[..., Any]
    inputs: Callable[..., Any]
    sizes: Sequence[Any]
    launch: Callable[..., Any]
    full: Any
    out: Callable[..., Any] | None
    tolerance: float
    limits: dict[str, Any]
    unseen: bool = True
    lesson_size: tuple[int, ...] = ()  # to be run as the unseen one
    constants: Sequence[dict[str, Any]] = ()  # to be run with as well

    @property
    def name(self) -> str:
        return str(self.written_by_learner.__name__)

    @property
    def checks_launch(self) -> bool:
        """Whether the learner wrote the launch, not the kernel."""
        return self.written_by_learner is not self.kernel

    @property
    def first_size(self) -> tuple[Any, ...]:
        """What stage 1 runs first."""
        size = self.sizes[0]
        return size if isinstance(size, tuple) else (size,)

    def case(self, size: Any, seed: int = SEED) -> "Case":
        """Make the data for one size: seeded, so that every run sees the same."""
        parts = size if isinstance(size, tuple) else (size,)
        rng = np.random.default_rng([seed, *(int(p) for p in parts)])
        given = as_tuple(self.inputs(rng, *parts))
        typed = as_tuple(self.spec(*copies(given)))
        exact = as_tuple(self.spec(*(widened(x) for x in copies(given))))
        if self.out is None:
            outputs = tuple(np.empty_like(np.asarray(t)) for t in typed)
        else:
            outputs = tuple(np.array(o) for o in as_tuple(self.out(*copies(given))))
        exact_arrays = tuple(map(np.asarray, exact))
        return Case(parts, given, exact_arrays, outputs, seed == SEED)


@dataclass(frozen=True)
class Case:
    """The data of one size: `outputs` is what the kernel will write into.

    `listed` says that the exercise names the size.
    """

    size: tuple[Any, ...]
    inputs: Arrays
    expected: tuple[np.ndarray[Any, Any], ...]
    outputs: tuple[np.ndarray[Any, Any], ...]
    listed: bool = True

    @property
    def label(self) -> str:
        if not self.size:
            return "" if self.listed else "on other data"
        written = "size " + " × ".join(f"{s:,}" for s in self.size)
        return written if self.listed else f"{written}, which the check does not list"


def as_tuple(value: Any) -> Arrays:
    return value if isinstance(value, tuple) else (value,)


def copies(values: Arrays) -> Arrays:
    return tuple(v.copy() if isinstance(v, np.ndarray) else v for v in values)


def widened(value: Any) -> Any:
    """Give `value` in double precision, so that the spec's own rounding is no issue."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value.astype(np.float64)
    return float(value) if isinstance(value, np.floating) else value


def source_function(value: Any) -> FunctionType | None:
    """The Python function behind a kernel or a plain function, if there is one.

    Of a function that `functools.wraps` put round another it is the inner one, which
    is what the learner wrote.
    """
    if isinstance(value, FunctionType):
        inner: FunctionType = inspect.unwrap(value)
        return inner
    return python_function(value)


def is_kernel(value: Any) -> bool:
    """Whether `@cuda.jit` made it; Numba's own `@jit` compiles for the CPU."""
    return python_function(value) is not None and "cuda" in type(value).__module__
