"""Arithmetic for which Numba has no function, and pairs of 16-bit numbers in an int32.

In a pair, the number with the lower address is in the lower half.

Source: PTX ISA, "ex2.approx.ftz.f32", "mul.wide", "cvt", "prmt" and "max.bf16x2".
"""

from typing import Any

import numpy as np

from weft.intrinsics.bits import bits
from weft.intrinsics.lowering import computes
from weft.intrinsics.registry import Effect, operation

# The assembly is not moved, so a word is unpacked again at each use. Otherwise the
# compiler would keep two registers for what one can hold.
_HALF = "{{ .reg .b32 t; prmt.b32 t, $1, 0, {}; mov.b32 $0, t; }}"

_OF_HALF = "{{ .reg .b16 l, h; mov.b32 {{l, h}}, $1; cvt.f32.f16 $0, {}; }}"


def _nearest(value: Any) -> int:
    """Return the 16 bits of the bfloat16 nearest to a float32, ties to even."""
    if value != value:
        return 0x7FFF
    whole = bits(np.float32(value))
    return (whole + 0x7FFF + (whole >> 16 & 1)) >> 16


def _pair(low: Any, high: Any) -> Any:
    return np.uint32(_nearest(high) << 16 | _nearest(low)).view(np.int32)


def _low(word: Any) -> Any:
    return np.uint32(bits(word) << 16 & 0xFFFFFFFF).view(np.float32)


def _high(word: Any) -> Any:
    return np.uint32(bits(word) & 0xFFFF0000).view(np.float32)


def _of_half(half: int) -> Any:
    """Convert the 16 bits of a float16 to a float32."""
    return np.float32(np.uint16(half).view(np.float16))


@operation(
    Effect.PURE,
    computes("cvt.rn.bf16x2.f32 $0, $2, $1;", "int32", "=r,f,f", "float32", "float32"),
    needs=(8, 0),
    gives="int32",
)
def bf16_pair(low: Any, high: Any) -> Any:
    """Round two float32 values to bfloat16 and pack them into an int32."""
    return _pair(low, high)


@operation(
    Effect.PURE,
    computes(_HALF.format("0x1044"), "float32", "=f,r", "int32", stays=True),
    gives="float32",
)
def bf16_low(word: Any) -> Any:
    """Return the lower bfloat16 of an int32, as a float32."""
    return _low(word)


@operation(
    Effect.PURE,
    computes(_HALF.format("0x3244"), "float32", "=f,r", "int32", stays=True),
    gives="float32",
)
def bf16_high(word: Any) -> Any:
    """Return the upper bfloat16 of an int32, as a float32."""
    return _high(word)


@operation(
    Effect.PURE,
    computes(_OF_HALF.format("l"), "float32", "=f,r", "int32"),
    gives="float32",
)
def f16_low(word: Any) -> Any:
    """Return the lower float16 of an int32, as a float32."""
    return _of_half(bits(word) & 0xFFFF)


@operation(
    Effect.PURE,
    computes(_OF_HALF.format("h"), "float32", "=f,r", "int32"),
    gives="float32",
)
def f16_high(word: Any) -> Any:
    """Return the upper float16 of an int32, as a float32."""
    return _of_half(bits(word) >> 16)


@operation(
    Effect.PURE,
    computes("max.bf16x2 $0, $1, $2;", "int32", "=r,r,r", "int32", "int32"),
    needs=(8, 0),
    gives="int32",
)
def bf16_max(a: Any, b: Any) -> Any:
    """Return the larger lower and the larger upper bfloat16 of two int32s, packed."""
    return _pair(np.fmax(_low(a), _low(b)), np.fmax(_high(a), _high(b)))


@operation(
    Effect.PURE,
    computes("ex2.approx.ftz.f32 $0, $1;", "float32", "=f,f", "float32"),
    gives="float32",
)
def exp2(x: Any) -> Any:
    """Compute 2 ** x to about 22 bits, with 0 for results below 2 ** -126."""
    result = np.exp2(np.float32(x))
    return np.float32(0) if result < np.float32(2**-126) else result


@operation(
    Effect.PURE,
    computes(
        "{ .reg .u64 t; mul.wide.u32 t, $2, $3; mov.b64 {$1, $0}, t; }",
        "uint32 uint32",
        "=r,=r,r,r",
        "uint32",
        "uint32",
    ),
    gives="uint32 uint32",
)
def mul_wide(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the upper and the lower half of the product of two uint32, as uint32."""
    product = bits(a) * bits(b)
    return np.uint32(product >> 32), np.uint32(product & 0xFFFFFFFF)
