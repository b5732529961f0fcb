"""The model's cuBLAS: what a handle holds, what is refused, what is computed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from weft.libraries.device_memory import DTYPES
from weft.libraries.enumerations import ComputeType, CudaType, Math, Status
from weft.libraries.faults import Fault
from weft.libraries.model import Call, Model
from weft.libraries.products import (
    PAIRS,
    Matrix,
    multiply,
    scale_type,
)

VERSION = 130100
HANDLE = "handle of cuBLAS"
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
    workspace: tuple[int, int] | None = None


@dataclass(frozen=True)
class Product:
    """One call of a GEMM, as it came in."""

    symbol: str
    handle: int
    trans: tuple[int, int]
    m: int
    n: int
    k: int
    alpha: int
    beta: int
    a: tuple[int, int, int]  # address, type, leading dimension
    b: tuple[int, int, int]
    c: tuple[int, int, int]
    compute: int = ComputeType.COMPUTE_32F
    batch: int = 1
    strides: tuple[int, int, int] = (0, 0, 0)

    def matrices(self, number: int) -> tuple[Matrix, Matrix, Matrix]:
        """The three matrices as they are stored, of one product of the batch."""
        shapes = (
            (self.k, self.m) if self.trans[0] else (self.m, self.k),
            (self.n, self.k) if self.trans[1] else (self.k, self.n),
            (self.m, self.n),
        )
        found = []
        for name, (address, kind, ld), (rows, cols), step in zip(
            "ABC", (self.a, self.b, self.c), shapes, self.strides, strict=True
        ):
            size = DTYPES[CudaType(kind)].itemsize
            at = address + number * step * size
            found.append(Matrix(name, at, CudaType(kind), rows, cols, ld))
        return found[0], found[1], found[2]

    def refused(self) -> tuple[str, str] | None:
        """The parameter that is illegal, and why; None if all are legal."""
        for name, value in zip(("transa", "transb"), self.trans, strict=True):
            if value not in (0, 1, 2):
                return name, f"is {value}, which is no operation"
        for name, value in zip("mnk", (self.m, self.n, self.k), strict=True):
            if value < 0:
                return name, f"is {value}"
        stored = (
            ("lda", self.a[2], ("k", self.k) if self.trans[0] else ("m", self.m)),
            ("ldb", self.b[2], ("n", self.n) if self.trans[1] else ("k", self.k)),
            ("ldc", self.c[2], ("m", self.m)),
        )
        for name, ld, (letter, rows) in stored:
            if ld < max(1, rows):
                return name, (
                    f"is {ld}. A column of the matrix as it is stored has {letter} = "
                    f"{rows} elements, and the next one cannot begin before its end"
                )
        if self.batch < 0:
            return "batch_count", f"is {self.batch}"
        return None


class CuBLAS:
    """The functions of cuBLAS, by the names that the binding has for them."""

    def __init__(self, model: Model) -> None:
        self.model = model

    # Handles

    def create(self, result: int) -> int:
        address = self.model.objects.create(HANDLE, Handle(), self.model.here())
        self.model.write(result, address.to_bytes(8, "little"), "handle")
        return Status.SUCCESS

    def destroy(self, handle: int) -> int:
        gone = self.model.objects.destroy(handle, HANDLE, self.model.here())
        return Status.SUCCESS if gone else Status.NOT_INITIALIZED

    def _of(self, handle: int, then: Callable[[Handle], int]) -> int:
        held = self.model.objects.get(handle, HANDLE, "handle")
        return Status.NOT_INITIALIZED if held is None else then(held)

    def _set(self, handle: int, **values: Any) -> int:
        def change(held: Handle) -> int:
            for name, value in values.items():
                setattr(held, name, value)
            return Status.SUCCESS

        return self._of(handle, change)

    def _get(self, handle: int, name: str, result: int, size: int) -> int:
        def show(held: Handle) -> int:
            value = VERSION if name == "version" else getattr(held, name)
            self.model.write(result, value.to_bytes(size, "little"), name)
            return Status.SUCCESS

        return self._of(handle, show)

    def get_version(self, handle: int, result: int) -> int:
        return self._get(handle, "version", result, 4)

    def set_stream(self, handle: int, stream: int) -> int:
        return self._set(handle, stream=stream, workspace=None)

    def get_stream(self, handle: int, result: int) -> int:
        return self._get(handle, "stream", result, 8)

    def set_workspace(self, handle: int, workspace: int, size: int) -> int:
        if workspace and size:
            room = Matrix("workspace", workspace, CudaType.R_8I, size, 1, size)
            self.model.span(room)
        return self._set(handle, workspace=(workspace, size))

    def set_pointer_mode(self, handle: int, mode: int) -> int:
        if mode not in (0, 1):
            return Status.INVALID_VALUE
        return self._set(handle, pointer_mode=mode)

    def get_pointer_mode(self, handle: int, result: int) -> int:
        return self._get(handle, "pointer_mode", result, 4)

    def set_math_mode(self, handle: int, mode: int) -> int:
        if mode not in (0, 1, 2, 3):
            return Status.INVALID_VALUE
        return self._set(handle, math_mode=mode)

    def get_math_mode(self, handle: int, result: int) -> int:
        return self._get(handle, "math_mode", result, 4)

    # Products

    def sgemm(
        self, handle: int, transa: int, transb: int, m: int, n: int, k: int,
        alpha: int, a: int, lda: int, b: int, ldb: int, beta: int, c: int, ldc: int,
    ) -> int:  # fmt: skip
        return self._run(
            Product(
                "cublasSgemm", handle, (transa, transb), m, n, k, alpha, beta,
                (a, 0, lda), (b, 0, ldb), (c, 0, ldc),
            )
        )  # fmt: skip

    def gemm_ex(
        self, handle: int, transa: int, transb: int, m: int, n: int, k: int,
        alpha: int, a: int, atype: int, lda: int, b: int, btype: int, ldb: int,
        beta: int, c: int, ctype: int, ldc: int, compute_type: int, algo: int,
    ) -> int:  # fmt: skip
        return self._run(
            Product(
                "cublasGemmEx", handle, (transa, transb), m, n, k, alpha, beta,
                (a, atype, lda), (b, btype, ldb), (c, ctype, ldc), compute_type,
            )
        )  # fmt: skip

    def sgemm_strided_batched(
        self, handle: int, transa: int, transb: int, m: int, n: int, k: int,
        alpha: int, a: int, lda: int, stride_a: int, b: int, ldb: int, stride_b: int,
        beta: int, c: int, ldc: int, stride_c: int, batch_count: int,
    ) -> int:  # fmt: skip
        return self._run(
            Product(
                "cublasSgemmStridedBatched", handle, (transa, transb), m, n, k, alpha,
                beta, (a, 0, lda), (b, 0, ldb), (c, 0, ldc), ComputeType.COMPUTE_32F,
                batch_count, (stride_a, stride_b, stride_c),
            )
        )  # fmt: skip

    def gemm_strided_batched_ex(
        self, handle: int, transa: int, transb: int, m: int, n: int, k: int,
        alpha: int, a: int, atype: int, lda: int, stride_a: int, b: int, btype: int,
        ldb: int, stride_b: int, beta: int, c: int, ctype: int, ldc: int,
        stride_c: int, batch_count: int, compute_type: int, algo: int,
    ) -> int:  # fmt: skip
        return self._run(
            Product(
                "cublasGemmStridedBatchedEx", handle, (transa, transb), m, n, k, alpha,
                beta, (a, atype, lda), (b, btype, ldb), (c, ctype, ldc), compute_type,
                batch_count, (stride_a, stride_b, stride_c),
            )
        )  # fmt: skip

    def _run(self, p: Product) -> int:
        """Judge a product's arguments in cuBLAS's order, and compute it."""
        held: Handle | None = self.model.objects.get(p.handle, HANDLE, "handle")
        if held is None:
            return Status.NOT_INITIALIZED
        status = self.model.fail_next.pop(p.symbol, 0)
        if status:
            return status
        wrong = p.refused()
        if wrong is not None:
            self._refusal(p, *wrong)
            return Status.INVALID_VALUE
        if (reason := unsupported(p)) is not None:
            self.model.refusals.append(reason)
            self.model.said("cublas", reason)
            return Status.NOT_SUPPORTED
        compute = ComputeType(FORMER.get(p.compute, p.compute))
        if p.symbol.startswith("cublasSgemm") and held.math_mode == (
            Math.TF32_TENSOR_OP_MATH
        ):
            compute = ComputeType.COMPUTE_32F_FAST_TF32
        if not (p.m and p.n and p.batch):
            return Status.SUCCESS
        scale = scale_type(compute)
        alpha, beta = (
            self.model.scalar(at, scale, held.pointer_mode, name)
            for at, name in ((p.alpha, "alpha"), (p.beta, "beta"))
        )
        mode = held.pointer_mode
        seen = (self.model.around(p.alpha, mode), self.model.around(p.beta, mode))
        here = self.model.here()
        self.model.calls.append(
            Call(
                p.symbol,
                (alpha, beta),
                seen,
                scale,
                held.stream,
                here,
                matrices=p.matrices(0),
            )
        )
        self._apart(p)
        for number in range(p.batch):
            self._one(p, p.matrices(number), compute, (alpha, beta))
        return Status.SUCCESS

    def _refusal(self, p: Product, name: str, reason: str) -> None:
        """Say which parameter is illegal, as the library does and in words."""
        routine, numbers = ROUTINES[p.symbol]
        number = (NUMBERS | numbers).get(name)
        line = f"{name} {reason}."
        self.model.refusals.append(line)
        if number:
            self.model.printed.append(
                f"** On entry to {routine} parameter number {number} had an illegal "
                "value"
            )
        self.model.said("cublas", f"{name} {reason}")

    def _apart(self, p: Product) -> None:
        """Refuse results of a batch that share memory."""
        if p.batch < 2:
            return
        first = p.matrices(0)[2]
        step = abs(p.strides[2])
        if step < first.ld * (first.cols - 1) + first.rows and first.elements:
            interleaved = step > 0 and step + first.rows <= first.ld
            if not interleaved:
                self.model.refuse(
                    Fault(
                        "device-bounds",
                        f"stride_c is {p.strides[2]}, so the results of the batch "
                        f"share memory: one takes up {first.elements} elements.",
                        "The products of a batch run at the same time, and which of "
                        "them writes last is chance. A stride of 0 is for operands "
                        "that are only read.",
                        headline="results that overlap",
                    )
                )

    def _one(
        self,
        p: Product,
        matrices: tuple[Matrix, Matrix, Matrix],
        compute: ComputeType,
        scalars: tuple[float, float],
    ) -> None:
        """Compute one product of a batch. beta = 0 means that C is not read."""
        a, b, c = matrices
        alpha, beta = scalars
        for matrix in matrices if alpha and p.k else (c,):
            self.model.span(matrix)
        out = self.model.view(c)
        total = torch.zeros(p.m, p.n, dtype=torch.float64)
        if alpha and p.k:
            left, right = (self.model.view(x) for x in (a, b))
            left = left.t() if p.trans[0] else left
            right = right.t() if p.trans[1] else right
            total = alpha * multiply(left, right, compute)
        if beta:
            total = total + beta * out.to(torch.float64)
        if out.dtype not in (torch.float64, torch.int32):
            total = total.float()
        out.copy_(total.to(out.dtype))


def unsupported(p: Product) -> str | None:
    """Why the library does not support these types together, or None."""
    number = FORMER.get(p.compute, p.compute)
    if number not in PAIRS:
        return f"compute_type {p.compute} is none that cublasGemmEx knows."
    compute = ComputeType(number)
    kinds = [CudaType(x[1]) if known(x[1]) else None for x in (p.a, p.b, p.c)]
    names = [k.name if k is not None else "unknown" for k in kinds]
    if kinds[0] != kinds[1]:
        return f"A is {names[0]} and B is {names[1]}: they must have the same type."
    if (kinds[0], kinds[2]) not in PAIRS[compute]:
        return (
            f"{compute.name} does not take A and B of {names[0]} with C of {names[2]}."
        )
    return None


def known(number: int) -> bool:
    return number in DTYPES
