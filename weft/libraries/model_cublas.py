"""A model of cuBLAS: handles, refusals, and matrix products."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar

import torch

from weft.libraries.faults import Refusal
from weft.libraries.headers import CudaType, cublas
from weft.libraries.model import Kind, Library, Model
from weft.libraries.products import (
    FP8,
    PAIRS,
    Matrix,
    multiply,
    rounded,
    scale_type,
)

ComputeType, Math, Status = cublas.ComputeType, cublas.Math, cublas.Status
VERSION = 130100
# The routine names that cuBLAS prints when it refuses an argument, and the numbers it
# gives to some parameters: BLAS's, which do not count the handle.
NUMBERS = {"transa": 1, "transb": 2, "m": 3, "n": 4, "k": 5}
LEADING = {"lda": 8, "ldb": 10, "ldc": 13, "batch_count": 14}
LEADING_EX = {"lda": 9, "ldb": 12, "ldc": 16}
ROUTINES = {
    "cublasSgemm": ("SGEMM ", LEADING),
    "cublasGemmEx": ("GEMM_EX ", LEADING_EX),
    "cublasSgemmStridedBatched": ("SgemmStridedBatched", LEADING),
    "cublasGemmStridedBatchedEx": ("GEMM_EX ", LEADING_EX),
}
FORMER = {0: ComputeType.COMPUTE_32F}  # CUDA_R_32F, formerly also a compute type
# a flag of the math mode: sums have at least the precision of the compute type
FULL_SUMS = 16


@dataclass
class Handle:
    """The settings that a cuBLAS handle keeps between calls."""

    stream: int = 0
    pointer_mode: int = 0
    math_mode: int = 0
    version: int = VERSION


class Product:
    """One call to a GEMM function; `a` holds its arguments."""

    def __init__(self, a: Any) -> None:
        self.a, self.trans = a, (a.transa, a.transb)
        self.batch = self("batch_count", 1)
        self.kinds = [self(f"{x}type", CudaType.R_32F) for x in "abc"]
        self.strides = [self(f"stride_{x}", 0) for x in "abc"]

    def __call__(self, name: str, default: Any = None) -> Any:
        """Return the argument `name`, or `default` if the function does not have it."""
        return getattr(self.a, name, default)

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        """The matrices A, B and C as they are stored."""
        (m, n, k), (trans_a, trans_b) = map(self, "mnk"), self.trans
        shapes = (k, m) if trans_a else (m, k), (n, k) if trans_b else (k, n), (m, n)
        parts = zip("abc", shapes, self.kinds, self.strides, strict=True)
        return tuple(
            Matrix(
                *(x.upper(), self(x), CudaType(kind), *shape, self(f"ld{x}")),
                batch=self.batch,
                step=step,
            )
            for x, shape, kind, step in parts
        )

    def refused(self) -> tuple[str, str] | None:
        """Return the first illegal parameter and the reason; None if all are legal."""
        for name, value in zip(("transa", "transb"), self.trans, strict=True):
            if value not in (0, 1, 2):
                return name, f"is {value}, which is no operation"
        for name in "mnk":
            if self(name) < 0:
                return name, f"is {self(name)}"
        stored = "k" if self.trans[0] else "m", "n" if self.trans[1] else "k", "m"
        for x, letter in zip("abc", stored, strict=True):
            rows, ld = self(letter), self(f"ld{x}")
            if ld < max(1, rows):
                return f"ld{x}", (
                    f"is {ld}. A column of the matrix as it is stored has {letter} = "
                    f"{rows} elements, and the next one cannot begin before its end"
                )
        if self.batch < 0:
            return "batch_count", f"is {self.batch}"
        return None

    def compute(self, model: Model) -> IntEnum:
        """Return the compute type. Raises `Refusal` if it does not suit A, B and C."""
        number = self("compute_type", ComputeType.COMPUTE_32F)
        number = FORMER.get(number, number)
        found: IntEnum = model.known("compute type", ComputeType, number)
        a, b, c = (model.known("type", CudaType, kind) for kind in self.kinds)
        if {a, b, c}.intersection(FP8):
            model.lacks("cublasGemmEx with arrays of fp8")
        if a != b:
            same = "they must have the same type"
            reason = f"A is {a.name} and B is {b.name}: {same}."
            raise Refusal(Status.NOT_SUPPORTED, reason)
        if (a, c) not in PAIRS[found]:
            reason = (
                f"{found.name} does not take A and B of {a.name} with C of {c.name}."
            )
            raise Refusal(Status.NOT_SUPPORTED, reason)
        if min(self.strides) < 0:
            model.lacks("matrices of a batch in descending order")
        return found


def product(
    model: Model,
    matrices: Sequence[Matrix],
    trans: tuple[int, int],
    compute: IntEnum,
    **operands: torch.Tensor,
) -> torch.Tensor:
    """Compute the products op(A) op(B), of shape (batch, m, n), in double precision.

    matrices: A, B and the result. operands: other arrays that are read. Refuses a
    result that overlaps an array that is read.
    """
    a, b = map(model.matrix, matrices[:2])
    name = matrices[2].parameter
    model.apart(name, model.matrix(matrices[2]), A=a, B=b, **operands)
    return multiply(a.mT if trans[0] else a, b.mT if trans[1] else b, compute)


class CuBLAS(Library):
    """The functions of cuBLAS."""

    name = "cublas"
    kinds: ClassVar = {
        "create": Kind("handle of cuBLAS", lambda _: Handle(), Status.NOT_INITIALIZED)
    }
    sets: ClassVar = {"set_stream": "stream"}
    gets: ClassVar = {
        f"get_{each}": each
        for each in ("version", "stream", "pointer_mode", "math_mode")
    }

    def set_workspace(self, a: Any) -> None:
        self.held(a.handle)
        if a.workspace and (size := a.workspace_size_in_bytes):
            self.model.room("the handle", a.workspace, size, size)

    def set_pointer_mode(self, a: Any) -> None:
        if a.mode not in (0, 1):
            raise Refusal(Status.INVALID_VALUE)
        self.held(a.handle).pointer_mode = a.mode

    def set_math_mode(self, a: Any) -> None:
        if not 0 <= a.mode < 2 * FULL_SUMS:
            raise Refusal(Status.INVALID_VALUE)
        if a.mode % FULL_SUMS > Math.TF32_TENSOR_OP_MATH:
            self.model.lacks(f"the math mode {a.mode}")
        self.held(a.handle).math_mode = a.mode

    def _product(self, a: Any) -> None:
        """Check a product's arguments in cuBLAS's order, and compute the product."""
        held, p = self.held(a.handle), Product(a)
        if (wrong := p.refused()) is not None:
            self._print(a.symbol, wrong[0])
            raise Refusal(Status.INVALID_VALUE, f"{' '.join(wrong)}.")
        compute = p.compute(self.model)
        tf32 = held.math_mode % FULL_SUMS == Math.TF32_TENSOR_OP_MATH
        if tf32 and a.symbol.startswith("cublasSgemm"):
            compute = ComputeType.COMPUTE_32F_FAST_TF32
        if not (a.m and a.n and p.batch):
            return
        where = scale_type(compute), held.pointer_mode, held.stream
        matrices = p.matrices
        alpha, beta = self.model.scaled(a, *where, matrices=matrices)
        out = self.model.matrix(matrices[2])
        total = torch.zeros(out.shape, dtype=torch.float64)
        if alpha and a.k:
            total = alpha * product(self.model, matrices, p.trans, compute)
        if beta:  # with beta = 0, C is not read
            total = total + beta * out.to(torch.float64)
        out.copy_(rounded(total, out.dtype))

    sgemm = gemm_ex = sgemm_strided_batched = gemm_strided_batched_ex = _product

    def _print(self, symbol: str, parameter: str) -> None:
        """Record the line that cuBLAS prints about an illegal parameter."""
        routine, numbers = ROUTINES[symbol]
        if number := (NUMBERS | numbers).get(parameter):
            self.model.printed.append(
                f"** On entry to {routine} parameter number {number} had an illegal "
                "value"
            )
