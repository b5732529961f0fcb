"""The sanitizers' reports, read: what happened, in which line, and to whose memory."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from weft.c import running
from weft.c.running import Ran
from weft.c.source import Source
from weft.checking.verdict import Verdict
from weft.places import Note
from weft.wording import capital

_frame = re.compile(r"^\s+#\d+ 0x[0-9a-f]+ (?:in )?(\S+) (\S+?):(\d+)(?::\d+)?\s*$")
_found = re.compile(r"ERROR: (?:Address|Leak)Sanitizer:? ([\w-]+)")
_runtime = re.compile(r"^(\S+?):(\d+):\d+: runtime error: (.*)$", re.MULTILINE)
_access = re.compile(r"^(READ|WRITE) of size (\d+)", re.MULTILINE)
_region = re.compile(
    r"is located (\d+) bytes (to the right of|after|to the left of|before|inside of) "
    r"(\d+)-byte region \[(0x[0-9a-f]+),"
)
_array = re.compile(r"^weft: array (\w+) (0x[0-9a-f]+)$", re.MULTILINE)
_local = re.compile(
    r"'(\w+)' \(line (\d+)\) <== Memory access at offset \d+ (\w+)(?: this variable)?"
)


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
    if match := _runtime.search(said):
        return _undefined(source, said, match)
    if "hard rss limit exhausted" in said or "allocation-size-too-big" in said:
        return _verdict(
            source,
            "memory",
            "The program asked for more than a gigabyte.",
            "Either a size went wrong (a `size_t` that went below zero is enormous), "
            "or a loop allocates and never stops. Which line asks, and for how much?",
            [(source.place(n), "") for n in source.containing("alloc(")],
        )
    if match := _found.search(said):
        return _reported(source, match[1], said)
    if not ran.complete:
        return _ended(source, ran.status)
    return None


def _verdict(
    source: Source,
    kind: str,
    message: str,
    why: str,
    places: list[Note],
) -> Verdict:
    return Verdict(source.name, kind, message, why, places)


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
    """What the address sanitizer says of one access.

    said: its report. verb: "reads", "writes" or "uses"; size: how many bytes, 0 where
    it does not say. first, made, gone: the lines of the access, of the allocation and
    of the `free`.
    """

    source: Source
    said: str
    stacks: Stacks
    verb: str
    size: int

    @property
    def first(self) -> list[Note]:
        note = f"{self.verb} {_bytes(self.size)}" if self.size else ""
        return [(self.source.place(n), note) for n in self.stacks.access[:1]]

    @property
    def made(self) -> list[Note]:
        lines = self.stacks.allocated[:1]
        return [(self.source.place(n), "allocated here") for n in lines]

    @property
    def gone(self) -> list[Note]:
        return [(self.source.place(n), "freed here") for n in self.stacks.freed[:1]]


def _reported(source: Source, kind: str, said: str) -> Verdict:
    """Word a report of the address sanitizer by its kind."""
    access = _access.search(said)
    verb = {"READ": "reads", "WRITE": "writes"}[access[1]] if access else "uses"
    size = int(access[2]) if access else 0
    report = Report(source, said, stacks(source, said), verb, size)
    for beginning, word in WORDED.items():
        if kind.startswith(beginning):
            return word(report)
    return _verdict(
        source,
        "undefined",
        f"The address sanitizer reports {kind}.",
        "Look at the line, and at every address in it: where does it come from?",
        report.first + report.made,
    )


def _heap_overflow(report: Report) -> Verdict:
    line = report.first[0][0].text if report.first else ""
    words = _outside(report.said, report.verb, report.size, line)
    places = report.first + report.made
    return _verdict(report.source, "heap-buffer-overflow", *words, places)


def _stack_overflow(report: Report) -> Verdict:
    return _on_stack(report.source, report.said, report.verb, report.size, report.first)


def _global_overflow(report: Report) -> Verdict:
    return _verdict(
        report.source,
        "global-buffer-overflow",
        f"{report.verb.capitalize()} {_bytes(report.size)} outside a global array.",
        "Its first index is 0, and its last is one less than its length. Which index "
        "was used?",
        report.first,
    )


def _after_free(report: Report) -> Verdict:
    return _verdict(
        report.source,
        "use-after-free",
        f"The line {report.verb} {_bytes(report.size)} of a block that has already "
        "been freed.",
        "After `free(p)`, the block may be given to the next caller of `malloc`. `p` "
        "still holds the address, and nothing stops you from using it. Which of the "
        "two lines has to come first?",
        report.first + report.gone + report.made,
    )


def _dead_variable(report: Report) -> Verdict:
    who = "The line" if report.first else "The caller"
    return _verdict(
        report.source,
        "dead-variable",
        f"{who} {report.verb} a local variable of a call, or of a block in braces, "
        "that has ended.",
        "A local variable lives on the stack until the `}` of its block. A function "
        "can return its address, but the variable is gone by then. What lives longer?",
        report.first or _returns(report.source),
    )


def _bad_free(report: Report) -> Verdict:
    double = "double-free" in report.said
    frees = [(report.source.place(n), "frees it") for n in report.stacks.access[:1]]
    return _verdict(
        report.source,
        "double-free" if double else "bad-free",
        "The block has been freed before."
        if double
        else "`free` is given an address that `malloc` never returned.",
        "Each block is freed once, by the address that `malloc` returned for it, not "
        "by one further in; and variables are not freed at all. Which part of the "
        "program owns this block?",
        frees + report.gone + report.made,
    )


def _full_stack(report: Report) -> Verdict:
    at = report.stacks.access
    return _verdict(
        report.source,
        "recursion",
        "The stack is full: calls are nested too deeply, or a local array takes "
        "megabytes.",
        "Each call takes room on the stack until it returns. If a function calls "
        "itself, when does it stop doing so?",
        # The innermost call may be anywhere in its first lines; its caller is not.
        [(report.source.place(n), "") for n in at[1:2] or at],
    )


def _negative_size(report: Report) -> Verdict:
    return _verdict(
        report.source,
        "heap-buffer-overflow",
        "A function that copies memory was given a negative number of bytes.",
        "As a `size_t`, a negative number becomes an enormous one. How was it "
        "computed?",
        report.first,
    )


# By how the sanitizer's name for it begins.
WORDED: dict[str, Callable[[Report], Verdict]] = {
    "heap-buffer-overflow": _heap_overflow,
    "stack-buffer": _stack_overflow,
    "dynamic-stack": _stack_overflow,
    "global-buffer-overflow": _global_overflow,
    "heap-use-after-free": _after_free,
    "stack-use-after": _dead_variable,
    "stack-underflow": _dead_variable,
    "attempting": _bad_free,
    "detected": lambda report: leak(report.source, report.said),
    "stack-overflow": _full_stack,
    "SEGV": lambda report: _segv(report.source, report.said, report.stacks),
    "negative-size-param": _negative_size,
}


def _outside(said: str, verb: str, size: int, line: str) -> tuple[str, str]:
    """What was touched beside a block of the heap, and why that is."""
    touched = f"The line {verb} {_bytes(size)}"
    region = _region.search(said)
    if region is None:
        return f"{touched} outside every block.", "Which index did the line use?"
    off, side, length = int(region[1]), region[2], int(region[3])
    names = {int(a, 16): n for n, a in _array.findall(said)}
    name = names.get(int(region[4], 16))
    block = f"`{name}`" if name else f"a block of {_bytes(length)}"
    if side in ("to the left of", "before"):
        return (
            f"{touched}, {_bytes(off)} before the first byte of {block}.",
            "C does not count from the end: an index below 0 is an address in front of "
            "the array. How far down does the loop go?",
        )
    message = f"{touched}, {_bytes(off)} past the end of {block}."
    why = (
        "An array does not know its length, so only the loop's condition can stop it. "
        "What is the largest valid index?"
    )
    if name and size and off % size == 0:
        steps = "" if size in (1, 2, 4, 8) else f", in steps of {_bytes(size)}"
        index, last = (length + off) // size, length // size - 1
        ends = f"and ends with `{name}[{last}]`" if last >= 0 else "and is empty"
        message = (
            f"{touched} at `{name}[{index}]`{steps}; `{name}` has {_bytes(length)} "
            f"{ends}."
        )
    if re.search(r"[+*\[] *\(?sizeof|sizeof *\(?[\w *]+\)? *\*", line):
        why = (
            "A pointer already moves in steps of the size of what it points to: "
            "`p + 1` is the next element, not the next byte. So what does `sizeof` do "
            "here?"
        )
    elif off >= length > 0:
        why = (
            "That is far past the end. From which length is the index computed, and in "
            "which order?"
        )
    elif not name:
        why = (
            "The block has as many bytes as were requested, and no more. Is it too "
            "small (how many elements, `sizeof` of what?), or does a loop go too far?"
        )
    return message, why


def _on_stack(
    source: Source, said: str, verb: str, size: int, first: list[Note]
) -> Verdict:
    local = _local.search(said)
    places = list(first)
    what = "a local variable"
    if local:
        what = f"`{local[1]}`"
        if int(local[2]) in source.containing(local[1]):
            places.append((source.place(int(local[2])), f"{what} is declared here"))
    return _verdict(
        source,
        "stack-buffer-overflow",
        f"The line {verb} {_bytes(size)} outside {what}, on the stack.",
        "A local array has the length with which it was declared. Next to it are other "
        "variables, or the address to which the function returns. How long would it "
        "have to be to suffice in every case?",
        places,
    )


def _segv(source: Source, said: str, at: Stacks) -> Verdict:
    address = re.search(r"SEGV on unknown address (0x[0-9a-f]+)?", said)
    places = [(source.place(n), "") for n in at.access[:1]] or _returns(source)
    if address and address[1] and int(address[1], 16) < 4096:
        return _null(source, places)
    return _verdict(
        source,
        "wild-pointer",
        "The line follows a pointer to a place where this program has no memory.",
        "Either the pointer was never given a value, or the value was computed wrongly "
        "and is far away. Which assignment to the pointer was the last?",
        places,
    )


def _null(source: Source, places: list[Note]) -> Verdict:
    return _verdict(
        source,
        "null",
        "The address is 0, or a few bytes from it: the null pointer.",
        "`NULL` means that the pointer points to nothing. A function that searches or "
        "allocates returns it on failure, and a pointer in zeroed memory is `NULL` as "
        "well. Where does this pointer come from?",
        places,
    )


def _undefined(source: Source, said: str, match: re.Match[str]) -> Verdict:
    """Word what the sanitizer for undefined behaviour says of a line."""
    text = match[3]
    line = int(match[2])
    places = [(source.place(line), "")]
    if match[1].rsplit("/", 1)[-1] != source.file:
        mine = stacks(source, said).access
        places = [(source.place(n), "") for n in mine[:1]] or _returns(source)
    if "null pointer" in text:
        return _null(source, places)
    if "signed integer overflow" in text or "cannot be represented in type" in text:
        shown = text.split(": ", 1)[-1].replace("'", "`")
        return _verdict(
            source,
            "signed-overflow",
            f"{capital(shown)}.",
            "In C, it is undefined what happens when a signed number leaves its range: "
            "the compiler may assume that it never does. Python's integers grow "
            "instead. Which type is large enough?",
            places,
        )
    if "pointer index expression" in text or "addition of unsigned offset" in text:
        return _verdict(
            source,
            "index-wrapped",
            "An index has wrapped around: the address computed from it is beyond the "
            "end of memory.",
            "A `size_t` is never negative. 0 minus 1 is the largest number there is, "
            "so `i >= 0` is always true. How can a loop that counts down stop at 0?",
            places,
        )
    if "misaligned" in text:
        found = re.search(r"type '(?:const )?([\w ]+?)', which requires (\d+)", text)
        kind, step = (found[1], found[2]) if found else ("this type", "more")
        return _verdict(
            source,
            "unaligned",
            f"This is {_article(kind)} `{kind}` at an address that is not a multiple "
            f"of {step}.",
            "Numbers are stored at multiples of their own size, but a pointer that was "
            "computed in bytes and then cast may point in between. Some processors, "
            "and every GPU, refuse that. How many bytes long is each step?",
            places,
        )
    return _verdict(
        source,
        "undefined",
        f"The sanitizer says: {text}.",
        "The C standard does not say what happens then, so anything may happen. Which "
        "value in this line is out of range?",
        places,
    )


def leak(source: Source, said: str) -> Verdict:
    """The verdict on blocks that nobody freed, from LeakSanitizer's report."""
    pattern = (
        r"leak of (\d+) byte\(s\) in (\d+) object\(s\) allocated from:\n"
        r"((?:\s+#.*\n?)+)"
    )
    places: dict[int, tuple[int, int]] = {}
    for size, count, stack in re.findall(pattern, said):
        for line in stacks(source, stack).access[:1]:
            old = places.get(line, (0, 0))
            places[line] = old[0] + int(size), old[1] + int(count)
    total = sum(size for size, _ in places.values())
    blocks = sum(count for _, count in places.values())
    return _verdict(
        source,
        "leak",
        f"{blocks} block{'s' * (blocks != 1)} of {_bytes(total)} altogether "
        f"{'are' if blocks != 1 else 'is'} still allocated when the program ends, and "
        "no pointer points there any more.",
        "C has no garbage collector: a block from `malloc` stays until its address is "
        "passed to `free`. Which function is the last to have that address, and does "
        "it free every block, those with the pointers as well as those that they point "
        "to?",
        [
            (source.place(n), f"{count} not freed")
            for n, (_, count) in sorted(places.items())
        ],
    )


def _endless(source: Source, said: str) -> Verdict:
    at = stacks(source, said).access[:1]
    loops = [loop for n in at for loop in _loops(source, n)] or at
    return _verdict(
        source,
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
    return _verdict(
        source,
        "ended",
        f"The program ended with {how}, before the function had returned.",
        "Does it call `exit` or `abort`, or print without end?",
        [(source.place(n), "") for n in source.containing("exit(")],
    )


def _returns(source: Source) -> list[Note]:
    return [(source.place(n), "") for n in source.containing("return ")]


def _bytes(count: int) -> str:
    return f"{count:,} byte{'s' * (count != 1)}"


def _article(word: str) -> str:
    return "an" if word[:1] in "aeiou" else "a"


def unwritten(value: object) -> bool:
    """Whether `value` is made of the byte that fills unwritten memory."""
    data = getattr(value, "tobytes", bytes)()
    return len(data) > 0 and set(data) == {running.FILL}
