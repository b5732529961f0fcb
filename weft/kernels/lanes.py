"""Lanes of a warp that meet in an operation, though some are on another line."""

from weft.checking.source import global_names
from weft.checking.verdict import Verdict
from weft.kernels.advice import Facts
from weft.kernels.trial import Trial, from_fault, traced
from weft.simulator import Fault
from weft.simulator.running.warps import AS_ONE, EXCHANGES


def find_lanes_apart(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Say where a warp operation has mixed the values of two lines, if one has.

    The hardware asks only for the same operation and the same mask. So what comes of
    it shows later, at a line that may be innocent. The trial is run once more.
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
