"""Four floats in one instruction: 128-bit loads and stores in a Numba kernel.

A thread that reads `x[i], x[i + 1], x[i + 2], x[i + 3]` issues four 32-bit loads.
`load4(x, i)` issues one of 128 bits: a quarter of the instructions and of the
requests for the same bytes. The address must be a multiple of 16 bytes, so `i`
must be a multiple of 4 and the array must begin on such an address (every array
that PyTorch or Numba allocates does; a slice such as `x[1:]` does not).

On a GPU the two functions are Numba intrinsics (LLVM `load <4 x float>, align 16`,
which becomes PTX `ld.global.v4`: PTX ISA, "Vectors" and "ld"). In the simulator they
are the plain Python twins below, which also refuse an index that is not aligned.

Three more are the same accesses with a hint to the caches, in inline PTX, for global
memory alone: `load4_cs` and `store4_cs` (streaming: likely to be accessed once, so the
first to be evicted; PTX ISA, "Cache Operators") and `load4_nc` (read-only for as long
as the kernel runs; PTX ISA, "ld.global.nc"). A hint changes no result.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

import numba

__all__ = ["TWINS", "load4", "load4_cs", "load4_nc", "store4", "store4_cs"]


class Misaligned(ValueError):
    """Four floats that do not begin on a boundary of 16 bytes."""

    def __init__(self, message: str, why: str) -> None:
        super().__init__(f"{message}. {why}")
        self.message, self.why = message, why


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
        where = f"{getattr(x, '_name', 'x')}[{', '.join(str(int(k)) for k in at)}]"
        if x.ndim == 2:
            where += f", which is element {int(element)} of the array"
        row = ""
        if x.ndim == 2 and at[1] % 4 == 0:
            row = (
                f" Row {int(at[0])} does not begin on one, since rows of "
                f"{x.shape[1]} elements do not fill whole pieces of 16 bytes."
            )
        raise Misaligned(
            f"`{call}` begins at {where}; {int(element)} is not a multiple of 4",
            "It moves 16 bytes at once, and those must begin on a boundary of 16 "
            f"bytes: at every fourth float32.{row} On a GPU this is the error "
            "`misaligned address`, which ends the program.",
        )
    return at


def _together(x: Any) -> AbstractContextManager[None]:
    """Let a traced array count four accesses as one of 16 bytes."""
    as_one = getattr(x, "as_one", None)
    return nullcontext() if as_one is None else as_one(16)


def _shared(x: Any) -> bool:
    return getattr(x, "_space", "global") == "shared"


def _global_only(call: str, x: Any) -> None:
    if _shared(x):
        raise TypeError(
            f"{call} is for global memory: there are no caches to advise for shared "
            f"memory. Use {call.partition('_')[0]}"
        )


def _read(call: str, x: Any, index: Any) -> tuple[Any, Any, Any, Any]:
    """Simulate a load: four reads, after a check of the alignment."""
    *row, i = _first(call, x, index)
    with _together(x):
        if row:
            r = row[0]
            return x[r, i], x[r, i + 1], x[r, i + 2], x[r, i + 3]
        return x[i], x[i + 1], x[i + 2], x[i + 3]


def _write(call: str, x: Any, index: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    """Simulate a store: four writes, after a check of the alignment."""
    *row, i = _first(call, x, index)
    with _together(x):
        if row:
            r = row[0]
            x[r, i], x[r, i + 1], x[r, i + 2], x[r, i + 3] = a, b, c, d
        else:
            x[i], x[i + 1], x[i + 2], x[i + 3] = a, b, c, d


def _load4(x: Any, index: Any) -> tuple[Any, Any, Any, Any]:
    return _read("load4", x, index)


def _load4_cs(x: Any, index: Any) -> tuple[Any, Any, Any, Any]:
    _global_only("load4_cs", x)
    return _read("load4_cs", x, index)


def _load4_nc(x: Any, index: Any) -> tuple[Any, Any, Any, Any]:
    _global_only("load4_nc", x)
    return _read("load4_nc", x, index)


def _store4(x: Any, index: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    _write("store4", x, index, a, b, c, d)


def _store4_cs(x: Any, index: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    _global_only("store4_cs", x)
    _write("store4_cs", x, index, a, b, c, d)


def _build() -> dict[str, Any]:
    """Make the GPU's functions, by name.

    Both of Numba-CUDA 0.22 and 0.30 keep `intrinsic` in `numba.cuda.extending`.
    """
    from llvmlite import ir
    from numba.core.errors import TypingError
    from numba.cuda.extending import intrinsic

    cgutils: Any = import_module("numba.cuda.cgutils")
    types: Any = import_module("numba.cuda.types")
    number, address = ir.FloatType(), ir.IntType(64)
    vector = ir.VectorType(number, 4)
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
        """Return the address of `x[index]`."""
        array, index = kinds[:2]
        if isinstance(index, types.BaseTuple):
            parts = list(
                zip(index, cgutils.unpack_tuple(builder, values[1]), strict=True)
            )
        else:
            parts = [(index, values[1])]
        at = [context.cast(builder, v, kind, types.intp) for kind, v in parts]
        struct = context.make_array(array)(context, builder, values[0])
        return cgutils.get_item_pointer(
            context, builder, array, struct, at, wraparound=False
        )

    def assembly(builder: Any, result: Any, text: str, kinds: str, args: Any) -> Any:
        """Call a line of PTX; it stays where it is among loads and stores."""
        signature = ir.FunctionType(result, [v.type for v in args])
        line = ir.InlineAsm(signature, text, kinds, side_effect=True)
        return builder.call(line, args)

    def load(call: str, hint: str = "") -> Any:
        def load4(typingctx: Any, x: Any, index: Any) -> Any:
            """Read `x[index]` and the three elements after it in one 128-bit load.

            x: float32, C-contiguous, `(n,)` or `(rows, columns)`; index: an integer, or
            `(row, column)`, of an element whose position in memory is a multiple of 4.
            Returns four float32. Nothing checks the index: guard it as you would
            `x[i]`, with `i + 3 < x.size`.
            """
            check(call, x, index)

            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                at = pointer(context, builder, signature.args, args)
                if hint:
                    text = f"ld.global.{hint}.v4.f32 {{$0,$1,$2,$3}}, [$4];"
                    kinds = "=f,=f,=f,=f,l,~{memory}"
                    at = builder.ptrtoint(at, address)
                    four = ir.LiteralStructType([number] * 4)
                    got = assembly(builder, four, text, kinds, [at])
                    parts = [builder.extract_value(got, k) for k in range(4)]
                else:
                    got = builder.load(builder.bitcast(at, vector.as_pointer()))
                    got.align = 16
                    parts = [builder.extract_element(got, lane(k)) for k in range(4)]
                return context.make_tuple(builder, signature.return_type, parts)

            return types.UniTuple(types.float32, 4)(x, index), codegen

        load4.__name__ = load4.__qualname__ = call
        return intrinsic(load4)

    def store(call: str, hint: str = "") -> Any:
        def store4(
            typingctx: Any, x: Any, index: Any, a: Any, b: Any, c: Any, d: Any
        ) -> Any:
            """Write a, b, c, d to `x[index]` and the three elements after it at once.

            The same conditions as for `load4`. The values are converted to float32.
            """
            check(call, x, index)
            f = types.float32

            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                to = pointer(context, builder, signature.args, args)
                if hint:
                    text = f"st.global.{hint}.v4.f32 [$0], {{$1,$2,$3,$4}};"
                    kinds = "l,f,f,f,f,~{memory}"
                    values = [builder.ptrtoint(to, address), *args[2:]]
                    assembly(builder, ir.VoidType(), text, kinds, values)
                    return context.get_dummy_value()
                four = ir.Constant(vector, ir.Undefined)
                for k, value in enumerate(args[2:]):
                    four = builder.insert_element(four, value, lane(k))
                to = builder.bitcast(to, vector.as_pointer())
                builder.store(four, to).align = 16
                return context.get_dummy_value()

            return types.void(x, index, f, f, f, f), codegen

        store4.__name__ = store4.__qualname__ = call
        return intrinsic(store4)

    return {
        "load4": load("load4"),
        "load4_cs": load("load4_cs", "cs"),
        "load4_nc": load("load4_nc", "nc"),
        "store4": store("store4"),
        "store4_cs": store("store4_cs", "cs"),
    }


_twins: dict[str, Callable[..., Any]] = {
    "load4": _load4,
    "load4_cs": _load4_cs,
    "load4_nc": _load4_nc,
    "store4": _store4,
    "store4_cs": _store4_cs,
}
_config: Any = numba.config
_here: dict[str, Any] = _twins if _config.ENABLE_CUDASIM else _build()

load4: Any = _here["load4"]
load4_cs: Any = _here["load4_cs"]
load4_nc: Any = _here["load4_nc"]
store4: Any = _here["store4"]
store4_cs: Any = _here["store4_cs"]

# (what a kernel names, the Python function that stands in for it in the simulator)
TWINS: tuple[tuple[Any, Callable[..., Any]], ...] = tuple(
    (_here[name], twin) for name, twin in _twins.items()
)
