"""Print the score of each lab, and the mutants that need a look."""

from collections.abc import Iterator
from itertools import groupby

from verification.mutants.facts import Fact, score


def report(found: list[Fact]) -> str:
    return "\n".join(lines(found))


def lines(found: list[Fact]) -> Iterator[str]:
    yield from of("wrong, and accepted", [f for f in found if f.survives])
    yield from of("not wrong, and refused", [f for f in found if f.contested])
    yield ""
    yield f"{'':22} mutants  same  right  wrong  rejected  share  line named"
    for lab, group in groupby(found, key=lambda f: f.lab):
        yield row(lab, list(group))
    yield row("all", found)
    kinds = score(found).kinds.most_common()
    yield ", ".join(f"{kind} {count}" for kind, count in kinds)


def of(title: str, found: list[Fact]) -> Iterator[str]:
    yield f"{title}: {len(found)}"
    for fact in found:
        yield f"  {fact.name}  [{fact.check}]  {fact.values}; ptx {fact.ptx}"
        yield f"      {fact.text}"


def row(name: str, found: list[Fact]) -> str:
    s = score(found)
    named = s.named / s.rejected if s.rejected else 1
    return (
        f"{name:22} {s.mutants:7} {s.equivalent:5} {s.right:6} {s.wrong:6}"
        f" {s.rejected:9} {s.share:6.1%}  {named:6.0%}"
    )
