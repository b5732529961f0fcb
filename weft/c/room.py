"""Checks of C cells, which are run under the sanitizers, and of Makefiles."""

import inspect
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from weft.c import compiler, driver, makefile, reports, running, words
from weft.c.source import Source
from weft.checking.cases import Case
from weft.checking.compare import difference
from weft.checking.exercise import Exercise
from weft.checking.room import Facts
from weft.checking.source import begin
from weft.checking.verdict import Failed, Verdict
from weft.places import Note
from weft.wording import capital


@dataclass(frozen=True, kw_only=True)
class CExercise(Exercise):
    """An exercise whose answer is a `%%c` or `%%makefile` cell.

    prototype: the declaration of the requested function, without the semicolon.
    inputs: `(rng, *size)` → the values of the spec's parameters, which become variables
        of the calling program. An array `x` comes with `x_size`, or with `x_rows` and
        `x_cols`; a NumPy number keeps its type; a Python integer becomes a `size_t`.
    call: C statements that call the function and pass on each output, in the order of
        the spec's outputs, with `give(value);` or `give_all(pointer, count);`.
    files, steps: for a Makefile, the files beside it and what to do with them; see
        `weft.c.makefile`.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    unused: ClassVar[tuple[str, ...]] = ("because", "limits")

    prototype: str = ""
    call: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    steps: Sequence[Any] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        missing = None in (self.spec, self.inputs) or not self.sizes
        if missing and not self.steps:
            raise ValueError(f"check({self.name}, ...): spec, inputs and sizes")


class C:
    """Checks C cells and Makefiles; the learner's code runs in another process."""

    what = "a cell of C"
    exercise = CExercise

    def takes(self, thing: Any, asked: Mapping[str, Any]) -> bool:
        return isinstance(thing, Source)

    def stages(self, exercise: CExercise) -> Iterator[Facts]:
        """Compile and run every case, or run the steps of a Makefile."""
        source = exercise.written_by_learner
        if not isinstance(source, Source):
            name = str(getattr(source, "__name__", type(source).__name__))
            raise Failed(words.verdict(name, "type"))
        if source.is_stub:
            raise Failed(begin(source.name, source.comment))
        if source.language == "makefile":
            yield makefile.judge(source, exercise.files, exercise.steps)
        else:
            yield run(exercise, source)


ROOM = C()


def run(exercise: CExercise, source: Source) -> Facts:
    """Compile a cell and run every case; return facts. Raises `Failed` if one fails."""
    if compiler.find() is None:
        install = compiler.install()
        raise Failed(words.verdict(source.name, "no-compiler", install=install))
    cases = list(exercise.cases(source.seed))
    names = list(inspect.signature(exercise.spec).parameters)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        warnings = compiled(exercise, source, folder, names, cases[0])
        told = [f"line {c.line}, the compiler warns: {c.text}" for c in warnings]
        leaks_seen, printed = True, ""
        for case in cases:
            ran = running.run(folder / "program", driver.packed(case.inputs))
            leaks_seen &= ran.leaks_seen
            printed = printed or ran.printed.strip()
            found = judged(exercise, source, case, ran)
            if found is not None:
                said = [f"It printed: {printed[:200]}"] if printed else []
                facts = [*found.facts, *said, *told]
                raise Failed(found.but(when=case.label, facts=facts))
    facts = [
        f"right on {len(cases)} cases, under the address sanitizer and the one for "
        "undefined behaviour"
    ]
    if not leaks_seen:
        facts.append("leaks could not be looked for on this machine")
    return facts + told


def compiled(
    exercise: CExercise, source: Source, folder: Path, names: list[str], case: Case
) -> list[compiler.Complaint]:
    """Build `program` in `folder`; return the warnings. Raises `Failed` on an error."""
    (folder / source.file).write_text(source.text)
    fine, said = compiler.diagnose(folder, source.file)
    found = compiler.complaints(said)
    if not fine:
        raise Failed(words.refused(source, found, said))
    text = driver.program(
        source.file, exercise.prototype, names, case.inputs, exercise.call
    )
    (folder / "program.c").write_text(text)
    flags = ("-Wno-unused-result", *compiler.SANITIZE, "program.c", "-o", "program")
    fine, said = compiler.call(folder, *flags, "-lm")
    if not fine and words.sanitizers_missing(said):
        raise Failed(words.verdict(source.name, "no-sanitizers"))
    if not fine:
        raise Failed(words.other_function(source, exercise.prototype))
    return [c for c in found if not c.error and c.file == source.file]


def judged(
    exercise: CExercise, source: Source, case: Case, ran: running.Ran
) -> Verdict | None:
    """Return the verdict on one run, or None if it is right and leaks no memory."""
    found = reports.verdict(source, ran)
    leak = found if found is not None and found.kind == "leak" else None
    if found is not None and leak is None:
        return found
    wanted = case.expected
    for number, (got, right) in enumerate(zip(ran.results, wanted, strict=False), 1):
        if got.size == right.size:
            got = got.reshape(right.shape)
        wrong = difference(got, right, exercise.tolerance)
        if wrong is None:
            continue
        which = "the result" if len(wanted) == 1 else f"result {number}"
        if reports.unwritten(wrong.got):
            there = source.containing("malloc(")
            notes = [(source.place(n), "allocated here, not cleared") for n in there]
            element = capital(wrong.where(which))
            return words.verdict(source.name, "unset", notes, Element=element)
        places = _writing(source, exercise.prototype)
        told = {"Wrong": capital(wrong.sentence(which))}
        if wrong.hint:
            told["why"] = f"{wrong.hint} Which line does that?"
        return words.verdict(source.name, "wrong-value", places, **told)
    return leak


def _writing(source: Source, prototype: str) -> list[Note]:
    """Return up to four lines that produce a result, by `return` or through a pointer.

    If there are lines that assign to a pointer parameter itself, which has no effect
    outside the function, returns only those.
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
