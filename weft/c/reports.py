"""The sanitizers' reports, read: what happened, in which line, and to whose memory."""

import re
from dataclasses import dataclass

from weft.c import running
from weft.c.running import Ran
from weft.c.source import Source
from weft.checking.verdict import Verdict
from weft.places import Note
from weft.wording import capital, rows, several

_frame = re.compile(r"^\s+#\d+ 0x[0-9a-f]+ (?:in )?(\S+) (\S+?):(\d+)(?::\d+)?\s*$")
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

# How a report goes; the verdict's kind, message and question; its places, by the names
# of `Report`. The first row that fits counts.
_ROWS = rows(r"""
^heap-buffer-overflow
    heap-buffer-overflow
    {report.outside[0]}
    {report.outside[1]}
    first made
^stack-buffer|^dynamic-stack
    stack-buffer-overflow
    The line {report.did} outside {report.variable}, on the stack.
    A local array has the length with which it was declared. Next to it are other
      variables, or the address to which the function returns. How long would it have to
      be to suffice in every case?
    first declared
^global-buffer-overflow
    global-buffer-overflow
    {report.Did} outside a global array.
    Its first index is 0, and its last is one less than its length. Which index was
      used?
    first
^heap-use-after-free
    use-after-free
    The line {report.did} of a block that has already been freed.
    After `free(p)`, the block may be given to the next caller of `malloc`. `p` still
      holds the address, and nothing stops you from using it. Which of the two lines has
      to come first?
    first gone made
^stack-use-after|^stack-underflow
    dead-variable
    {report.user} {report.verb} a local variable of a call, or of a block in braces,
      that has ended.
    A local variable lives on the stack until the `}}` of its block. A function can
      return its address, but the variable is gone by then. What lives longer?
    first|returns
^attempting double-free
    double-free
    The block has been freed before.
    Each block is freed once, by the address that `malloc` returned for it, not by one
      further in; and variables are not freed at all. Which part of the program owns
      this block?
    frees gone made
^attempting
    bad-free
    `free` is given an address that `malloc` never returned.
    Each block is freed once, by the address that `malloc` returned for it, not by one
      further in; and variables are not freed at all. Which part of the program owns
      this block?
    frees gone made
^detected
    leak
    {report.left} still allocated when the program ends, and no pointer points there any
      more.
    C has no garbage collector: a block from `malloc` stays until its address is passed
      to `free`. Which function is the last to have that address, and does it free every
      block, those with the pointers as well as those that they point to?
    leaks
^stack-overflow
    recursion
    The stack is full: calls are nested too deeply, or a local array takes megabytes.
    Each call takes room on the stack until it returns. If a function calls itself, when
      does it stop doing so?
    caller|line
^SEGV on unknown address 0x0*[0-9a-f]{1,3}\b|null pointer
    null
    The address is 0, or a few bytes from it: the null pointer.
    `NULL` means that the pointer points to nothing. A function that searches or
      allocates returns it on failure, and a pointer in zeroed memory is `NULL` as well.
      Where does this pointer come from?
    line|returns
^SEGV
    wild-pointer
    The line follows a pointer to a place where this program has no memory.
    Either the pointer was never given a value, or the value was computed wrongly and is
      far away. Which assignment to the pointer was the last?
    line|returns
^negative-size-param
    heap-buffer-overflow
    A function that copies memory was given a negative number of bytes.
    As a `size_t`, a negative number becomes an enormous one. How was it computed?
    first
hard rss limit exhausted|allocation-size-too-big
    memory
    The program asked for more than a gigabyte.
    Either a size went wrong (a `size_t` that went below zero is enormous), or a loop
      allocates and never stops. Which line asks, and for how much?
    allocations
^runtime error: .*(signed integer overflow|cannot be represented in type)
    signed-overflow
    {report.result}.
    In C, it is undefined what happens when a signed number leaves its range: the
      compiler may assume that it never does. Python's integers grow instead. Which type
      is large enough?
    line|returns
^runtime error: .*(pointer index expression|addition of unsigned offset)
    index-wrapped
    An index has wrapped around: the address computed from it is beyond the end of
      memory.
    A `size_t` is never negative. 0 minus 1 is the largest number there is, so `i >= 0`
      is always true. How can a loop that counts down stop at 0?
    line|returns
^runtime error: .*misaligned.* type '(?:const )?([\w ]+?)', which requires (\d+)
    unaligned
    This is {report.number} at an address that is not a multiple of {found[2]}.
    Numbers are stored at multiples of their own size, but a pointer that was computed
      in bytes and then cast may point in between. Some processors, and every GPU,
      refuse that. How many bytes long is each step?
    line|returns
^runtime error: (.*)
    undefined
    The sanitizer says: {found[1]}.
    The C standard does not say what happens then, so anything may happen. Which value
      in this line is out of range?
    line|returns
^([\w-]*)
    undefined
    The address sanitizer reports {found[1]}.
    Look at the line, and at every address in it: where does it come from?
    first made
""")


@dataclass(frozen=True)
class Stacks:
    """The learner's lines in the stacks of a report, innermost first."""

    access: list[int]
    allocated: list[int]
    freed: list[int]


