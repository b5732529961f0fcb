"""Two bfloat16 in an int32, the one with the lower address in the lower half.

PTX ISA, "cvt.rn.bf16x2.f32", "prmt" and "max.bf16x2".
"""

from typing import Any

import numpy as np

from weft.intrinsics.bits import bits
from weft.intrinsics.lowering import computes
from weft.intrinsics.registry import Effect, operation

# The assembly stays where it is, so a word is unpacked again at each use. Otherwise the
# compiler would keep two registers for what one can hold.
_HALF = "{{ .reg .b32 t; prmt.b32 t, $1, 0, {}; mov.b32 $0, t; }}"


def _nearest(value: Any) -> int:
    """The 16 bits of the bfloat16 nearest to a float32, of two the even one."""
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


@operation(
    Effect.PURE,
    computes("cvt.rn.bf16x2.f32 $0, $2, $1;", "int32", "=r,f,f", "float32", "float32"),
    needs=(8, 0),
)
def bf16_pair(low: Any, high: Any) -> Any:
    """Round two float32 to bfloat16 and pack them into an int32."""
    return _pair(low, high)


@operation(
    Effect.PURE,
    computes(_HALF.format("0x1044"), "float32", "=f,r", "int32", stays=True),
)
def bf16_low(word: Any) -> Any:
    """The lower bfloat16 of an int32, as a float32."""
    return _low(word)


@operation(
    Effect.PURE,
    computes(_HALF.format("0x3244"), "float32", "=f,r", "int32", stays=True),
)
def bf16_high(word: Any) -> Any:
    """The upper bfloat16 of an int32, as a float32."""
    return _high(word)


@operation(
    Effect.PURE,
    computes("max.bf16x2 $0, $1, $2;", "int32", "=r,r,r", "int32", "int32"),
    needs=(8, 0),
)
def bf16_max(a: Any, b: Any) -> Any:
    """The larger of the two lower and of the two upper bfloat16."""
    return _pair(np.fmax(_low(a), _low(b)), np.fmax(_high(a), _high(b)))
