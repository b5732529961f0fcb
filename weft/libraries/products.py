"""Matrix products as cuBLAS computes them: types, compute types, rounding."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import torch

from weft.libraries.headers import CudaType, cublas

ComputeType = cublas.ComputeType

HALF, BF16, SINGLE, DOUBLE = (
    CudaType.R_16F,
    CudaType.R_16BF,
    CudaType.R_32F,
    CudaType.R_64F,
)
BYTE, INT32 = CudaType.R_8I, CudaType.R_32I
FP8 = (CudaType.R_8F_E4M3, CudaType.R_8F_E5M2)

# For each precision of sums: the type of alpha and beta, which scale the product, and
# the types of (A and B, C) that cublasGemmEx takes.
SUMS = {
    "16F": (HALF, {(HALF, HALF)}),
    "32F": (
        SINGLE,
        {
            *((BF16, BF16), (BF16, SINGLE), (HALF, HALF), (HALF, SINGLE)),
            *((BYTE, SINGLE), (SINGLE, SINGLE)),
        },
    ),
    "64F": (DOUBLE, {(DOUBLE, DOUBLE)}),
    "32I": (INT32, {(BYTE, INT32)}),
}
PAIRS = {each: SUMS[each.name.split("_")[1]][1] for each in ComputeType}
SCALARS: dict[IntEnum, Any] = {
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


def scale_type(compute: IntEnum) -> IntEnum:
    """Return the type in which a compute type reads alpha and beta."""
    found: IntEnum = SUMS[compute.name.split("_")[1]][0]
    return found


@dataclass(frozen=True)
class Matrix:
    """A matrix in device memory: its address, its sizes and its leading dimension.

    row_major: whether rows are contiguous. batch, step: how many such matrices there
    are, and how many elements apart they are. The values are not included.
    """

    parameter: str
    address: int
    kind: IntEnum
    rows: int
    cols: int
    ld: int
    row_major: bool = False
    batch: int = 1
    step: int = 0

    @property
    def lines(self) -> tuple[int, int]:
        """The number of runs of contiguous elements, and the length of each."""
        return (self.rows, self.cols) if self.row_major else (self.cols, self.rows)

    @property
    def line(self) -> str:
        """The name of a run of contiguous elements: "row" or "column"."""
        return "row" if self.row_major else "column"


def multiply(a: torch.Tensor, b: torch.Tensor, compute: IntEnum) -> torch.Tensor:
    """Return (…, m, k) @ (…, k, n) in float64, summed as `compute` says.

    Sums in fp16 are rounded after every step. Sums in fp32 are computed in float64 and
    rounded once, because a GPU's order of addition is unknown. Sums of integers are
    exact.
    """
    a, b = a.to(torch.float64), b.to(torch.float64)
    if compute in MANTISSA:
        a, b = (kept_bits(x, MANTISSA[compute]) for x in (a, b))
    if scale_type(compute) == HALF:
        total = torch.zeros(*a.shape[:-1], b.shape[-1], dtype=torch.float16)
        for k in range(a.shape[-1]):
            step = a[..., k : k + 1] * b[..., k : k + 1, :]
            total = (total + step).to(torch.float16)
        return total.to(torch.float64)
    exact = a @ b
    return exact.float().double() if scale_type(compute) == SINGLE else exact


def kept_bits(x: torch.Tensor, bits: int) -> torch.Tensor:
    """Round `x` to nearest, keeping `bits` bits of the mantissa."""
    mantissa, exponent = torch.frexp(x)
    scale = 2.0 ** (bits + 1)
    return torch.ldexp(torch.round(mantissa * scale) / scale, exponent)


def rounded(total: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Round sums to `dtype`: float64 and int32 directly, others via float32."""
    wide = dtype in (torch.float64, torch.int32)
    return (total if wide else total.float()).to(dtype)


def gelu(x: torch.Tensor) -> torch.Tensor:
    """Compute GELU with the tanh approximation, as cuBLASLt does."""
    return torch.nn.functional.gelu(x, approximate="tanh")
