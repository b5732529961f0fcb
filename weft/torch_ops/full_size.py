"""On a GPU: tensors of full size, and the stream that PyTorch is using."""

from typing import Any

import torch

from weft.checking.compare import difference
from weft.checking.room import Facts
from weft.checking.source import returns
from weft.checking.verdict import Failed, Verdict
from weft.checking.waiting import wait_for
from weft.torch_ops import words
from weft.torch_ops.calls import Calls, quiet
from weft.torch_ops.exercise import TorchExercise
from weft.torch_ops.tensors import array, is_tensor, results_of, tensors

cuda: Any = torch.cuda

BUSY = 20_000_000  # clock cycles: how long the stream waits before the data arrive


def run(exercise: TorchExercise, calls: Calls) -> Facts:
    """Call it with tensors on the GPU, on the current stream and on another."""
    case = exercise.case(exercise.full)
    when = f"{case.label}, on the GPU"
    given = tensors(case.inputs, device="cuda")
    if wrong := compared(exercise, case, called(exercise, given, when)):
        hint = wrong.hint or "It was right in the simulator, on small sizes."
        raise Failed(verdict(exercise, "wrong-value", wrong, hint, when))
    late = called(exercise, given, when, busy=True)
    if wrong := compared(exercise, case, late):
        raise Failed(
            verdict(
                exercise,
                "stream",
                wrong,
                "The data come on a stream of their own, which was still busy when the "
                "kernel ran. Inside `torch.cuda.stream(...)` all work belongs on that "
                "stream: on which one is the kernel launched?",
                f"{when}, on another stream",
            )
        )
    return [f"right on the GPU: {case.label}, on any stream"]


def called(
    exercise: TorchExercise, given: list[Any], when: str, busy: bool = False
) -> list[Any]:
    """Call it on a GPU and wait, though not for ever. Raises `Failed`.

    busy: on a stream of its own, which has the data only after a while.
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
            found = results_of(exercise.results(*inputs))
            names = exercise.names(len(inputs))
            found += [
                value
                for name, value in zip(names, inputs, strict=True)
                if name in exercise.changes
            ]
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


def compared(exercise: TorchExercise, case: Any, results: list[Any]) -> Any:
    """How the first wrong result differs; None if all are right."""
    for got, wanted in zip(results, case.expected, strict=True):
        wrong = difference(array(got), wanted, exercise.tolerance)
        if wrong is not None:
            return wrong
    return None


def verdict(
    exercise: TorchExercise, kind: str, wrong: Any, why: str, when: str
) -> Verdict:
    places = returns(exercise.written.main)
    return Verdict(
        exercise.name, kind, wrong.sentence("result"), why, places, when=when
    )
