"""Checking a plain Python function by the values it returns."""

import ctypes
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import FrameType
from typing import Any

import numpy as np

from weft.checking.compare import Array, Difference, difference, show
from weft.checking.exercise import as_tuple, copies, source_function, widened
from weft.checking.source import raised_at, returns, source
from weft.checking.starter import begin, has_stub
from weft.checking.step_limit import Endless, endless, patiently
from weft.checking.verdict import Failed, Verdict
from weft.places import Place


def run(
    function: Callable[..., Any],
    spec: Callable[..., Any],
    cases: Iterable[Any],
    tolerance: float,
    because: Callable[..., str] | None = None,
    without: tuple[str, ...] = (),
) -> list[str]:
    """Compare `function` with `spec` on every case. Raises `Failed`.

    because: `(*arguments, answer)` → why this answer is wrong, "" if nobody knows. A
    text that is wrong is not told what would be right; a number is. without: modules
    whose functions it may not call.
    """
    count = 0
    name = function.__name__
    for case in cases:
        args = as_tuple(case)
        wanted = spec(*(widened(a) for a in copies(args)))
        call = f"{name}({', '.join(brief(a) for a in args)})"
        try:
            got, borrowed = watched(function, args, spec, without)
        except Endless as stopped:
            raise endless(name, call, stopped.place) from None
        except Exception as error:
            raise Failed(
                Verdict(
                    name,
                    "exception",
                    f"{call} raises {type(error).__name__}: {error}.",
                    places=raised_at(error, function),
                )
            ) from None
        if got is None and has_stub(function):
            raise Failed(begin(name))
        if borrowed:
            raise Failed(of_another(name, call, *borrowed))
        try:
            if because is None or not isinstance(wanted, str):
                compare(name, call, function, got, wanted, tolerance)
            elif got != wanted:
                why = because(*args, got)
                raise Failed(wrong_answer(name, call, function, got, why))
        except Failed as failed:
            explained = failed.verdict.kind != "type" or got != wanted
            if because is not None and is_number(got) and explained:
                failed.verdict.why = because(*args, got) or failed.verdict.why
            if failed.verdict.places:
                failed.verdict.places = ended(function, copies(args))
            raise
        count += 1
    return [f"right on {count} case{'s' * (count != 1)}"]


Borrowed = tuple[str, list[tuple[Place, str]]]


def watched(
    function: Callable[..., Any],
    args: Any,
    spec: Callable[..., Any],
    without: tuple[str, ...],
) -> tuple[Any, Borrowed | None]:
    """Call `function`; what it returns, and what it calls that does its work.

    That is its spec, or a function of one of the modules `without`.
    """
    inner = source_function(function)
    answer = getattr(inspect.unwrap(spec), "__code__", None)
    if answer is not None and answer.co_name == "<lambda>":
        answer = None  # nobody can call it by a name
    if inner is None or not (answer or without):
        return patiently(function, args), None
    found: list[Borrowed] = []
    lines = source(function).splitlines()
    begin_line = inner.__code__.co_firstlineno

    def caller(frame: FrameType | None) -> list[tuple[Place, str]]:
        """Where in the learner's function the call comes from."""
        while frame is not None and frame.f_code is not inner.__code__:
            frame = frame.f_back
        if frame is None or not 0 <= frame.f_lineno - begin_line < len(lines):
            return []
        text = lines[frame.f_lineno - begin_line].strip()
        return [(Place(inner.__name__, frame.f_lineno, text), "")]

    def watch(frame: FrameType, event: str, called: Any) -> None:
        if found or event not in ("call", "c_call"):
            return
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if event == "c_call":
            module = called.__module__ or getattr(called.__self__, "__name__", "")
            name = called.__name__
        for each in without:
            if within(module, each) and not name.startswith(("_", "<")):
                found.append((f"{each}.{name}", caller(frame)))
        if event == "call" and frame.f_code is answer and not found:
            found.append((spec.__name__, caller(frame)))

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        got = patiently(function, args)
    except Exception:  # may be for the watching, if the stack was nearly used up
        sys.setprofile(before)
        return patiently(function, args), None
    finally:
        sys.setprofile(before)
    return got, found[0] if found else None


def belongs(function: Any, modules: tuple[str, ...]) -> bool:
    """Whether a function is one of these modules'."""
    module = str(getattr(function, "__module__", ""))
    return any(within(module, each) for each in modules)


