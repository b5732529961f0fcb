"""The compile stage: what Numba makes of the kernel, with no GPU needed.

The simulator runs Python, so it is more lenient about types than a compiler. Where
NVRTC and NVVM are installed, the kernel is compiled for the oldest and the newest
capability that they know. This stage also finds lines that compute in float64
needlessly.
"""

import linecache
import os
import re
from types import FunctionType
from typing import Any

import numpy as np

from weft import chapters, compiling, doing, lesson
from weft.checking.source import device_functions
from weft.checking.verdict import Failed, Verdict
from weft.compiling import Outcome
from weft.compiling.words import explain
from weft.device import toolkit
from weft.kernels.exercise import KernelExercise
from weft.kernels.float64_sources import (
    inferred,
    powers,
    reached,
    sources,
    with_doubles,
)
from weft.lesson import syllabus
from weft.meaning import options_of
from weft.places import Note, Place
from weft.simulator import constant_memory
from weft.starters import source, source_function
from weft.wording import capital, joined

NO_DRIVER = "CudaSupportError"  # Numba looked for a GPU, and there is none
# Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
MOST_LOCAL = 512 * 1024  # bytes of local memory per thread, for every capability

WITH_ORIGIN = (
    "To Numba, a number such as `0.1` is a float64, and anything combined with a "
    "float64 becomes one too. Which type should the number named above have?"
)
WITH_POWER = (
    "Numba computes the power of a float32 in float64 where the exponent is an integer "
    "variable. Which multiplication gives each power from the one before it?"
)
WITHOUT_ORIGIN = (
    "To Numba, a number such as `0.1` is a float64. So is the quotient of two "
    "integers, the sum of an integer and a float32, or a choice between the two. "
    "Anything combined with a float64 becomes one too, and so does a variable that "
    "is a uint64 at one time and an int64 at another (the product of two uint32 is a "
    "uint64). Where does the first float64 come from?"
)


def run(exercise: KernelExercise) -> tuple[list[str], Verdict | None]:
    """Compile the kernel for arguments like those of the first size.

    Returns facts, and a verdict if the kernel uses more local memory or float64 than
    the exercise allows (None if it does not). Raises `Failed` if Numba refuses the
    kernel, if no GPU can load it, or if its limits cannot be checked here.
    """
    if exercise.checks_launch:
        return [], None
    case = exercise.case(exercise.sizes[0])
    args = (*case.inputs, *exercise.fresh(case))
    doing.now(f"{exercise.name}: compiling")
    outcome = compiling.compile_kernel(exercise.kernel, args)
    if outcome.skipped:
        return skipped(exercise, outcome.skipped), None
    if outcome.unverified:
        return unverified(exercise, outcome.unverified), None
    if outcome.error == NO_DRIVER:
        return unverified(exercise, f"Numba stopped with {outcome.error}"), None
    if outcome.error:
        raise Failed(refused(exercise, outcome))
    too_much(exercise, outcome)
    facts = [
        "compiles for compute capability "
        + " and ".join(f"{major}.{minor}" for major, minor in outcome.capabilities)
    ]
    slow = None
    if outcome.local_bytes:
        facts.append(f"local memory in PTX: {outcome.local_bytes} bytes per thread")
    if outcome.local_bytes > exercise.limits.get("local", outcome.local_bytes):
        slow = in_local_memory(exercise, outcome)
    inner = exercise.function()
    file = inner.__code__.co_filename if inner else ""
    own = sorted(at for at in outcome.doubles if at[0] == file)
    # Code that the compiler has moved to the beginning counts as the line of the `def`.
    body = [at for at in own if not place_of(exercise, at).text.startswith("def ")]
    others = [at for at in outcome.doubles if at[0] != file]
    places = [place_of(exercise, at) for at in (body or own) + others]
    if not places or any(is_double(arg) for arg in args):
        return facts, slow
    if len(places) == 1:
        where = f"line {places[0].line}: `{places[0].text}`"
    elif len(body) > 1:
        where = f"lines {joined(line for _, line in body)}"
    else:
        where = f"line {(body or own or others)[0][1]}"
    facts.append(
        f"computes in float64 on {where}"
        + ", and in a function that is called" * (len(places) > 1 and bool(others))
    )
    limit = exercise.limits.get("float64")
    leak = None
    if limit is not None and len(places) > limit:
        leak = float64(exercise, places, args)
    return facts, slow if leak is None else leak


