"""What the checks say of wrong answers that learners gave: the lead, in words."""

import pytest

import weft  # noqa: F401  before Numba
from verification.cells import checks, run, scope_of
from weft import chapters
from weft.checking.verdict import Verdict
from weft.device import toolkit

COMPILED = pytest.mark.skipif(bool(toolkit.find().missing), reason="no compiler")

# What a verdict says, in its sentences or beside a line.
SAID = {
    "16_softmax/softmax_warp/wrong_maximum_of_some_lanes": [
        "Lane 0 is at line 20 while lanes 1–31 are at line 24",
        "What leads lanes 1–31 past line 20?",
    ],
}
COMPILES = {
    "12_global_memory/polynomial/wrong_power_of_a_variable": [
        "`x[i] ** k` is computed in float64",
        "float64 on 1 line.",
    ],
}


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)


def verdict_on(answer: str) -> Verdict:
    """What the lab's check says of a wrong answer."""
    lab, exercise, name = answer.split("/")
    path = chapters.folder() / lab / "answers" / exercise / f"{name}.py"
    scope = scope_of(lab)
    run(path.read_text(encoding="utf-8"), f"<{answer}>", scope)
    found: Verdict = run(checks(lab)[exercise], "<check>", scope)
    return found


def said(verdict: Verdict) -> str:
    notes = [f"{place.text}: {note}" for place, note in verdict.places]
    return " ".join([verdict.message, verdict.why, *notes])


@pytest.mark.parametrize("answer", SAID)
def test_a_wrong_value_has_a_lead(answer: str) -> None:
    found = said(verdict_on(answer))
    assert [part for part in SAID[answer] if part not in found] == [], found


@COMPILED
@pytest.mark.parametrize("answer", COMPILES)
def test_what_the_compiler_found_has_a_cause(answer: str) -> None:
    found = said(verdict_on(answer))
    assert [part for part in COMPILES[answer] if part not in found] == [], found
