"""Products of matrices as cuBLAS computes them: types, compute types, rounding."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from weft.libraries.enumerations import ComputeType, CudaType

HALF, BF16, SINGLE, DOUBLE = (
    CudaType.R_16F,
    CudaType.R_16BF,
    CudaType.R_32F,
    CudaType.R_64F,
)
BYTE, INT32 = CudaType.R_8I, CudaType.R_32I
FP8 = (CudaType.R_8F_E4M3, CudaType.R_8F_E5M2)

# The types of (A and B, C) that a compute type takes in cublasGemmEx.
FLOAT_PAIRS = {
    (BF16, BF16),
    (BF16, SINGLE),
    (HALF, HALF),
    (HALF, SINGLE),
    (BYTE, SINGLE),
    (SINGLE, SINGLE),
}
PAIRS = {
    ComputeType.COMPUTE_16F: {(HALF, HALF)},
    ComputeType.COMPUTE_16F_PEDANTIC: {(HALF, HALF)},
    ComputeType.COMPUTE_32F: FLOAT_PAIRS,
    ComputeType.COMPUTE_32F_PEDANTIC: FLOAT_PAIRS,
    ComputeType.COMPUTE_32F_FAST_16F: FLOAT_PAIRS,
    ComputeType.COMPUTE_32F_FAST_16BF: FLOAT_PAIRS,
    ComputeType.COMPUTE_32F_FAST_TF32: FLOAT_PAIRS,
    ComputeType.COMPUTE_64F: {(DOUBLE, DOUBLE)},
    ComputeType.COMPUTE_64F_PEDANTIC: {(DOUBLE, DOUBLE)},
    ComputeType.COMPUTE_32I: {(BYTE, INT32)},
    ComputeType.COMPUTE_32I_PEDANTIC: {(BYTE, INT32)},
}
# The type of alpha and beta, with which the product is scaled, by compute type.
SCALES = {
    ComputeType.COMPUTE_16F: HALF,
    ComputeType.COMPUTE_16F_PEDANTIC: HALF,
    ComputeType.COMPUTE_64F: DOUBLE,
    ComputeType.COMPUTE_64F_PEDANTIC: DOUBLE,
    ComputeType.COMPUTE_32I: INT32,
    ComputeType.COMPUTE_32I_PEDANTIC: INT32,
}
SCALARS: dict[CudaType, Any] = {
    HALF: np.float16,
    SINGLE: np.float32,
    DOUBLE: np.float64,
    INT32: np.int32,
}
MANTISSA = {  # bits that the inputs keep before they are multiplied
    ComputeType.COMPUTE_32F_FAST_TF32: 10,
    ComputeType.COMPUTE_32F_FAST_16F: 10,
    ComputeType.COMPUTE_32F_FAST_16BF: 7,
}


def scale_type(compute: ComputeType) -> CudaType:
    """The type in which alpha and beta are read."""
    return SCALES.get(compute, SINGLE)


@dataclass(frozen=True)
class Matrix:
    """A matrix in device memory: where, how large, with which leading dimension.

    row_major: whether a row is what lies together. The recipe is kept, not the numbers.
    """

    parameter: str
    address: int
    kind: CudaType
    rows: int
    cols: int
    ld: int
    row_major: bool = False

    @property
    def lines(self) -> tuple[int, int]:
        """How many runs of contiguous elements there are, and how long they are."""
        return (self.rows, self.cols) if self.row_major else (self.cols, self.rows)

    @property
    def elements(self) -> int:
        """From the first element to the last, both included."""
        lines, length = self.lines
        return (lines - 1) * self.ld + length if lines and length else 0


def multiply(a: torch.Tensor, b: torch.Tensor, compute: ComputeType) -> torch.Tensor:
    """The product as the compute type accumulates it, in double precision.

    Sums in fp16 are rounded after every step. Sums in fp32 are made exactly and rounded
    once: a GPU's order of addition is not known.
    """
    a, b = a.to(torch.float64), b.to(torch.float64)
    if compute in MANTISSA:
        a, b = (kept_bits(x, MANTISSA[compute]) for x in (a, b))
    if scale_type(compute) == HALF:
        total = torch.zeros(a.shape[0], b.shape[1], dtype=torch.float16)
        for k in range(a.shape[1]):
            total = (total + a[:, k : k + 1] * b[k : k + 1]).to(torch.float16)
        return total.to(torch.float64)
    exact = a @ b
    return exact if scale_type(compute) == DOUBLE else exact.float().double()


def kept_bits(x: torch.Tensor, bits: int) -> torch.Tensor:
    """Round to so many bits of the mantissa, to the nearest."""
    mantissa, exponent = torch.frexp(x)
    scale = 2.0 ** (bits + 1)
    return torch.ldexp(torch.round(mantissa * scale) / scale, exponent)


def gelu(x: torch.Tensor) -> torch.Tensor:
    """GELU by the formula with tanh, which cuBLASLt uses."""
    return torch.nn.functional.gelu(x, approximate="tanh")
