"""Score the checks of some labs, or of all: how many wrong mutants they reject.

    python -m verification.mutants [LAB ...]

makes mutants of the right kernels, asks the compiler, the simulator and the lab's own
check about each, and writes results/mutants/<lab>.json. What has not changed since the
last run is not asked again. All labs take about half an hour, on one core.

    python -m verification.mutants --report [LAB ...]

lists the results: wrong mutants that are accepted, right ones that are rejected, and
the score of each lab.

    --solution N, --others N    mutants of each solution, and of its other right kernels
"""

import argparse
import os
import sys
import time
from itertools import groupby
from pathlib import Path
from typing import Any

os.environ.setdefault("WEFT_SIMULATOR", "1")

import weft  # noqa: F401  before Numba
from pipeline import notebook
from verification.corpus import ROOT
from verification.mutants import caching, facts, judging, ptx, settings, tasks, values
from verification.mutants.caching import Kept
from verification.mutants.making import Mutant, Right, chosen, mutants, rights
from verification.mutants.report import report

PER_SOLUTION, PER_EXERCISE = 40, 16
MOST_SECONDS = 40  # of CPU time, for one question on one mutant


class Jury:
    """Asks all questions about the mutants of one exercise."""

    def __init__(
        self, right_ones: list[Right], kept: Kept, compiler: ptx.Compiler
    ) -> None:
        self.rights, self.kept, self.compiler = right_ones, kept, compiler
        self._trials: list[values.Trial] | None = None
        self._ptx: dict[str, str] = {}

    def facts(self, mutant: Mutant) -> dict[str, Any]:
        """Return the entry of a mutant."""
        found = dict(self.ask("check", mutant, self.check))
        found["values"] = self.ask("values", mutant, self.values)
        found["ptx"] = self.ask("ptx", mutant, self.compiled)
        found["text"] = changed(mutant)
        return found

    def ask(self, tool: str, mutant: Mutant, how: Any) -> Any:
        return self.kept.get(tool, mutant, self.rights, lambda: how(mutant))

    def check(self, mutant: Mutant) -> dict[str, Any]:
        try:
            with judging.within(MOST_SECONDS):
                task = tasks.task(mutant.of, mutant.source)
                right = mutant.of
                return judging.verdict(task, right.lab, right.exercise)
        except judging.TimeIsUp:
            return {"check": "timeout", "lines": []}
        except Exception as error:
            return {"check": f"raised {type(error).__name__}", "lines": []}

    def values(self, mutant: Mutant) -> str:
        if self._trials is None:
            self._trials = values.trials(self.rights)
        try:
            with judging.within(MOST_SECONDS):
                task = tasks.task(mutant.of, mutant.source)
                return values.verdict(task, self._trials)
        except judging.TimeIsUp:
            return "wrong: time is up"
        except Exception as error:
            return f"wrong: {type(error).__name__}"

    def compiled(self, mutant: Mutant) -> str:
        mine = self.digest(mutant.of, mutant.source)
        if not mine.isalnum():
            return mine
        name = mutant.of.label
        if name not in self._ptx:
            self._ptx[name] = self.digest(mutant.of, mutant.of.source)
        return "same" if mine == self._ptx[name] else "other"

    def digest(self, right: Right, source: str) -> str:
        try:
            task = tasks.task(right, source)
        except tasks.NotTyped as error:
            return f"refused: {error}"
        size = settings.parts(task.asked["sizes"][0])
        made = settings.data(task.asked, settings.Setting(size))
        return self.compiler.digest(task.kernel, (*made.inputs, *made.outputs))


def changed(mutant: Mutant) -> str:
    """Return the first changed line, as it is now."""
    before, now = mutant.of.source.splitlines(), mutant.source.splitlines()
    pairs = zip(before, now, strict=False)
    return next((n.strip() for b, n in pairs if b != n), "")


def of_exercise(right_ones: list[Right], args: argparse.Namespace) -> list[Mutant]:
    """Return the mutants of an exercise to ask about."""
    mine = [m for r in right_ones if r.name == "solution" for m in mutants(r)]
    others = [m for r in right_ones if r.name != "solution" for m in mutants(r)]
    return chosen(mine, args.solution) + chosen(others, args.others)


def judge(lab: str, args: argparse.Namespace, compiler: ptx.Compiler) -> None:
    """Ask about a lab's mutants, and write the answers."""
    kept = Kept(lab)
    entries: dict[str, Any] = {}
    digests: dict[str, str] = {}
    of: dict[str, str] = {}
    for exercise, group in groupby(rights(lab), key=lambda r: r.exercise):
        right_ones = list(group)
        of[exercise] = caching.of_exercise(right_ones)
        start, jury = time.monotonic(), Jury(right_ones, kept, compiler)
        found = of_exercise(right_ones, args)
        for mutant in found:
            name = mutant.label.removeprefix(f"{lab}/")
            entries[name] = jury.facts(mutant)
            digests[name] = mutant.digest
        seconds = time.monotonic() - start
        print(f"{exercise}: {len(found)} mutants, {seconds:.0f} s")
        sys.stdout.flush()
    if not entries:
        return
    path: Path = ROOT / "results" / "mutants" / f"{lab}.json"
    path.parent.mkdir(exist_ok=True)
    rows = {name: {"digest": digests[name]} | entries[name] for name in entries}
    path.write_text(facts.written({"of": of, "mutants": rows}), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("labs", nargs="*", help="all without any")
    parser.add_argument("--report", action="store_true", help="only say what is known")
    parser.add_argument("--solution", type=int, default=PER_SOLUTION)
    parser.add_argument("--others", type=int, default=PER_EXERCISE)
    args = parser.parse_args()
    labs = notebook.stems(ROOT, args.labs)
    if not args.report:
        compiler = ptx.Compiler()
        for lab in labs:
            judge(lab, args, compiler)
        compiler.end()
    print(report([f for lab in labs for f in facts.read(ROOT, lab)]))


if __name__ == "__main__":
    main()
