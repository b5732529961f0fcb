"""Find input elements that a wrong result needs but that no thread has read."""

from collections.abc import Mapping

import numpy as np

from weft.checking.cases import Case, copies
from weft.checking.compare import Array
from weft.checking.exercise import Exercise


def never_read(
    exercise: Exercise,
    case: Case,
    read: Mapping[int, tuple[str, Array]],
    which: int,
    index: tuple[int, ...],
    who: tuple[str, str] | None = None,
) -> str:
    """Describe an unread element that a result needs; return "" if there is none.

    The arguments are those of `first_unread`.
    """
    return first_unread(exercise, case, read, which, index, who)[1]


def first_unread(
    exercise: Exercise,
    case: Case,
    read: Mapping[int, tuple[str, Array]],
    which: int,
    index: tuple[int, ...],
    who: tuple[str, str] | None = None,
) -> tuple[str, str]:
    """Find an array with an unread element that a result needs; describe the element.

    read: input number → its name, and a mask of the elements that were read. which,
    index: the number of the output with the wrong result, and the result's index. An
    element is needed if the spec's result changes with it. who: how a sentence on the
    readers begins before the name of an element, and before that of an array of which
    they read nothing: ("Program 3 never loads", "Program 3 loads nothing of"); by
    default they are all threads together. Returns the array's name and a sentence, or
    ("", "") if there is none.
    """
    for number, (name, marks) in read.items():
        one = unread_of(exercise, case, number, marks, which, index)
        if one is None:
            continue
        missing = int(np.count_nonzero(~marks))
        if who:
            never, nothing = who
            some = missing < marks.size
            said = f"{never} `{element(name, one)}`" if some else f"{nothing} {name}"
            return name, f"{said}, and this result needs it."
        if missing == marks.size:
            return name, f"Nothing of {name} is read, and this result depends on it."
        if beyond := end_of_reads(marks):
            shapes = {other: each.shape for other, each in read.values()}
            said = f"`{element(name, one)}` is never read, and this result needs it."
            return name, f"{said} {beyond_it(name, beyond, shapes)}"
        others = f" (nor are {missing - 1:,} others)" * (missing > 1)
        said = f"`{element(name, one)}` is never read{others}"
        return name, f"{said}, and this result needs it."
    return "", ""


def end_of_reads(marks: Array) -> tuple[int, int] | None:
    """Find the row or column from which on exactly no element of a matrix is marked.

    Returns the axis and the index along it; None if there is no such row or column, or
    if it is the last.
    """
    for axis in range(2 * (marks.ndim == 2)):
        read = marks.any(axis=1 - axis)
        end = int(np.count_nonzero(read))
        whole = np.atleast_1d(marks.all(axis=1 - axis))[:end].all()
        if whole and 0 < end < marks.shape[axis] - 1:
            return axis, end
    return None


def beyond_it(
    name: str, end: tuple[int, int], shapes: Mapping[str, tuple[int, ...]]
) -> str:
    """Say from which row or column on a matrix is not read, and what that number is.

    end: the result of `end_of_reads`. shapes: of all arrays, by name.
    """
    axis, first = end
    alike = [
        f"{other}.shape[{k}]"
        for other, shape in shapes.items()
        for k, size in enumerate(shape)
        if size == first
    ]
    other = f"{name}.shape[{1 - axis}]"
    same = other if other in alike else alike[0] if len(alike) == 1 else ""
    aside = f" ({first} is {same})" * bool(same)
    return f"No {('row', 'column')[axis]} of {name} from {first} on is read{aside}."


def element(name: str, index: tuple[int, ...]) -> str:
    """Format an element as the learner writes it."""
    return f"{name}[{', '.join(map(str, index))}]"


def unread_of(
    exercise: Exercise,
    case: Case,
    number: int,
    marks: Array,
    which: int,
    index: tuple[int, ...],
) -> tuple[int, ...] | None:
    """Find the first unmarked element of an input that a result needs.

    Returns the element's index, or None if the result needs none. Searches by halving.
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
    """Return whether a result needs any of the elements with the indices `some`."""
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
    """Return whether an element of an output depends on elements of an input.

    number, some: which input, and which of its elements. which, index: which output,
    and which of its elements. Returns False if the spec fails when the input's elements
    are changed.
    """
    inputs = list(copies(case.inputs))
    inputs[number][some] += np.asarray(1, inputs[number].dtype)
    try:
        with np.errstate(all="ignore"):
            other = exercise.expected(tuple(inputs))[which]
            return bool(other[index] != case.expected[which][index])
    except Exception:  # the elements may be indices, or sizes
        return False
