"""Lanes of a warp that take part in one operation while on different lines."""

from weft.checking.source import global_names
from weft.checking.verdict import Verdict
from weft.kernels.advice import Facts
from weft.kernels.trial import Trial, from_fault, traced
from weft.simulator import Fault
from weft.simulator.running.warps import AS_ONE, EXCHANGES


def find_lanes_apart(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Report a warp operation in which lanes on different lines took part, if any.

    The hardware requires only the same operation and the same mask. So the effect shows
    later, on a line that may be innocent. The trial runs once more, with lanes required
    to be on the same line.
    """
    if verdict.kind not in ("warp", "wrong-value"):
        return verdict
    if not any(name in EXCHANGES for name in global_names(trial.exercise.kernel)):
        return verdict
    token = AS_ONE.set(True)
    try:
        traced(trial, backwards=facts.backwards)
    except Fault as fault:
        if fault.kind != "warp":
            return verdict
        return from_fault(trial.name, fault, trial.when)
    finally:
        AS_ONE.reset(token)
    return verdict
