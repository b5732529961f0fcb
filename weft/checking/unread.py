"""Elements of the inputs that a wrong result depends on, and that nobody has read."""

from collections.abc import Mapping

import numpy as np

from weft.checking.cases import Case, copies
from weft.checking.compare import Array
from weft.checking.exercise import Exercise

FEW = 32  # elements that are looked at one by one


def never_read(
    exercise: Exercise,
    case: Case,
    read: Mapping[int, tuple[str, Array]],
    which: int,
    index: tuple[int, ...],
) -> str:
    """Name an element that the spec needs for a result and that was not read, or "".

    read: for each input that counts, its name and which of its elements were read.
    which, index: the output with the wrong result, and where in it that is. The spec
    tells what it needs: its result changes with these elements.
    """
    for number, (name, marks) in read.items():
        missing = np.argwhere(~marks)
        if not len(missing) or not needed(exercise, case, number, ~marks, which, index):
            continue
        for one in missing[:FEW]:
            alone = np.zeros(marks.shape, bool)
            alone[tuple(one)] = True
            if needed(exercise, case, number, alone, which, index):
                break
        else:
            one = missing[0]
        if len(missing) == marks.size:
            return f"Nothing of {name} is read, and this result depends on it."
        where = ", ".join(map(str, one))
        others = f" (nor are {len(missing) - 1:,} others)" * (len(missing) > 1)
        return f"`{name}[{where}]` is never read{others}, and this result needs it."
    return ""


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
