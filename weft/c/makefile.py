"""Checking a Makefile: run make, touch files, and look at what it made again."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.c import compiler, running
from weft.c.source import Source
from weft.checking.verdict import Failed, Verdict
from weft.places import Place

SECONDS = 60


@dataclass(frozen=True)
class Step:
    """A call of make, and what should come of it.

    command: such as `make` or `make clean`. touch: a file that is changed before, or
    made if it is not there. makes: the files that must be made, or made again; every
    other file that make has made must be left as it is. removes: files that must go.
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
    """Run the steps in a folder with `files` and the Makefile. Raises Failed."""
    if shutil.which("make") is None:
        raise Failed(
            Verdict(
                source.name,
                "no-compiler",
                "There is no make on this machine.",
                "Install it: `sudo apt install make`. Then run this cell again; what "
                "you wrote stays.",
                headline="no make",
            )
        )
    if compiler.find() is None:
        raise Failed(
            Verdict(
                source.name,
                "no-compiler",
                "There is no C compiler on this machine, so make has nothing to call.",
                f"Install one: `{compiler.install()}`.",
                headline="no C compiler",
            )
        )
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
    """Take one step, and look at what it made. Raises Failed."""
    before = _aged(folder, given, step.touch)
    status, said = _make(folder, step.command)
    if status:
        raise Failed(_stopped(source, said, step))
    after = {p.name: p.stat().st_mtime for p in folder.iterdir() if p.is_file()}
    remade = {n for n, seen in after.items() if before.get(n) != seen} - given
    remade = {n for n in remade if not n.endswith(".d")}  # a compiler's own rules
    for name in step.makes:
        if name not in after:
            raise Failed(_not_made(source, name, said, step))
        if name not in remade:
            raise Failed(_out_of_date(source, name, step))
    for name in sorted(given - set(after)):
        raise Failed(_lost(source, name, step))
    for name in sorted(remade - set(step.makes)):
        if name in before:
            raise Failed(_too_much(source, name, step))
    for name in step.removes:
        if name in after:
            raise Failed(_left(source, name, step))


