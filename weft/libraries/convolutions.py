"""Convolutions as cuDNN describes them: tensors, filters, sizes, and the arithmetic."""

from dataclasses import dataclass
from enum import IntEnum

import torch

from weft.libraries.headers import cudnn

ConvolutionMode, DataType = cudnn.ConvolutionMode, cudnn.DataType
TensorFormat = cudnn.TensorFormat

DTYPES = {
    DataType.FLOAT: torch.float32,
    DataType.DOUBLE: torch.float64,
    DataType.HALF: torch.float16,
    DataType.BFLOAT16: torch.bfloat16,
    DataType.INT8: torch.int8,
    DataType.INT32: torch.int32,
}
Pair = tuple[int, int]


@dataclass(frozen=True)
class Tensor:
    """The contents of a tensor descriptor.

    The offset of element (n, c, h, w) is the sum of index × stride over the four axes.
    """

    kind: IntEnum
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def order(self) -> IntEnum | None:
        """The first format whose strides for this shape match `strides`, or None."""
        each: IntEnum
        for each in TensorFormat:
            if same_strides(self.shape, self.strides, strides_of(each, self.shape)):
                return each
        return None

    def __str__(self) -> str:
        sizes = " × ".join(map(str, self.shape))
        steps = ", ".join(map(str, self.strides))
        return f"{sizes} elements of {self.kind.name} with strides {steps}"


def strides_of(order: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of n, c, h and w in a gapless array of format `order`."""
    _, c, h, w = shape
    if order == TensorFormat.NHWC:
        return (h * w * c, 1, w * c, c)
    return (c * h * w, h * w, w, 1)


def same_strides(
    shape: tuple[int, ...], one: tuple[int, ...], other: tuple[int, ...]
) -> bool:
    """Return whether two sets of strides agree, ignoring axes of size 1."""
    triples = zip(shape, one, other, strict=True)
    return all(size == 1 or a == b for size, a, b in triples)


@dataclass(frozen=True)
class Convolution:
    """The settings of a convolution: how its filter moves, and the type of its sums."""

    pad: Pair
    stride: Pair
    dilation: Pair
    mode: IntEnum = ConvolutionMode.CROSS_CORRELATION
    compute: IntEnum = DataType.FLOAT
    groups: int = 1

    def output(self, x: tuple[int, ...], w: tuple[int, ...]) -> tuple[int, ...]:
        """Return the output's shape, with sizes below 1 if the filter is too large."""
        sides = [
            (size + 2 * pad - (dilation * (taps - 1) + 1)) // stride + 1
            for size, taps, pad, stride, dilation in zip(
                x[2:], w[2:], self.pad, self.stride, self.dilation, strict=True
            )
        ]
        return (x[0], w[0], *sides)

    def run(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        """Return the convolution in double precision, of shape (n, k, p, q)."""
        x, w = x.to(torch.float64), w.to(torch.float64)
        if self.mode == ConvolutionMode.CONVOLUTION:
            w = w.flip(2, 3)
        found: torch.Tensor = torch.nn.functional.conv2d(
            x, w, None, self.stride, self.pad, self.dilation, self.groups
        )
        return found
