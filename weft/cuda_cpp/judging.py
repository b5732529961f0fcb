"""Check what a kernel's threads did: what they accessed, and what they wrote."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.c import reports
from weft.c.source import Source
from weft.checking.compare import agrees, difference
from weft.checking.differences import show
from weft.checking.verdict import Verdict, Verdicts
from weft.cuda_cpp.running import Launch, Launched, Left
from weft.places import Note, named
from weft.wording import capital, several

STORE = re.compile(r"(\*\w+|\w+\[[^;]*\])\s*(?:[-+*/]?=[^=]|\+\+|--)")

_array = re.compile(r"^weft: array (\w+) (0x[0-9a-f]+) (\d+) (\d+)$", re.MULTILINE)
_poison = re.compile(r"use-after-poison on address (0x[0-9a-f]+)")

words = Verdicts(__file__)


@dataclass(frozen=True)
class Judge:
    """Checks one launch: compares `launched` with the outputs that the spec expects.

    outputs: the arrays that the kernel must write, by name, with their expected values.
    in_place: whether the kernel must update their contents. depends: returns what a
    value of an output depends on, in a sentence, or "".
    """

    source: Source
    launched: Launched
    outputs: dict[str, Any]
    in_place: bool
    tolerance: float
    depends: Callable[[str, int], str] = lambda name, index: ""

    @property
    def launch(self) -> Launch:
        return self.launched.launch

    def verdict(self) -> Verdict | None:
        """Return the verdict on an error in the run, or on the first failed test.

        Returns None if all is right.
        """
        if not self.launched.left or self.launched.ran.late:
            return self.stopped()
        left = self.launched.left
        outputs = [left[name] for name in self.outputs]
        inputs = [one for name, one in left.items() if name not in self.outputs]
        tests = (
            *((self.overwritten, one) for one in inputs),
            *((self.twice, one) for one in outputs),
            *((self.in_any_order, one) for one in outputs),
            *((self.values, one) for one in outputs),
            *((self.shared_out, one) for one in outputs),
        )
        found = (test(one) for test, one in tests)
        return next((verdict for verdict in found if verdict is not None), None)

    # While it ran

    def stopped(self) -> Verdict | None:
        """Return the verdict on the error that ended the program, or None.

        The error is an access outside the arrays, or another error that a sanitizer
        reports.
        """
        ran = self.launched.ran
        found = self._outside()
        if found is None:
            found = reports.verdict(self.source, ran)
        return None if found is None else self._of(found, self.launched.rank)

    def _outside(self) -> Verdict | None:
        """Return the verdict on an access outside an array, or None."""
        said = self.launched.ran.said
        poison = _poison.search(said)
        lines = reports.stacks(self.source, said).access[:1]
        report = reports.Report(self.source, said, reports.stacks(self.source, said))
        places = [(self.source.place(n), "") for n in lines]
        if poison is None:
            if "SEGV" not in said:
                return None
            return words.verdict(self.source.name, "far", places, did=report.verb)
        array, index, length = _nearest(said, int(poison[1], 16))
        told: dict[str, Any] = {
            "did": report.verb,
            "array": array,
            "index": index,
            "length": several(length, "element"),
            "last": length - 1,
        }
        found = words.verdict(
            self.source.name, "past" if index >= 0 else "below", places, **told
        )
        if index >= length and self.launch.threads > length:
            why = words("past-one-each", threads=self.threads, length=told["length"])
            return found.but(**why)
        return found

    # What was written

    def overwritten(self, left: Left) -> Verdict | None:
        """Return the verdict on an input that the kernel changed, or None."""
        if not (at := np.flatnonzero(left.writer >= 0)).size:
            return None
        index = int(at[0])
        found = self._worded("input-written", left, index)
        return self._of(found, int(left.writer[index]))

    def twice(self, left: Left) -> Verdict | None:
        """Return the verdict on an element that two threads write, or None."""
        if not (at := np.flatnonzero(left.other >= 0)).size:
            return None
        index = int(at[0])
        one, other = int(left.writer[index]), int(left.other[index])
        everywhere = len(at) == left.before.size > 1
        lead = "Which elements are this thread's own, and which is its next one?"
        if everywhere and other == self.launch.threads - 1:
            lead = words("all-of-it", threads=self.threads)["why"]
        told = {"one": capital(self.name(one)), "other": self.name(other)}
        return self._worded(
            "twice", left, index, lead=lead, count=f"{len(at):,}", **told
        )

    def in_any_order(self, left: Left) -> Verdict | None:
        """Return the verdict on an element that depends on thread order, or None."""
        both = np.isnan(left.after) & np.isnan(left.alone)
        at = np.flatnonzero((left.after != left.alone) & ~both)
        return self._worded("order", left, int(at[0])) if len(at) else None

    def values(self, left: Left) -> Verdict | None:
        """Return the verdict on a wrong value, with a hint about its cause, or None."""
        wanted = self.outputs[left.name].ravel()
        wrong = difference(left.after, wanted, self.tolerance)
        if wrong is None:
            return None
        untouched = left.writer < 0
        if untouched[wrong.index]:
            return self._unwritten(left)
        lead, there = wrong.hint, wrong.where(left.name)
        short = wanted - left.before.astype(wanted.dtype)
        if self.in_place and agrees(left.after, short, self.tolerance):
            before = show(left.before[wrong.index])
            lead = words("without-before", before=before, element=there)["why"]
        told = {
            "said": wrong.sentence(left.name).replace(there, f"`{there}`", 1),
            "lead": lead
            or self.depends(left.name, *wrong.index)
            or words("follow")["why"],
        }
        found = words.verdict(self.source.name, "wrong-value", self.stores, **told)
        return self._of(found, int(left.writer[wrong.index]))

    def _unwritten(self, left: Left) -> Verdict:
        """Return the verdict on unwritten elements, hinting at what was written."""
        untouched = left.writer < 0
        index = int(untouched.argmax())
        more = int(untouched.sum()) - 1
        others = f", nor {more:,} others" if more else ""
        found = self._worded("unwritten", left, index, others=others)
        written = left.before.size - more - 1
        first = not untouched[:written].any()
        if first and written == self.launch.threads:
            count = several(written, "element")
            return found.but(why=words("one-each", count=count)["why"])
        return found

    def shared_out(self, left: Left) -> Verdict | None:
        """Return the verdict on a thread writing far more than its share, or None."""
        written = np.bincount(left.writer[left.writer >= 0])
        share = -(-left.before.size // self.launch.threads)
        if written.max(initial=0) <= 2 * share:
            return None
        rank = int(written.argmax())
        told = {
            "one": capital(self.name(rank)),
            "most": f"{written.max():,}",
            "share": f"{share:,}",
        }
        return self._worded("share", left, 0, **told)

    # Wording

    @property
    def threads(self) -> str:
        return several(self.launch.threads, "thread")

    @property
    def stores(self) -> list[Note]:
        """Up to four lines that write through a pointer."""
        lines = [n for n, s in enumerate(self.source.lines, 1) if STORE.search(s)]
        return [(self.source.place(n), "") for n in lines[:4]]

    def name(self, rank: int) -> str:
        """Return the name of a thread of the launch, for use in a sentence."""
        block, thread = self.launch.index(rank)
        return f"thread {named(thread)} of block {named(block)}"

    def _worded(self, row: str, left: Left, index: int, **told: Any) -> Verdict:
        """Return the verdict on element `index` of an array, worded by `row`."""
        told |= {
            "array": left.name,
            "index": index,
            "length": several(left.before.size, "element"),
            "threads": self.threads,
        }
        return words.verdict(self.source.name, row, self.stores, **told)

    def _of(self, found: Verdict, rank: int) -> Verdict:
        """Return `found` with the indices of the thread whose rank is `rank`."""
        block, thread = self.launch.index(rank)
        return found.but(thread=thread, block=block)


def _nearest(said: str, address: int) -> tuple[str, int, int]:
    """Return (name, index of `address`, length) of the array nearest to `address`."""
    arrays = [
        (name, int(at, 16), int(size), int(count))
        for name, at, size, count in _array.findall(said)
    ]
    name, at, size, count = min(
        arrays, key=lambda a: max(a[1] - address, address - (a[1] + a[2] * a[3]))
    )
    return name, (address - at) // size, count
