"""Launches on the stream that PyTorch is using, which is not always the default one."""

from typing import Any

import torch

from weft.checking.room import Facts
from weft.checking.verdict import Failed, Verdict
from weft.places import Note
from weft.torch_ops.calls import Calls
from weft.torch_ops.exercise import TorchExercise
from weft.torch_ops.tensors import tensors
from weft.torch_stream import another, handle_of


def run(exercise: TorchExercise, calls: Calls) -> Facts:
    """Call it while another stream is the current one. Raises `Failed`."""
    case = exercise.case(exercise.sizes[-1])
    when = f"{case.label}, on another stream"
    backward = exercise.gradient is not False
    given = tensors(case.inputs, device=calls.device, grad=backward)
    launches = calls.launches.streams
    before = len(launches)
    with another() as is_current:
        results = calls.results(given, when)
        if backward:
            calls.run(lambda: torch.autograd.backward(loss(results)), when)
    for stream, places in launches[before:]:
        if not is_current(stream):
            raise Failed(elsewhere(exercise, stream, places, when))
    if len(launches) == before:
        return []
    return ["every launch is on the current stream"]


def loss(results: list[Any]) -> Any:
    """One number that all results go into."""
    return sum(r.sum() for r in results if r.requires_grad)


def elsewhere(
    exercise: TorchExercise, stream: Any, places: list[Note], when: str
) -> Verdict:
    """The verdict on a launch that is on another stream than PyTorch's work."""
    which = "another" if handle_of(stream) else "the default"
    return Verdict(
        exercise.name,
        "stream",
        f"{exercise.name} launches its kernel on {which} stream, while PyTorch is "
        "working on a stream of the caller's.",
        "Nothing orders the two streams: the kernel may start before its input has "
        "been computed, and the result may be read before the kernel ends. The capture "
        "of a CUDA graph fails. `with torch.cuda.stream(s):` changes which stream is "
        "current, so when does it have to be looked up?",
        places,
        when=when,
    )
