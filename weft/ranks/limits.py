"""Holding a run of several ranks against what the exercise allows."""

from typing import Any

from weft.checking.room import Facts
from weft.checking.source import line_with
from weft.checking.verdict import Failed, Verdict
from weft.ranks.exercise import RankCase, RankExercise
from weft.ranks.world import World
from weft.wording import several


def bound(limit: Any, case: RankCase) -> float:
    """A limit for a case: a number, or a function of the ranks and the size."""
    return float(limit(case.ranks, *case.size) if callable(limit) else limit)


def held(exercise: RankExercise, case: RankCase, world: World) -> Facts:
    """Hold a run against the limits; what it came to. Raises `Failed`."""
    limits, name, ranks = exercise.limits, exercise.name, case.ranks
    facts = []

    def refuse(kind: str, message: str, why: str) -> Failed:
        places = line_with(exercise.written_by_learner, r"(for|while) ")
        return Failed(Verdict(name, kind, message, why, places, when=case.label))

    if "collectives" in limits:
        few = int(bound(limits["collectives"], case))
        calls = len(world.collectives[0])
        if calls > few:
            raise refuse(
                "collectives",
                f"Every rank takes part in {several(calls, 'collective')}, and "
                f"{few} will do.",
                "Each costs a latency of its own, however short its tensor is. What "
                "could go together?",
            )
        facts.append(f"{several(calls, 'collective')} per rank")
    if "sent" in limits:
        busiest = max(range(ranks), key=lambda rank: world.sent[rank])
        sent, least = world.sent[busiest], bound(limits["sent"], case)
        if sent > least:
            raise refuse(
                "sent",
                f"Rank {busiest} sends {sent:,} bytes, and {least:,.0f} will do.",
                "The slowest rank decides. Does every rank send as much as the others, "
                "and nothing twice?",
            )
        facts.append(f"{sent:,} bytes sent by the busiest rank")
    if "steps" in limits:
        steps, most = world.steps, bound(limits["steps"], case)
        if steps > most:
            raise refuse(
                "steps",
                f"The last rank ends after {steps:g} steps, and {most:g} will do.",
                "A step is the time of one message. A rank can send one and receive "
                "one in the same step, if it begins both in one `batch_isend_irecv`.",
            )
        facts.append(several(int(steps), "step"))
    return facts
