"""The kinds of verdict: one table, from the kind to its headline and what to read.

A verdict of another kind is refused where it is made. To add one, add a row here; if it
needs a page, write `book/bugs/<page>.md` and add its title to `PAGES`, and if it needs
none, say that it is `plain`.
"""

import re
from dataclasses import dataclass

C_CHAPTER, C_PAGE = "C for Python people", "04_c_for_python"
PASSED, TO_DO, FAILED = "passed", "to do", "failed"


@dataclass(frozen=True)
class Kind:
    """One way in which a check can end.

    headline: what the title of the verdict says, unless the verdict is more exact.
    page: the file in book/bugs that explains it, without its suffix. heading: where the
    chapter on C explains it. plain: whether the verdict says enough, without either.
    state: PASSED, TO_DO or FAILED.
    """

    headline: str
    page: str = ""
    heading: str = ""
    plain: bool = False
    state: str = FAILED


@dataclass(frozen=True)
class Section:
    """A section of a chapter: the chapter's title, its page in book/, the heading."""

    chapter: str
    page: str
    heading: str

    @property
    def address(self) -> str:
        """The page and the anchor, such as `04_c_for_python.html#stack-and-heap`."""
        anchor = re.sub(r"[^a-z]+", "-", self.heading.lower())
        return f"{self.page}.html#{anchor}"


# The pages of book/bugs: file and title.
PAGES = {
    "out-of-bounds": "Outside the array",
    "misaligned": "Not on a 16-byte boundary",
    "unwritten": "An output left unwritten",
    "launch": "A launch that does not fit",
    "race": "A race in shared memory",
    "lost-update": "A race that a barrier cannot fix",
    "barrier": "A barrier that not every thread reaches",
    "warp": "A warp operation without its lanes",
    "uninitialised": "Memory that was never written",
    "input-written": "An input overwritten",
    "endless-loop": "A loop that does not end",
    "type": "Python that Numba cannot compile",
    "sectors": "Uncoalesced access",
    "narrow": "Narrow accesses",
    "bank-conflicts": "Bank conflicts",
    "divergence": "Warps that diverge",
    "loads": "A thread that loads too much",
    "barriers": "Too many barriers",
    "constants": "A number in place of a name",
    "float64": "float64 by accident",
    "local": "An array that does not stay in registers",
    "hang": "A GPU that does not respond",
    "order": "Host code with no order",
    "no-overlap": "Streams that do not overlap",
}

