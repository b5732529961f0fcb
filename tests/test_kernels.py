"""The checks are checked: wrong kernels are refused for the right reason.

chapters/<lab>/answers/<exercise>/wrong_*.py and right_*.py hold what a learner might
have typed into the starter cell; wrong_*.c and wrong_*.mk what stands under `%%c` and
`%%makefile`. The first line gives the verdict the lab's own check must reach; it must
name every line marked `# <- here`, in C `// <- here`.

A check that passes stays within the budget of `budget.MOST`. The words of some verdicts
are those of `named_leads`.

`make test` runs one file for each exercise and wrong verdict, and those with words;
`make test-all` runs all.
That an exercise can be passed, its solution shows: see `test_notebooks`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import named_leads
import pytest
from budget import MOST, cost, told

import weft  # noqa: F401  before Numba
from pipeline import notebook
from verification.cells import checks, run, scope_of
from verification.corpus import HERE, MAGICS, TYPED, answers, under_magic
from weft import effort
from weft.device import toolkit

ROOT = Path(__file__).parents[1]
CHAPTERS = ROOT / "chapters"
FILES = answers()
TO_LINE = re.compile(r"\bto line (\d+)")
HEAD = re.compile(r"(?:#|//) verdict: ([\w-]+)\n")
LABS = notebook.stems(ROOT)


def cell_of(path: Path) -> str:
    """The cell as a learner would have typed it, magic and all."""
    source = path.read_text(encoding="utf-8")
    if path.suffix in MAGICS:  # the magic takes the place of the first line
        source = source.split("\n", 1)[1]
    return under_magic(path, source)


def label(path: Path) -> str:
    lab, exercise = of(path)
    return f"{lab}/{exercise}/{path.stem}"


def of(path: Path) -> tuple[str, str]:
    """The lab and the exercise that a file answers."""
    return path.parts[-4], path.parts[-2]


def in_words(path: Path) -> bool:
    """Whether the words of the verdict on a file are known."""
    return label(path) in named_leads.SAID | named_leads.COMPILES


def in_tiers() -> Iterator[Any]:
    """Yield every file; of those with one exercise and verdict, all but one are long.

    The one is the first that marks the line which its verdict names, if possible one
    with words, which are never long. Of right answers all are long, because the lab's
    own is checked with the solutions.
    """
    groups: dict[tuple[str, ...], list[Path]] = {}
    for path in FILES:
        head = HEAD.match(path.read_text(encoding="utf-8"))
        groups.setdefault((*of(path), head[1] if head else ""), []).append(path)
    for group in groups.values():
        marking = [path for path in group if "<- here" in path.read_text("utf-8")]
        chosen = next(filter(in_words, marking), next(iter(marking), group[0]))
        for path in group:
            wrong = path.name.startswith("wrong_")
            fast = wrong and (path is chosen or in_words(path))
            marks = () if fast else (pytest.mark.long,)
            yield pytest.param(path, marks=marks, id=label(path))


def named(verdict: Any) -> set[int]:
    """Return the lines that a verdict names, those of `to line 36` included."""
    found: set[int] = set()
    for place, note in verdict.places:
        last = TO_LINE.search(note)
        found.update(range(place.line, int(last[1]) + 1 if last else place.line + 1))
    return found


@pytest.mark.parametrize("path", list(in_tiers()))
def test_verdict(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    lab, exercise = of(path)
    source = path.read_text(encoding="utf-8")
    expected = HEAD.match(source)
    assert expected, "the first line must be `# verdict: <kind>`"
    marked = {n for n, text in enumerate(source.splitlines(), 1) if HERE.search(text)}
    assert exercise in checks(lab), f"{lab} has no check of {exercise}"
    if expected[1] in ("float64", "local") and toolkit.find().missing:
        pytest.skip(f"{expected[1]} is found by a compiler, and there is none")
    scope = scope_of(lab)
    run(cell_of(path), f"<{label(path)}>", scope)
    with effort.counted() as done:
        verdict = run(checks(lab)[exercise], "<check>", scope)
    assert verdict.kind == expected[1], f"\n{verdict!r}"
    assert marked <= named(verdict), f"\n{verdict!r}"
    assert not named_leads.missing(label(path), verdict), f"\n{verdict!r}"
    if verdict:
        assert cost(done) <= MOST, f"this check does too much: {told(done)}"


@pytest.mark.parametrize("lab", LABS)
def test_every_exercise_has_wrong_and_right_kernels(lab: str) -> None:
    for exercise in checks(lab):
        folder = CHAPTERS / lab / "answers" / exercise
        typed = [p for p in folder.iterdir() if p.suffix in TYPED]
        wrong = [p for p in typed if p.name.startswith("wrong_")]
        assert len(wrong) >= 3, f"{folder}: 3 wrong ones"
        assert len(typed) > len(wrong), f"{folder}: one differently written"
        for path in typed:
            head = path.read_text(encoding="utf-8").partition("\n")[0]
            passes = head.endswith(" verdict: pass")
            assert passes == path.name.startswith("right_"), path


def test_every_lead_in_words_is_that_of_an_answer() -> None:
    known = named_leads.SAID.keys() | named_leads.COMPILES.keys()
    assert known <= set(map(label, FILES))


def test_every_folder_belongs_to_an_exercise() -> None:
    for path in FILES:
        lab, exercise = of(path)
        assert lab in LABS, path
        assert exercise in checks(lab), path
