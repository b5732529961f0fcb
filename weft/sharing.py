"""`weft.share`: the last check of an exercise as one file, to discuss with a teacher.

    weft.share("vector_add")                 writes vector_add.weft.json
    weft.shared("vector_add.weft.json")      shows that file
    python -m weft.sharing FILE > page.html  writes it as a page

The file contains the cell, the verdict and a trace, as text. Showing a file runs none
of its code: everything in the file is treated as data, and escaped. It shows what the
author's check said, which only a new check of the code can confirm.
"""

import html
import inspect
import json
import linecache
import sys
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from weft import lesson, markup
from weft.checking.room import Checked, last_check
from weft.checking.verdict import Verdict
from weft.errors import LearnerError
from weft.kernels.exercise import KernelExercise
from weft.kernels.trial import configure, last_stopped
from weft.places import Place
from weft.starters import source_function
from weft.tracing import trace
from weft.versions import __version__

FORMAT = 1
LARGEST = 2 << 20  # bytes
INDICES = ("thread", "block")
LISTS = ("facts", "rows")
LEFT_OUT = ("places", "onward", "judged", "past")  # fields that are not written
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 50rem; margin: 0 auto;
  padding: 1rem }}
h1 {{ font-size: 1.25rem; overflow-wrap: anywhere }}
</style>
{body}
</html>
"""


def share(exercise: Any, file: str | Path = "") -> str:
    """Write the last check of an exercise to a file; return a sentence about the file.

    exercise: the exercise's name, or the object that was checked. file: the path, by
    default the exercise's name followed by `.weft.json`. Raises LearnerError if the
    exercise has not been checked here, or the file cannot be written.
    """
    name = exercise if isinstance(exercise, str) else _name(exercise)
    checked = last_check(name)
    if checked is None:
        raise LearnerError(f"`{name}` has not been checked here: run its check first.")
    path = Path(file or f"{name}.weft.json").expanduser()
    contents = {
        "warp-and-weft-share": FORMAT,
        "version": __version__,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "lab": lesson.current() or "",
        "exercise": name,
        "code": _cell(checked.thing),
        "verdict": _plain(checked.verdict),
        "trace": _trace(checked),
    }
    try:
        path.write_text(json.dumps(contents, indent=1), encoding="utf-8")
    except OSError as error:
        raise LearnerError(
            f"{path} cannot be written: {error.strerror}. Name another file."
        ) from None
    return f"The code of `{name}`, its verdict and its trace are in {path.resolve()}."


@dataclass(frozen=True)
class Shared:
    """A shared file's contents. trace: the title, subtitle, table and facts."""

    lab: str
    exercise: str
    date: str
    code: str
    verdict: Verdict
    trace: tuple[str, str, list[list[str]], list[str]] | None

    @property
    def title(self) -> str:
        return ", ".join(filter(None, (self.lab, self.exercise, self.date)))

    def __repr__(self) -> str:
        lines = [f"{n:4}  {line}" for n, line in enumerate(self.code.splitlines(), 1)]
        parts = [self.title, "\n".join(lines), repr(self.verdict)]
        if self.trace:
            title, subtitle, table, facts = self.trace
            rows = ["  ".join(row) for row in table]
            parts.append("\n".join([f"{title}: {subtitle}", *rows, *facts]))
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        return f"<h3>{html.escape(self.title)}</h3>{self._body()}"

    def page(self) -> str:
        """Return the contents as a self-contained HTML page."""
        title = html.escape(self.title)
        return PAGE.format(title=title, body=f"<h1>{title}</h1>{self._body()}")

    def _body(self) -> str:
        named = {place.line for place, _ in self.verdict.places}
        lines = [
            f"{'▸' if n in named else ' '}{n:4}  {html.escape(line)}"
            for n, line in enumerate(self.code.splitlines(), 1)
        ]
        code = "\n".join(lines)
        parts = [
            f'<pre tabindex="0" style="overflow-x:auto">{code}</pre>',
            self.verdict._repr_html_(),
        ]
        if self.trace:
            title, subtitle, (head, *rows), facts = self.trace
            cells = [[html.escape(cell) for cell in row] for row in rows]
            table = markup.table(map(html.escape, head), cells)
            shown = [f"<p><strong>{html.escape(title)}</strong></p>"]
            shown += [markup.note(subtitle), table, *map(markup.note, facts)]
            parts.append(markup.block(shown, label="Trace"))
        return "".join(parts)


