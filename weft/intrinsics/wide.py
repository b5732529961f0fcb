"""Wide accesses to four neighbours, and relaxed accesses to single numbers.

PTX ISA, "Vectors", "ld", "st", "Cache Operators", "ld.global.nc", "ld.relaxed.gpu" and
"st.relaxed.gpu".
"""

from collections.abc import Callable
from typing import Any

from weft.intrinsics.lowering import Builder, Lowering
from weft.intrinsics.memory import is_shared, read_four, refused_four, write_four
from weft.intrinsics.registry import Effect, operation


def _loads(hint: str = "") -> Builder:
    """Return a builder for a load of four numbers.

    It builds a vector load or, with a hint, inline PTX.
    """

    def build(gpu: Lowering, call: str) -> Callable[..., Any]:
        """Return the function that Numba's `intrinsic` takes."""

        def load4(typingctx: Any, x: Any, index: Any) -> Any:
            """Return the signature, and the function that generates the code."""
            gpu.check(call, x, index, refused_four)
            number, letter, name = gpu.letters(x.dtype)

            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                at = gpu.pointer(context, builder, signature.args, args)
                if hint:
                    text = f"ld.global.{hint}.v4.{name} {{$0,$1,$2,$3}}, [$4];"
                    kinds = f"={letter}," * 4 + "l,~{memory}"
                    made = context, builder, signature.return_type
                    at = builder.ptrtoint(at, gpu.address)
                    return gpu.call(made, [number] * 4, text, kinds, [at])
                vector = gpu.ir.VectorType(number, 4).as_pointer()
                got = builder.load(builder.bitcast(at, vector))
                got.align = 16
                parts = [builder.extract_element(got, gpu.word(k)) for k in range(4)]
                return context.make_tuple(builder, signature.return_type, parts)

            return gpu.types.UniTuple(x.dtype, 4)(x, index), codegen

        return load4

    return build


def _stores(hint: str = "") -> Builder:
    """Return a builder for a store of four numbers.

    It builds a vector store or, with a hint, inline PTX.
    """

    def build(gpu: Lowering, call: str) -> Callable[..., Any]:
        """Return the function that Numba's `intrinsic` takes."""

        def store4(
            typingctx: Any, x: Any, index: Any, a: Any, b: Any, c: Any, d: Any
        ) -> Any:
            """Return the signature, and the function that generates the code."""
            gpu.check(call, x, index, refused_four)
            number, letter, name = gpu.letters(x.dtype)

            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                to = gpu.pointer(context, builder, signature.args, args)
                if hint:
                    text = f"st.global.{hint}.v4.{name} [$0], {{$1,$2,$3,$4}};"
                    kinds = "l," + f"{letter}," * 4 + "~{memory}"
                    values = [builder.ptrtoint(to, gpu.address), *args[2:]]
                    gpu.assembly(builder, gpu.nothing, text, kinds, values)
                    return context.get_dummy_value()
                vector = gpu.ir.VectorType(number, 4)
                four = gpu.ir.Constant(vector, gpu.ir.Undefined)
                for k, value in enumerate(args[2:]):
                    four = builder.insert_element(four, value, gpu.word(k))
                to = builder.bitcast(to, vector.as_pointer())
                builder.store(four, to).align = 16
                return context.get_dummy_value()

            return gpu.types.void(x, index, *[x.dtype] * 4), codegen

        return store4

    return build


def _global_only(call: str, x: Any) -> None:
    if is_shared(x):
        raise TypeError(
            f"{call} is for global memory: there are no caches to advise for shared "
            f"memory. Use {call.partition('_')[0]}"
        )


@operation(Effect.WIDE_LOAD, _loads(), elements=4)
def load4(x: Any, index: Any) -> tuple[Any, Any, Any, Any]:
    """Load `x[index]` and the three elements after it in one 128-bit load.

    x: float32, int32 or uint32, C-contiguous, `(n,)` or `(rows, columns)`; index: an
    integer, or `(row, column)`, of an element whose position in memory is a multiple of
    4. Returns four numbers of the array's type. On a GPU nothing checks the index:
    guard it as you would `x[i]`, with `i + 3 < x.size`.
    """
    return read_four("load4", x, index)


