"""Check the result of a run on the model, and of a run on a GPU."""

import ast
from collections import Counter
from collections.abc import Sequence
from enum import EnumMeta
from typing import Any

import torch

from weft.checking import values
from weft.checking.room import Facts
from weft.checking.source import at_line, raised_at, returns, tree_of
from weft.checking.verdict import Failed
from weft.libraries.arguments import Bench, on_gpu
from weft.libraries.binding import LibraryError
from weft.libraries.convolutions import Tensor
from weft.libraries.device_memory import Buffer, covered
from weft.libraries.exercise import LibraryExercise, wide
from weft.libraries.headers import cudnn
from weft.libraries.model import Model
from weft.libraries.run import Run, found_in, result_in
from weft.libraries.words import compare, why_refused, worded
from weft.places import Note
from weft.wording import joined, several

NCHW = cudnn.TensorFormat.NCHW
ON_MODEL = "It was right on the model of the library, on small sizes."


def judge(run: Run) -> None:
    """Check a run's library calls and its result. Raises `Failed` for a mistake."""
    model = run.model
    faultless(run)
    if run.error is not None:
        raise raised(run, run.error)
    if not model.calls:
        raise run.failed(
            "wrong-value",
            f"{run.name} returns, and the library has computed nothing.",
            "The work has to be done by the library's function.",
            returns(run.function),
            headline="the library is not called",
        )
    for buffer, before in zip(model.memory.buffers, run.before, strict=False):
        unchanged(run, buffer, before)
    compare(run)
    for call in model.calls:
        if model.stream and call.stream != model.stream:
            which = "another stream" if call.stream else "the default stream"
            raise run.failed(
                "stream",
                f"{call.symbol} runs on {which}, and the data are made on the stream "
                "that is passed.",
                "Nothing makes one stream wait for the other, so the product may read "
                "what is not there yet. cuBLAS takes the stream from its handle, "
                "cuBLASLt from the call.",
                call.places,
            )
    nothing_left(run)


def faultless(run: Run) -> None:
    """Raise `Failed` for the first fault that the model found, if any."""
    for found in run.model.faults:
        raise run.failed(
            found.kind,
            worded(found.message),
            found.why,
            found.places,
            headline=found.headline,
        )


def raised(run: Run, error: Exception) -> Failed:
    """Return the `Failed` for a run in which the learner's function raised `error`."""
    places = raised_at(error, run.function)
    if run.model.refusals:
        reason = run.model.refusals[-1]
        why = why_refused(run.exercise.library, reason)
        late = set_later(run, places)
        if late:
            numbers = joined([str(place.line) for place, _ in late])
            lines = f"line{'s' * (len(late) > 1)} {numbers}"
            why = f"This call comes before {lines}, and cannot see what is set there."
        return run.failed("status", worded(reason), why, [*places, *late])
    message = f"{type(error).__name__}: {error}".removesuffix(": ")
    return run.failed(kind_of(error), message, members(error), places)


def members(error: Exception) -> str:
    """Return a sentence that lists an enumeration's members.

    Returns "" unless `error` is about a missing member of an enumeration.
    """
    kind = getattr(error, "obj", None)
    if not isinstance(error, AttributeError) or not isinstance(kind, EnumMeta):
        return ""
    names = joined([f"`{name}`" for name in kind.__members__])
    return f"`{kind.__name__}` has {names}."


def set_later(run: Run, places: Sequence[Note]) -> list[Note]:
    """Return the later lines that set descriptors passed to a refused call.

    On these lines, the first argument of a call is also passed to the refused call, but
    not as its first argument, which is a handle.
    """
    calls = [n for n in ast.walk(tree_of(run.function)) if isinstance(n, ast.Call)]
    here = [place.line for place, _ in places[-1:]]
    refused = [call for call in calls if call.lineno in here]
    given = {a.id for c in refused for a in c.args[1:] if isinstance(a, ast.Name)}
    late = {
        call.lineno
        for call in calls
        if here and call.lineno > max(here) and isinstance(call.func, ast.Name)
        if call.args and isinstance(call.args[0], ast.Name)
        if call.args[0].id in given
    }
    return [(at_line(run.function, line), "comes later") for line in sorted(late)]


def kind_of(error: Exception) -> str:
    return "status" if isinstance(error, LibraryError) else "exception"