KINDS = {
    "pass": Kind("passed", plain=True, state=PASSED),
    "begin": Kind("yours to write", plain=True, state=TO_DO),
    "suspect": Kind("what do you suspect?", plain=True, state=TO_DO),
    "stale": Kind("not the version you see", plain=True),
    "given": Kind("a name of the exercise is something else", plain=True),
    # Values
    "wrong-value": Kind("a wrong value", plain=True),
    "answer": Kind("not the right answer", plain=True),
    "shape": Kind("the shapes do not fit", plain=True),
    "exception": Kind("Python raised an error", plain=True),
    "endless-loop": Kind("a loop that does not end", "endless-loop"),
    "waiting": Kind("a call that waits and does not return", plain=True),
    "library": Kind("another function does the work", plain=True),
    # Kernels: what the simulator and the sanitizer find
    "out-of-bounds": Kind("outside the array", "out-of-bounds"),
    "negative-index": Kind("a negative index", "out-of-bounds"),
    "misaligned": Kind("not on a 16-byte boundary", "misaligned"),
    "unwritten": Kind("part of the output is never written", "unwritten"),
    "launch": Kind("a launch that does not fit", "launch"),
    "race": Kind("a race", "race"),
    "uninitialised": Kind("memory is read before it is written", "uninitialised"),
    "arguments": Kind("its arguments are in another order", plain=True),
    "barrier": Kind("a barrier that not every thread reaches", "barrier"),
    "mbarrier": Kind("an mbarrier whose phases do not fit", plain=True),
    "warp": Kind("a warp operation that cannot work", "warp"),
    "input-written": Kind("an input is overwritten", "input-written"),
    "source": Kind("its source cannot be read", plain=True),
    # Kernels: what the compiler and the GPU find
    "type": Kind("Numba would reject it", "type"),
    "unverified": Kind("right here, but nothing has compiled it", plain=True),
    "float64": Kind("right, but it computes in float64", "float64"),
    "local": Kind("right, but its array is not in registers", "local"),
    "hang": Kind("the GPU does not respond", "hang"),
    "context": Kind("the launch broke the CUDA context", "hang"),
    # Kernels: what the counters find
    "sectors": Kind("right, but it moves too many sectors", "sectors"),
    "narrow": Kind("right, but its accesses are narrow", "narrow"),
    "bank-conflicts": Kind("right, but with bank conflicts", "bank-conflicts"),
    "divergence": Kind("right, but its warps diverge", "divergence"),
    "loads": Kind("right, but one thread loads too much", "loads"),
    "barriers": Kind("right, but too many barriers", "barriers"),
    "unshared": Kind("right, but its threads share nothing", plain=True),
    "guarded": Kind("right, but some threads skip a load", plain=True),
    "shared-bytes": Kind("right, but with too much shared memory", plain=True),
    "flops": Kind("right, but with too much arithmetic", plain=True),
    "atomics": Kind("right, but too many atomics in global memory", plain=True),
    "constants": Kind("right, but only for these sizes", "constants"),
    # Triton programs
    "program": Kind("Triton would reject it", plain=True),
    "interpreter": Kind("not for Triton's interpreter", plain=True),
    "tuning": Kind("right, but only once", plain=True),
    "reloads": Kind("right, but the same bytes move again", plain=True),
    "no-triton": Kind("Triton is missing", plain=True),
    # Host code
    "order": Kind("two streams with no order between them", "order"),
    "reuse": Kind("a buffer reused too early", "order"),
    "early-read": Kind("results are read too early", "order"),
    "no-overlap": Kind("right, but too little overlaps", "no-overlap"),
    "pageable": Kind("right, but a pageable copy cannot overlap", "no-overlap"),
    "traffic": Kind("right, but it copies too much", plain=True),
    "clock": Kind("not the kernel's time", plain=True),
    # Operators of PyTorch, functions of its autograd
    "mutation": Kind("an input is changed, and nothing says so", plain=True),
    "alias": Kind("an output shares its memory with an input", plain=True),
    "dtype": Kind("a result of another dtype", plain=True),
    "strides": Kind("right, but not for a strided input", plain=True),
    "fake": Kind("the fake does not fit the operator", plain=True),
    "schema": Kind("the operator does other things than its schema says", plain=True),
    "autograd": Kind("no gradient comes back", plain=True),
    "gradient": Kind("a wrong gradient", plain=True),
    "graph-break": Kind("right, but torch.compile breaks the graph", plain=True),
    "stream": Kind("right, but not on the current stream", plain=True),
    "synchronisation": Kind("right, but the host waits for the GPU", plain=True),
    "operators": Kind("right, but too many operators", plain=True),
    "precision": Kind("right, but its products are in another precision", plain=True),
    "layout": Kind("right, but not channels-last", plain=True),
    "held": Kind("right, but it holds too much memory", plain=True),
    # Calls of a library
    "status": Kind("the library refuses the call", plain=True),
    "prototype": Kind("C gets something else than was passed", plain=True),
    "pointer": Kind("an address that leads nowhere", plain=True),
    "device-bounds": Kind("outside an array on the device", plain=True),
    "handle": Kind("a handle that is not valid", plain=True),
    "handle-leak": Kind("right, but something is never destroyed", plain=True),
    "scalar": Kind("a scalar of another type", plain=True),
    "unchecked": Kind("an error that is not noticed", plain=True),
    "calls": Kind("right, but with too many calls", plain=True),
    # Several ranks
    "deadlock": Kind("a deadlock between ranks", plain=True),
    "message": Kind("two ranks that do not agree on a message", plain=True),
    "collective": Kind("ranks that do not make the same calls", plain=True),
    "buffer": Kind("a tensor in use while it is on its way", plain=True),
    "steps": Kind("right, but in too many steps", plain=True),
    "sent": Kind("right, but one rank sends too much", plain=True),
    "collectives": Kind("right, but with too many collectives", plain=True),
    # C
    "compile": Kind("the compiler rejects it", heading="Text, compiler, program"),
    "no-compiler": Kind("no C compiler", plain=True),
    "heap-buffer-overflow": Kind(
        "outside its memory on the heap", heading="Arrays are addresses"
    ),
    "stack-buffer-overflow": Kind(
        "outside a local variable", heading="Arrays are addresses"
    ),
    "global-buffer-overflow": Kind(
        "outside a global variable", heading="Arrays are addresses"
    ),
    "use-after-free": Kind(
        "memory is used after it was freed", heading="Stack and heap"
    ),
    "dead-variable": Kind(
        "a local variable is used after its function has returned",
        heading="Stack and heap",
    ),
    "double-free": Kind("freed twice", heading="Stack and heap"),
    "bad-free": Kind("freed, but never allocated", heading="Stack and heap"),
    "leak": Kind("right, but memory is never freed", heading="Stack and heap"),
    "null": Kind("an access through a null pointer", heading="Addresses"),
    "wild-pointer": Kind("a pointer that leads nowhere", heading="Addresses"),
    "signed-overflow": Kind(
        "a number too large for its type",
        heading="What the language does not promise",
    ),
    "index-wrapped": Kind("an index below zero", heading="Types"),
    "unaligned": Kind("not aligned for its type", heading="Structs"),
    "unset": Kind("memory that was never written", heading="Types"),
    "undefined": Kind(
        "undefined behaviour", heading="What the language does not promise"
    ),
    "recursion": Kind("endless recursion", heading="Stack and heap"),
    "memory": Kind("memory grows without limit", heading="Stack and heap"),
    "ended": Kind("the program ends too early", plain=True),
    "make-error": Kind("make stops with an error", heading="make"),
    "not-made": Kind("not everything is built", heading="make"),
    "not-rebuilt": Kind("something out of date is not rebuilt", heading="make"),
    "rebuilt": Kind("more is rebuilt than has changed", heading="make"),
    "not-removed": Kind("not everything is removed", heading="make"),
}

# A verdict's topic sends to another page than its kind, or ("") to none.
TOPICS = {
    "host-and-device": "",  # to a section instead
    "lost-update": "lost-update",
    "race": "race",
    "stores-race": "lost-update",
    "returned": "",  # by a plain function, which nobody compiles
}

# Sections of chapters, for topics that no page of book/bugs explains.
SECTIONS = {
    "host-and-device": Section("Why GPUs", "01_why_gpus", "The shape of a program"),
}
