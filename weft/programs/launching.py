"""One launch of a program: its data, its grid, and each parameter's argument."""

import inspect
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from weft.checking.cases import as_tuple
from weft.checking.source import line_with, returns
from weft.checking.verdict import Failed, Verdict
from weft.kernels import trial
from weft.kernels.exercise import KernelCase
from weft.places import Note
from weft.programs.exercise import ProgramExercise
from weft.programs.memory import Arena
from weft.programs.program import Meta
from weft.programs.trace import Accesses, Dim
from weft.programs.wording import ProgramWords

MOST_PROGRAMS = 4096  # the most that a check interprets


@dataclass(frozen=True)
class Launch:
    """A case, and how the program is launched on it.

    arguments: each parameter's argument, in order. axes: the number of axes of the
    grid. options: launch options such as num_warps. tuned: the configuration's
    constants, for a verdict, or "".
    """

    exercise: ProgramExercise
    case: KernelCase
    arena: Arena
    arguments: dict[str, Any]
    grid: Dim
    axes: int
    options: Meta
    tuned: str = ""

    @property
    def name(self) -> str:
        return self.exercise.name

    @property
    def words(self) -> ProgramWords:
        return self.exercise.words

    @property
    def when(self) -> str:
        return ", ".join(filter(None, (self.case.label, self.tuned)))

    @property
    def programs(self) -> int:
        return int(np.prod(self.grid))

    @property
    def shape(self) -> str:
        """The size of the grid, as in '3 × 1'."""
        return " × ".join(map(str, self.grid[: self.axes]))

    @property
    def count(self) -> str:
        """The beginning of a sentence: 'The grid has 3 × 1 programs'."""
        one = self.axes == 1 and self.programs == 1
        shown = f"{self.programs:,}" if self.axes == 1 else self.shape
        return f"The grid has {shown} program{'s' * (not one)}"

    def verdict(self, row: str, places: Sequence[Note] = (), **told: Any) -> Verdict:
        """Make a verdict on this launch from a row of `wording.toml`."""
        told = {"when": self.when, **told}
        return self.words.verdict(self.name, row, places, **told)


@dataclass(frozen=True)
class Done:
    """The results of a launch."""

    launch: Launch
    trace: Accesses

    @property
    def outputs(self) -> list[np.ndarray[Any, Any]]:
        return [r.data for r in self.launch.arena.regions if not r.readonly]


def launches(
    exercise: ProgramExercise, case: KernelCase, every: bool = False
) -> Iterator[Launch]:
    """Yield a case's launch with the first configuration or, if `every`, one with each.

    Raises `Failed` if the program's parameters or the learner's grid do not fit.
    """
    grid, meta = chosen(exercise, case)
    configs = exercise.program.configs
    for config in configs if every else configs[:1]:
        arena = Arena(case.inputs, exercise.fresh(case), exercise.out is None)
        given = positional(exercise, case, tensors(case, arena))
        arguments, options = parameters(exercise, case, given, {**meta, **config})
        constants = {k: v for k, v in config.items() if k not in exercise.options}
        tuned = ", ".join(f"{k}={v}" for k, v in constants.items())
        size = dimensions(exercise, case, grid, {**arguments, **options})
        x, y, z = (*size, 1, 1)[:3]
        name_arrays(exercise, case, arena, arguments)
        launched = arena, arguments, (x, y, z), len(size), options, tuned
        yield Launch(exercise, case, *launched)


def again(launch: Launch) -> Launch:
    """Make a launch once more, on new copies of its arrays."""
    every = launches(launch.exercise, launch.case, every=True)
    return next(each for each in every if each.tuned == launch.tuned)


def tensors(case: KernelCase, arena: Arena) -> list[Any]:
    """Return the case's values in order, with arrays as tensors in the arena's memory.

    Raises ValueError for an input that is already a tensor.
    """
    import torch

    regions = iter(arena.regions)
    values = (*case.inputs, *case.outputs)
    if any(isinstance(v, torch.Tensor) for v in values):
        raise ValueError("inputs= gives a tensor; it has to give NumPy arrays")
    return [
        torch.from_numpy(next(regions).data) if isinstance(v, np.ndarray) else v
        for v in values
    ]


def positional(
    exercise: ProgramExercise, case: KernelCase, values: list[Any]
) -> tuple[Any, ...]:
    """Return the program's arguments for a case, without its constants."""
    if exercise.arguments is not None:
        return as_tuple(exercise.arguments(*values))
    return (*values, *case.size) if exercise.gets_size else tuple(values)


