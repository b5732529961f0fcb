"""Expressions that are always wrong here, and what to write instead; see words.toml."""

import re
import tokenize
import tomllib
from functools import cache
from pathlib import Path

import pytest

from verification.corpus import corpus, of_labs

ROOT = Path(__file__).parents[1]
PATHS = ("book/**/*.md", "chapters/*/*.py", "chapters/*/lesson.toml")
PAPERS = ("README.md", "CONTRIBUTING.md")
CODE = "weft", "pipeline", "verification", "exams", "book/_ext", "book/recordings"
SCRIPTS = "install.py", "lab.py", "update.py", "book/build.py", "book/stills.py"
WORDS = tomllib.loads((ROOT / "tests" / "words.toml").read_text(encoding="utf8"))
# What is not prose: listings, unless a directive's, and what is between backticks.
FENCE = re.compile(r"\s*(`{3,})(.*)")
QUOTED = re.compile(r"(?<!`)(`{1,2})(?!`)(?:[^`\n]|\n(?!\s*\n))+\1(?!`)")
ROWS = re.compile(r"^:(case|rows|state):.*", re.MULTILINE)  # named by results
NOT_BUT = re.compile(r"(?<=\n\| not \| but \|\n).*?\n(?=\n)", re.DOTALL)
GAP = r"(?:[ \t]+|[ \t]*\n[ \t]*(?:#[ \t]+)?)"  # a space, or one end of a line


def blank(found: re.Match[str]) -> str:
    """Replace all but line ends, so that what follows keeps its line."""
    return re.sub(r"[^\n]", "\x00", found[0])


def expression(pattern: str) -> re.Pattern[str]:
    pattern = pattern.replace("\n", "").replace(" ", GAP)
    return re.compile(pattern, re.IGNORECASE)


def without_listings(text: str) -> str:
    """Blank fenced blocks, but not what a directive contains."""
    lines: list[str] = []
    open_fences: list[tuple[str, bool]] = []  # the fence, and whether it is a listing
    for line in text.split("\n"):
        fence, listing = FENCE.match(line), any(code for _, code in open_fences)
        if fence and open_fences and fence.groups() == (open_fences[-1][0], ""):
            open_fences.pop()
        elif fence and not listing:
            open_fences.append((fence[1], not fence[2].startswith("{")))
        lines.append("" if fence or listing else line)
    return "\n".join(lines)


def prose(path: Path) -> str:
    text = path.read_text(encoding="utf8")
    if path.suffix == ".py":  # a script's cells of text, and comments
        lines = text.split("\n")
        return "\n".join(line if line.startswith("#") else "" for line in lines)
    if path.suffix != ".md":
        return text
    text = ROWS.sub(blank, text)
    return NOT_BUT.sub(blank, without_listings(text))  # and CONTRIBUTING's own list


def searched() -> list[Path]:
    """Return the files that a reader sees, in the order of their names."""
    found = {path for glob in PATHS for path in ROOT.glob(glob)}
    return sorted(found | {ROOT / name for name in PAPERS})


def hits(text: str, pattern: str, allow: tuple[str, ...] = ()) -> list[tuple[int, str]]:
    """Return the line and the words of each match outside code and allowed phrases."""
    for phrase in allow:
        text = re.sub(re.escape(phrase).replace(r"\ ", GAP), blank, text)
    text = unquoted(text)
    found = expression(pattern).finditer(text)
    return [(1 + text.count("\n", 0, m.start()), " ".join(m[0].split())) for m in found]


@cache
def unquoted(text: str) -> str:
    return QUOTED.sub(blank, text)


def said_in_code() -> dict[str, str]:
    """Return the comments and docstrings of the course's own code, at their lines."""
    paths = [path for folder in CODE for path in (ROOT / folder).rglob("*.py")]
    found = {}
    for path in (*sorted(paths), *(ROOT / name for name in SCRIPTS)):
        lines = [""] * (path.read_bytes().count(b"\n") + 2)
        with path.open("rb") as file:
            for token in tokenize.tokenize(file.readline):
                if token.type == tokenize.COMMENT or token.string.startswith('"""'):
                    for number, line in enumerate(token.string.split("\n")):
                        lines[token.start[0] - 1 + number] = line
        found[str(path.relative_to(ROOT))] = "\n".join(lines)
    return found


def thoughts() -> dict[str, str]:
    """Return what the kill table says about each of its kernels."""
    kernels = (*corpus(), *of_labs())
    return {str(k.path.relative_to(ROOT)): k.thinking for k in kernels}


@cache
def texts() -> dict[str, str]:
    """Return all that is searched, by the name of its file."""
    found = {str(path.relative_to(ROOT)): prose(path) for path in searched()}
    return found | thoughts() | said_in_code()


@pytest.mark.parametrize("name", WORDS)
def test_the_word_is_not_used(name: str) -> None:
    word = WORDS[name]
    allow = tuple(word.get("allow", ()))
    found = [
        f"{path}:{line}: {words}"
        for path, text in texts().items()
        for line, words in hits(text, word["pattern"], allow)
    ]
    assert not found, f"instead: {word['instead']}\n" + "\n".join(found)


def test_every_entry_has_a_pattern_and_a_proposal() -> None:
    for name, word in WORDS.items():
        assert {"pattern", "instead"} <= set(word) <= {"pattern", "instead", "allow"}
        assert word["instead"], name


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Mend the kernel.", [(1, "Mend")]),
        ("Amend it.\nThen it is\nmended.", [(3, "mended")]),
        ("Call `mend(x)`.", []),
        ("````{note}\n```python\nmend\n```\nMend\n````", [(5, "Mend")]),
        ("We were\n# mending it", [(2, "mending")]),
    ],
)
def test_a_word_is_found_where_a_reader_sees_it(
    text: str, found: list[tuple[int, str]]
) -> None:
    assert hits(without_listings(text), WORDS["mend"]["pattern"]) == found


def test_an_expression_may_be_broken_over_lines_of_comments() -> None:
    pattern = WORDS["an-atomic-a-thread"]["pattern"]
    assert hits("# Four elements\n# a lane.", pattern) == [(1, "elements # a lane")]
    assert hits("the words a lane loads, and it reads a row", pattern) == []
    assert hits("one read a row", pattern, ("one read a row",)) == []
