"""Kernels in a page, judged by the simulator, with no compiler and no GPU.

NumPy and Numba are stand-ins here: `weft.in_page.numpy` and `weft.simulator.stand_in`.
An exercise contains the data of its cases, which the book's build has made.
"""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from weft.checking.cases import SEED, as_tuple
from weft.in_page.values import decoded
from weft.kernels import stages
from weft.kernels.exercise import KernelCase, KernelExercise
from weft.simulator.running import progress
from weft.simulator.trace.watched_run import WatchedRun

Data = Mapping[str, Any]

# Limits on fruitless iterations: a browser is slower, and its cases are small.
SUSPICIOUS, PATIENCE, MOST = 5_000, 10_000, 500_000


@dataclass(frozen=True, kw_only=True)
class PageExercise(KernelExercise):
    """A kernel exercise whose cases the build has made.

    made: the cases, keyed by `key_of`, and the unlisted size, under "unseen". launches:
    the grid and block, by constants and size. data: the seed for the data of the
    unlisted size.
    """

    can_explore: ClassVar[bool] = False  # there are no widgets
    has_spec: ClassVar[bool] = False  # the build has made the results of its cases

    made: Mapping[Any, Any] = field(default_factory=dict)
    launches: Mapping[Any, Any] = field(default_factory=dict)
    data: int = 0

    @property
    def number(self) -> int:
        return self.data

    def of_lesson(self) -> tuple[Any, Any]:
        return (), None

    def unseen_case(self, seed: int) -> Any:
        size = self.made.get("unseen")
        return None if size is None else self.case(size, seed)

    def case(self, size: Any, seed: int = SEED) -> KernelCase:
        """Return the case for a size. Raises KeyError if the build has made none."""
        parts = as_tuple(size)
        found = self.made[key_of(self, parts, seed)]
        return KernelCase(
            parts,
            decoded(found["inputs"]),
            decoded(found["expected"]),
            seed == SEED,
            parts in map(as_tuple, self.sizes),
            outputs=tuple(map(before, found["outputs"])),
        )


def before(data: Any) -> Any:
    """Return the output that `data` describes, as it is before a launch."""
    if isinstance(data, dict) and "empty" in data:
        return np.empty(tuple(data["shape"]), data["empty"])
    return decoded(data)


def key_of(exercise: KernelExercise, size: tuple[Any, ...], seed: int) -> Any:
    """Return the key of a case: constants, size, and whether the size is listed."""
    return (constants_now(exercise), size, seed == SEED)


def constants_now(exercise: KernelExercise) -> tuple[Any, ...]:
    """Return the current values of the exercise's constants."""
    function = exercise.function()
    scope = function.__globals__ if function else {}
    names = sorted({name for some in exercise.constants for name in some})
    return tuple(scope.get(name) for name in names)


def judge(thing: Any, scope: Data, explained: Data, exercise: Data) -> list[str]:
    """Judge a kernel, or a function that chooses a launch, and return the facts.

    thing: what the reader wrote. scope: the names that their code defines. explained:
    the chapter's explanations of wrong results, by name. Raises `Failed` if `thing` is
    wrong.
    """
    asked = made(thing, scope, explained, exercise)
    with with_less_patience():
        return [fact for stage in stages.without_a_compiler(asked) for fact in stage]


@contextmanager
def with_less_patience() -> Iterator[None]:
    """Make checks in a `with` block end fruitless loops sooner than in a lab."""
    before = progress.SUSPICIOUS, WatchedRun.patience, WatchedRun.most
    progress.SUSPICIOUS, WatchedRun.patience, WatchedRun.most = (
        SUSPICIOUS, PATIENCE, MOST,
    )  # fmt: skip
    try:
        yield
    finally:
        progress.SUSPICIOUS, WatchedRun.patience, WatchedRun.most = before


def made(thing: Any, scope: Data, explained: Data, exercise: Data) -> PageExercise:
    """Make the exercise from the data that the build has written."""
    launches = {}
    cases: dict[Any, Any] = {"unseen": decoded(exercise["unseen"])}
    for case in exercise["cases"]:
        key = tuple(case["constants"]), decoded(case["size"]), case["listed"]
        cases[key] = case
    for constants, size, config in exercise["launches"]:
        launches[tuple(constants), decoded(size)] = decoded(config)
    kernel = scope.get(exercise["kernel"]) if exercise["kernel"] else None
    asked: PageExercise

    def launch(*size: Any) -> Any:
        return launches[constants_now(asked), size]

    asked = PageExercise(
        written_by_learner=thing,
        kernel=kernel,
        spec=named(exercise["parameters"]),
        inputs=named([]),
        out=named([]) if exercise["out"] else None,
        sizes=decoded(exercise["sizes"]),
        launch=launch,
        tolerance=exercise["tolerance"],
        limits=decoded(exercise["limits"]),
        constants=decoded(exercise["constants"]),
        larger=decoded(exercise["larger"]),
        without=tuple(exercise["without"]),
        cluster=exercise.get("cluster", 1),
        unseen=exercise["is_unseen"],
        describe={k: explained[name] for k, name in exercise["describe"].items()},
        because=explained.get(exercise["because"] or ""),
        made=cases,
        launches=launches,
        data=int(exercise["seed"]),
    )
    return asked


def named(parameters: list[str]) -> Any:
    """Return a stand-in, with the given parameters, for a function of the lab."""

    def kept_in_the_lab(*_: Any) -> Any:
        raise AssertionError("a page has the results of the lab's functions")

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    each = [inspect.Parameter(name, kind) for name in parameters]
    kept_in_the_lab.__signature__ = inspect.Signature(each)  # type: ignore[attr-defined]
    return kept_in_the_lab