def parameters(
    exercise: ProgramExercise, case: KernelCase, given: tuple[Any, ...], meta: Meta
) -> tuple[dict[str, Any], Meta]:
    """Return each parameter's argument, and the launch's options.

    Raises `Failed` if the arguments do not fit the parameters.
    """
    program = exercise.program
    options = {
        key: value
        for key, value in meta.items()
        if key in exercise.options and key not in program.parameters
    }
    constants = {key: value for key, value in meta.items() if key not in options}
    named = dict(zip(program.parameters, given, strict=False)) | constants
    for key, compute in (program.heuristics or {}).items():
        constants[key] = compute(named)
    try:
        return bound(program.function, given, constants), options
    except TypeError:
        raise Failed(misfit(exercise, case, len(given), constants)) from None


def misfit(
    exercise: ProgramExercise, case: KernelCase, given: int, constants: Meta
) -> Verdict:
    """Return the verdict on a program whose parameters do not fit its call."""
    program = exercise.program
    inputs, outputs = len(case.inputs), len(case.outputs)
    names = exercise.array_names(inputs, outputs)
    if exercise.arguments is not None or given != inputs + outputs + len(case.size):
        names = [f"argument {k + 1}" for k in range(given)]
    else:
        names += [f"{part}" for part in case.size]
    call = ", ".join([*names, *(f"{k}={v}" for k, v in constants.items())])
    own = ", ".join(program.parameters)
    lost = [c for c in program.constants if c not in constants]
    why = {}
    if unknown := [key for key in constants if key not in program.parameters]:
        why = exercise.words("no-such-parameter", lost=unknown[0], parameters=own)
    elif lost and len(program.parameters) > given + len(constants):
        why = exercise.words("no-value", lost=lost[0], parameters=own)
    return exercise.words.verdict(
        exercise.name,
        "misfit",
        line_with(program.function, r"def\b"),
        program=program.function.__name__,
        call=call,
        parameters=own,
        when=case.label,
        **why,
    )


def name_arrays(
    exercise: ProgramExercise, case: KernelCase, arena: Arena, arguments: dict[str, Any]
) -> None:
    """Name each array after the parameter that points to it."""
    names = exercise.array_names(len(case.inputs), len(case.outputs))
    values = (*case.inputs, *case.outputs)
    kept = [n for n, v in zip(names, values, strict=True) if isinstance(v, np.ndarray)]
    for region, name in zip(arena.regions, kept, strict=True):
        region.name = name
        for parameter, value in arguments.items():
            tensor = getattr(value, "base", value)  # if it is a tensor descriptor
            if getattr(tensor, "data_ptr", int)() == region.start:
                region.name = parameter


def chosen(exercise: ProgramExercise, case: KernelCase) -> tuple[Any, Meta]:
    """Return the grid and constants for a case, from the exercise or the learner."""
    if not exercise.checks_launch:
        return apart(exercise.launch(*case.size))
    return apart(trial.chosen(exercise, case))


def apart(found: Any) -> tuple[Any, Meta]:
    """Split a launch function's result into the grid and the constants."""
    if isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], dict):
        return found
    return found, {}


def dimensions(
    exercise: ProgramExercise, case: KernelCase, grid: Any, meta: Meta
) -> tuple[int, ...]:
    """Return the number of programs along each axis that the grid has.

    For a wrong grid, raises `Failed` if the learner chose it, and otherwise ValueError.
    """
    size = grid(meta) if callable(grid) else grid
    size = size if isinstance(size, tuple | list) else (size,)
    whole = all(isinstance(n, int | np.integer) and n > 0 for n in size)
    if whole and 1 <= len(size) <= 3:
        count, most = math.prod(map(int, size)), MOST_PROGRAMS
        if count <= most:
            return tuple(map(int, size))
        said = exercise.words("many-programs", size=tuple(size), count=count, most=most)
    else:
        said = exercise.words("no-grid", size=size if len(size) != 1 else repr(size[0]))
    if not exercise.checks_launch:
        raise ValueError(
            f"check({exercise.name}, ...): {said['message']} {said['why']}"
        )
    places = returns(exercise.source)
    told = said["message"], said["why"], places
    raise exercise.failed("launch", *told, when=case.label)


def bound(
    function: FunctionType, positional: tuple[Any, ...], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the argument of each parameter. Raises TypeError if they do not fit."""
    binding = inspect.signature(function).bind(*positional, **named)
    binding.apply_defaults()
    return dict(binding.arguments)
