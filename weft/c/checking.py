"""`check` for C: compile, run under the sanitizers, compare, and say what is wrong."""

import inspect
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weft.c import compiler, driver, makefile, reports, running, words
from weft.c.source import Source
from weft.checking import unseen_case
from weft.checking.compare import difference
from weft.checking.exercise import as_tuple, copies, widened
from weft.checking.settle import settled
from weft.checking.verdict import Failed, Verdict
from weft.places import Place


def check(
    source: Any,
    prototype: str = "",
    *,
    spec: Callable[..., Any] | None = None,
    inputs: Callable[..., Any] | None = None,
    sizes: Sequence[Any] = (),
    call: str = "",
    tolerance: float = 1e-5,
    files: dict[str, str] | None = None,
    steps: Sequence[makefile.Step] = (),
) -> Verdict:
    """Check a `%%c` cell, or a `%%makefile` cell, and say what is wrong with it.

    prototype: the declaration of the function asked for, without the semicolon.
    spec: NumPy function of the inputs; returns the output, or a tuple of outputs.
    inputs: `(rng, *size)` → the values of spec's parameters; they are the variables
        of the program that calls: arrays (`x`, with `x_size`, or `x_rows`, `x_cols`),
        NumPy's numbers in their own type, Python's integers as `size_t`.
    sizes: what to run; an integer or a tuple each. One more, between them, is run too.
    call: C statements that call the function and hand over each output, in the order of
        spec's: `give(value);`, `give_all(pointer, count);`.
    files, steps: for a Makefile, the files beside it and what to do with them; see
        `weft.c.makefile`.

    Nothing of the learner's runs in this process. Returns a Verdict, true if all is
    well. Where the environment has WEFT_STRICT=1, a failure raises CheckFailed.
    """

    def judge() -> Verdict:
        if not isinstance(source, Source):
            raise Failed(_not_a_source(source))
        if source.is_stub:
            raise Failed(_begin(source))
        if source.language == "makefile":
            return makefile.judge(source, files or {}, steps)
        if spec is None or inputs is None or not sizes:
            raise ValueError(f"check({source.name}, ...): spec, inputs and sizes")
        return _verdict(source, prototype, spec, inputs, sizes, call, tolerance)

    return settled(judge)


def _verdict(
    source: Source,
    prototype: str,
    spec: Callable[..., Any],
    inputs: Callable[..., Any],
    sizes: Sequence[Any],
    call: str,
    tolerance: float,
) -> Verdict:
    if compiler.find() is None:
        raise Failed(no_compiler(source.name))
    extra = unseen_case.size(sizes, source.seed)
    cases = [(size, 0) for size in sizes]
    if extra is not None:
        cases.insert(len(cases) - 1, (extra, source.seed))
    names = list(inspect.signature(spec).parameters)
    made = [_case(inputs, size, seed) for size, seed in cases]

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        warnings = compiled(source, folder, prototype, names, made[0], call)
        told = [f"line {c.line}, the compiler warns: {c.text}" for c in warnings]
        leaks_seen, printed = True, ""
        for (size, seed), case in zip(cases, made, strict=True):
            ran = running.run(folder / "program", driver.packed(case))
            leaks_seen &= ran.leaks_seen
            printed = printed or ran.printed.strip()
            found = _judged(source, prototype, spec, case, ran, tolerance)
            if found is not None:
                found.when = _label(size, seed != 0, size in sizes)
                found.facts += [f"It printed: {printed[:200]}"] if printed else []
                found.facts += told
                return found
    facts = [
        f"right on {len(cases)} cases, under the address sanitizer and the one for "
        "undefined behaviour"
    ]
    if not leaks_seen:
        facts.append("leaks could not be looked for on this machine")
    return Verdict(source.name, "pass", facts=facts + told)


def compiled(
    source: Source,
    folder: Path,
    prototype: str,
    names: list[str],
    case: Any,
    call: str,
) -> list[compiler.Complaint]:
    """Make `program` in `folder`; return the warnings. Raises Failed."""
    (folder / source.file).write_text(source.text)
    fine, said = compiler.diagnose(folder, source.file)
    found = compiler.complaints(said)
    if not fine:
        raise Failed(words.refused(source, found, said))
    text = driver.program(source.file, prototype, names, case, call)
    (folder / "program.c").write_text(text)
    flags = ("-Wno-unused-result", *compiler.SANITIZE, "program.c", "-o", "program")
    fine, said = compiler.call(folder, *flags, "-lm")
    if not fine and _sanitizers_missing(said):
        raise Failed(_no_sanitizers(source.name))
    if not fine:
        raise Failed(words.other_function(source, prototype))
    return [c for c in found if not c.error and c.file == source.file]


