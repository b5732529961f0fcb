"""Where the answers of the exercises stand, nearly word for word, in other files.

Two lines of code are alike if they differ in at most one token, comments and spaces
apart. An answer leaks into a file if there, within a stretch of lines about as long as
the answer, stand lines that are alike to most of its text; in a table (JSON), anywhere.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pipeline.labs import ANSWER

TOKEN = re.compile(r"\w+|[^\w\s]")
COMMENT = re.compile(r"(?:^|\s)(?:#|//).*")
DEFINED = re.compile(r"^(?:def|class) (\w+)|magic_args=\"(\w+)", re.M)
SHORTEST = 25  # characters; every kernel has lines such as `i = cuda.grid(1)`
MOST = 0.75  # of an answer's characters

Tokens = tuple[str, ...]


class Answer(NamedTuple):
    """What an exercise asks for; lines: as tokens."""

    lab: str
    exercise: str
    lines: list[Tokens]


class Leak(NamedTuple):
    """share: of the answer's characters that stand in the file."""

    path: str
    lab: str
    exercise: str
    share: float


def lines_of(text: str) -> Iterator[Tokens]:
    """The lines of a text as tokens, without comments and empty lines."""
    for line in text.splitlines():
        if found := tuple(TOKEN.findall(COMMENT.sub("", line))):
            yield found


def answers(chapters: Path) -> Iterator[Answer]:
    """The answers of all labs, from `chapters/*/lab.py`."""
    for path in sorted(chapters.glob("*/lab.py")):
        text, lines = path.read_text(encoding="utf-8"), dict[str, list[Tokens]]()
        for found in ANSWER.finditer(text):
            named = [a or b for a, b in DEFINED.findall(text[: found.start()])]
            inside = [a or b for a, b in DEFINED.findall(found[3])]
            exercise = (inside or named[-1:] or [""])[0]
            lines.setdefault(exercise, []).extend(lines_of(found[3]))
        for exercise, each in lines.items():
            yield Answer(path.parent.name, exercise, each)


def text_of(path: Path) -> str:
    """The text of a file; of a notebook its cells, of other JSON its strings."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        return "\n".join("".join(c["source"]) for c in json.loads(text)["cells"])
    return "\n".join(strings(json.loads(text))) if path.suffix == ".json" else text


def strings(thing: object) -> Iterator[str]:
    match thing:
        case str():
            yield thing
        case list():
            for part in thing:
                yield from strings(part)
        case dict():
            for part in thing.items():
                yield from strings(list(part))


def spellings(line: Tokens) -> Iterator[Tokens]:
    """A line, and what it is with any one token left open; short lines as they are."""
    yield line
    if len("".join(line)) >= SHORTEST:
        for k in range(len(line)):
            yield (*line[:k], "", *line[k + 1 :])


def leaks(given: Iterable[Answer], files: dict[str, Path]) -> list[Leak]:
    """The answers that leak into files, given by their names; the longest share."""
    known = [a for a in given if len("".join(map("".join, a.lines))) >= SHORTEST]
    spelled: dict[Tokens, set[tuple[int, int]]] = {}
    for number, answer in enumerate(known):
        for k, line in enumerate(answer.lines):
            for each in spellings(line):
                spelled.setdefault(each, set()).add((number, k))
    found = []
    for name, path in files.items():
        try:
            text = text_of(path)
        except UnicodeDecodeError:
            continue
        hits: dict[int, list[tuple[int, int]]] = {}
        for at, line in enumerate(lines_of(text)):
            alike = {hit for each in spellings(line) for hit in spelled.get(each, ())}
            for number, k in alike:
                hits.setdefault(number, []).append((at, k))
        for number, here in hits.items():
            answer = known[number]
            if (share := _share(answer, here, path.suffix == ".json")) >= MOST:
                found.append(Leak(name, answer.lab, answer.exercise, share))
    return found


def _share(answer: Answer, hits: list[tuple[int, int]], anywhere: bool) -> float:
    """The largest share of an answer that stands in one stretch of a file, or anywhere.

    hits: pairs of a line of the file and the line of the answer that it is like.
    """
    sizes = [len("".join(line)) for line in answer.lines]
    best, reach = 0, 2 * len(sizes) + 4
    if anywhere:
        return sum(sizes[k] for k in {k for _, k in hits}) / sum(sizes)
    for first, _ in hits:
        here = {k for at, k in hits if first <= at < first + reach}
        best = max(best, sum(sizes[k] for k in here))
    return best / sum(sizes)
