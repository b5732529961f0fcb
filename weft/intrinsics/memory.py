"""Check the arrays and indices of intrinsics that access memory."""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

name_of = cache(str)  # the name of a dtype; NumPy is slow to format one


class Misaligned(ValueError):
    """A misaligned access to several numbers at once."""

    def __init__(self, message: str, why: str) -> None:
        super().__init__(f"{message}. {why}")
        self.message, self.why = message, why


def is_shared(x: Any) -> bool:
    return getattr(x, "_space", "global") == "shared"


def refused_four(call: str, x: Any) -> str:
    """Return why `x` cannot be accessed four numbers at a time, or "" if it can.

    Works on NumPy arrays, on the simulator's arrays and on Numba's array types.
    """
    if name_of(x.dtype) not in ("float32", "int32", "uint32"):
        return f"{call} moves four numbers of 4 bytes; this array holds {x.dtype}"
    if x.ndim > 2:
        return f"{call} takes a vector or a matrix; this array has {x.ndim} axes"
    return ""


def first_of_four(call: str, x: Any, index: Any) -> tuple[Any, ...]:
    """Check alignment and return the index of the first element as a tuple."""
    wrong = refused_four(call, x)
    if wrong:
        raise TypeError(wrong)
    at = index if isinstance(index, tuple) else (index,)
    if len(at) != x.ndim:
        needed = "(row, column) for a matrix" if x.ndim == 2 else "an integer"
        raise TypeError(f"{call}: the index must be {needed}; got {index!r}")
    element = at[0] * x.shape[1] + at[1] if x.ndim == 2 else at[0]
    skipped = getattr(x, "_skipped", 0)
    if (element + skipped) % 4:
        raise _misaligned_index(call, x, at, int(element))
    if getattr(x, "_loose", False):
        raise _misaligned_array(call, x)
    return at


def _misaligned_index(
    call: str, x: Any, at: tuple[Any, ...], element: int
) -> Misaligned:
    """Return the error for an index that is not at a multiple of 16 bytes.

    at: the index. element: the element's position in `x`, an array or a view of one.
    """
    where = f"{getattr(x, '_name', 'x')}[{', '.join(str(int(k)) for k in at)}]"
    row, skipped = "", getattr(x, "_skipped", 0)
    if skipped % 4:
        element += skipped
        where += f", and this view at element {skipped} of its array"
    elif x.ndim == 2:
        where += f", which is element {element} of the array"
        if at[1] % 4 == 0:
            row = (
                f" Row {int(at[0])} does not begin on such a boundary, because the "
                f"{x.shape[1]} elements of a row are not a multiple of 16 bytes."
            )
    return Misaligned(
        f"`{call}` begins at {where}; {element} is not a multiple of 4",
        "It moves 16 bytes at once, which must begin on a 16-byte boundary, "
        f"as only every fourth {x.dtype} does.{row} On a GPU this is the error "
        "`misaligned address`, which ends the program.",
    )


def _misaligned_array(call: str, x: Any) -> Misaligned:
    made = f"cuda.{x._space}.array(..., alignment=16)"
    return Misaligned(
        f"`{call}` is given {x._name}, which need not begin on a boundary of 16 bytes",
        f"It moves 16 bytes at once, and those must begin on one. Beside other "
        f"arrays {x._name} begins at any boundary of {x.dtype.itemsize} bytes, "
        f"unless it is made by `{made}`. On a GPU this may be the error "
        "`misaligned address`, which ends the program.",
    )


def as_one(x: Any, elements: int) -> AbstractContextManager[None]:
    """Make a traced array count the accesses in a `with` block as one wide access."""
    if not hasattr(x, "as_one"):  # a NumPy array
        return nullcontext()
    together: AbstractContextManager[None] = x.as_one(elements * x.dtype.itemsize)
    return together


def read_four(call: str, x: Any, index: Any) -> tuple[Any, Any, Any, Any]:
    """Read four elements as one access, after checking the alignment."""
    *row, i = first_of_four(call, x, index)
    data = getattr(x, "_data", x)  # for the middle two, which need no check
    with as_one(x, 4):
        if row:
            r = row[0]
            first, last = x[r, i], x[r, i + 3]
            return first, data[r, i + 1], data[r, i + 2], last
        first, last = x[i], x[i + 3]
        return first, data[i + 1], data[i + 2], last


def write_four(call: str, x: Any, index: Any, *values: Any) -> None:
    """Write four elements as one access, after checking the alignment."""
    a, b, c, d = values
    *row, i = first_of_four(call, x, index)
    # for elements that are known to be in bounds
    store = getattr(x, "_store", x.__setitem__)
    with as_one(x, 4):
        if row:
            r = row[0]
            x[r, i], x[r, i + 3] = a, d
            store((r, i + 1), b)
            store((r, i + 2), c)
        else:
            x[i], x[i + 3] = a, d
            store(i + 1, b)
            store(i + 2, c)
