"""Calls to a learner's code, with its kernels watched and its errors explained."""

import contextlib
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from weft import device
from weft.checking.gaming import belongs, of_another, watched
from weft.checking.room import Facts
from weft.checking.step_limit import counted
from weft.checking.verdict import Failed
from weft.kernels.launched import Launches, worded
from weft.torch_ops import words
from weft.torch_ops.exercise import TorchExercise
from weft.torch_ops.tensors import results_of, tensors
from weft.torch_stream import another, handle_of


class Calls:
    """The calls of one check, all of them under the sanitizer.

    device: the device of the check's tensors, which is the GPU if there is one, as in
    the learner's own calls. Kernels are simulated on copies.
    """

    def __init__(self, exercise: TorchExercise) -> None:
        self.exercise, self.written = exercise, exercise.written
        self.name = exercise.name
        self.launches = Launches(exercise.name)
        self.device = "cuda" if on_gpu() else "cpu"

    def results(self, inputs: list[Any], when: str) -> list[Any]:
        """Call the learner's code; return its results, then the inputs it may change.

        when: how a verdict names the data. Raises `Failed` for a fault, an exception,
        or a call to the spec or to a forbidden module.
        """
        exercise, borrowed = self.exercise, []

        def call() -> Any:
            got, found = watched(
                lambda: exercise.results(*inputs),
                (),
                exercise.spec,
                forbidden(exercise.without),
                exercise.lines,
                self.written.main,
            )
            borrowed.append(found)
            return got

        if belongs(main := self.written.main, exercise.without):
            called = f"{main.__module__}.{self.name}"
            raise Failed(of_another(self.name, self.name, called))
        got = results_of(self._guarded(call, when))
        if found := borrowed[0]:
            raise Failed(of_another(self.name, self.name, *found))
        return got + exercise.changed(inputs)

    def run(self, work: Callable[[], Any], when: str) -> Any:
        """Run `work`, such as a backward pass, which calls the learner's code."""
        lines, main = self.exercise.lines, self.written.main
        return self._guarded(lambda: counted(work, (), lines, main, COMPILING), when)

    def _guarded(self, work: Callable[[], Any], when: str) -> Any:
        """Run `work` under the sanitizer; raise `Failed` for any error in it."""
        wording = worded(
            self.launches,
            self.name,
            when,
            self.written.raised_at,
            lambda error: words.raised(self.written, error).but(when=when),
        )
        with wording, self.launches.watched(when), poisoned(), quiet():
            return work()


COMPILING = 300  # seconds that a function may wait for torch.compile's processes


def forbidden(modules: tuple[str, ...]) -> tuple[str, ...]:
    """Return `modules`, and the C++ modules that hold some of their functions."""
    return (*modules, *(["torch._C._nn"] if "torch.nn.functional" in modules else []))


@contextlib.contextmanager
def poisoned() -> Iterator[None]:
    """Within a `with` block, fill floating-point results of `torch.empty` with NaN."""
    before = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warn_only)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Hide PyTorch's warnings in a `with` block: the verdict says what matters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def reworded(*kinds: str, **changes: Any) -> Iterator[None]:
    """Change fields of a verdict raised in a `with` block if its kind is in `kinds`."""
    try:
        yield
    except Failed as failed:
        if failed.verdict.kind not in kinds:
            raise
        raise Failed(failed.verdict.but(**changes)) from None


def on_gpu() -> bool:
    """Return whether tensors and kernels can use a GPU here."""
    return device.find().usable and torch.cuda.is_available()


def first_line(error: BaseException) -> str:
    """Return the first line of an error, without PyTorch's advice to developers."""
    text = str(error).strip().splitlines()
    return re.sub(r"\s*\(scroll up.*", "", text[0]) if text else ""


def on_another_stream(exercise: TorchExercise, calls: Calls) -> Facts:
    """Check that a call launches its kernels on the caller's current stream.

    Returns facts; raises `Failed` if a launch is on another stream.
    """
    case = exercise.case(exercise.sizes[-1])
    when = f"{case.label}, on another stream"
    backward = exercise.gradient is not False
    given = tensors(case.inputs, device=calls.device, grad=backward, host=exercise.host)
    launches = calls.launches.streams
    before = len(launches)
    with another() as is_current:
        results = calls.results(given, when)
        if backward:
            calls.run(lambda: torch.autograd.backward(loss(results)), when)
    for stream, places in launches[before:]:
        if not is_current(stream):
            which = "another" if handle_of(stream) else "the default"
            raise exercise.failed(
                "stream",
                f"{exercise.name} launches its kernel on {which} stream, while PyTorch "
                "is working on a stream of the caller's.",
                "Nothing orders the two streams: the kernel may start before its input "
                "has been computed, and the result may be read before the kernel ends. "
                "A CUDA graph is captured without the kernel, or the capture fails. "
                "`with torch.cuda.stream(s):` "
                "changes which stream is current, so when does it have to be looked "
                "up?",
                places,
                when=when,
            )
    if len(launches) == before:
        return []
    return ["every launch is on the current stream"]


def loss(results: list[Any]) -> Any:
    """Return the sum of all elements of the results that require a gradient."""
    return sum(r.sum() for r in results if r.requires_grad)
