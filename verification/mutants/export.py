"""Write the mutants that a GPU should run, with all that it needs to run them.

    python -m verification.mutants.export JOBS [LAB ...] [--killed N]

These are all mutants that the check accepts, or rejects although nothing shows that
they are wrong. Of the others it takes N, spread over exercises, operators and verdicts.
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("WEFT_SIMULATOR", "1")

from IPython.core.inputtransformer2 import TransformerManager

import weft  # noqa: F401  before Numba
from pipeline import notebook
from verification import cells
from verification.corpus import ROOT
from verification.mutants import facts
from verification.mutants.facts import WRONG, Fact
from verification.mutants.making import mutants, rights

# A GPU can say nothing of these, or would wait for them.
LEFT_OUT = ("type", "exception", "endless-loop", "timeout")


def open_question(fact: Fact) -> bool:
    """Return whether a GPU may tell more: no other result shows that it is wrong.

    That is so if the check accepts the mutant, or rejects it and the simulator finds no
    wrong value.
    """
    if fact.ptx != "other":
        return False
    return not fact.refused or not fact.values.startswith("wrong")


def sample(found: list[Fact], count: int) -> list[Fact]:
    """Return up to `count` rejected wrong mutants, of varied operators and kinds."""
    kinds: dict[tuple[str, str], list[Fact]] = {}
    for fact in found:
        killed = fact.truth == WRONG and fact.refused and fact.ptx == "other"
        if killed and fact.check not in LEFT_OUT:
            kinds.setdefault((fact.operator, fact.check), []).append(fact)
    chosen: list[Fact] = []
    rows = [row[:: max(1, len(row) // 8)] for row in kinds.values()]
    for k in range(max(map(len, rows), default=0)):
        chosen += [row[k] for row in rows if k < len(row)]
    return chosen[:count]


def jobs(labs: list[str], killed: int) -> dict[str, Any]:
    """Return what `on_gpu` reads: cells, checks, and the kernels of each exercise."""
    found: dict[str, Any] = {"labs": {}, "checks": {}, "exercises": {}, "mutants": []}
    everything = [fact for lab in labs for fact in facts.read(ROOT, lab)]
    wanted = {f.name for f in everything if open_question(f)}
    wanted |= {f.name for f in sample(everything, killed)}

    def add(name: str, exercise: str, source: str) -> int:
        entry = {"name": name, "exercise": exercise, "source": source}
        found["mutants"].append(entry)
        return len(found["mutants"]) - 1

    for lab in sorted({f.lab for f in everything}):
        given = [
            c for c in cells.cells(lab)[1:] if "given" in c.metadata.get("tags", [])
        ]
        plain = TransformerManager().transform_cell  # without magics
        found["labs"][lab] = [plain(c.source) for c in (cells.cells(lab)[0], *given)]
        for right in rights(lab):
            exercise = f"{lab}/{right.exercise}"
            found["checks"][exercise] = cells.checks(lab)[right.exercise]
            job = found["exercises"].setdefault(exercise, {"rights": [], "mutants": []})
            job["rights"].append(add(right.label, exercise, right.source))
            job["mutants"] += [
                add(m.label, exercise, m.source)
                for m in mutants(right)
                if m.label in wanted
            ]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", type=Path)
    parser.add_argument("labs", nargs="*", help="all without any")
    parser.add_argument("--killed", type=int, default=300)
    args = parser.parse_args()
    made = jobs(notebook.stems(ROOT, args.labs), args.killed)
    args.jobs.write_text(json.dumps(made), encoding="utf-8")
    print(f"{args.jobs}: {len(made['mutants'])} kernels")


if __name__ == "__main__":
    main()
