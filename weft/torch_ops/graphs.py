"""torch.compile: how many times the graph breaks, on which lines, and why."""

import contextlib
import io
import linecache
import logging
import re
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import torch
import torch._dynamo

from weft.checking.room import Facts
from weft.checking.values import judge
from weft.checking.verdict import Failed
from weft.places import Note, Place
from weft.torch_ops.calls import Calls, first_line, quiet
from weft.torch_ops.exercise import TorchExercise
from weft.torch_ops.tensors import array, results_of, tensors
from weft.wording import several

NO_DATA = (
    "While it compiles there are no numbers yet. What would the graph need so that the "
    "decision stays in it?"
)

WITHOUT = (
    "Without torch.compile it is right. What does the function do that a graph does "
    "not show?"
)

REASONS = [  # PyTorch's message on a break, what happened, and why it breaks
    (
        r"\.item\(\)|capture_scalar_outputs|_local_scalar_dense|Tensor\.tolist",
        "a number is taken out of a tensor",
        "Python needs that number to go on, so the graph ends here, and a GPU has to "
        "finish first. Can the value stay in a tensor?",
    ),
    (
        r"generic_jump|[Dd]ata-dependent (branching|jump)",
        "Python decides on the value of a tensor",
        NO_DATA,
    ),
    (
        r"`print`|builtin print|logging",
        "something is printed",
        "Printing happens in Python, between two graphs. Does it have to happen at "
        "every call?",
    ),
    (
        r"numba|weft|Launcher",
        "something is called that torch.compile does not look into",
        "A kernel that is launched directly is no operation of a graph. What makes one "
        "of it?",
    ),
]


def run(exercise: TorchExercise, calls: Calls) -> Facts:
    """Count graph breaks, then compile and compare results.

    Raises `Failed` if there are too many breaks, or if a step fails.
    """
    most = int(exercise.limits["graph_breaks"])
    case = exercise.case(exercise.sizes[-1])
    with compiling():
        breaks = found_breaks(exercise, calls, case)
        if len(breaks) > most:
            raise broken(exercise, breaks, most, case.label)
        compiled(exercise, calls, case, whole=most == 0)
    count = several(len(breaks), "graph break")
    return [f"{count} under torch.compile" if breaks else "one graph: no graph break"]


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Silence PyTorch in a `with` block; discard compiled code before and after it."""
    torch._dynamo.reset()
    torch._dynamo.trace_rules.add("weft")  # its frames are not the learner's
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with quiet(), contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(before)
        torch._dynamo.reset()


def called(exercise: TorchExercise) -> Any:
    """Return what to compile: the learner's function, or code that calls it.

    That code is compiled from a string, because torch.compile skips our files.
    """
    if exercise.call is None and isinstance(exercise.written.call, FunctionType):
        return exercise.written.call
    if exercise.call is None:
        text, names = "lambda *inputs: thing(*inputs)", {"thing": exercise.written.call}
    else:
        text = "lambda *inputs: call(thing, *inputs)"
        names = {"thing": exercise.written.thing, "call": exercise.call}
    return eval(compile(text, "<check>", "eval"), names)


def found_breaks(exercise: TorchExercise, calls: Calls, case: Any) -> list[Any]:
    """Return a call's graph breaks, with reasons. Raises `Failed` if the call fails."""
    given = tensors(case.inputs, device=calls.device)
    try:
        said = torch._dynamo.explain(called(exercise))(*given)
    except Exception as error:
        raise not_compiled(exercise, error, case.label) from None
    once = {str(place(each.user_stack, "")): each for each in said.break_reasons}
    return list(once.values())  # a break in a function also breaks its caller


def compiled(exercise: TorchExercise, calls: Calls, case: Any, whole: bool) -> None:
    """Check the learner's code under `torch.compile`.

    whole: whether the code has to become one graph. Raises `Failed` if it does not
    compile, or if its results are wrong.
    """
    given = tensors(case.inputs, device=calls.device)
    torch._dynamo.reset()
    try:
        function: Any = torch.compile(
            called(exercise), backend="aot_eager", fullgraph=whole
        )
        results = results_of(function(*given))
    except Exception as error:
        raise not_compiled(exercise, error, case.label) from None
    for got, wanted in zip(results, case.expected, strict=False):
        judge(
            exercise,
            "result",
            array(got),
            wanted,
            lambda _: WITHOUT,
            lead="Compiled, ",
            when=case.label,
            headline="right, but not after torch.compile",
        )


def broken(exercise: TorchExercise, breaks: list[Any], most: int, when: str) -> Failed:
    """Return the failure for too many breaks, with up to 4 lines and one reason."""
    notes: list[Note] = []
    for each in breaks[:4]:
        what, _ = reason(str(each.reason))
        notes += place(each.user_stack, what)
    what, why = reason(str(breaks[0].reason))
    allowed = "none is allowed" if most == 0 else f"{most} may be"
    return exercise.failed(
        "graph-break",
        f"torch.compile breaks the graph {times(len(breaks))}, and {allowed}: {what}.",
        why,
        notes,
        when=when,
    )


def times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def reason(text: str) -> tuple[str, str]:
    """Extract from PyTorch's message what broke the graph, and why."""
    for pattern, what, why in REASONS:
        if re.search(pattern, text):
            return what, why
    explained = re.search(r"Explanation: (.*)", text)
    first = explained[1] if explained else text.strip().splitlines()[0]
    return first.strip().rstrip("."), ""


def place(stack: Any, note: str) -> list[Note]:
    """Return the learner's line at which the graph breaks, or [] if none is found."""
    for frame in reversed(list(stack or ())):
        if "site-packages" in frame.filename or "/weft/" in frame.filename:
            continue
        text = linecache.getline(frame.filename, frame.lineno or 0).strip()
        return [(Place(frame.name, frame.lineno or 0, text), note)]
    return []


def not_compiled(exercise: TorchExercise, error: BaseException, when: str) -> Failed:
    """Return the error that ends the check of code that torch.compile refuses."""
    what, why = reason(str(error))
    return exercise.failed(
        "graph-break",
        f"torch.compile cannot make one graph of it: {what or first_line(error)}.",
        why,
        exercise.written.raised_at(error),
        when=when,
        headline="torch.compile refuses it",
    )
