"""Elements of the inputs that a wrong result depends on, and that nobody has read."""

from collections.abc import Mapping

import numpy as np

from weft.checking.cases import Case, copies
from weft.checking.compare import Array
from weft.checking.exercise import Exercise
from weft.wording import capital


def never_read(
    exercise: Exercise,
    case: Case,
    read: Mapping[int, tuple[str, Array]],
    which: int,
    index: tuple[int, ...],
    who: str = "",
) -> str:
    """Name an element that the spec needs for a result and that was not read, or "".

    Arguments are those of `first_unread`.
    """
    return first_unread(exercise, case, read, which, index, who)[1]


def first_unread(
    exercise: Exercise,
    case: Case,
    read: Mapping[int, tuple[str, Array]],
    which: int,
    index: tuple[int, ...],
    who: str = "",
) -> tuple[str, str]:
    """The array of which a result needs an element that was not read, and a sentence.

    read: for each input that counts, its name and which of its elements were read.
    which, index: the output with the wrong result, and where in it that is. The spec
    tells what it needs: its result changes with these elements. "" where all is read.
    who: whose reads these are, such as "program 3"; by default everybody's.
    """
    for number, (name, marks) in read.items():
        one = unread_of(exercise, case, number, marks, which, index)
        if one is None:
            continue
        missing = int(np.count_nonzero(~marks))
        if who:
            told = f"`{element(name, one)}`" if missing < marks.size else name
            loads = "never loads" if missing < marks.size else "loads nothing of"
            said = f"{capital(who)} {loads} {told}"
            return name, f"{said}, and this result needs it."
        if missing == marks.size:
            return name, f"Nothing of {name} is read, and this result depends on it."
        others = f" (nor are {missing - 1:,} others)" * (missing > 1)
        said = f"`{element(name, one)}` is never read{others}"
        return name, f"{said}, and this result needs it."
    return "", ""


def element(name: str, index: tuple[int, ...]) -> str:
    """An element as the learner writes it."""
    return f"{name}[{', '.join(map(str, index))}]"


def unread_of(
    exercise: Exercise,
    case: Case,
    number: int,
    marks: Array,
    which: int,
    index: tuple[int, ...],
) -> tuple[int, ...] | None:
    """The first element of an input that a result needs and that has no mark.

    None if it needs none of them. Arguments are those of `never_read`.
    """
    some = np.argwhere(~marks)
    found = bool(len(some)) and needed(exercise, case, number, ~marks, which, index)
    while found and len(some) > 1:
        first, rest = some[: len(some) // 2], some[len(some) // 2 :]
        some = first if asked(exercise, case, number, first, which, index) else rest
        found = some is first or asked(exercise, case, number, rest, which, index)
    return tuple(int(i) for i in some[0]) if found else None


def asked(
    exercise: Exercise,
    case: Case,
    number: int,
    some: Array,
    which: int,
    index: tuple[int, ...],
) -> bool:
    """Whether a result needs one of `some` elements, which are given by their index."""
    marks = np.zeros(case.inputs[number].shape, bool)
    marks[tuple(some.T)] = True
    return needed(exercise, case, number, marks, which, index)


def needed(
    exercise: Exercise,
    case: Case,
    number: int,
    some: Array,
    which: int,
    index: tuple[int, ...],
) -> bool:
    """Whether an output at `index` is another one if some of an input's elements are.

    False where the spec cannot be asked with other elements.
    """
    inputs = list(copies(case.inputs))
    inputs[number][some] += np.asarray(1, inputs[number].dtype)
    try:
        with np.errstate(all="ignore"):
            other = exercise.expected(tuple(inputs))[which]
            return bool(other[index] != case.expected[which][index])
    except Exception:  # they may be indices, or sizes
        return False
