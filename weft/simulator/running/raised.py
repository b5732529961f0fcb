"""Faults for what Python raises in a kernel, and for what a kernel returns."""

import dis
import re
from dataclasses import replace
from types import CodeType, TracebackType
from typing import Any

from weft.intrinsics.memory import Misaligned
from weft.places import Place, led_to, place
from weft.python_errors import advice, in_plain_words
from weft.simulator.faults import Fault
from weft.simulator.memory.arrays import Array
from weft.simulator.running.namespace import Cuda
from weft.simulator.running.positions import Positions
from weft.simulator.running.threads import Thread
from weft.tracebacks import undefined

FUNCTIONS = frozenset(
    name for name, value in vars(Cuda).items() if callable(value) and name[0] != "_"
) - {"twin_of"}


def raised(where: Positions, error: BaseException, thread: Thread) -> Fault:
    """A fault for something that Python raised in a kernel."""
    places: list[Place] = []
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code in where.lines:
            places.insert(0, place(code, trace.tb_lasti, where.lines[code]))
        trace = trace.tb_next
    said = re.sub(r"'(Traced|Array)\d?'", "'array'", in_plain_words(error))
    kind, message = "exception", f"{type(error).__name__}: {said}".removesuffix(": ")
    why = ""
    if places and isinstance(error, Exception):
        why = advice(error, places[0].text, FUNCTIONS) or undefined(error)
    if not isinstance(error, Exception):
        name = type(error).__name__
        kind, message = "type", f"a kernel cannot raise {name}"
        why = "Numba knows no such exception. What should happen here is an `if`."
    if isinstance(error, Misaligned):
        kind, message, why = "misaligned", error.message, error.why
    if isinstance(error, AttributeError) and isinstance(error.obj, Array):
        message = f"AttributeError: in a kernel an array has no `{error.name}`"
        why = (
            "A thread accesses elements one by one. To go over many of them, write a "
            "loop."
        )
    fault = where.fault(kind, message, why, led_to(places), thread)
    return replace(fault, met_none=kind == "exception" and "NoneType" in said)


def returned(where: Positions, code: CodeType, result: Any, thread: Thread) -> Fault:
    """A fault for a kernel, of this code, that returns something."""
    fault = where.fault(
        "exception",
        f"the kernel returns {getattr(result, 'item', lambda: result)()!r}",
        "A kernel returns nothing: its results go into an output array.",
        [place(code, returning(code), where.lines[code])],
        thread,
    )
    return replace(fault, headline="the kernel returns a value")


def returning(code: CodeType) -> int:
    """The offset of the first instruction that returns something, 0 if none does."""
    given: Any = None
    for step in dis.get_instructions(code):
        if step.opname == "RETURN_CONST":
            given = step.argval
        if step.opname.startswith("RETURN_") and given is not None:
            return step.offset
        given = step.argval if step.opname == "LOAD_CONST" else step
    return 0
