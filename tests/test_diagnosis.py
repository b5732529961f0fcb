"""A verdict that waits for a diagnosis."""

import pytest

from weft.diagnosis import check


def half(x):
    return x // 2


EXERCISE = {"spec": lambda x: x / 2, "inputs": [(4,), (5,)]}


@pytest.fixture(autouse=True)
def unrecorded(monkeypatch):
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)


@pytest.mark.parametrize("diagnosis", [None, "", "  "])
def test_no_diagnosis_no_verdict(diagnosis):
    verdict = check(half, diagnosis, **EXERCISE)
    assert not verdict
    assert verdict.kind == "suspect"
    assert repr(verdict).startswith("○ half — what do you suspect?")
    assert "2.5" not in repr(verdict)
    shown = verdict._repr_html_()
    assert "#c8473c" not in shown
    assert "To do: " in shown
    assert "Not passed" not in shown


def test_a_verdict_repeats_the_diagnosis():
    verdict = check(half, "rounds down", **EXERCISE)
    assert verdict.kind == "wrong-value"
    assert "Your diagnosis was: rounds down" in repr(verdict)


def test_what_passes_is_passed():
    assert check(lambda x: x / 2, "nothing is wrong", **EXERCISE)
