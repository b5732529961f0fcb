"""Operations that load small matrices from shared memory into a warp's fragments.

PTX ISA, "Warp-level matrix load instruction: ldmatrix".

A matrix is 8 rows of 16 bytes, four words each. Lanes 0 to 7 pass the addresses of the
rows of the first matrix, lanes 8 to 15 those of the second, and so on; the rows may be
anywhere. Each lane gets one word of each matrix: lane 4 * g + t gets the one in row g,
column t. With `trans` the matrix is read as 8 × 8 numbers of two bytes and transposed:
the lane gets the numbers in rows 2 * t and 2 * t + 1 of column g.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.intrinsics.bits import bits
from weft.intrinsics.instructions import instruction
from weft.intrinsics.lowering import Builder, Lowering
from weft.intrinsics.memory import (
    Misaligned,
    as_one,
    is_shared,
    read_four,
    refused_four,
)
from weft.intrinsics.registry import Effect, Lanes, Operation, operation, register

NEEDS = (7, 5)
Calls = dict[int, tuple[Any, ...]]

_MEANING = """Load {count} of 8 rows of 16 bytes into registers: `(tile, index)`.

    tile: a shared array of float32, int32 or uint32 with one or two axes. index: the
    index of the first of the four numbers in the row that this lane addresses, which
    must begin on a 16-byte boundary. All 32 lanes of the warp make the call.
    {lanes} address one row each, eight rows per matrix.

    Returns {n} int32 to each lane, one word per matrix. Lane 4 * g + t gets
    {which}.
    """


def _part(number: int) -> Callable[..., tuple[Any, ...]]:
    """Return the function that reads the row that a lane addresses, if any."""

    def first(lane: int, tile: Any, index: Any) -> tuple[Any, ...]:
        call = f"ldmatrix_x{number}"
        if not hasattr(tile, "dtype"):
            raise TypeError(f"{call} reads an array in shared memory; got {tile!r}")
        if refused_four(call, tile):
            raise TypeError(refused_four(call, tile))
        if not is_shared(tile):
            raise TypeError(
                f"{call} reads shared memory, which its first argument is not"
            )
        if lane >= 8 * number:
            return ()
        return read_four(call, tile, index)

    return first


def transpose(words: Any) -> Any:
    """Transpose 8 × 8 matrices of 16-bit numbers, held as uint32 (matrix, row, 4)."""
    halves = words.view(np.uint16).transpose(0, 2, 1)
    return np.ascontiguousarray(halves).view(np.uint32)


def _exchange(number: int, transposed: bool) -> Callable[[Calls], dict[int, Any]]:
    def ldmatrix(calls: Calls) -> dict[int, Any]:
        rows = [[bits(word) for word in calls[lane]] for lane in range(8 * number)]
        words = np.array(rows, np.uint32).reshape(number, 8, 4)
        if transposed:
            words = transpose(words)
        mine = words.reshape(number, 32).view(np.int32)
        return {
            lane: mine[0, lane] if number == 1 else tuple(mine[:, lane])
            for lane in range(32)
        }

    return ldmatrix


def stored(call: str, given: tuple[Any, ...], row: Any) -> None:
    """Store the 16-byte row that a lane addresses, as the last step of `stmatrix`.

    call: the operation's name. row: four words, or None for a lane that addresses no
    row. See PTX ISA, "Warp-level matrix store instruction: stmatrix".
    """
    if row is None:
        return
    tile, index = given[:2]
    if not is_shared(tile):
        raise TypeError(f"{call} writes shared memory, which its first argument is not")
    values = np.ascontiguousarray(row).view(tile.dtype)
    *front, at = index if isinstance(index, tuple) else (index,)
    if len(front) + 1 != tile.ndim:
        raise TypeError(f"{call}: {tile._name} has {tile.ndim} axes; got {index}")
    begin = at * tile.strides[-1] + sum(
        int(k) * by for k, by in zip(front, tile.strides, strict=False)
    )
    if begin % 16 or tile._loose:
        raise Misaligned(
            f"`{call}` begins {int(begin)} bytes into {tile._name}",
            "Each row has 16 bytes, and begins on a boundary of 16 bytes; an array "
            "does if it is made with alignment=16, or is the only shared one.",
        )
    last = at + values.size - 1
    with as_one(tile, values.size):
        for k, value in ((at, values[0]), (last, values[-1])):  # both are checked
            tile[(*front, k) if front else k] = value
    tile._data[(*front, slice(at, last + 1))] = values


def _loads(number: int, transposed: bool) -> Builder:
    """Return a builder for `ldmatrix` of one, two or four matrices."""
    registers = ",".join(f"${k}" for k in range(number))
    trans = ".trans" if transposed else ""
    return instruction(
        f"ldmatrix.sync.aligned.m8n8.x{number}{trans}.shared.b16 "
        f"{{{registers}}}, [${number}];",
        "SHARED",
        "int32 " * number,
        needs=NEEDS,
        refused=refused_four,
    )


def _view(gpu: Lowering, call: str) -> Callable[..., Any]:
    """Return the function that Numba's `intrinsic` takes."""

    def as_matrix(typingctx: Any, pool: Any, first: Any, rows: Any, words: Any) -> Any:
        """Return the signature, and the function that generates the code."""
        types = gpu.types
        if not isinstance(pool, types.Array) or (pool.ndim, pool.layout) != (1, "C"):
            raise gpu.TypingError(f"{call} takes a contiguous vector, not {pool}")
        if not all(isinstance(n, types.IntegerLiteral) for n in (rows, words)):
            raise gpu.TypingError(
                f"{call}: write numbers for the shape, or names of constants"
            )
        matrix = types.Array(pool.dtype, 2, "C")

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            at = gpu.pointer(context, builder, (pool, first), args[:2])
            size = context.get_abi_sizeof(context.get_data_type(pool.dtype))
            shape = rows.literal_value, words.literal_value
            return gpu.array(context, builder, matrix, at, shape, size)

        return matrix(pool, first, rows, words), codegen

    return as_matrix


@operation(Effect.PURE, _view, gives="matrix")
def as_matrix(pool: Any, first: Any, rows: int, words: int) -> Any:
    """View `rows` × `words` elements of a vector, from `first` on, as a matrix.

    Nothing is copied. This is for tiles in dynamic shared memory, which is one vector.
    rows, words: numbers that are known when the kernel is compiled.
    """
    return pool[first : first + rows * words].reshape(rows, words)


def _register(number: int, transposed: bool = False) -> Any:
    """Register one form of `ldmatrix`."""
    twin = _exchange(number, transposed)
    count = {1: "a matrix", 2: "two matrices", 4: "four matrices"}[number]
    lanes = {1: "Lanes 0 to 7", 2: "Lanes 0 to 15", 4: "All lanes"}[number]
    which = "word t of row g"
    if transposed:
        which = "the 2-byte numbers in column g of rows 2 * t and 2 * t + 1"
    twin.__doc__ = _MEANING.format(count=count, lanes=lanes, n=number, which=which)
    return register(
        Operation(
            f"ldmatrix_x{number}" + "_trans" * transposed,
            twin,
            _loads(number, transposed),
            Effect.COLLECTIVE,
            Lanes.ALL,
            NEEDS,
            first=_part(number),
            gives=("int32",) * number,
        )
    )


ldmatrix_x1 = _register(1)
ldmatrix_x2 = _register(2)
ldmatrix_x4 = _register(4)
ldmatrix_x1_trans = _register(1, transposed=True)
ldmatrix_x2_trans = _register(2, transposed=True)
ldmatrix_x4_trans = _register(4, transposed=True)
