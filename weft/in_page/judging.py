"""The entry point of every check in a page: `judge(source, exercise)`, with plain data.

A page runs the same checks as a lab. It differs in two ways: its exercises are JSON
that the book's build has written, and it has its own messages for code that Python
cannot compile, or that fails before its function is called.
"""

import linecache
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

from weft import effort, tracebacks
from weft.checking.kinds import TO_DO
from weft.checking.printed import Printed
from weft.checking.source import raised
from weft.checking.step_limit import Endless, counted, endless
from weft.checking.verdict import Failed, Verdict
from weft.functions.exercise import FunctionExercise
from weft.functions.judging import Case, Watch, judged
from weft.in_page.reading import readable
from weft.in_page.values import CHAPTERS, decoded
from weft.places import Note, Place
from weft.starters import STUB
from weft.wording import Words

FILE = "<page>"  # the file name that Python shows for the reader's code
GIVEN = "<given>"  # and for the lab's code
# modules that kernel exercises call
FOR_KERNELS = (CHAPTERS, "weft.intrinsics", "weft.kernels.reruns")
# A fact of every passing kernel in a page, where there is no compiler and no GPU.
NOT_HERE = "not compiled, and not run on a GPU: the check in the lab does that as well"
KERNELS = "weft.in_page.kernels"  # includes the simulator, which functions do not need
Data = dict[str, Any]
Room = Callable[[Mapping[str, Any], Mapping[str, Any]], list[str]]


def judge(source: str, exercise: Mapping[str, Any]) -> Data:
    """Check the source that a reader wrote, and return the verdict as plain data.

    exercise: as the book's build has written it. Its `kind` names the room to use.
    The result has the keys of `as_data`, and `printed`: what the code has printed.
    Errors in the check itself propagate.
    """
    with redirect_stdout(Printed()) as printed:
        verdict = verdict_on(source, exercise)
    return as_data(verdict) | {"printed": printed.text}


def verdict_on(source: str, exercise: Mapping[str, Any]) -> Verdict:
    """Check the source that a reader wrote, and return the verdict."""
    try:
        with tracebacks.looking_up_names(lambda name: of_the_lab(name, exercise)):
            room = ROOMS[exercise["kind"]]()
            scope = ran(source, exercise)
            if exercise["name"] not in scope:
                raise Failed(not_there(exercise["name"]))
            with effort.of_one_check():
                facts = room(scope, exercise)
    except Failed as failed:
        return in_words_of_a_page(failed.verdict)
    return Verdict(exercise["name"], "pass", facts=facts)


def as_data(verdict: Verdict) -> Data:
    """Return a verdict as data for JSON.

    ok: whether the check passed. state: "passed", "to do" or "failed". mark, title: the
    verdict's title in two parts. name, headline: the parts of `title`. text, why: what
    happened, and the explanation, both with `code` in backticks. hint: what to do next,
    or "". who: the thread and the data concerned. places: lines, each with a note, and
    whether the line is in the reader's code. kind, facts: those of the verdict. read: a
    part of the book, a heading in that part and its address, or None. history: HTML of
    the steps that led to the fault, or "".
    """
    mark, _, title = verdict.title.partition(" ")
    part, heading, address = verdict.in_book
    is_to_do = verdict.state == TO_DO
    return {
        "ok": bool(verdict),
        "state": verdict.state,
        "kind": verdict.kind,
        "mark": mark,
        "title": title,
        "name": verdict.name,
        "headline": title.partition(" — ")[2],
        "text": verdict.message,
        "why": "" if is_to_do else verdict.explanation,
        "hint": verdict.explanation if is_to_do else "",
        "who": verdict.who,
        "places": [
            {
                "line": place.line,
                "text": place.text,
                "expression": place.expression,
                "note": note,
                "ours": place.file in ("", FILE),
            }
            for place, note in verdict.places
            if place.line
        ],
        "facts": list(verdict.facts),
        "read": {"part": part, "title": heading, "address": address} if part else None,
        "history": verdict.history()._repr_html_() if verdict.past else "",
    }


# The reader's code, before there is anything to judge


def ran(source: str, exercise: Mapping[str, Any]) -> dict[str, Any]:
    """Run the reader's code and return its globals. Raises `Failed` on error."""
    name = exercise["name"]
    lines = source.splitlines(keepends=True)
    linecache.cache[FILE] = (len(source), None, lines, FILE)
    code = readable(name, source, FILE)
    scope = {"__name__": "__page__", **given(exercise)}
    code_of_the_lab(exercise, scope)
    # its globals mark the code whose lines are counted
    inside = FunctionType((lambda: None).__code__, scope)
    try:
        counted(lambda: exec(code, scope), (), scope=inside)
    except Endless as stopped:
        raise endless(name, "This code", stopped) from None
    except Exception as error:
        raise Failed(failed_early(name, error)) from None
    return scope


def given(exercise: Mapping[str, Any]) -> dict[str, Any]:
    """Return {name: value}: constants, modules and members that the lab provides."""
    found: dict[str, Any] = {}
    for name, what in exercise["given"].items():
        if "value" in what:
            found[name] = decoded(what["value"])
        else:
            module = import_module(what["module"])
            found[name] = getattr(module, what["name"]) if "name" in what else module
    return found


