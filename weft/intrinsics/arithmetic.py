"""Arithmetic that Numba has no name for. PTX ISA, "ex2.approx.ftz.f32", "mul.wide"."""

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.intrinsics.bits import bits
from weft.intrinsics.lowering import Lowering, computes
from weft.intrinsics.registry import Effect, operation


@operation(
    Effect.PURE, computes("ex2.approx.ftz.f32 $0, $1;", "float32", "=f,f", "float32")
)
def exp2(x: Any) -> Any:
    """2 to the power of a float32, right to about 22 bits; 0 below 2 ** -126."""
    result = np.exp2(np.float32(x))
    return np.float32(0) if result < np.float32(2**-126) else result


def _whole_product(gpu: Lowering, call: str) -> Callable[..., Any]:
    def mul_wide(typingctx: Any, a: Any, b: Any) -> Any:
        kind = gpu.types.uint32

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            text = "{ .reg .u64 t; mul.wide.u32 t, $2, $3; mov.b64 {$1, $0}, t; }"
            halves = gpu.ir.LiteralStructType([gpu.word, gpu.word])
            got = gpu.assembly(builder, halves, text, "=r,=r,r,r", args, stays=False)
            parts = [builder.extract_value(got, k) for k in range(2)]
            return context.make_tuple(builder, signature.return_type, parts)

        return gpu.types.UniTuple(kind, 2)(kind, kind), codegen

    return mul_wide


@operation(Effect.PURE, _whole_product)
def mul_wide(a: Any, b: Any) -> tuple[Any, Any]:
    """The upper and the lower half of the product of two uint32, each a uint32."""
    product = bits(a) * bits(b)
    return np.uint32(product >> 32), np.uint32(product & 0xFFFFFFFF)
