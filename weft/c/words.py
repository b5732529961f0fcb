"""Explain the compiler's first error in plain words, with a question."""

import re

from weft.c.compiler import Complaint
from weft.c.source import Source
from weft.checking.verdict import Verdict, Verdicts
from weft.wording import Words

words = Verdicts(__file__)
verdict = words.verdict


def meaning(text: str) -> str:
    """Return what an error's text means, or "" if that is unknown."""
    found = words.matching(text)
    return words.rows[found[0]]["why"] if found else ""


def refused(
    source: Source,
    found: list[Complaint],
    said: str,
    also: Words | None = None,
    by: str = "The compiler",
) -> Verdict:
    """Return the verdict on a source that does not compile, from its first error.

    also: rows that take precedence over those of C, matched against the error and its
    line. by: the program that reports the error.
    """
    errors = [c for c in found if c.error]
    ours = [c for c in errors if c.file == source.file]
    first = (ours or errors or [Complaint("", 0, True, said.strip()[-300:])])[0]
    line = first.line if first.file == source.file else len(source.lines)
    more = len(errors) - 1
    message = f"{by} says: {_sentence(first.text)}"
    if more > 0:
        message += (
            f" It has {more} more error{'s' * (more > 1)}; they often follow from the "
            "first."
        )
    places = [(source.place(line), "")] if line else []
    quoted = f"{_sentence(first.text)} {places[0][0].text if places else ''}"
    fits = also.matching(quoted) if also else None
    why = also.rows[fits[0]]["why"] if also and fits else meaning(first.text)
    headline = ""
    if first.text.startswith(("conflicting types", "undefined reference")):
        headline = "not the function that was asked for"
    return Verdict(source.name, "compile", message, why, places, headline=headline)


def other_function(source: Source, prototype: str, name: str = "") -> Verdict:
    """Return the verdict on a source that compiles, but not with its caller.

    name: the function's name, if it is not the cell's.
    """
    name = name or source.name
    there = [n for n in source.containing(name + "(") if n > 1]
    missing = f" There is no `{name}` in the cell." if not there else ""
    places = [(source.place(n), "") for n in there[:1]]
    told = {"prototype": prototype, "missing": missing}
    return verdict(source.name, "other-function", places, **told)


def _sentence(text: str) -> str:
    text = re.sub(r"'([^']+)'", r"`\1`", text.strip())
    text = re.sub(r"`\*(\w+?)_\d+[^`]*`", r"what `\1` points to", text)
    return text if text.endswith((".", "?")) else text + "."


def sanitizers_missing(said: str) -> bool:
    """Return whether a compiler's error says that the compiler has no sanitizers."""
    return "sanitiz" in said.lower() and (
        "unrecognized" in said or "cannot find" in said
    )
