"""What is known of each mutant, and what follows; needs neither Numba nor a GPU.

results/mutants/<lab>.json holds the facts, which `python -m verification.mutants`
writes. results/mutants.<gpu>.json holds what a GPU and NVIDIA's tools said of some
mutants. verification/mutants/explained.toml says why some wrong mutants are accepted,
and why some are rejected that nothing shows to be wrong.
"""

import json
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from weft.checking.kinds import KINDS

WRONG, EQUIVALENT, RIGHT = "wrong", "equivalent", "right"

# Verdicts that reject right kernels, too: an exercise announces them as limits.
LIMITS = {kind for kind, row in KINDS.items() if row.headline.startswith("right, but")}
LIMITS |= {"library"}

# Labs whose kernels or checks have changed since their mutants were scored.
BEHIND: set[str] = {"23_convolution_fft", "24_attention"}


@dataclass(frozen=True)
class Cause:
    """Why the mutants with these names are accepted, or rejected, as `part` says.

    truth: WRONG or RIGHT, if neither the simulator nor a GPU can tell.
    """

    part: str
    title: str
    because: str
    mutants: tuple[str, ...]
    truth: str = ""

    def covers(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.mutants)


@dataclass(frozen=True)
class Fact:
    """One mutant: the facts about it.

    check: the kind of the verdict. lines: the lines that it names. values: "right", or
    "wrong: what in which run". ptx: "same", "other", or "refused: …". text: the changed
    line. gpu: what a GPU said, or "" if it was not asked. cause: why the mutant is
    accepted although it is wrong, or rejected although nothing shows that it is.
    """

    name: str
    check: str
    lines: tuple[int, ...]
    values: str
    ptx: str
    text: str = ""
    gpu: str = ""
    cause: "Cause | None" = None

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
        """WRONG, EQUIVALENT (the compiler makes the same PTX of it) or RIGHT."""
        if self.cause is not None and self.cause.truth:
            return self.cause.truth
        if self.ptx == "same":
            return EQUIVALENT
        if self.ptx.startswith("refused") or self.values.startswith("wrong"):
            return WRONG
        return WRONG if self.gpu.startswith("wrong") else RIGHT

    @property
    def refused(self) -> bool:
        """Whether the check rejects it, rather than pass, raise or run out of time."""
        return self.check not in ("pass", "timeout") and self.check[:6] != "raised"

    @property
    def survives(self) -> bool:
        """Whether it is wrong, and the check accepts it."""
        return self.truth == WRONG and not self.refused

    @property
    def contested(self) -> bool:
        """Whether it is right, as far as known, but rejected, and not for its cost."""
        return self.truth != WRONG and self.refused and self.check not in LIMITS

    @property
    def costly(self) -> bool:
        """Whether it is right, and rejected by a limit that the exercise states."""
        return self.truth != WRONG and self.check in LIMITS


@dataclass
class Score:
    """How well the check of a lab, or of all labs, does, in numbers of mutants."""

    mutants: int = 0
    equivalent: int = 0
    right: int = 0
    wrong: int = 0
    rejected: int = 0
    named: int = 0  # rejected, and the verdict names the line
    costly: int = 0
    contested: int = 0
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, fact: Fact) -> None:
        self.mutants += 1
        self.equivalent += fact.truth == EQUIVALENT
        self.right += fact.truth == RIGHT
        self.costly += fact.costly
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


def causes(root: Path) -> list[Cause]:
    path = root / "verification" / "mutants" / "explained.toml"
    found = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return [
        Cause(
            part,
            one["title"],
            " ".join(one["because"].split()),
            tuple(one["mutants"]),
            one.get("truth", ""),
        )
        for part, group in found.items()
        for one in group
    ]


def read(root: Path, lab: str = "*") -> list[Fact]:
    """Return the facts about a lab's mutants; about all labs' by default."""
    gpu: dict[str, str] = {}
    for path in sorted((root / "results").glob("mutants.*.json")):
        gpu |= {
            name: said["truth"]
            for name, said in json.loads(path.read_text("utf-8"))["mutants"].items()
        }
    known = causes(root)
    found = []
    for path in sorted((root / "results" / "mutants").glob(f"{lab}.json")):
        for name, entry in json.loads(path.read_text("utf-8"))["mutants"].items():
            full = f"{path.stem}/{name}"
            fact = Fact(
                full,
                entry["check"],
                tuple(entry["lines"]),
                entry["values"],
                entry["ptx"],
                entry["text"],
                gpu.get(full, ""),
                next((c for c in known if c.covers(full)), None),
            )
            found.append(fact)
    return found


def digests(root: Path, lab: str) -> dict[str, str]:
    """Return the digests of a lab's exercises for which facts exist; see `caching`."""
    path = root / "results" / "mutants" / f"{lab}.json"
    found: dict[str, str] = json.loads(path.read_text("utf-8")).get("of", {})
    return found


def written(data: dict[str, Any]) -> str:
    """Return the facts as JSON, with a line for each mutant."""
    rows = (
        f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}"
        for k, v in data["mutants"].items()
    )
    head = {k: v for k, v in data.items() if k != "mutants"}
    parts = [f" {json.dumps(k)}: {json.dumps(v)}" for k, v in head.items()]
    parts.append(' "mutants": {\n' + ",\n".join(rows) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"
