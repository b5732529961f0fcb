"""Claims of a lesson about speed, checked against measurements.

What a claim must satisfy depends on where it is checked:

- without a GPU, on the reference GPU's rows: exactly what the lesson says;
- on a GPU that has its own record: at least `SLOWED` of the recorded factor, or
  `SLOWED_HOST` if it includes the host's time; the claim fails if three measurements
  fall short;
- on a GPU without a record: the direction ("faster", no matter how much), and a tie
  passes. Upper bounds and shares of a ceiling differ from GPU to GPU: they are shown,
  not asserted;
- while a record is written (`WEFT_RESULTS`): the direction. On the reference GPU also
  exactly what the lesson says, because tests will check it against the new record.
  Less than `SLOWED` of the previous record is a warning;
- for a law, which follows from counted bytes or operations: on every GPU, a value
  within `LAW` of the prediction.

Differences from the lesson are printed. If `WEFT_CLAIMS` names a file, a failed claim
does not stop the notebook: it is written to that file, as a line of JSON, and the
program that runs the notebook fails at the end. Without such a file, a failed claim
raises AssertionError if `WEFT_STRICT=1`, and is otherwise printed.
"""

import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from weft import lesson, units
from weft.errors import LearnerError

SLOWED = 0.85  # of the recorded factor
SLOWED_HOST = 0.5  # the same, where the host's time is measured
TIE = 0.95  # of equal speed, or of a lower bound below it
LAW = (0.7, 1.4)  # least and most, as multiples of what a law predicts
MEASUREMENTS = 3  # measurements before a claim fails
CHANCES = 20  # tries for what happens by chance


class State(StrEnum):
    """The outcome of checking a claim."""

    HELD = "held"
    DIFFERS = "differs"  # shown, not asserted
    WARNED = "warned"
    FAILED = "failed"


@dataclass(frozen=True)
class Bounds:
    """The bounds a lesson sets on a factor or a share; None for no such bound.

    law, within: the predicted factor, and how far the value may be from it on the
    reference GPU, as a fraction. share: whether the value is a share of a ceiling,
    rather than a multiple of another row's speed.
    """

    at_least: float | None = None
    at_most: float | None = None
    law: float | None = None
    within: float | None = None
    share: bool = False

    def __post_init__(self) -> None:
        given = {"at_least": self.at_least, "at_most": self.at_most, "law": self.law}
        if all(value is None for value in given.values()):
            raise LearnerError(
                "expect what? Give at_least=, at_most=, law= or ceiling="
            )
        for name, value in (given | {"within": self.within}).items():
            if value is not None and not (math.isfinite(value) and value > 0):
                raise LearnerError(f"{name}={value!r}: give a number above 0")
        if self.law is not None and (self.at_least or self.at_most):
            raise LearnerError("give law=, or at_least= and at_most=: a law says both")
        if self.within is not None and self.law is None:
            raise LearnerError("within= says how near to a law=: give that too")

    def hold(self, value: float) -> bool:
        """Return whether a value satisfies the lesson's exact bounds."""
        if self.law is not None:
            low, high = (
                LAW if self.within is None else (1 - self.within, 1 + self.within)
            )
            return low <= value / self.law <= high
        enough = self.at_least is None or value >= self.at_least
        return enough and (self.at_most is None or value <= self.at_most)

    @property
    def direction(self) -> float:
        """The smallest value that passes on a GPU without a record of earlier times."""
        if self.at_least is None or self.share:
            return -math.inf
        return TIE * min(1.0, self.at_least)

    @property
    def text(self) -> str:
        """The bounds in words, such as `at least 1.3 times`."""
        write = units.percent if self.share else _times
        if self.law is not None:
            return f"{write(self.law)} by the law"
        parts = [] if self.at_least is None else [f"at least {write(self.at_least)}"]
        parts += [] if self.at_most is None else [f"at most {write(self.at_most)}"]
        return " and ".join(parts)

    def written(self, value: float) -> str:
        return units.percent(value) if self.share else _times(value)