@operation(Effect.WIDE_LOAD, _loads("cs"), elements=4)
def load4_cs(x: Any, index: Any) -> tuple[Any, Any, Any, Any]:
    """Load four numbers from global memory that are likely to be accessed only once."""
    _global_only("load4_cs", x)
    return read_four("load4_cs", x, index)


@operation(Effect.WIDE_LOAD, _loads("nc"), elements=4)
def load4_nc(x: Any, index: Any) -> tuple[Any, Any, Any, Any]:
    """Load four numbers from global memory that no thread writes during the kernel."""
    _global_only("load4_nc", x)
    return read_four("load4_nc", x, index)


@operation(Effect.WIDE_STORE, _stores(), elements=4)
def store4(x: Any, index: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    """Store a, b, c, d to `x[index]` and the three elements after it at once.

    The same conditions apply as for `load4`. The values are converted to the array's
    type.
    """
    write_four("store4", x, index, a, b, c, d)


@operation(Effect.WIDE_STORE, _stores("cs"), elements=4)
def store4_cs(x: Any, index: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    """Store to global memory four numbers that are likely to be accessed only once."""
    _global_only("store4_cs", x)
    write_four("store4_cs", x, index, a, b, c, d)


def _refused(call: str, x: Any) -> str:
    """Return why `call` refuses the element type of `x`, or "" if it does not."""
    if str(x.dtype) not in ("int32", "uint32", "float32", "int64", "uint64", "float64"):
        return f"{call} takes numbers of 4 or 8 bytes; this array holds {x.dtype}"
    return ""


def _check(call: str, x: Any, index: Any) -> None:
    wrong = _refused(call, x)
    if not wrong and is_shared(x):
        wrong = f"{call} is for global memory, which other blocks see as well"
    parts = index if isinstance(index, tuple) else (index,)
    if not wrong and len(parts) != x.ndim:
        wrong = f"{call}: the index must name one element; got {index!r}"
    if wrong:
        raise TypeError(wrong)


def _load(gpu: Lowering, call: str) -> Callable[..., Any]:
    def peek(typingctx: Any, x: Any, index: Any) -> Any:
        gpu.check(call, x, index, _refused, strided=True)
        number, letter, name = gpu.letters(x.dtype)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            at = gpu.pointer(context, builder, signature.args, args)
            text = f"ld.relaxed.gpu.global.{name} $0, [$1];"
            at = builder.ptrtoint(at, gpu.address)
            kinds = f"={letter},l,~{{memory}}"
            return gpu.assembly(builder, number, text, kinds, [at])

        return x.dtype(x, index), codegen

    return peek


def _store(gpu: Lowering, call: str) -> Callable[..., Any]:
    def poke(typingctx: Any, x: Any, index: Any, value: Any) -> Any:
        gpu.check(call, x, index, _refused, strided=True)
        _, letter, name = gpu.letters(x.dtype)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            to = gpu.pointer(context, builder, signature.args, args)
            text = f"st.relaxed.gpu.global.{name} [$0], $1;"
            values = [builder.ptrtoint(to, gpu.address), args[2]]
            kinds = f"l,{letter},~{{memory}}"
            gpu.assembly(builder, gpu.nothing, text, kinds, values)
            return context.get_dummy_value()

        return gpu.types.void(x, index, x.dtype), codegen

    return poke


@operation(Effect.RELAXED_LOAD, _load)
def peek(x: Any, index: Any) -> Any:
    """Load `x[index]`, to which another block may store at the same time.

    x: numbers of 4 or 8 bytes in global memory. The load is relaxed: it orders no other
    accesses.
    """
    _check("peek", x, index)
    return x[index]


@operation(Effect.RELAXED_STORE, _store)
def poke(x: Any, index: Any, value: Any) -> None:
    """Store `value` to `x[index]`, which another block may load at the same time.

    The same conditions apply as for `peek`; the value is converted to the array's type.
    """
    _check("poke", x, index)
    x[index] = value