def skipped(exercise: KernelExercise, reason: str) -> list[str]:
    """Return the facts about a kernel when there is no compiler to check it.

    They name the limits that remain unverified. If there are any, raises `Failed` when
    grading (WEFT_VERIFIED=1) and where checks must pass (WEFT_STRICT=1), because every
    verdict there has to be the one that a machine with a compiler would give.
    """
    facts = [f"not compiled: {reason}"]
    what = limited(exercise)
    if not what:
        return facts
    if "1" in (os.environ.get("WEFT_VERIFIED"), os.environ.get("WEFT_STRICT")):
        raise exercise.failed(
            "unverified",
            f"There is {reason}. So nothing here can say {what}, and the exercise "
            "depends on that.",
            f"{toolkit.INSTALL}. Then restart, and run this check again.",
        )
    return [*facts, f"unverified: {what}. {toolkit.INSTALL}"]


def limited(exercise: KernelExercise) -> str:
    """Return a phrase for the limits that only the compiler can check; "" if none."""
    names = {"float64": "double precision", "local": "local memory"}
    held = [words for limit, words in names.items() if limit in exercise.limits]
    return f"how much {joined(held)} it uses" if held else ""


def unverified(exercise: KernelExercise, reason: str) -> list[str]:
    """Return the facts about a kernel that the compiler here could not compile.

    Raises `Failed` if only the compiler can decide whether the kernel is right: that
    is, if the exercise limits what the compiler measures or the kernel has a signature.
    """
    what = limited(exercise)
    if not what and not options_of(exercise.kernel).signatures:
        return [
            f"not compiled: {reason}",
            "note: nothing here has shown that Numba accepts this kernel. If something "
            "that it names is the reason, name a number, an array or a tuple instead",
        ]
    raise exercise.failed(
        "unverified",
        f"{capital(reason)}. So nothing here can say "
        f"{what or 'whether its signature fits'}, and the exercise depends on that.",
        "If something that the kernel names is the reason, let it name a number, "
        "an array or a tuple instead. If the compiler did not answer, run this "
        "check again; if that does not help, restart the kernel of the notebook.",
    )


def too_much(exercise: KernelExercise, outcome: Outcome) -> None:
    """Raise `Failed` for a kernel that Numba compiles but no GPU can run."""
    if outcome.constant_bytes > constant_memory.MOST:
        function = exercise.function()
        copies = list(constant_memory.copied(function)) if function else []
        raise exercise.failed(
            "type",
            f"The arrays that the kernel takes from outside come to "
            f"{outcome.constant_bytes:,} bytes.",
            constant_memory.WHY,
            [(at, f"{size:,} bytes of `{name}`") for name, size, at in copies[:3]],
            headline="too much for constant memory",
        )
    if outcome.local_bytes > MOST_LOCAL:
        places = [place_of(exercise, at) for at in outcome.local]
        places.sort(key=lambda place: "[" not in place.text)
        raise exercise.failed(
            "launch",
            f"Each thread takes {outcome.local_bytes:,} bytes of local memory.",
            f"A GPU gives a thread {MOST_LOCAL:,} bytes (512 KB) at most, and the "
            "launch fails. Keep what a thread needs at a time, or work in an array "
            "in global memory, which is an argument.",
            [(place, "in local memory") for place in places[:2]],
        )


def refused(exercise: KernelExercise, outcome: Outcome) -> Verdict:
    message, why = explain(outcome.error, outcome.message)
    inner = exercise.function()
    at = outcome.place
    if at is None and inner is not None:  # some of Numba's errors have no line
        lines = source(inner).splitlines()
        start = next(
            (n for n, t in enumerate(lines) if t.lstrip().startswith("def")), 0
        )
        at = inner.__code__.co_filename, inner.__code__.co_firstlineno + start
    place = None if at is None else place_of(exercise, at)
    return exercise.verdict(
        "type",
        message,
        why,
        [(place, exercise.elsewhere(place))] if place else [],
        headline="Numba cannot compile it for a GPU",
    )


def float64(
    exercise: KernelExercise, places: list[Place], args: tuple[Any, ...]
) -> Verdict:
    """Return the verdict on lines that compute in float64, with the cause if known."""
    mine = [place for place in places if is_learners(exercise, place)] or places
    outside = [place for place in places if place not in mine]
    others = dict.fromkeys(f"`{place.function}`" for place in outside)
    where = " and ".join(dict.fromkeys(chapters.origin(p.file) for p in outside))
    origin, why = origins(exercise, mine), WITH_ORIGIN
    function = exercise.function()
    tree = inferred(function, args) if function else None
    if function is not None and tree is not None:
        raised = powers(tree)
        wide = with_doubles(tree) | raised.keys()
        mine = without_innocent(mine, function.__name__, wide)
        if not origin:
            why, file = WITH_POWER, function.__code__.co_filename
            origin = [
                (place_of(exercise, (file, line)), note)
                for line, note in sorted(raised.items())
            ]
    mine = [place for place in mine if computes(exercise, place, origin)]
    plural = "s" * (len(mine) > 1)
    do = "does" if len(others) == 1 else "do"
    also = f", and so {do} {' and '.join(others)}, {where}" * bool(others)
    first = {place for place, _ in origin}
    return exercise.verdict(
        "float64",
        f"No argument is a float64, yet the kernel computes in float64 on "
        f"{len(mine)} line{plural}{also}.",
        "A GPU has between 2 and 64 times as many units for float32 as for float64. "
        + (why if origin else WITHOUT_ORIGIN),
        [
            *((place, exercise.noted(note, place)) for place, note in origin),
            *(
                (place, exercise.noted("computed in float64", place))
                for place in mine
                if place not in first
            ),
        ],
    )