def unchanged(run: Run, buffer: Buffer, before: torch.Tensor) -> None:
    """Raise `Failed` if `buffer` has changed outside the result and the workspace."""
    now = buffer.tensor()
    changed = now != before
    places = run.model.calls[-1].places
    if buffer is run.out.buffer:
        changed &= ~covered(run.out.held)
        if changed.any():
            raise run.failed(
                "device-bounds",
                f"{buffer.name} is a part of a larger array. Byte "
                f"{int(changed.nonzero()[0]):,} of that array is outside the part, and "
                "it is overwritten.",
                "Rows of a part are further apart than they are long. The leading "
                "dimension says how far.",
                places,
                headline="what is between the rows is overwritten",
            )
    elif buffer.name != "workspace" and changed.any():
        raise run.failed(
            "input-written",
            f"{run.name} writes into {buffer.name}, which is an input.",
            "Which of the addresses is the one that the library writes to?",
            places,
        )


def nothing_left(run: Run) -> None:
    """Raise `Failed` if the run has not destroyed every object that it made."""
    if not (left := run.model.objects.left()):
        return
    others = len(left) - 1
    more = f", nor {others} other objects" if others > 1 else ""
    more = ", nor is one more object" if others == 1 else more
    keeps = "A handle keeps memory on the GPU until it is destroyed."
    if not any(each.what.startswith("handle") for each in left):
        keeps = "The library keeps its memory until it is destroyed."
    raise run.failed(
        "handle-leak",
        f"The {left[0].what} made here is never destroyed{more}.",
        f"Python does not know that the number is an object of the library. {keeps}",
        [note for each in left for note in each.places],
    )


def failing(exercise: LibraryExercise) -> Facts:
    """Check that the function raises an exception if a library call fails."""
    run = Run(exercise, exercise.case(exercise.sizes[0]), exercise.refuses)
    faultless(run)
    if run.error is None:
        raise exercise.failed(
            "unchecked",
            f"In one more run, {run.fails} returned CUBLAS_STATUS_EXECUTION_FAILED "
            f"(13), and {run.name} returned as if nothing had happened.",
            "C has no exceptions. A function that fails says so in the number that it "
            "returns, which the caller has to look at.",
            run.model.failed_at,
        )
    return ["an error of the library is raised"]


def held(exercise: LibraryExercise, run: Run) -> Facts:
    """Check a run against the exercise's limits. Raises `Failed` if it exceeds one."""
    calls, limits = run.model.calls, exercise.limits
    if len(calls) > limits.get("calls", len(calls)):
        why = (
            "Every call is a launch of its own, and each of them is far too small to "
            "fill a GPU."
        )
        if exercise.library == "cudnn":
            why = "What one call leaves in memory, the next one has to read again."
        message = f"{calls_made(run.model)}, where {limits['calls']} would do."
        raise run.failed("calls", message, why, calls[-1].places)
    for call in calls if "conversions" in limits else ():
        turned = [name for name, _, each in call.tensors if in_order(each, NCHW)]
        if len(turned) > limits["conversions"]:
            raise run.failed(
                "calls",
                f"{call.symbol} gets {turned[0]} in the order NCHW. Its kernels want "
                f"NHWC, so cuDNN copies {turned[0]} in a kernel of its own, at every "
                "call.",
                "The result is right. Which array is stored, or described, in another "
                "order than this exercise asks for?",
                call.places,
                headline="an array that has to be converted",
            )
    return [calls_made(run.model)]


def calls_made(model: Model) -> str:
    """Format how often each library function was called: '2 calls of A and 1 of B'."""
    first, *others = Counter(call.symbol for call in model.calls).items()
    more = [f"{count} of {symbol}" for symbol, count in others]
    return joined([f"{several(first[1], 'call')} of {first[0]}", *more])


def in_order(tensor: Tensor, order: int) -> bool:
    """Return whether a tensor has four axes, several channels and format `order`."""
    return len(tensor.shape) == 4 and tensor.order == order and tensor.shape[1] > 1


def real(exercise: LibraryExercise) -> Facts:
    """Check a call on the GPU with NVIDIA's library. Raises `Failed` if it is wrong."""
    size = exercise.full or exercise.sizes[-1]
    case = exercise.case(size)
    cuda: Any = torch.cuda
    when = f"{case.label}, on the GPU"
    bench = Bench(exercise.library, on_gpu)
    try:
        arrays = bench.arrays(case.inputs)
        args = tuple(exercise.given(bench, *arrays))
        cuda.synchronize()
        try:
            with cuda.stream(bench.asked_for):  # None: stay on the default stream
                exercise.written_by_learner(*args)
            cuda.synchronize()
        except Exception as error:
            places = raised_at(error, exercise.written_by_learner)
            said = f"{type(error).__name__}: {error}", ON_MODEL, places
            raise exercise.failed(kind_of(error), *said, when=when) from None
    finally:
        bench.close()
    out = result_in(exercise, [found_in(arrays, arg) for arg in args])
    got = wide(out).cpu().numpy()
    aim = case.expected[0]
    values.judge(exercise, exercise.result, got, aim, ON_MODEL, when=when)
    return [f"right on the GPU: {case.label}"]
