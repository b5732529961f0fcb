"""Parse the sanitizers' reports: what happened, on which line, in which memory."""

import re
from dataclasses import dataclass

from weft.c import running
from weft.c.running import Ran
from weft.c.source import Source
from weft.checking.verdict import Verdict, Verdicts
from weft.places import Note
from weft.wording import capital, several

_frame = re.compile(r"^\s+#\d+ 0x[0-9a-f]+ (?:in )?(.+) (\S+?):(\d+)(?::\d+)?\s*$")
_found = re.compile(r"ERROR: (?:Address|Leak)Sanitizer:? (.*)")
_runtime = re.compile(r"^(\S+?):(\d+):\d+: runtime error: (.*)$", re.MULTILINE)
_greedy = re.compile("hard rss limit exhausted|allocation-size-too-big")
_access = re.compile(r"^(READ|WRITE) of size (\d+)", re.MULTILINE)
_region = re.compile(
    r"is located (\d+) bytes (to the right of|after|to the left of|before|inside of) "
    r"(\d+)-byte region \[(0x[0-9a-f]+),"
)
_array = re.compile(r"^weft: array (\w+) (0x[0-9a-f]+)$", re.MULTILINE)
_local = re.compile(
    r"'(\w+)' \(line (\d+)\) <== Memory access at offset \d+ (\w+)(?: this variable)?"
)
_leak = re.compile(
    r"leak of (\d+) byte\(s\) in (\d+) object\(s\) allocated from:\n((?:\s+#.*\n?)+)"
)

words = Verdicts(__file__)


@dataclass(frozen=True)
class Stacks:
    """The learner's lines in the stacks of a report, innermost first."""

    access: list[int]
    allocated: list[int]
    freed: list[int]


def verdict(source: Source, ran: Ran) -> Verdict | None:
    """Return the verdict on a run, or None if it completed without a report."""
    said = ran.said
    if "weft: out of time" in said or ran.late:
        return _endless(source, said)
    at = stacks(source, said)
    if match := _runtime.search(said):
        if match[1].rsplit("/", 1)[-1] == source.file:
            at = Stacks([int(match[2])], [], [])
        return Report(source, said, at).worded(f"runtime error: {match[3]}")
    if match := _greedy.search(said) or _found.search(said):
        return Report(source, said, at).worded(match[match.lastindex or 0])
    if not ran.complete:
        return _ended(source, ran.status)
    return None


def stacks(source: Source, said: str) -> Stacks:
    """Return the lines of `source` in a report, by the stack to which they belong."""
    found: dict[str, list[int]] = {"access": [], "allocated": [], "freed": []}
    now = "access"
    for line in said.splitlines():
        if re.search(r"(previously )?allocated (by|from)", line):
            now = "allocated"
        elif re.match(r"freed by", line):
            now = "freed"
        elif line.startswith(("Address 0x", "SUMMARY")):
            break
        match = _frame.match(line)
        if match and match[2].rsplit("/", 1)[-1] == source.file:
            found[now].append(int(match[3]))
    return Stacks(found["access"], found["allocated"], found["freed"])