def within(module: str, package: str) -> bool:
    """Whether a module is a package, or lies in it."""
    return f"{module}.".startswith(f"{package}.")


def of_another(
    name: str, call: str, called: str, places: Sequence[tuple[Place, str]] = ()
) -> Verdict:
    return Verdict(
        name,
        "library",
        f"{call} has `{called}` do the work.",
        "What that function does is what this exercise asks you to write.",
        list(places),
    )


def ended(function: Callable[..., Any], args: Any) -> list[tuple[Place, str]]:
    """The place of the `return` that a call ends with: call it again and watch."""
    inner = source_function(function)
    lines: list[int] = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and inner and frame.f_code is inner.__code__:
            lines.append(frame.f_lineno)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        function(*args)
    except Exception:  # the first call used up what it was given
        lines.clear()
    finally:
        sys.setprofile(before)
    if inner and lines:
        text = source(function).splitlines()[lines[-1] - inner.__code__.co_firstlineno]
        if text.lstrip().startswith("return"):
            return [(Place(inner.__name__, lines[-1], text.strip()), "")]
    return returns(function)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def wrong_answer(
    name: str, call: str, function: Callable[..., Any], got: Any, reason: str
) -> Verdict:
    said = "nothing" if got is None else brief(got)
    message = f"{call} returns {said}."
    return Verdict(name, "answer", message, reason, returns(function))


def compare(
    name: str,
    call: str,
    function: Callable[..., Any],
    got: Any,
    wanted: Any,
    tolerance: float,
) -> None:
    if got is None:
        raise Failed(
            Verdict(
                name,
                "wrong-value",
                f"{call} returns nothing.",
                "A function gives its result back with `return`.",
            )
        )
    aim = np.asarray(wanted)
    try:
        place = isinstance(got, ctypes._SimpleCData)  # NumPy would read what is in it
        found = np.asarray(None if place else got)
    except ValueError:
        found = np.asarray(None)
    if found.dtype == object or found.shape != aim.shape:
        raise Failed(
            Verdict(
                name,
                "shape",
                f"{call} returns {brief(got)}, and {brief(wanted)} is wanted.",
                places=returns(function),
            )
        )
    if aim.dtype.kind in "biuf" and found.dtype.kind in "SU":
        raise Failed(
            Verdict(
                name,
                "type",
                f"{call} returns {brief(got)}, which is a text and not a number.",
                places=returns(function),
                headline="a text instead of a number",
                topic="returned",
            )
        )
    if aim.dtype.kind in "iu" and found.dtype.kind == "f" and np.isfinite(found).all():
        raise Failed(
            Verdict(
                name,
                "type",
                f"{call} returns {brief(got)}, which is a float and not an integer.",
                "`/` always gives a float, and so do NumPy's `ceil` and `floor`.",
                returns(function),
                headline="a float instead of an integer",
                topic="returned",
            )
        )
    if aim.dtype.kind == "f" and found.dtype.kind in "iu":
        found = found.astype(aim.dtype)  # so that the tolerance counts for it as well
    wrong = difference(found, aim, tolerance)
    if wrong is None and isinstance(wanted, tuple) and aim.ndim == 1:
        wrong = one_by_one(found, aim, tolerance)
    if wrong:
        text = (
            wrong.sentence("result")
            if aim.ndim
            else (
                f"{call} returns {show(wrong.got)} and should return "
                f"{show(wrong.wanted)}."
            )
        )
        message = text if not aim.ndim else f"{call}: {text}"
        raise Failed(
            Verdict(name, "wrong-value", message, wrong.hint, returns(function))
        )


def one_by_one(found: Array, aim: Array, tolerance: float) -> Difference | None:
    """How numbers of different kinds differ: a small one beside a large one counts."""
    for index in np.flatnonzero(aim):
        wrong = difference(found[index, None], aim[index, None], tolerance)
        if wrong:
            return replace(wrong, index=(int(index),))
    return None


def brief(value: Any) -> str:
    """Write an argument so that it fits into a sentence."""
    if isinstance(value, np.ndarray):
        if value.size <= 4:
            return f"{value.tolist()}"
        return f"array of shape {value.shape}"
    if isinstance(value, str) and len(lines := value.strip().splitlines()) > 1:
        return f'"{" ".join(lines[0].split())} …" ({len(lines)} lines)'
    if isinstance(value, np.floating):
        return repr(float(value))
    return repr(value) if not isinstance(value, np.generic) else show(value)
