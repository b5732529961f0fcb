"""The kernel's line that stores to a result, found by repeating the call."""

import contextlib
import io
import linecache
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType, FunctionType
from typing import Any

import numpy as np

from weft import chapters
from weft.kernels.launched import intercepted, traced_launch
from weft.places import Note, Place
from weft.simulator.launch import parameters
from weft.simulator.trace.trace import Trace
from weft.starters import source_function
from weft.torch_ops.calls import poisoned, quiet
from weft.torch_ops.exercise import TorchExercise
from weft.torch_ops.tensors import Tensor, clones, is_tensor, results_of


@dataclass(frozen=True)
class Launch:
    """A launch in a call.

    own: whether the learner wrote the kernel. tensors: the arguments that are tensors,
    by their names in the kernel. line: the learner's line that led to the launch.
    """

    own: bool
    tensors: dict[str, Tensor]
    trace: Trace
    line: Place

    @property
    def threads(self) -> int:
        return int(np.prod(self.trace.grid_size) * np.prod(self.trace.block_size))


@dataclass(frozen=True)
class Stored:
    """Where a result was stored: lines, and a thread and its block."""

    places: list[Note]
    thread: tuple[int, ...]
    block: tuple[int, ...]


@dataclass(frozen=True)
class Others:
    """How a launch stores elements of a result, though not all of them.

    places: lines. threads: how many the launch has, if each stores one element and
    there are more elements; otherwise 0.
    """

    places: list[Note]
    threads: int = 0


def stored(
    exercise: TorchExercise, inputs: list[Any], number: int, index: tuple[int, ...]
) -> Stored | None:
    """Find the last store to an element of a result.

    inputs: the inputs of the call. number, index: of the result, and of its element.
    Returns None if no kernel of the learner's has made that store.
    """
    for launch, name, byte in launches(exercise, inputs, number, index):
        row = launch.trace.last_store(name, byte)
        if row is None:
            continue
        if not launch.own:
            return None
        places = lines(exercise, launch, [row], "stored here")
        return Stored(places, *launch.trace.by(row))
    return None


def others_stored(
    exercise: TorchExercise, inputs: list[Any], number: int, index: tuple[int, ...]
) -> Others:
    """Find how the other elements are stored, if one element is never written."""
    for launch, name, _ in launches(exercise, inputs, number, index):
        rows = launch.trace.stores(name)
        if not rows.size:
            continue
        threads = launch.threads if rows.size == launch.threads else 0
        threads *= threads < launch.tensors[name].numel()
        if not launch.own:
            return Others([(launch.line, "launched here")] * bool(threads), threads)
        _, firsts = np.unique(launch.trace.site[rows], return_index=True)
        note = "stores other elements"
        places = lines(exercise, launch, rows[np.sort(firsts)].tolist(), note)
        return Others(places, threads)
    return Others([])


def lines(
    exercise: TorchExercise, launch: Launch, rows: list[int], note: str
) -> list[Note]:
    """Return the lines of some accesses, and the one that launched their kernel."""
    main = source_function(exercise.written.main)
    assert main is not None
    found = []
    for row in rows:
        place = launch.trace.places[launch.trace.site[row]]
        where = f"in `{place.function}`"
        if place.file != main.__code__.co_filename:
            where += f", {chapters.origin(place.file)}"
        found.append((place, f"{note}, {where}"))
    return [*found, (launch.line, "launched here")]


def launches(
    exercise: TorchExercise, inputs: list[Any], number: int, index: tuple[int, ...]
) -> Iterator[tuple[Launch, str, int]]:
    """Yield each launch that was given the memory of an element, the last one first.

    With it, the name of the tensor in the kernel, and the element's offset in bytes.
    """
    made, results = repeated(exercise, inputs)
    if number >= len(results):
        return
    at = address(results[number], index)
    for launch in reversed(made):
        for name, tensor in launch.tensors.items():
            last = tuple(size - 1 for size in tensor.shape)
            if name not in launch.trace.bases or min(last, default=0) < 0:
                continue
            if tensor.data_ptr() <= at <= address(tensor, last):
                yield launch, name, at - tensor.data_ptr()


def address(tensor: Tensor, index: tuple[int, ...]) -> int:
    """Return the address of an element of a tensor."""
    steps = zip(index, tensor.stride(), strict=True)
    return tensor.data_ptr() + sum(i * s for i, s in steps) * tensor.element_size()


def repeated(
    exercise: TorchExercise, inputs: list[Any]
) -> tuple[list[Launch], list[Any]]:
    """Repeat a call; return its launches and results, or nothing if that fails."""
    main = source_function(exercise.written.main)
    given, made = clones(inputs), list[Launch]()
    if main is None:
        return [], []

    def handle(kernel: Any, config: Any, args: tuple[Any, ...]) -> None:
        function = source_function(kernel)
        line = learners_line(main)
        trace = traced_launch(kernel, config, args)
        if function is None or line is None:
            return
        named = zip(parameters(function, args), args, strict=True)
        tensors = {name: arg for name, arg in named if is_tensor(arg)}
        own = function.__globals__ is main.__globals__
        made.append(Launch(own, tensors, trace, line))

    printed = contextlib.redirect_stdout(io.StringIO())  # it has already been shown
    try:
        with intercepted(handle), poisoned(), quiet(), printed:
            results = results_of(exercise.results(*given)) + exercise.changed(given)
    except Exception:  # the first call used up what it was given
        return [], []
    return made, results


def learners_line(main: FunctionType) -> Place | None:
    """Return the line of the learner's module that is running, the innermost one."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals is not main.__globals__:
        frame = frame.f_back
    return None if frame is None else place_of(frame, frame.f_lineno)


def place_of(frame: FrameType, number: int) -> Place:
    """Return the place of a line of the function that runs in `frame`."""
    text = linecache.getline(frame.f_code.co_filename, number).strip()
    return Place(frame.f_code.co_name, number, text)
