"""Faults for exceptions raised in a kernel, and for a value that a kernel returns."""

import dis
import re
from dataclasses import replace
from types import CodeType, FrameType
from typing import Any

import numpy as np

from weft.intrinsics.memory import Misaligned
from weft.places import Place, led_to, place
from weft.python_errors import advice, in_plain_words
from weft.simulator.arithmetic.by_name import Single
from weft.simulator.faults import Fault, Outside
from weft.simulator.memory.arrays import Array, Said, refused, refused_store
from weft.simulator.running.namespace import Cuda
from weft.simulator.running.positions import Positions
from weft.simulator.running.threads import Thread
from weft.tracebacks import undefined

FUNCTIONS = frozenset(
    name for name, value in vars(Cuda).items() if callable(value) and name[0] != "_"
) - {"twin_of"}


def raised(where: Positions, error: BaseException, thread: Thread) -> Fault:
    """Return the fault for an exception that Python raised in a kernel."""
    places: list[Place] = []
    trace = steps(error)
    if type(error) is RuntimeError and isinstance(error.__cause__, StopIteration):
        error = error.__cause__  # Python does not let it out of a generator unchanged
        trace |= steps(error)
    for frame, lasti in trace.items():
        code = frame.f_code
        if code in where.lines:
            places.insert(0, place(code, lasti, where.lines[code]))
    if isinstance(error, (IndexError, TypeError)):
        wrong, outside = refused_access(where, trace)
        if wrong is not None:
            fault = where.fault(*wrong, led_to(places), thread)
            return replace(fault, outside=outside)
    said = re.sub(r"'(Watched|Array)'", "'array'", in_plain_words(error))
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
    if isinstance(error, Single):
        kind, message, why = "type", *of_single(error)
    if isinstance(error, AttributeError) and isinstance(error.obj, Array):
        message = f"AttributeError: in a kernel an array has no `{error.name}`"
        why = (
            "A thread accesses elements one by one. To go over many of them, write a "
            "loop."
        )
    fault = where.fault(kind, message, why, led_to(places), thread)
    return replace(fault, met_none=kind == "exception" and "NoneType" in said)


def of_single(error: Single) -> tuple[str, str]:
    """Return the message and reason for a wrong argument of `min`, `max` or `sum`."""
    what = f"`{error.text}`, which " if error.text else "something that "
    what += f"has {error.ndim} dimensions" if error.ndim else "is one number"
    message = f"`{error.name}` is given {what}"
    if error.name == "sum":
        return message, (
            "`sum` takes an array of one dimension. A thread that reads one element at "
            "a time adds each to a sum of its own, in a loop."
        )
    which = "largest" if error.name == "max" else "smallest"
    return message, (
        f"`{error.name}` takes two numbers, or an array of one dimension. For the "
        f"{which} of many elements, a thread goes over them in a loop, and compares "
        f"each with the {which} so far."
    )


def refused_access(
    where: Positions, trace: dict[FrameType, int]
) -> tuple[Said | None, Outside | None]:
    """Return what is wrong with the access in progress, and its index out of bounds."""
    inside = [frame for frame in trace if frame.f_code in where.accesses]
    if not inside:
        return None, None
    frame = inside[-1]
    positions = list(frame.f_code.co_positions())
    line, end, start, stop = positions[trace[frame] // 2]
    at = line or 0, end or 0, start or 0, stop or 0
    access = where.accesses[frame.f_code].get(at)
    if access is None:
        return None, None
    names = {**frame.f_globals, **frame.f_locals}
    x = names.get(access.array)
    index = [names.get(i) if isinstance(i, str) else i for i in access.index]
    if not isinstance(x, Array) or not all(isinstance(i, (int, float)) for i in index):
        return None, None
    wrong = refused(x, tuple(index), access.verb)
    if wrong is None and access.verb != "read":
        wrong = refused_store(x)
    for axis, (part, size) in enumerate(zip(index, x.shape, strict=False)):
        if isinstance(part, int) and not 0 <= part < size:
            return wrong, Outside(access.array, axis, part, numbers(names))
    return wrong, None


def numbers(names: dict[str, Any]) -> dict[str, int | tuple[int, ...]]:
    """Return the numbers among the values of names, and the shapes of the arrays."""
    found: dict[str, int | tuple[int, ...]] = {}
    for name, value in names.items():
        if isinstance(value, Array):
            found[name] = value.shape
        elif isinstance(value, (int, np.integer)) and not isinstance(value, bool):
            found[name] = int(value)
    return found


def steps(error: BaseException) -> dict[FrameType, int]:
    """Return an exception's frames, outermost first, each with its bytecode offset."""
    found = {}
    trace = error.__traceback__
    while trace is not None:
        found[trace.tb_frame] = trace.tb_lasti
        trace = trace.tb_next
    return found


def returned(where: Positions, code: CodeType, result: Any, thread: Thread) -> Fault:
    """Return the fault for a kernel that returns `result`. code: the kernel's code."""
    fault = where.fault(
        "exception",
        f"the kernel returns {getattr(result, 'item', lambda: result)()!r}",
        "A kernel returns nothing: its results go into an output array.",
        [place(code, returning(code), where.lines[code])],
        thread,
    )
    return replace(fault, headline="the kernel returns a value")


def returning(code: CodeType) -> int:
    """Return the offset of the first instruction that may return a value, or 0.

    An instruction that returns the constant None does not count.
    """
    given: Any = None
    for step in dis.get_instructions(code):
        if step.opname == "RETURN_CONST":
            given = step.argval
        if step.opname in ("RETURN_VALUE", "RETURN_CONST") and given is not None:
            return step.offset
        is_constant = step.opname in ("LOAD_CONST", "LOAD_SMALL_INT")
        given = step.argval if is_constant else step
    return 0
