"""One number that another block may store or load at the same time.

PTX ISA, "ld.relaxed.gpu" and "st.relaxed.gpu".
"""

from collections.abc import Callable
from typing import Any

from weft.intrinsics.lowering import Lowering
from weft.intrinsics.memory import is_shared
from weft.intrinsics.registry import Effect, operation


def _refused(call: str, x: Any) -> str:
    """Say why no element of `x` can be stored and loaded whole; "" if they can."""
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
    """Load `x[index]`, which another block may store meanwhile.

    x: numbers of 4 or 8 bytes in global memory. Relaxed: orders nothing else.
    """
    _check("peek", x, index)
    return x[index]


@operation(Effect.RELAXED_STORE, _store)
def poke(x: Any, index: Any, value: Any) -> None:
    """Store `value` to `x[index]`, which another block may load meanwhile.

    The same conditions as for `peek`; the value is converted to the array's type.
    """
    _check("poke", x, index)
    x[index] = value