def _case(inputs: Callable[..., Any], size: Any, seed: int) -> tuple[Any, ...]:
    parts = size if isinstance(size, tuple) else (size,)
    rng = np.random.default_rng([seed % 2**32, *parts])
    return as_tuple(inputs(rng, *parts))


def _judged(
    source: Source,
    prototype: str,
    spec: Callable[..., Any],
    case: tuple[Any, ...],
    ran: running.Ran,
    tolerance: float,
) -> Verdict | None:
    """The verdict on one run; None if it is right."""
    found = reports.verdict(source, ran)
    leak = found if found is not None and found.kind == "leak" else None
    if found is not None and leak is None:
        return found
    wanted = as_tuple(spec(*(widened(v) for v in copies(case))))
    for number, (got, aim) in enumerate(zip(ran.results, wanted, strict=False), 1):
        right = np.asarray(aim)
        if got.size == right.size:
            got = got.reshape(right.shape)
        wrong = difference(got, right, tolerance)
        if wrong is None:
            continue
        which = "the result" if len(wanted) == 1 else f"result {number}"
        if reports.unwritten(wrong.got):
            return Verdict(
                source.name,
                "unset",
                f"{_element(which, wrong.index)} was never written.",
                "`malloc` gives memory as it is, full of what was there before. Which "
                "function gives it cleared, or which loop has to clear it?",
                [
                    (source.place(n), "allocated here, not cleared")
                    for n in source.containing("malloc(")
                ],
            )
        text = wrong.sentence(which)
        return Verdict(
            source.name,
            "wrong-value",
            text[:1].upper() + text[1:],
            f"{wrong.hint} Which line does that?"
            if wrong.hint
            else "Follow this one value by hand, line by line: who writes it?",
            _writing(source, prototype),
        )
    return leak


def _writing(source: Source, prototype: str) -> list[tuple[Place, str]]:
    """The lines from which a result comes: they return it, or write through a pointer.

    A line that gives a pointer parameter itself another value comes first: nobody
    outside the function notices.
    """
    pointers = re.findall(r"\*(\w+)\s*[,)]", prototype)
    own = [
        (source.place(n), f"gives the function's own copy of `{name}` another address")
        for n, line in enumerate(source.lines, 1)
        for name in pointers
        if re.match(rf"\s*{name}\s*=[^=]", line)
    ]
    through = r"\s*(\*\w+|\w+\[.*\]|\w+->.+)\s*[-+*/]?=[^=]"
    pattern = through if prototype.startswith("void ") else r"\s*return\b"
    lines = [n for n, line in enumerate(source.lines, 1) if re.match(pattern, line)]
    return own or [(source.place(n), "") for n in lines[:4]]


def _element(name: str, index: tuple[int, ...]) -> str:
    text = f"{name}[{', '.join(map(str, index))}]" if index else name
    return text[:1].upper() + text[1:]


def _label(size: Any, unseen: bool, listed: bool) -> str:
    parts = size if isinstance(size, tuple) else (size,)
    text = "size " + " × ".join(f"{p:,}" for p in parts)
    other = ", on other data" if listed else ", which the check does not list"
    return text + other * unseen


def _begin(source: Source) -> Verdict:
    mark = "#" if source.language == "makefile" else "//"
    return Verdict(
        source.name,
        "begin",
        f"The cell above still says `{mark} your code here`. Write there, run the "
        "cell, then run this one again.",
        f'If you do not know how to begin, `hint("{source.name}")` gives a nudge.',
    )


def _not_a_source(value: Any) -> Verdict:
    name = getattr(value, "__name__", None) or type(value).__name__
    return Verdict(
        str(name),
        "type",
        "This is not what a `%%c` cell gave.",
        "The check looks at the text of such a cell. Did a later line give the name to "
        "something else? Run the cell above again.",
    )


def no_compiler(name: str) -> Verdict:
    """The verdict where nothing can be compiled: what to install."""
    return Verdict(
        name,
        "no-compiler",
        "There is no C compiler on this machine.",
        f"Install one: `{compiler.install()}`. Then run this cell again; what you "
        "wrote stays.",
    )


def _sanitizers_missing(said: str) -> bool:
    return "sanitiz" in said.lower() and (
        "unrecognized" in said or "cannot find" in said
    )


def _no_sanitizers(name: str) -> Verdict:
    return Verdict(
        name,
        "no-compiler",
        "This machine's compiler comes without the sanitizers.",
        "On Debian and Ubuntu they come with gcc: `sudo apt install gcc`. On Alpine "
        "there are none for gcc; take clang with compiler-rt.",
        headline="no sanitizers",
    )