def without_innocent(places: list[Place], function: str, wide: set[int]) -> list[Place]:
    """Return `places` without those lines of a function that contain no float64.

    The compiler may attribute an instruction to a line far from its own. Lines of other
    functions stay; if no line would stay, all do.
    """
    kept = [p for p in places if p.function != function or p.line in wide]
    return kept or places


def origins(exercise: KernelExercise, mine: list[Place]) -> list[Note]:
    """Return the learner's lines that bring in a float64, each with the cause."""
    found: list[Note] = []
    for function in in_the_cell(exercise):
        lines = {p.line for p in mine if p.function == function.__name__}
        notes = sources(function, lines)
        found += [
            (place_of(exercise, (function.__code__.co_filename, line)), note)
            for line, note in sorted(notes.items())
        ]
    return found


def in_the_cell(exercise: KernelExercise) -> list[FunctionType]:
    """Return the kernel and any functions it calls that the same cell defines."""
    inner = exercise.function()
    if inner is None:
        return []
    helpers = map(source_function, device_functions(exercise.kernel).values())
    file = inner.__code__.co_filename
    return [inner, *(f for f in helpers if f and f.__code__.co_filename == file)]


def computes(exercise: KernelExercise, place: Place, origin: list[Note]) -> bool:
    """Return whether a line does arithmetic itself, as far as the source shows.

    The compiler may attribute to an `if` or a `for` what the lines inside it do.
    """
    if not origin or not place.text.startswith(("if ", "elif ", "for ", "while ")):
        return True
    lines = {p.line for p, _ in origin}
    functions = in_the_cell(exercise)
    return any(place.line in reached(f, lines) for f in functions)


def is_learners(exercise: KernelExercise, place: Place) -> bool:
    """Return whether a line is in this cell or in another of the lab's exercises."""
    inner = exercise.function()
    if inner is None or place.file == inner.__code__.co_filename:
        return True
    lab = lesson.current()
    return lab is not None and place.function in {
        one.name for one in syllabus.load(lab).exercises
    }


def in_local_memory(exercise: KernelExercise, outcome: Outcome) -> Verdict:
    places = [place_of(exercise, at) for at in outcome.local]
    # A line with an index says more than the line of its loop or function, so it goes
    # first.
    places.sort(key=lambda place: "[" not in place.text)
    return exercise.verdict(
        "local",
        f"{outcome.local_bytes} bytes of each thread are in local memory; "
        f"{exercise.limits['local']:g} would be enough. What looks like a register may "
        f"be stored to memory and loaded again.",
        "Registers have no address, so an array can stay in them only if the compiler "
        "knows the value of every index. It knows these values if the loop has a "
        "constant bound, because it can then unroll the loop. Otherwise the last step "
        "of compilation leaves the array in memory, or generates code that selects the "
        "register by comparing indices; both are slow. Which index here is not "
        "known until the kernel runs?",
        [(place, exercise.noted("in local memory", place)) for place in places[:2]],
    )


def place_of(exercise: KernelExercise, at: tuple[str, int]) -> Place:
    filename, line = at
    text = linecache.getline(filename, line).strip()
    return Place(function_at(exercise, *at), line, text, file=filename)


def function_at(exercise: KernelExercise, filename: str, line: int) -> str:
    """Return the name of the function around a line, or else the exercise's name."""
    fn = exercise.function()
    if fn is not None and filename == fn.__code__.co_filename:
        after = line - fn.__code__.co_firstlineno
        if 0 <= after < len(source(fn).splitlines()):
            return fn.__code__.co_name
    for above in range(line, 0, -1):
        if found := re.match(r"\s*def (\w+)", linecache.getline(filename, above)):
            return found[1]
    return exercise.name


def is_double(arg: Any) -> bool:
    """Return whether an argument holds double-precision numbers."""
    if isinstance(arg, tuple):
        return any(is_double(part) for part in arg)
    dtype = np.asarray(arg).dtype
    return dtype.kind in "fc" and dtype.itemsize >= 8 and dtype != np.complex64
