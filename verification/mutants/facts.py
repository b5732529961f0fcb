"""What is known of each mutant, and what follows from it; without Numba or a GPU.

results/mutants/<lab>.json holds the facts, which `python -m verification.mutants`
writes; results/mutants.<gpu>.json what a GPU and NVIDIA's tools said of some of them;
verification/mutants/judged.toml what neither can tell, with the reason.
"""

import json
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

WRONG, EQUIVALENT, RIGHT, COSTLY = "wrong", "equivalent", "right", "costly"

# Verdicts that an exercise announces as a limit: they refuse what is right, too.
LIMITS = {
    "sectors",
    "narrow",
    "bank-conflicts",
    "divergence",
    "loads",
    "barriers",
    "flops",
    "atomics",
    "constants",
    "float64",
    "local",
    "library",
}


@dataclass(frozen=True)
class Fact:
    """One mutant: the facts, and where its place is.

    check: the kind of the verdict; lines: those it names; values: "right", or "wrong:
    what in which run"; ptx: "same", "other", or "refused: …"; gpu: what a GPU said,
    "" where it was not asked; judged: what a person said, with the reason.
    """

    name: str
    check: str
    lines: tuple[int, ...]
    values: str
    ptx: str
    text: str = ""
    gpu: str = ""
    judged: str = ""
    because: str = ""

    @property
    def lab(self) -> str:
        return self.name.split("/")[0]

    @property
    def exercise(self) -> str:
        return self.name.split("/")[1]

    @property
    def operator(self) -> str:
        return self.name.split("/")[3].partition("@")[0]

    @property
    def line(self) -> int:
        return int(self.name.rpartition("@")[2].partition(".")[0])

    @property
    def truth(self) -> str:
        """WRONG, EQUIVALENT (the compiler makes the same of it) or RIGHT."""
        if self.judged:
            return self.judged
        if self.ptx == "same":
            return EQUIVALENT
        if self.ptx.startswith("refused") or self.values.startswith("wrong"):
            return WRONG
        return WRONG if self.gpu.startswith("wrong") else RIGHT

    @property
    def refused(self) -> bool:
        return self.check != "pass"

    @property
    def survives(self) -> bool:
        """Wrong, and the check accepts it."""
        return self.truth == WRONG and not self.refused

    @property
    def contested(self) -> bool:
        """Right, as far as is known, and refused for another reason than its cost."""
        return self.truth != WRONG and self.refused and self.check not in LIMITS


@dataclass
class Score:
    """How the check of a lab, or of all, does."""

    mutants: int = 0
    equivalent: int = 0
    right: int = 0
    wrong: int = 0
    rejected: int = 0
    named: int = 0  # rejected, and the verdict names the line
    contested: int = 0
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, fact: Fact) -> None:
        self.mutants += 1
        self.equivalent += fact.truth == EQUIVALENT
        self.right += fact.truth == RIGHT
        self.contested += fact.contested
        if fact.truth == WRONG:
            self.wrong += 1
            self.rejected += fact.refused
            self.named += fact.refused and fact.line in fact.lines
            if fact.refused:
                self.kinds[fact.check] += 1

    @property
    def share(self) -> float:
        return self.rejected / self.wrong if self.wrong else 1.0


def score(facts: list[Fact]) -> Score:
    found = Score()
    for fact in facts:
        found.add(fact)
    return found


@dataclass(frozen=True)
class Judgement:
    """What a person said of mutants whose names match, and why."""

    mutants: tuple[str, ...]
    truth: str
    because: str


def judgements(root: Path) -> list[Judgement]:
    path = root / "verification" / "mutants" / "judged.toml"
    if not path.exists():
        return []
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        Judgement(tuple(one["mutants"]), one["truth"], " ".join(one["because"].split()))
        for one in found.get("judged", [])
    ]


def read(root: Path, lab: str = "*") -> list[Fact]:
    """The facts about a lab, or about all."""
    gpu: dict[str, str] = {}
    for path in sorted((root / "results").glob("mutants.*.json")):
        gpu |= {
            name: said["truth"]
            for name, said in json.loads(path.read_text("utf-8"))["mutants"].items()
        }
    judged = judgements(root)
    found = []
    for path in sorted((root / "results" / "mutants").glob(f"{lab}.json")):
        for name, entry in json.loads(path.read_text("utf-8"))["mutants"].items():
            mine = next(
                (j for j in judged if any(fnmatch(name, p) for p in j.mutants)), None
            )
            found.append(
                Fact(
                    f"{path.stem}/{name}",
                    entry["check"],
                    tuple(entry["lines"]),
                    entry["values"],
                    entry["ptx"],
                    entry.get("text", ""),
                    gpu.get(f"{path.stem}/{name}", ""),
                    mine.truth if mine else "",
                    mine.because if mine else "",
                )
            )
    return found


def written(data: dict[str, Any]) -> str:
    """As JSON, a line for each mutant."""
    rows = (
        f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}"
        for k, v in data["mutants"].items()
    )
    head = {k: v for k, v in data.items() if k != "mutants"}
    parts = [f" {json.dumps(k)}: {json.dumps(v)}" for k, v in head.items()]
    parts.append(' "mutants": {\n' + ",\n".join(rows) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"
