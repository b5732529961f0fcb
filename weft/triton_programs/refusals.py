"""What Triton's language refuses, in words for those who are learning it."""

import re
from typing import Any

from weft.checking.verdict import Verdict
from weft.places import Place
from weft.triton_programs.launching import Launch
from weft.triton_programs.wording import called
from weft.wording import sentence

# What an error's text contains, and what to say. The first that fits is taken.
EXPLAINED = [
    (
        "arange's range must be a power of 2",
        "The length of a block is a power of two.",
        "`tl.arange(0, BLOCK)` needs a BLOCK such as 64 or 1024. For 100 elements, "
        "which block is large enough, and what keeps the rest of it idle?",
    ),
    (
        "arange's arguments must be of type tl.constexpr",
        "`tl.arange` needs numbers that the compiler knows.",
        "A parameter is known to the compiler if it is annotated: "
        "`BLOCK: tl.constexpr`. A block cannot be as long as a number that comes with "
        "the launch, such as n.",
    ),
    (
        "incompatible dimensions|Cannot broadcast|shape mismatch|broadcast together",
        "Two blocks meet whose shapes do not fit.",
        "Shapes broadcast as in NumPy: `rows[:, None]` is a column, `cols[None, :]` a "
        "row, and together they span a block of two dimensions. Which shape does each "
        "side have here?",
    ),
    (
        "Unsupported ptr type|'(float|int)' object has no attribute '(type|handle)'",
        "`tl.load` and `tl.store` need an address, and get numbers.",
        "An address is a pointer plus offsets: `x + offsets`. Which array is meant?",
    ),
    (
        "cannot be block type if pointer argument is not a block|"
        "Expected pointer argument to have shape",
        "The block of values and the block of addresses differ in shape.",
        "One address is one element. Does each element of the block have its own?",
    ),
    (
        "cannot add pointers together",
        "Two pointers are added here.",
        "A parameter such as `x` is the address of the first element, not the values. "
        "What brings the values?",
    ),
    (
        "invalid operands of type pointer",
        "An offset is not an integer.",
        "Offsets count elements. `/` gives a float, `//` an integer.",
    ),
    (
        "equal reduction dimensions|First input shape|matmul",
        "The shapes of `tl.dot` do not fit.",
        "(m, k) times (k, n) gives (m, n): the second dimension of the one is the "
        "first of the other.",
    ),
    (
        r"axis -?\d+ out of bounds",
        "This block does not have that axis.",
        "A block that one `tl.arange` makes has axis 0 alone; a block of two "
        "dimensions has axes 0 and 1. What is the shape of this one?",
    ),
    (
        "extern_elementwise|inline_asm",
        "Triton's interpreter cannot run this operation.",
        "It exists on a GPU alone. `tl.exp`, `tl.log`, `tl.sqrt` and so on run "
        "anywhere.",
    ),
    (
        "must be real number, not tensor|must be Tensor, not tensor|"
        "only 0-dimensional arrays|only length-1 arrays|__array__|numpy|'to_tensor'",
        "A function for Python's numbers or for tensors gets a block here.",
        "In a program, blocks are computed with `tl.` functions: `tl.exp(x)`, "
        "`tl.maximum(x, 0)`.",
    ),
]

INDEXED = (
    "{name} is a pointer: it cannot be indexed.",
    "`{name}` is the address of the first element. `tl.load({name} + offsets)` brings "
    "elements, `tl.store({name} + offsets, values)` writes them.",
)


def raised(launch: Launch, error: Exception, places: tuple[Place, ...]) -> Verdict:
    """The verdict on an error that a program raised."""
    text = str(error).strip().split("\n")[-1]
    line = places[0].text if places else ""
    verdict = Verdict(
        launch.name, "program", places=called(places), when=launch.when, topic=""
    )
    for region in launch.arena.regions:
        if re.search(rf"(?<![\w.]){re.escape(region.name)}\[", line):
            message, why = (t.format(name=region.name) for t in INDEXED)
            return verdict.but(message=message, why=why)
    for pattern, message, why in EXPLAINED:
        if re.search(pattern, text):
            return verdict.but(message=message, why=why)
    if isinstance(error, AssertionError):
        message = sentence(f"An assertion fails: {text}" if text else "One fails")
        return verdict.but(kind="exception", message=message)
    message = f"{type(error).__name__}: {text}"
    return verdict.but(kind="exception", message=sentence(message))


def bfloat16(launch: Launch, places: tuple[Place, ...]) -> Verdict:
    return Verdict(
        launch.name,
        "interpreter",
        "This computes in bfloat16.",
        "Triton's interpreter has no bfloat16: it would multiply the bits as integers, "
        "and say nothing. For the check use float32 or float16; on a GPU the same "
        "program also runs in bfloat16.",
        called(places),
        when=launch.when,
    )


def ambiguous(launch: Launch, places: tuple[Place, ...]) -> Verdict:
    return Verdict(
        launch.name,
        "program",
        "A whole block is taken for true or false here.",
        "`if`, `while`, `and`, `or`, `not` and `0 <= i < n` need one truth value, and "
        "a block has one for each element. `&` and `|` combine masks, with brackets "
        "around each comparison; `tl.where` and `mask=` choose for each element.",
        called(places),
        when=launch.when,
    )


def gluon(name: str) -> Verdict:
    return Verdict(
        name,
        "interpreter",
        f"{name} is written in Gluon.",
        "Gluon names layouts, shared memory and barriers, which Triton's interpreter "
        "does not have. Such a program runs on a GPU alone.",
    )


def not_a_program(name: str, thing: Any, missing: str) -> Verdict:
    """The verdict on what should be a Triton program and is something else."""
    if missing:
        why = "Then restart the notebook's kernel and run its cells again."
        return Verdict(name, "no-triton", missing, why)
    return Verdict(
        name,
        "program",
        f"{name} is a {type(thing).__name__}, not a Triton program.",
        "`@triton.jit` in the line above `def` makes it one.",
        headline="not a Triton program",
    )