def shared(file: str | Path) -> Shared:
    """Read a file that `share` wrote. Raises LearnerError for any other file."""
    path = Path(file).expanduser()
    other = LearnerError(f"{path.name} was not written by weft.share().")
    try:
        with path.open("rb") as opened:
            given = json.loads(opened.read(LARGEST).decode("utf-8"))
        if given["warp-and-weft-share"] != FORMAT:
            raise other
        return Shared(
            _text(given["lab"]),
            _text(given["exercise"]),
            _text(given["date"]),
            _text(given["code"]),
            _verdict(given["verdict"]),
            _shown_trace(given["trace"]),
        )
    except OSError as error:
        raise LearnerError(f"{path.name} cannot be read: {error.strerror}.") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise other from None


def _name(thing: Any) -> str:
    inner = source_function(thing)
    return str(getattr(inner or thing, "__name__", thing))


def _cell(thing: Any) -> str:
    """Return the text of the cell that defines `thing`.

    If a module defines it instead, returns the source of `thing` alone. Returns "" if
    there is no source.
    """
    text = getattr(thing, "text", thing)  # a cell of C is text already
    if isinstance(text, str):
        return text
    inner = source_function(thing)
    try:
        file = inner.__code__.co_filename if inner else ""
        if inner and Path(file).exists():  # a module, not a cell
            return inspect.getsource(inner)
        return "".join(linecache.getlines(file))
    except (OSError, TypeError):
        return ""


def _plain(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as plain data, without the paths of its author's files."""
    kept = [f.name for f in fields(Verdict) if f.name not in LEFT_OUT]
    places = [
        {
            "function": place.function,
            "line": place.line,
            "text": place.text,
            "expression": place.expression,
            "note": note,
        }
        for place, note in verdict.places
    ]
    return {name: getattr(verdict, name) for name in kept} | {"places": places}


def _verdict(given: dict[str, Any]) -> Verdict:
    """Rebuild a verdict. Raises ValueError, TypeError or KeyError for invalid data."""
    places = [
        (
            Place(
                _text(p["function"]),
                int(p["line"]),
                _text(p["text"]),
                _text(p["expression"]),
            ),
            _text(p["note"]),
        )
        for p in given["places"]
    ]
    said: dict[str, Any] = {}
    for f in fields(Verdict):
        if f.name in INDICES:
            value = given[f.name]
            said[f.name] = None if value is None else tuple(map(int, value))
        elif f.name in LISTS:
            convert = _text if f.name == "facts" else int
            said[f.name] = tuple(map(convert, given[f.name]))
        elif f.name == "printed":  # older files lack it
            said[f.name] = _text(given.get(f.name, ""))
        elif f.name not in LEFT_OUT:
            said[f.name] = _text(given[f.name])
    return Verdict(**said, places=places)


def _trace(checked: Checked) -> dict[str, Any] | None:
    """Return a trace of the launch that failed, or else of one at the first size.

    Returns None if the check is not of a kernel, or the launch does not complete.
    """
    exercise = checked.exercise
    if not isinstance(exercise, KernelExercise):
        return None
    try:
        trial = None if checked.verdict else last_stopped(exercise.kernel)
        if trial is None or trial.exercise is not exercise:
            trial = configure(exercise, exercise.case(exercise.sizes[0]))
        arguments = (*trial.case.inputs, *trial.fresh())
        found = trace(exercise.kernel)[trial.config](*arguments)
    except Exception:  # the kernel may do anything, and its verdict reports it
        return None
    title, subtitle, table, facts = found.shown()
    return {"title": title, "subtitle": subtitle, "table": table, "facts": facts}


def _shown_trace(
    given: dict[str, Any] | None,
) -> tuple[str, str, list[list[str]], list[str]] | None:
    if given is None:
        return None
    table = [[_text(cell) for cell in row] for row in given["table"]]
    if not table or len({len(row) for row in table}) != 1:
        raise ValueError("no table")
    facts = [_text(fact) for fact in given["facts"]]
    return _text(given["title"]), _text(given["subtitle"]), table, facts


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


if __name__ == "__main__":
    try:
        print(shared(sys.argv[1]).page())
    except LearnerError as problem:
        sys.exit(str(problem))
