"""The model's cuBLAS: what a handle holds, what is refused, what is computed."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar

import torch

from weft.libraries.device_memory import DTYPES, reach
from weft.libraries.faults import Fault, Refusal
from weft.libraries.headers import CudaType, cublas
from weft.libraries.model import Kind, Library
from weft.libraries.products import PAIRS, Matrix, multiply, rounded, scale_type

ComputeType, Math, Status = cublas.ComputeType, cublas.Math, cublas.Status
VERSION = 130100
# What cuBLAS calls a routine when it refuses an argument, and the numbers that it gives
# to some of the parameters: BLAS's, in which the handle does not count.
NUMBERS = {"transa": 1, "transb": 2, "m": 3, "n": 4, "k": 5}
LEADING = {"lda": 8, "ldb": 10, "ldc": 13, "batch_count": 14}
LEADING_EX = {"lda": 9, "ldb": 12, "ldc": 16}
ROUTINES = {
    "cublasSgemm": ("SGEMM ", LEADING),
    "cublasGemmEx": ("GEMM_EX ", LEADING_EX),
    "cublasSgemmStridedBatched": ("SgemmStridedBatched", LEADING),
    "cublasGemmStridedBatchedEx": ("GEMM_EX ", LEADING_EX),
}
FORMER = {0: ComputeType.COMPUTE_32F}  # CUDA_R_32F, which was a compute type once


@dataclass
class Handle:
    """What a handle of cuBLAS remembers between calls."""

    stream: int = 0
    pointer_mode: int = 0
    math_mode: int = 0
    version: int = VERSION


class Product:
    """One call of a GEMM, as it came in: `a` has its arguments."""

    def __init__(self, a: Any) -> None:
        self.symbol, self.trans = a.symbol, (a.transa, a.transb)
        self.m, self.n, self.k = a.m, a.n, a.k
        self.number = getattr(a, "compute_type", ComputeType.COMPUTE_32F)
        self.batch = getattr(a, "batch_count", 1)
        self.at = [getattr(a, x) for x in "abc"]
        self.kinds = [getattr(a, f"{x}type", CudaType.R_32F) for x in "abc"]
        self.lds = [getattr(a, f"ld{x}") for x in "abc"]
        self.strides = [getattr(a, f"stride_{x}", 0) for x in "abc"]

    def matrices(self, number: int) -> tuple[Matrix, ...]:
        """The three matrices as they are stored, of one product of the batch."""
        shapes = (
            (self.k, self.m) if self.trans[0] else (self.m, self.k),
            (self.n, self.k) if self.trans[1] else (self.k, self.n),
            (self.m, self.n),
        )
        parts = zip(self.at, self.kinds, shapes, self.lds, self.strides, strict=True)
        return tuple(
            Matrix(
                name,
                address + number * step * DTYPES[CudaType(kind)].itemsize,
                CudaType(kind),
                *shape,
                ld,
            )
            for name, (address, kind, shape, ld, step) in zip("ABC", parts, strict=True)
        )

    def refused(self) -> tuple[str, str] | None:
        """The parameter that is illegal, and why; None if all are legal."""
        for name, value in zip(("transa", "transb"), self.trans, strict=True):
            if value not in (0, 1, 2):
                return name, f"is {value}, which is no operation"
        for name in "mnk":
            if getattr(self, name) < 0:
                return name, f"is {getattr(self, name)}"
        stored = "k" if self.trans[0] else "m", "n" if self.trans[1] else "k", "m"
        for x, ld, letter in zip("abc", self.lds, stored, strict=True):
            rows = getattr(self, letter)
            if ld < max(1, rows):
                return f"ld{x}", (
                    f"is {ld}. A column of the matrix as it is stored has {letter} = "
                    f"{rows} elements, and the next one cannot begin before its end"
                )
        if self.batch < 0:
            return "batch_count", f"is {self.batch}"
        return None

    @property
    def compute(self) -> IntEnum:
        """The compute type. Raises `Refusal` where it does not take these types."""
        number = FORMER.get(self.number, self.number)
        kinds = [CudaType(x) if x in DTYPES else None for x in self.kinds]
        names = [k.name if k is not None else "unknown" for k in kinds]
        reason = ""
        if number not in PAIRS:
            reason = f"compute_type {self.number} is none that cublasGemmEx knows."
        elif kinds[0] != kinds[1]:
            same = "they must have the same type"
            reason = f"A is {names[0]} and B is {names[1]}: {same}."
        elif (kinds[0], kinds[2]) not in PAIRS[ComputeType(number)]:
            reason = (
                f"{ComputeType(number).name} does not take A and B of {names[0]} with "
                f"C of {names[2]}."
            )
        if reason:
            raise Refusal(Status.NOT_SUPPORTED, reason)
        found: IntEnum = ComputeType(number)
        return found


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
        self._mode(a, "pointer_mode", 2)

    def set_math_mode(self, a: Any) -> None:
        self._mode(a, "math_mode", 4)

    def _mode(self, a: Any, name: str, count: int) -> None:
        if not 0 <= a.mode < count:
            raise Refusal(Status.INVALID_VALUE)
        setattr(self.held(a.handle), name, a.mode)

    def _product(self, a: Any) -> None:
        """Judge a product's arguments in cuBLAS's order, and compute it."""
        held, p = self.held(a.handle), Product(a)
        if (wrong := p.refused()) is not None:
            self._print(p.symbol, wrong[0])
            raise Refusal(Status.INVALID_VALUE, f"{' '.join(wrong)}.")
        compute = p.compute
        tf32 = held.math_mode == Math.TF32_TENSOR_OP_MATH
        if tf32 and p.symbol.startswith("cublasSgemm"):
            compute = ComputeType.COMPUTE_32F_FAST_TF32
        if not (p.m and p.n and p.batch):
            return
        where = scale_type(compute), held.pointer_mode, held.stream
        scalars = self.model.scaled(a, *where, matrices=p.matrices(0))
        self._apart(p)
        for number in range(p.batch):
            self._one(p, p.matrices(number), compute, scalars)

    sgemm = gemm_ex = sgemm_strided_batched = gemm_strided_batched_ex = _product

    def _print(self, symbol: str, parameter: str) -> None:
        """Write to the terminal which parameter is illegal, as the library does."""
        routine, numbers = ROUTINES[symbol]
        if number := (NUMBERS | numbers).get(parameter):
            self.model.printed.append(
                f"** On entry to {routine} parameter number {number} had an illegal "
                "value"
            )

    def _apart(self, p: Product) -> None:
        """Refuse results of a batch that share memory."""
        first, step = p.matrices(0)[2], abs(p.strides[2])
        count = reach((first.rows, first.cols), (1, first.ld))
        interleaved = step > 0 and step + first.rows <= first.ld
        if p.batch > 1 and step < count and not interleaved:
            self.model.refuse(
                Fault(
                    "device-bounds",
                    f"stride_c is {p.strides[2]}, so the results of the batch share "
                    f"memory: one takes up {count} elements.",
                    "The products of a batch run at the same time, and which of them "
                    "writes last is chance. A stride of 0 is for operands that are "
                    "only read.",
                    headline="results that overlap",
                )
            )

    def _one(
        self,
        p: Product,
        matrices: tuple[Matrix, ...],
        compute: IntEnum,
        scalars: tuple[float, float],
    ) -> None:
        """Compute one product of a batch. beta = 0 means that C is not read."""
        alpha, beta = scalars
        total = torch.zeros(p.m, p.n, dtype=torch.float64)
        if alpha and p.k:
            left, right = map(self.model.matrix, matrices[:2])
            left = left.t() if p.trans[0] else left
            right = right.t() if p.trans[1] else right
            total = alpha * multiply(left, right, compute)
        out = self.model.matrix(matrices[2])
        if beta:
            total = total + beta * out.to(torch.float64)
        out.copy_(rounded(total, out.dtype))
