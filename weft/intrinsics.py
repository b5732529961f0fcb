"""Four floats in one instruction: 128-bit loads and stores in a Numba kernel.

A thread that reads `x[i], x[i + 1], x[i + 2], x[i + 3]` issues four 32-bit loads.
`load4(x, i)` issues one of 128 bits: a quarter of the instructions and of the
requests for the same bytes. The address must be a multiple of 16 bytes, so `i`
must be a multiple of 4 and the array must begin on such an address (every array
that PyTorch or Numba allocates does; a slice such as `x[1:]` does not).

On a GPU the two functions are Numba intrinsics (LLVM `load <4 x float>, align 16`,
which becomes PTX `ld.global.v4`: PTX ISA, "Vectors" and "ld"). In the simulator they
are the plain Python twins below, which also refuse an index that is not aligned.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

import numba

__all__ = ["TWINS", "load4", "store4"]

type_of_index = "an integer, or (row, column) for a matrix"


def _refuse(call: str, x: Any) -> str:
    """Say why `x` cannot be accessed four floats at a time; "" if it can.

    Works on NumPy arrays, on the simulator's arrays and on Numba's array types.
    """
    if str(x.dtype) != "float32":
        return f"{call} moves four float32; this array holds {x.dtype}"
    if x.ndim > 2:
        return f"{call} takes a vector or a matrix; this array has {x.ndim} axes"
    return ""


def _first(call: str, x: Any, index: Any) -> tuple[Any, ...]:
    """Check alignment and return the index of the first element as a tuple."""
    wrong = _refuse(call, x)
    if wrong:
        raise TypeError(wrong)
    at = index if isinstance(index, tuple) else (index,)
    if len(at) != x.ndim:
        raise TypeError(f"{call}: the index must be {type_of_index}; got {index!r}")
    element = at[0] * x.shape[1] + at[1] if x.ndim == 2 else at[0]
    if element % 4:
        where = f"[{', '.join(str(int(k)) for k in at)}]"
        row = ""
        if x.ndim == 2 and at[1] % 4 == 0:
            row = f" (row {int(at[0])} of {x.shape[1]} elements does not start on one)"
        raise ValueError(
            f"{call} at {where}: element {int(element)} of the array is not a "
            f"multiple of 4{row}. A 128-bit access must start on a 16-byte boundary; "
            "on a GPU this is a misaligned address error, which ends the program"
        )
    return at


def _together(x: Any) -> AbstractContextManager[None]:
    """Let a traced array count four accesses as one of 16 bytes."""
    as_one = getattr(x, "as_one", None)
    return nullcontext() if as_one is None else as_one(16)


def _load4(x: Any, index: Any) -> tuple[Any, Any, Any, Any]:
    """Simulate `load4`: four reads, after a check of the alignment."""
    *row, i = _first("load4", x, index)
    with _together(x):
        if row:
            r = row[0]
            return x[r, i], x[r, i + 1], x[r, i + 2], x[r, i + 3]
        return x[i], x[i + 1], x[i + 2], x[i + 3]


def _store4(x: Any, index: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    """Simulate `store4`: four writes, after a check of the alignment."""
    *row, i = _first("store4", x, index)
    with _together(x):
        if row:
            r = row[0]
            x[r, i], x[r, i + 1], x[r, i + 2], x[r, i + 3] = a, b, c, d
        else:
            x[i], x[i + 1], x[i + 2], x[i + 3] = a, b, c, d


def _build() -> tuple[Any, Any]:
    """Make the GPU's `load4` and `store4`.

    Both of Numba-CUDA 0.22 and 0.30 keep `intrinsic` in `numba.cuda.extending`.
    """
    from llvmlite import ir
    from numba.core.errors import TypingError
    from numba.cuda.extending import intrinsic

    cgutils: Any = import_module("numba.cuda.cgutils")
    types: Any = import_module("numba.cuda.types")
    vector = ir.VectorType(ir.FloatType(), 4)
    lane = ir.IntType(32)

    def check(call: str, x: Any, index: Any) -> None:
        """Raise TypingError, in words, unless `x[index]` is float32 and contiguous."""
        if not isinstance(x, types.Array):
            raise TypingError(f"{call}: the first argument must be an array, not {x}")
        wrong = _refuse(call, x)
        if not wrong and x.layout != "C":
            wrong = (
                f"{call} needs a C-contiguous array: four neighbours in memory. "
                "This one is a strided view"
            )
        kinds = tuple(index) if isinstance(index, types.BaseTuple) else (index,)
        if not wrong and (
            len(kinds) != x.ndim or not all(isinstance(k, types.Integer) for k in kinds)
        ):
            wrong = f"{call}: the index must be {type_of_index}; got {index}"
        if wrong:
            raise TypingError(wrong)

    def pointer(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        """Return the address of `x[index]` as a pointer to four floats."""
        array, index = kinds[:2]
        if isinstance(index, types.BaseTuple):
            parts = list(
                zip(index, cgutils.unpack_tuple(builder, values[1]), strict=True)
            )
        else:
            parts = [(index, values[1])]
        at = [context.cast(builder, v, kind, types.intp) for kind, v in parts]
        struct = context.make_array(array)(context, builder, values[0])
        first = cgutils.get_item_pointer(
            context, builder, array, struct, at, wraparound=False
        )
        return builder.bitcast(first, vector.as_pointer())

    def load4(typingctx: Any, x: Any, index: Any) -> Any:
        """Read `x[index]` and the three elements after it in one 128-bit load.

        x: float32, C-contiguous, `(n,)` or `(rows, columns)`; index: an integer, or
        `(row, column)`, of an element whose position in memory is a multiple of 4.
        Returns four float32. Nothing checks the index: guard it as you would `x[i]`,
        with `i + 3 < x.size`.
        """
        check("load4", x, index)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            four = builder.load(pointer(context, builder, signature.args, args))
            four.align = 16
            parts = [builder.extract_element(four, lane(k)) for k in range(4)]
            return context.make_tuple(builder, signature.return_type, parts)

        return types.UniTuple(types.float32, 4)(x, index), codegen

    def store4(
        typingctx: Any, x: Any, index: Any, a: Any, b: Any, c: Any, d: Any
    ) -> Any:
        """Write a, b, c, d to `x[index]` and the three elements after it at once.

        The same conditions as for `load4`. The values are converted to float32.
        """
        check("store4", x, index)
        f = types.float32

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            four = ir.Constant(vector, ir.Undefined)
            for k, value in enumerate(args[2:]):
                four = builder.insert_element(four, value, lane(k))
            to = pointer(context, builder, signature.args, args)
            builder.store(four, to).align = 16
            return context.get_dummy_value()

        return types.void(x, index, f, f, f, f), codegen

    return intrinsic(load4), intrinsic(store4)


_config: Any = numba.config
load4: Any
store4: Any
if _config.ENABLE_CUDASIM:
    load4, store4 = _load4, _store4
else:
    load4, store4 = _build()

# (what a kernel names, the Python function that stands in for it in the simulator)
TWINS: tuple[tuple[Any, Callable[..., Any]], ...] = (
    (load4, _load4),
    (store4, _store4),
)