@dataclass(frozen=True)
class Claim:
    """A claim, and what is known about it on the machine that checks it.

    what: the subject, as in `"naive" beside "copy"`. measured: given 0, returns the
    value that the claim is about, as first measured; given 1 or 2, the value from a
    repetition. attempts: how many measurements there can be. here: whether the value is
    from this machine. host: whether the host's clock measured it. recorded: the value
    in this GPU's own record, NaN if there is none. reference: the name of the GPU that
    the lesson describes. on_reference: whether this machine has that GPU.
    """

    what: str
    bounds: Bounds
    measured: Callable[[int], float]
    here: bool
    host: bool = False
    recorded: float = math.nan
    attempts: int = 1
    reference: str = ""
    on_reference: bool = False

    @property
    def floor(self) -> float:
        """The smallest value that this GPU's record allows, NaN if it sets no limit."""
        if self.bounds.at_least is None:
            return math.nan
        return (SLOWED_HOST if self.host else SLOWED) * self.recorded

    @property
    def said(self) -> str:
        return f"the lesson says {self.bounds.text}"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a claim, and the sentence that reports it."""

    state: State
    text: str


def decide(claim: Claim, recording: bool) -> Outcome:
    """Decide a claim by the rules of this module; measure again if needed."""
    if not claim.here:
        return _to_the_letter(claim, claim.measured(0))
    if recording:
        return _while_recording(claim, claim.measured(0))
    least, most = _limits(claim)
    tries = []
    for attempt in range(claim.attempts):
        try:
            value = claim.measured(attempt)
        except Exception as error:  # no exception in a claim may stop a notebook
            tries.append(f"{type(error).__name__} ({error})")
            break
        if least <= value <= most:
            return _shown(claim, value)
        tries.append(claim.bounds.written(value))
    found = ", then ".join(tries)
    return Outcome(State.FAILED, f"{claim.what}: {found} here; {_why(claim)}")


def _limits(claim: Claim) -> tuple[float, float]:
    """Return the smallest and the largest value that pass on this GPU."""
    if claim.bounds.law is not None:
        low, high = LAW
        return low * claim.bounds.law, high * claim.bounds.law
    if math.isfinite(claim.floor):
        return claim.floor, math.inf
    return claim.bounds.direction, math.inf


def _why(claim: Claim) -> str:
    """Describe the bound that the measured values miss."""
    write = claim.bounds.written
    if claim.bounds.law is None and math.isfinite(claim.floor):
        return (
            f"this GPU's record has {write(claim.recorded)}, and less than "
            f"{write(claim.floor)} is too little"
        )
    return claim.said


def _to_the_letter(claim: Claim, value: float) -> Outcome:
    """Check a value against exactly what the lesson says."""
    held = claim.bounds.hold(value)
    text = f"{claim.what}: {claim.bounds.written(value)}; {claim.said}"
    return Outcome(State.HELD if held else State.FAILED, text)


def _while_recording(claim: Claim, value: float) -> Outcome:
    """Check a value that will become this GPU's record."""
    if claim.on_reference and not claim.bounds.hold(value):
        return _to_the_letter(claim, value)
    least, most = _limits(replace(claim, recorded=math.nan))
    if not least <= value <= most:
        text = f"{claim.what}: {claim.bounds.written(value)}; {claim.said}"
        return Outcome(State.FAILED, text)
    if value < claim.floor:
        return Outcome(
            State.WARNED,
            f"{claim.what}: {claim.bounds.written(value)}, which was "
            f"{claim.bounds.written(claim.recorded)} in the record before",
        )
    return _shown(claim, value)


def _shown(claim: Claim, value: float) -> Outcome:
    """Return the outcome for a value that passes: HELD, or DIFFERS from the lesson."""
    bounds = claim.bounds
    if bounds.hold(value):
        return Outcome(State.HELD, f"{claim.what}: {bounds.written(value)}")
    here, there = "here", ""
    if claim.reference:
        here, there = "on this GPU", f", for {claim.reference}"
    text = f"{claim.what}: {bounds.written(value)} {here} ({claim.said}{there})"
    return Outcome(State.DIFFERS, text)


def settle(outcome: Outcome) -> None:
    """Report the outcome of a claim, unless the claim held.

    The outcome is written to the file that `WEFT_CLAIMS` names, or printed if it names
    none. A value that passes but differs from the lesson's is printed in either case.
    Raises AssertionError for a failed claim if `WEFT_STRICT` is 1 and `WEFT_CLAIMS`
    names no file.
    """
    ledger = os.environ.get("WEFT_CLAIMS")
    if ledger and outcome.state != State.HELD:
        entry = {"lab": lesson.current() or "", "state": outcome.state.value}
        with open(ledger, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry | {"text": outcome.text}) + "\n")
    if outcome.state == State.DIFFERS:
        print(outcome.text)
    if ledger or outcome.state in (State.HELD, State.DIFFERS):
        return
    if outcome.state == State.FAILED and os.environ.get("WEFT_STRICT") == "1":
        raise AssertionError(outcome.text)
    print(f"{'✗' if outcome.state == State.FAILED else '·'} {outcome.text}")


def recording() -> bool:
    """Return whether `WEFT_RESULTS` is set, in which case this run writes a record."""
    return bool(os.environ.get("WEFT_RESULTS"))


def expect(
    what: str,
    value: float,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    live: bool = True,
) -> None:
    """Claim bounds on a factor that is in no table.

    live: whether the factor was measured on this machine. False means that it was
    computed, and must satisfy the claim exactly.
    """
    bounds = Bounds(at_least=at_least, at_most=at_most)
    settle(decide(Claim(what, bounds, lambda _: value, live), recording=False))


def always(what: str, holds: bool) -> None:
    """Claim something that must be true on every machine, in every run."""
    if not holds:
        settle(Outcome(State.FAILED, f"{what}: that is not so here"))


def sometimes(what: str, happens: Callable[[], bool], tries: int = CHANCES) -> None:
    """Claim that something happens by chance: try until it does.

    happens: returns whether it happened this time. If it never does, that is a warning,
    not a failure: no number of tries can show that it is impossible.
    """
    for _ in range(tries):
        if happens():
            return
    settle(Outcome(State.WARNED, f"{what}: not once in {tries} tries here"))


def _times(value: float) -> str:
    return f"{value:.3g} times" if value < 1000 else f"{value:,.0f} times"