def verdict(source: Source, ran: Ran) -> Verdict | None:
    """What a run says against the source; None if the sanitizers have no complaint."""
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
    """Sort the frames of a report by the stack that they belong to."""
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
    """What a sanitizer says of one access, and the lines that it names."""

    source: Source
    said: str
    stacks: Stacks

    def worded(self, text: str) -> Verdict:
        """The verdict of the first row that fits."""
        for pattern, kind, message, why, where in _ROWS:
            if found := re.search(pattern, text):
                fields = {"report": self, "found": found}
                message, why = (part.format(**fields) for part in (message, why))
                return Verdict(self.source.name, kind, message, why, self._at(where))
        raise ValueError(text)

    def _at(self, where: str) -> list[Note]:
        """The notes of a row: each name's, or of `a|b` the first that there are."""
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
        """'reads', 'writes' or 'uses'."""
        access = _access.search(self.said)
        return {"READ": "reads", "WRITE": "writes"}[access[1]] if access else "uses"

    @property
    def size(self) -> int:
        """How many bytes; 0 where the sanitizer does not say."""
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
        """What a signed number would have become, as the sanitizer says it."""
        match = _runtime.search(self.said)
        return capital(match[3].split(": ", 1)[-1].replace("'", "`")) if match else ""

    @property
    def number(self) -> str:
        """The type of what is not aligned: 'an `int`'."""
        found = re.search(r" type '(?:const )?([\w ]+?)', which", self.said)
        kind = found[1] if found else "number"
        return f"{'an' if kind[:1] in 'aeiou' else 'a'} `{kind}`"

    @property
    def variable(self) -> str:
        local = _local.search(self.said)
        return f"`{local[1]}`" if local else "a local variable"

    @property
    def outside(self) -> tuple[str, str]:
        """What was touched beside a block of the heap, and why that is."""
        region = _region.search(self.said)
        if region is None:
            message = f"The line {self.did} outside every block."
            return message, "Which index did the line use?"
        return self._beside(region)

    def _beside(self, region: re.Match[str]) -> tuple[str, str]:
        """What was touched beside this region, and why that is."""
        touched, size = f"The line {self.did}", self.size
        off, side, length = int(region[1]), region[2], int(region[3])
        names = {int(a, 16): n for n, a in _array.findall(self.said)}
        name = names.get(int(region[4], 16))
        block = f"`{name}`" if name else f"a block of {several(length, 'byte')}"
        if side in ("to the left of", "before"):
            return (
                f"{touched}, {several(off, 'byte')} before the first byte of {block}.",
                "C does not count from the end: an index below 0 is an address in "
                "front of the array. How far down does the loop go?",
            )
        message = f"{touched}, {several(off, 'byte')} past the end of {block}."
        why = (
            "An array does not know its length, so only the loop's condition can stop "
            "it. What is the largest valid index?"
        )
        if name and size and off % size == 0:
            steps = "" if size in (1, 2, 4, 8) else f", in steps of {size:,} bytes"
            index, last = (length + off) // size, length // size - 1
            ends = f"and ends with `{name}[{last}]`" if last >= 0 else "and is empty"
            message = (
                f"{touched} at `{name}[{index}]`{steps}; `{name}` has "
                f"{several(length, 'byte')} {ends}."
            )
        line = "".join(self.source.place(n).text for n in self.stacks.access[:1])
        if re.search(r"[+*\[] *\(?sizeof|sizeof *\(?[\w *]+\)? *\*", line):
            why = (
                "A pointer already moves in steps of the size of what it points to: "
                "`p + 1` is the next element, not the next byte. So what does `sizeof` "
                "do here?"
            )
        elif off >= length > 0:
            why = (
                "That is far past the end. From which length is the index computed, "
                "and in which order?"
            )
        elif not name:
            why = (
                "The block has as many bytes as were requested, and no more. Is it too "
                "small (how many elements, `sizeof` of what?), or does a loop go too "
                "far?"
            )
        return message, why

    # What was not freed

    @property
    def leaks(self) -> dict[int, tuple[int, int]]:
        """For each line that allocated what is left, how many bytes and blocks."""
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
    return Verdict(
        source.name,
        "endless-loop",
        "The program was stopped: it did not end by itself.",
        "What makes the loop's condition false, and does it change in every iteration? "
        "An unsigned number such as a `size_t` is never below 0.",
        [(source.place(n), "it was stopped in here") for n in loops],
    )


def _loops(source: Source, line: int) -> list[int]:
    """The heads of the loops around a line, the outermost first, by indentation.

    In which line of a loop a program is stopped is chance; in which loop is not.
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
    return Verdict(
        source.name,
        "ended",
        f"The program ended with {how}, before the function had returned.",
        "Does it call `exit` or `abort`, or print without end?",
        [(source.place(n), "") for n in source.containing("exit(")],
    )


def unwritten(value: object) -> bool:
    """Whether `value` is made of the byte that fills unwritten memory."""
    data = getattr(value, "tobytes", bytes)()
    return len(data) > 0 and set(data) == {running.FILL}
