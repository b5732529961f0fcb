"""Wording what the simulator refused."""

import re
from typing import Any

from weft.checking.exercise import Exercise
from weft.checking.source import source
from weft.checking.verdict import Verdict
from weft.places import Place
from weft.simulator import Fault


def from_fault(exercise: Exercise, fault: Fault, when: str) -> Verdict:
    return Verdict(
        exercise.name,
        fault.kind,
        sentence(fault.message),
        fault.why,
        [(place, "called here" * place.calls) for place in fault.places],
        fault.thread,
        fault.block,
        when,
    )


def silent(helpers: dict[str, Any], places: list[tuple[Place, str]]) -> str:
    """A word on a device function called on this line that returns nothing."""
    for name, helper in helpers.items():
        called = any(re.search(rf"\b{name}\(", place.text) for place, _ in places)
        if called and not re.search(r"^\s*return\s+\S", source(helper), re.MULTILINE):
            return (
                f"`{name}` gives nothing back. Unlike a kernel, a device function "
                "returns its result."
            )
    return ""


def sentence(text: str) -> str:
    """Begin with a capital, end with a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")