@dataclass(frozen=True)
class Report:
    """A sanitizer's report, with the learner's lines in its stacks."""

    source: Source
    said: str
    stacks: Stacks

    def worded(self, text: str) -> Verdict:
        """Return the verdict from the first row of the table that matches `text`."""
        fits = words.matching(text)
        assert fits is not None  # the last row matches everything
        row, found = fits
        places = self.at(words.rows[row]["where"])
        return words.verdict(self.source.name, row, places, report=self, found=found)

    def at(self, where: str) -> list[Note]:
        """Return the notes that `where` names; `a|b` names `b` only if `a` has none."""
        at, source, local = self.stacks, self.source, _local.search(self.said)
        declared = [int(local[2])] if local else []
        if not local or declared[0] not in source.containing(local[1]):
            declared = []
        lines = {
            "first": (at.access[:1], self.did if self.size else ""),
            "line": (at.access[:1], ""),
            "frees": (at.access[:1], "frees it"),
            # The innermost call may be anywhere in its first lines; its caller is not.
            "caller": (at.access[1:2], ""),
            "made": (at.allocated[:1], "allocated here"),
            "gone": (at.freed[:1], "freed here"),
            "returns": (source.containing("return "), ""),
            "allocations": (source.containing("alloc("), ""),
            "declared": (declared, f"{self.variable} is declared here"),
        }
        notes = {
            name: [(source.place(n), note) for n in numbers]
            for name, (numbers, note) in lines.items()
        }
        notes["leaks"] = [
            (source.place(n), f"{count} not freed")
            for n, (_, count) in sorted(self.leaks.items())
        ]
        parts = (map(notes.get, each.split("|")) for each in where.split())
        return [note for part in parts for note in next(filter(None, part), [])]

    # What was done

    @property
    def verb(self) -> str:
        """The verb for the access: 'reads', 'writes' or 'uses'."""
        access = _access.search(self.said)
        return {"READ": "reads", "WRITE": "writes"}[access[1]] if access else "uses"

    @property
    def size(self) -> int:
        """The number of bytes accessed; 0 if the sanitizer does not say."""
        access = _access.search(self.said)
        return int(access[2]) if access else 0

    @property
    def did(self) -> str:
        return f"{self.verb} {several(self.size, 'byte')}"

    @property
    def Did(self) -> str:
        return capital(self.did)

    @property
    def user(self) -> str:
        return "The line" if self.stacks.access else "The caller"

    @property
    def result(self) -> str:
        """The sanitizer's words on an overflow, or "".

        For example: "2147483647 + 1 cannot be represented in type `int`".
        """
        match = _runtime.search(self.said)
        return capital(match[3].split(": ", 1)[-1].replace("'", "`")) if match else ""

    @property
    def number(self) -> str:
        """The type of the misaligned access, with an article, such as 'an `int`'."""
        found = re.search(r" type '(?:const )?([\w ]+?)', which", self.said)
        kind = found[1] if found else "number"
        return f"{'an' if kind[:1] in 'aeiou' else 'a'} `{kind}`"

    @property
    def variable(self) -> str:
        local = _local.search(self.said)
        return f"`{local[1]}`" if local else "a local variable"

    @property
    def outside(self) -> tuple[str, str]:
        """The message and the explanation for an access outside a heap block."""
        region = _region.search(self.said)
        said = self._beside(region) if region else words("outside-all", did=self.did)
        return said["message"], said["why"]

    def _beside(self, region: re.Match[str]) -> dict[str, str]:
        """Return the wording for an access outside this region: `message` and `why`."""
        size, side = self.size, region[2]
        off, length = int(region[1]), int(region[3])
        names = {int(a, 16): n for n, a in _array.findall(self.said)}
        name = names.get(int(region[4], 16))
        block = f"`{name}`" if name else f"a block of {several(length, 'byte')}"
        told = {"did": self.did, "off": several(off, "byte"), "array": block}
        if side in ("to the left of", "before"):
            return words("before", **told)
        said = words("past", **told)
        if name and size and off % size == 0:
            index, last = (length + off) // size, length // size - 1
            said |= words(
                "past-index",
                did=self.did,
                array=name,
                index=index,
                steps="" if size in (1, 2, 4, 8) else f", in steps of {size:,} bytes",
                length=several(length, "byte"),
                ends=f"and ends with `{name}[{last}]`" if last >= 0 else "and is empty",
            )
        line = "".join(self.source.place(n).text for n in self.stacks.access[:1])
        if re.search(r"[+*\[] *\(?sizeof|sizeof *\(?[\w *]+\)? *\*", line):
            return said | words("sizeof")
        if off >= length > 0:
            return said | words("far-past")
        return said if name else said | words("too-small")

    # What was not freed

    @property
    def leaks(self) -> dict[int, tuple[int, int]]:
        """The bytes and blocks that were not freed, by the line that allocated them."""
        found: dict[int, tuple[int, int]] = {}
        for size, count, stack in _leak.findall(self.said):
            for line in stacks(self.source, stack).access[:1]:
                old = found.get(line, (0, 0))
                found[line] = old[0] + int(size), old[1] + int(count)
        return found

    @property
    def left(self) -> str:
        total, blocks = (sum(each[k] for each in self.leaks.values()) for k in (0, 1))
        what = f"{blocks} block{'s' * (blocks != 1)} of {several(total, 'byte')}"
        return f"{what} altogether {'are' if blocks != 1 else 'is'}"


def _endless(source: Source, said: str) -> Verdict:
    at = stacks(source, said).access[:1]
    loops = [loop for n in at for loop in _loops(source, n)] or at
    places = [(source.place(n), "it was stopped in here") for n in loops]
    return words.verdict(source.name, "endless-loop", places)


def _loops(source: Source, line: int) -> list[int]:
    """Return the line numbers where the loops around a line begin, outermost first.

    Loops are found by indentation. The program may have been stopped on any line of the
    innermost loop.
    """
    heads: list[int] = []
    depth = 1 << 16
    for number in range(line, 0, -1):
        text = source.lines[number - 1]
        indent = len(text) - len(text.lstrip())
        if text.strip() and indent < depth:
            depth = indent
            if re.match(r"\s*(\}\s*)?(for|while|do)\b", text):
                heads.insert(0, number)
    return heads


def _ended(source: Source, status: int) -> Verdict:
    how = f"signal {-status}" if status < 0 else f"status {status}"
    places = [(source.place(n), "") for n in source.containing("exit(")]
    return words.verdict(source.name, "ended", places, how=how)


def unwritten(value: object) -> bool:
    """Return whether `value` consists only of the byte that fills unwritten memory."""
    data = getattr(value, "tobytes", bytes)()
    return len(data) > 0 and set(data) == {running.FILL}
