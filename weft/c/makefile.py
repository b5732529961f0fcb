"""Checking a Makefile: run make, touch files, and see what make remakes."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.c import compiler, running
from weft.c.source import Source
from weft.checking.verdict import Failed, Verdict, Verdicts
from weft.places import Note

SECONDS = 60
# errors that are explained even if a variable lacks its parentheses
BEFORE_VARIABLES = ("separator", "no-rule", "undefined")

words = Verdicts(__file__)


@dataclass(frozen=True)
class Step:
    """A call to make, and its expected effect.

    command: its command line, such as `make clean`. touch: a file that is modified
    before the call, or created if it does not exist. makes: the files that must be
    made, or remade; any other file that make has made must not change. removes: files
    that must be deleted.
    """

    command: str = "make"
    touch: str = ""
    makes: Sequence[str] = ()
    removes: Sequence[str] = ()

    @property
    def when(self) -> str:
        if self.touch in self.command.split():
            return f"{self.command}, beside a file called {self.touch}"
        changed = f", after a change of {self.touch}" if self.touch else ""
        return self.command + changed


def judge(source: Source, files: Mapping[str, str], steps: Sequence[Step]) -> list[str]:
    """Run the steps in a folder with `files` and the Makefile; return facts.

    Raises `Failed` if a step goes wrong.
    """
    if shutil.which("make") is None:
        raise Failed(words.verdict(source.name, "no-make"))
    if compiler.find() is None:
        install = compiler.install()
        raise Failed(words.verdict(source.name, "nothing-to-call", install=install))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "Makefile").write_text(source.text)
        for file, text in files.items():
            (folder / file).write_text(text)
        given = {"Makefile", *files}
        for step in steps:
            _step(source, folder, given, step)
    return [f"right in {len(steps)} calls: what changed is made again, no more"]


def _step(source: Source, folder: Path, given: set[str], step: Step) -> None:
    """Run one step, and check what it made. Raises `Failed` if it goes wrong."""
    before = _aged(folder, given, step.touch)
    status, said = _make(folder, step.command)
    if status:
        raise Failed(_stopped(source, said, step))
    after = {p.name: p.stat().st_mtime for p in folder.iterdir() if p.is_file()}
    remade = {n for n, seen in after.items() if before.get(n) != seen} - given
    # for a compiler's dependency rules
    remade = {n for n in remade if not n.endswith(".d")}
    for file in step.makes:
        if file not in after:
            raise _not_made(source, file, said, step)
        if file not in remade:
            raise _out_of_date(source, file, step)
    target = step.command.split()[-1]
    for file in sorted(given - set(after)):
        raise _failed(source, "lost", file, step, _rule(source, target))
    for file in sorted(remade - set(step.makes)):
        if file in before:
            changed = f"Only {step.touch}" if step.touch else "Nothing"
            told = {"changed": f"{changed} has changed"}
            raise _failed(source, "rebuilt", file, step, _rule(source, file), **told)
    for file in step.removes:
        if file in after:
            row = "not-removed-beside" if step.touch == target else "not-removed"
            places = _rule(source, target)
            raise _failed(source, row, file, step, places, target=target)


def _failed(
    source: Source, row: str, file: str, step: Step, places: list[Note], **told: Any
) -> Failed:
    """Return the failure for `file` after a step, worded by row `row` of `words`."""
    told |= {"file": file, "command": step.command, "touch": step.touch}
    return Failed(words.verdict(source.name, row, places, when=step.when, **told))


def _aged(folder: Path, given: set[str], touch: str) -> dict[str, float]:
    """Set the times of all files, so that the clock's resolution has no effect.

    The given files become the oldest, followed by object files and then all others. The
    touched file becomes the newest. Returns the times by file name.
    """
    if touch:
        (folder / touch).touch()
    now = int(time.time())
    times = {}
    for path in folder.iterdir():
        age = 1000 if path.name in given else 800 if path.suffix == ".o" else 600
        age = 400 if path.name == touch else age
        os.utime(path, (now - age, now - age))
        times[path.name] = path.stat().st_mtime
    return times


def _make(folder: Path, command: str) -> tuple[int, str]:
    """Run make; return its exit status and its output."""
    keep = {k: v for k, v in compiler.english().items() if not k.startswith("MAKE")}
    try:
        run = running.heard(command.split(), folder, keep, SECONDS)
    except subprocess.TimeoutExpired:
        return 1, f"no end after {SECONDS} s"
    return run.returncode, run.stdout


def _stopped(source: Source, said: str, step: Step) -> Verdict:
    """Return the verdict on an error from make, with its line and an explanation."""
    found = re.search(r"Makefile:(\d+): (?:\*\*\* )?(.*)", said)
    places: list[Note] = [(source.place(int(found[1])), "")] if found else []
    last = said.strip().splitlines()[-1:] or ["nothing"]
    message = found[2] if found else last[0]
    said_so = message if message.endswith(".") else f"{message}."
    told: dict[str, Any] = words("make-error", said=said_so)
    fits = words.matching(said)
    bare = re.search(r"(?<!\$)\$([A-Za-z]\w+)", source.text)
    if bare and (fits is None or fits[0] not in BEFORE_VARIABLES):
        told |= words("long-variable", bare=bare, rest=bare[1][1:])
    elif fits is not None:
        told |= words(fits[0], found=fits[1])
        places = _where(source, *fits, places)
    elif found and "recipe" not in message:
        told |= words("no-rule-at-all")
    return Verdict(source.name, "make-error", places=places, when=step.when, **told)


def _where(
    source: Source, row: str, found: re.Match[str], places: list[Note]
) -> list[Note]:
    """Return the lines that a `make` error is about.

    row, found: the kind of error, and what its pattern matched. places: the lines that
    `make` names.
    """
    if row == "no-rule":
        return [(source.place(n), "") for n in _asking(source, found[1])[:1]]
    if row == "undefined":
        return places or _rule(source, "report")
    return _rule(source, found[1]) or places if row == "no-object" else places


def _not_made(source: Source, file: str, said: str, step: Step) -> Failed:
    done = said.strip().splitlines()
    first = f" It said: {done[0][:120]}" if done else ""
    places = _first_rule(source) + _rule(source, file)
    return _failed(source, "not-made", file, step, places, first=first)


def _out_of_date(source: Source, file: str, step: Step) -> Failed:
    """Return the failure for a file that should have been remade."""
    cause = f"{step.touch} is newer than `{file}`" if step.touch else "It was asked for"
    beside = step.touch and step.touch in step.command.split()
    row = "not-rebuilt-beside" if beside else "not-rebuilt"
    asking = [(source.place(n), "") for n in _asking(source, file)]
    places = _rule(source, file) or asking
    return _failed(source, row, file, step, places, cause=cause)


def _rule(source: Source, target: str) -> list[Note]:
    """Return the line of the rule for `target`, or else that of its pattern rule.

    Returns [] if there is neither.
    """
    suffix = re.escape(Path(target).suffix)
    for pattern in (rf"(?:.*\s)?{re.escape(target)}(?:\s[^:=]*)?:", rf"%{suffix}\s*:"):
        for number, line in enumerate(source.lines, 1):
            if re.match(pattern, line) and not line.startswith("."):
                return [(source.place(number), "")]
    return []


def _first_rule(source: Source) -> list[Note]:
    for number, line in enumerate(source.lines, 1):
        if re.match(r"[^\s.#][^=]*:", line):
            return [(source.place(number), "the first rule")]
    return []


def _asking(source: Source, name: str) -> list[int]:
    whole = re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w.])")
    return [n for n, line in enumerate(source.lines, 1) if whole.search(line)]