def _aged(folder: Path, given: set[str], touch: str) -> dict[str, float]:
    """Give every file a time of its own: a clock's steps must not decide anything.

    What was given is oldest, then come object files, then what is made of them; last
    the touched file.
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
    """Run make; return its status and what it said."""
    keep = {k: v for k, v in compiler.english().items() if not k.startswith("MAKE")}
    try:
        run = running.heard(command.split(), folder, keep, SECONDS)
    except subprocess.TimeoutExpired:
        return 1, f"no end after {SECONDS} s"
    return run.returncode, run.stdout


def _stopped(source: Source, said: str, step: Step) -> Verdict:
    """Make ended with an error: which line, and what it means."""
    found = re.search(r"Makefile:(\d+): (?:\*\*\* )?(.*)", said)
    places = [(source.place(int(found[1])), "")] if found else []
    last = said.strip().splitlines()[-1:] or ["nothing"]
    message = found[2] if found else last[0]
    why = "Read make's first complaint; the others often follow from it."
    if "missing separator" in said:
        message = "make says: missing separator."
        why = (
            "A line is a rule, `target: what it needs`, a variable, `NAME = value`, or "
            "a recipe, which begins with a tab (here, four spaces). Which should it be?"
        )
    elif missing := re.search(r"No rule to make target '([^']+)'", said):
        name = missing[1]
        message = f"make has no rule to make `{name}`."
        places = [(source.place(n), "") for n in _asking(source, name)[:1]]
        why = (
            "Every name after a colon is a file that exists, or the target of another "
            "rule. How is this one spelled, and which rule makes it?"
        )
    elif "undefined reference" in said:
        name = re.search(r"undefined reference to [`']([^']+)'", said)
        what = f"`{name[1]}`" if name else "a function"
        message = f"The linker finds no definition of {what}."
        places = places or _rule(source, "report")
        why = (
            "Each object file contains the functions of one source file. All of them "
            "have to be in the line that links. Which one is missing?"
        )
    elif bare := re.search(r"(?<!\$)\$([A-Za-z]\w+)", source.text):
        name = bare[1]
        why = (
            f"make reads `${name}` as `$({name[0]})` followed by `{name[1:]}`. How do "
            "you write a variable whose name has more than one letter?"
        )
    elif missing := re.search(r"cannot find (\S+\.o)\b", said):
        name = missing[1]
        message = f"The linker finds no `{name}`."
        places = _rule(source, name) or places
        why = (
            f"Is `{name}` named after the colon of the rule that links, and does the "
            "recipe of its own rule make a file of that name?"
        )
    elif refused := re.search(r"#error \"?([^\"\n]*)", said):
        message = f"The compiler stops: {refused[1]}."
        why = "Which command has to pass what is missing there?"
    elif "No such file" in said or "not found" in said:
        why = "Look at the spelling: which file does the recipe name, and is it there?"
    elif found and "recipe" not in message:
        why = "Compare the line with the rules in the text above. What differs?"
    return Verdict(
        source.name,
        "make-error",
        message if message.endswith(".") else f"make says: {message}.",
        why,
        places,
        when=step.when,
    )


def _not_made(source: Source, name: str, said: str, step: Step) -> Verdict:
    done = said.strip().splitlines()
    first = f" It said: {done[0][:120]}" if done else ""
    return Verdict(
        source.name,
        "not-made",
        f"There is no `{name}` after `{step.command}`.{first}",
        "`make` on its own makes the target of the first rule, and whatever that "
        "needs. Which rule comes first, and does its recipe make the file that the "
        "rule is named after?",
        _first_rule(source) + _rule(source, name),
        when=step.when,
    )


def _out_of_date(source: Source, name: str, step: Step) -> Verdict:
    """The verdict on a file that should have been made again."""
    cause = f"{step.touch} is newer than `{name}`" if step.touch else "It was asked for"
    why = (
        f"make looks only at the names after the colon, and at the times of those "
        f"files; it does not read C. Does the rule for `{name}` name "
        f"`{step.touch}`, or something that is made from it?"
    )
    if step.touch and step.touch in step.command.split():
        why = (
            f"There is a file called `{step.touch}` now, and it is up to date. What "
            "tells make that a target is not a file?"
        )
    return Verdict(
        source.name,
        "not-rebuilt",
        f"{cause}, and `{name}` was not made again.",
        why,
        _rule(source, name) or [(source.place(n), "") for n in _asking(source, name)],
        when=step.when,
    )


def _too_much(source: Source, name: str, step: Step) -> Verdict:
    changed = f"Only {step.touch} has changed" if step.touch else "Nothing has changed"
    return Verdict(
        source.name,
        "rebuilt",
        f"{changed}, and `{name}` was made anyway.",
        "A rule runs when its target is missing, or older than something that it "
        "names. What does this rule name that it does not need, and does its recipe "
        "really make its target?",
        _rule(source, name),
        when=step.when,
    )


def _left(source: Source, name: str, step: Step) -> Verdict:
    why = "Which files does its recipe remove?"
    target = step.command.split()[-1]
    if step.touch == target:
        why = (
            f"There is a file called `{target}` now, so for make the target exists and "
            "needs nothing. What tells it that `clean` is a command and not a file?"
        )
    return Verdict(
        source.name,
        "not-removed",
        f"After `{step.command}`, `{name}` is still there.",
        why,
        _rule(source, target),
        when=step.when,
    )


def _lost(source: Source, name: str, step: Step) -> Verdict:
    return Verdict(
        source.name,
        "make-error",
        f"After `{step.command}`, `{name}` is gone, and nothing can make it again.",
        "Files that `make` made can be removed; files that you wrote cannot. Which "
        "name or pattern in the recipe matches this file as well?",
        _rule(source, step.command.split()[-1]),
        headline="a file that you wrote is removed",
        when=step.when,
    )


def _rule(source: Source, target: str) -> list[tuple[Place, str]]:
    """The line of the rule that makes `target`, or of the pattern that does."""
    suffix = re.escape(Path(target).suffix)
    for pattern in (rf"(?:.*\s)?{re.escape(target)}(?:\s[^:=]*)?:", rf"%{suffix}\s*:"):
        for number, line in enumerate(source.lines, 1):
            if re.match(pattern, line) and not line.startswith("."):
                return [(source.place(number), "")]
    return []


def _first_rule(source: Source) -> list[tuple[Place, str]]:
    for number, line in enumerate(source.lines, 1):
        if re.match(r"[^\s.#][^=]*:", line):
            return [(source.place(number), "the first rule")]
    return []


def _asking(source: Source, name: str) -> list[int]:
    whole = re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w.])")
    return [n for n, line in enumerate(source.lines, 1) if whole.search(line)]
