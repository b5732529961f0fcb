"""Checks on a GPU: with full-size tensors, and on another stream."""

from typing import Any

import torch

from weft.checking.room import Facts
from weft.checking.source import returns
from weft.checking.values import judge
from weft.checking.verdict import Failed
from weft.checking.waiting import wait_for
from weft.torch_ops import words
from weft.torch_ops.calls import Calls, quiet, reworded
from weft.torch_ops.exercise import TorchExercise
from weft.torch_ops.tensors import array, is_tensor, results_of, tensors

cuda: Any = torch.cuda

BUSY = 20_000_000  # clock cycles that the stream waits before the data arrive


ON_STREAMS = (
    "The data come on a stream of their own, which was still busy when the kernel ran. "
    "Inside `torch.cuda.stream(...)` all work belongs on that stream: on which one is "
    "the kernel launched?"
)


def run(exercise: TorchExercise, calls: Calls) -> Facts:
    """Check calls with tensors on the GPU, on the current stream and on another one.

    Returns a list of one fact; raises `Failed` if a call is wrong.
    """
    case = exercise.case(exercise.full)
    when = f"{case.label}, on the GPU"
    given = tensors(case.inputs, device="cuda")
    right(exercise, case, called(exercise, given, when), when)
    late = called(exercise, given, when, busy=True)
    with reworded("wrong-value", kind="stream", why=ON_STREAMS):
        right(exercise, case, late, f"{when}, on another stream")
    return [f"right on the GPU: {case.label}, on any stream"]


def called(
    exercise: TorchExercise, given: list[Any], when: str, busy: bool = False
) -> list[Any]:
    """Call the learner's code on a GPU; wait for the results, but not for ever.

    busy: whether to use another stream, on which the data arrive late. Raises `Failed`
    if the call fails or takes too long.
    """
    stream = cuda.Stream() if busy else cuda.current_stream()
    inputs = given
    if busy:
        inputs = [torch.zeros_like(v) if is_tensor(v) else v for v in given]
    cuda.synchronize()
    try:
        with quiet(), cuda.stream(stream):
            if busy:
                cuda._sleep(BUSY)
                for target, source in zip(inputs, given, strict=True):
                    if is_tensor(target):
                        target.copy_(source, non_blocking=True)
            found = results_of(exercise.results(*inputs)) + exercise.changed(inputs)
            results = [r.clone() for r in found]
            done = cuda.Event()
            done.record(stream)
        wait_for(done, exercise.name, "The call", when, ended_in="the simulator")
    except Failed:
        raise
    except Exception as error:
        raise Failed(words.raised(exercise.written, error).but(when=when)) from None
    cuda.synchronize()
    return results


def right(exercise: TorchExercise, case: Any, results: list[Any], when: str) -> None:
    """Compare the results with the spec's. Raises `Failed` if they differ."""
    why = "It was right in the simulator, on small sizes."
    places = returns(exercise.written.main)
    for got, wanted in zip(results, case.expected, strict=True):
        said = "result", array(got), wanted, why
        judge(exercise, *said, places=places, when=when)