def code_of_the_lab(exercise: Mapping[str, Any], scope: dict[str, Any]) -> None:
    """Define in `scope` the functions that the lab provides as source."""
    source = exercise["code"]
    lines = source.splitlines(keepends=True)
    linecache.cache[GIVEN] = (len(source), None, lines, GIVEN)
    exec(compile(source, GIVEN, "exec"), scope)


def of_the_lab(missing: str, exercise: Mapping[str, Any]) -> str:
    """Return a sentence if the lab has `missing` but the page does not, else ""."""
    if missing in exercise["left_out"]:
        return f"`{missing}` is there in the lab, and not in this page."
    return ""


def failed_early(name: str, error: Exception) -> Verdict:
    """Return the verdict on code that fails before its function is called."""
    why = tracebacks.undefined(error)
    if isinstance(error, ModuleNotFoundError):
        why = "In this page there are Python's own modules, and what the lab gives."
    return raised(name, "The code", error, None, why).but(places=places_of(error))


def places_of(error: BaseException) -> list[Note]:
    """Return the last line of the reader's code in an error's traceback, or []."""
    found: list[Note] = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == FILE:
            text = linecache.getline(FILE, trace.tb_lineno).strip()
            found = [(Place(code.co_name, trace.tb_lineno, text), "")]
        trace = trace.tb_next
    return found


def in_words_of_a_page(verdict: Verdict) -> Verdict:
    """Return the verdict, reworded where a lab would refer to cells."""
    if verdict.kind != "begin":
        return verdict
    return verdict.but(
        message=f"The code still says `# {STUB}`. Write yours there, and check again.",
        why="If you do not know how to begin, “Hint” gives you a nudge.",
    )


# Plain functions


def functions(scope: Mapping[str, Any], exercise: Mapping[str, Any]) -> list[str]:
    """Judge a plain function and return the facts. Raises `Failed` if it is wrong."""
    name, explained = exercise["name"], explanations(exercise)
    asked = FunctionExercise(
        written_by_learner=scope[name],
        spec=_kept_in_the_lab,
        inputs=[()],  # not needed: the cases are there
        because=explained.get(exercise["because"] or ""),
        same=explained.get(exercise["same"] or ""),
        without=tuple(exercise["without"]),
        tolerance=exercise["tolerance"],
        lines=exercise["lines"],
        unseen=False,
    )
    return judged(asked, cases(exercise), Watch(name))


def cases(exercise: Mapping[str, Any]) -> Iterator[Case]:
    """Yield the arguments of each call, with the right result."""
    for case in exercise["cases"]:
        yield decoded(case["args"]), decoded(case["wanted"])


def explanations(exercise: Mapping[str, Any]) -> dict[str, Any]:
    """Return, by name, the globals of the module that explains wrong answers, or {}."""
    explains = exercise["explains"]
    if not explains:
        return {}
    module = ModuleType(CHAPTERS + explains["module"])
    module.__package__ = module.__name__.rpartition(".")[0]
    exec(compile(explains["source"], "<checks>", "exec"), vars(module))
    return dict(vars(module))


def not_there(name: str) -> Verdict:
    """Return the verdict on code that does not define the requested function."""
    return Verdict(
        name,
        "type",
        f"The code defines no `{name}`.",
        "The function needs the name that the exercise gives it.",
        headline="the function is missing",
        topic="returned",
    )


def _kept_in_the_lab(*_: Any) -> Any:
    raise AssertionError("a page has the results of the spec, not the spec")


# Kernels


def kernels(scope: Mapping[str, Any], exercise: Mapping[str, Any]) -> list[str]:
    """Judge a kernel, or a function that chooses a launch, and return the facts.

    Raises `Failed` if it is wrong.
    """
    room: Any = import_module(KERNELS)
    thing, explained = scope[exercise["name"]], explanations(exercise)
    facts: list[str] = room.judge(thing, scope, explained, exercise)
    return [*facts, NOT_HERE]


def with_kernels() -> Room:
    """Install our NumPy and Numba, then import and return the room for kernels."""
    numpy: Any = import_module("weft.in_page.numpy.modules")
    numpy.provide()
    simulator: Any = import_module("weft.simulator")  # its modules import NumPy
    simulator.install()
    import_module(KERNELS)
    return kernels


ROOMS: dict[str, Callable[[], Room]] = {
    "functions": lambda: functions,
    "kernels": with_kernels,
}


def read_files() -> None:
    """Read into memory every file that will be needed in a page, which has no files.

    These are the tables of words of the loaded modules, and the source of the functions
    that kernels call.
    """
    for name in modules():
        module = sys.modules[name]
        for value in list(vars(module).values()):
            if isinstance(value, Words):
                value.rows  # noqa: B018  read when it is first asked for
        file = getattr(module, "__file__", None)
        if file and name.startswith(FOR_KERNELS):
            lines = linecache.getlines(file)
            linecache.cache[file] = (len(lines), None, lines, file)


def modules() -> list[str]:
    """Return the names of this package's loaded modules: those that a page needs."""
    return sorted(name for name in sys.modules if name.partition(".")[0] == "weft")
