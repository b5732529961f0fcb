"""A model of cuBLASLt: descriptors, layouts, a heuristic and matrix products."""

import struct
import zlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import torch

from weft.libraries.faults import Fault, Refusal
from weft.libraries.headers import CudaType, cublasLt
from weft.libraries.model import Kind, Library, Model
from weft.libraries.model_cublas import product
from weft.libraries.products import (
    BF16,
    FP8,
    HALF,
    INT32,
    PAIRS,
    SINGLE,
    Matrix,
    gelu,
    rounded,
    scale_type,
)

ComputeType, Epilogue = cublasLt.ComputeType, cublasLt.Epilogue
Operation = cublasLt.Operation
Order, Status = cublasLt.Order, cublasLt.Status
A, L = cublasLt.MatmulDescAttribute, cublasLt.MatrixLayoutAttribute
P = cublasLt.MatmulPreferenceAttribute
ALIGNED = 16  # bytes to which a workspace must be aligned
BEYOND = 100  # attribute numbers from here on are refused; most below exist
MAGIC = 0x6C61_636E_6E65_7765  # the first word of every algorithm of the model
# attributes of 8 bytes
WIDE = (A.BIAS_POINTER, A.EPILOGUE_AUX_POINTER, A.EPILOGUE_AUX_LD)
SIZES = {  # bytes of the attributes, by the function that makes their object
    "matmul_desc_create": {x: 8 if x in WIDE else 4 for x in A} | {A.FAST_ACCUM: 1},
    "matrix_layout_create": {
        x: 4 if x in (L.TYPE, L.ORDER, L.BATCH_COUNT) else 8 for x in L
    },
    "matmul_preference_create": {P.SEARCH_MODE: 4, P.MAX_WORKSPACE_BYTES: 8},
}


def needs(holds: bool, reason: str, status: int = Status.INVALID_VALUE) -> None:
    """Raise a `Refusal` with a reason and a status unless `holds`."""
    if not holds:
        raise Refusal(status, reason)


def operations(desc: dict[int, int]) -> str:
    """Format a descriptor's operations, as in 'TRANSA is T, and TRANSB is N.'"""
    a, b = (Operation(desc[name]).name for name in (A.TRANSA, A.TRANSB))
    return f"TRANSA is {a}, and TRANSB is {b}."


class Matmul:
    """One product: its matrices, its types and its epilogue.

    Raises `Refusal` if the descriptor and the layouts do not fit together.
    """

    def __init__(
        self,
        model: Model,
        desc: dict[int, int],
        layouts: list[dict[int, int]],
        addresses: list[int],
    ) -> None:
        """Check the product.

        desc, layouts: attributes by number. addresses: those of A, B, C and D.
        """
        self.model, self.desc, known = model, desc, model.known
        self.compute = known("compute type", ComputeType, desc[A.COMPUTE_TYPE])
        self.epilogue = known("epilogue", Epilogue, desc.get(A.EPILOGUE, 1))
        for name in (A.TRANSA, A.TRANSB):
            known("operation", Operation, desc[name])
        scale = known("scale type", CudaType, desc[A.SCALE_TYPE])
        usual = self.scale_type
        if usual == INT32 and scale == SINGLE:
            model.lacks(f"{self.compute.name} with a scale type of {scale.name}")
        says = f"{self.compute.name} does not scale in {scale.name}."
        needs(scale == usual, says)
        self.matrices = [
            Matrix(
                name,
                at,
                known("type", CudaType, x[L.TYPE]),
                *(x[L.ROWS], x[L.COLS], x[L.LD]),
                known("order", Order, x[L.ORDER]) == Order.ROW,
                x.get(L.BATCH_COUNT, 1),
                x[L.STRIDED_BATCH_OFFSET],
            )
            for name, at, x in zip("ABCD", addresses, layouts, strict=True)
        ]
        self._fits()

    @property
    def scale_type(self) -> Any:
        """The default type of alpha and beta."""
        return scale_type(self.compute)

    def has(self, part: str) -> bool:
        """Return whether the epilogue has `part`, such as BIAS or GELU."""
        return part in self.epilogue.name

    @property
    def bias_type(self) -> Any:
        """The type of the bias: D's, unless another is set."""
        usual = self.matrices[3].kind
        kind = self.desc.get(A.BIAS_DATA_TYPE, -1)
        return self.model.known("type", CudaType, kind) if kind >= 0 else usual

    def _fits(self) -> None:
        """Refuse shapes or types that do not match."""
        a, b, c, d = self.matrices
        needs(
            a.kind == b.kind or {a.kind, b.kind} <= set(FP8),
            f"A is {a.kind.name} and B is {b.kind.name}.",
        )
        if self.has("BIAS"):
            lacks = f"the epilogue {self.epilogue.name} has no BIAS_POINTER."
            needs(bool(self.desc[A.BIAS_POINTER]), lacks)
            needs(
                self.bias_type == d.kind or a.kind in FP8,
                f"the bias is {self.bias_type.name}, and D is {d.kind.name}: they must "
                "have the same type.",
            )
        for matrix in self.matrices:
            _, length = matrix.lines
            needs(
                matrix.ld >= length,
                f"the layout of {matrix.parameter} has a leading dimension of "
                f"{matrix.ld}, and a {matrix.line} has {length} elements.",
            )
        rows, inner = (a.cols, a.rows) if self.desc[A.TRANSA] else (a.rows, a.cols)
        other, cols = (b.cols, b.rows) if self.desc[A.TRANSB] else (b.rows, b.cols)
        needs(
            inner == other,
            f"op(A) is {rows} × {inner} and op(B) is {other} × {cols}: the inner sizes "
            f"differ. {operations(self.desc)}",
        )
        if len(counts := {x.batch for x in self.matrices}) > 1 or min(counts) < 1:
            self.model.lacks("layouts whose batch counts differ, or are below 1")
        for matrix in (c, d):
            needs(
                (matrix.rows, matrix.cols) == (rows, cols),
                f"op(A) op(B) is {rows} × {cols}, and the layout of {matrix.parameter} "
                f"is {matrix.rows} × {matrix.cols}.",
            )

    def supported(self) -> None:
        """Refuse a product that no kernel supports (for fp8, no kernel for Hopper)."""
        (a, b, _, d), none = self.matrices, Status.NOT_SUPPORTED
        if a.kind in FP8:
            order = bool(self.desc[A.TRANSA]) and not self.desc[A.TRANSB]
            as_it_is = "fp8 needs A transposed and B as it is, in column-major order."
            needs(order, as_it_is, none)
            needs(a.rows % 16 == 0, "fp8 needs a k that is a multiple of 16.", none)
            if a.cols % 8:
                self.model.lacks("fp8 with an m that is no multiple of 8")
            if FP8[0] not in (a.kind, b.kind) or d.kind not in (BF16, HALF, SINGLE):
                self.model.lacks(
                    f"fp8 with {a.kind.name}, {b.kind.name}, {d.kind.name}"
                )
            return
        if self.scale_type == INT32 and d.kind != INT32:
            self.model.lacks(f"{self.compute.name} with D of {d.kind.name}")
        needs(
            (a.kind, d.kind) in PAIRS.get(self.compute, ()),
            f"{self.compute.name} does not take A and B of {a.kind.name} with D of "
            f"{d.kind.name}.",
            none,
        )
        reason = f"the epilogue {self.epilogue.name} does not take a row-major D."
        needs(not (self.has("BIAS") and d.row_major), reason, none)

    def fingerprint(self) -> int:
        """Return a number that products share if they can use the same algorithms."""
        key = [replace(p, address=0) for p in self.matrices]
        flags = self.desc[A.TRANSA], self.desc[A.TRANSB], self.epilogue
        return zlib.crc32(repr((key, flags)).encode())

    def algorithms(self) -> list[tuple[int, ...]]:
        """Return the model's algorithms, best guess first: 8 words each.

        The fourth word is the workspace in bytes. The algorithms are invented. The
        first splits k and needs a workspace for partial sums, which lets a check notice
        whether one was passed.
        """
        d, mark = self.matrices[3], self.fingerprint()
        split = (MAGIC, 66, 4, 16 * d.rows * d.cols, mark, 0, 0, 0)
        numbers = (66, 71, 24, 67, 70, 21, 31)
        return [split, *((MAGIC, each, 1, 0, mark, 0, 0, 0) for each in numbers)]


def made(**given: int) -> Callable[[Any], dict[int, int]]:
    """Return a function that makes an object's attributes from a call's arguments.

    given: the attributes' numbers, by the names of the arguments.
    """
    return lambda a: defaultdict(
        int, {n: getattr(a, name) for name, n in given.items()}
    )


class CuBLASLt(Library):
    """The functions of cuBLASLt."""

    name = "cublasLt"
    kinds: ClassVar = {
        "create": Kind("handle of cuBLASLt", made(), Status.NOT_INITIALIZED),
        "matmul_desc_create": Kind(
            "matmul descriptor",
            made(compute_type=A.COMPUTE_TYPE, scale_type=A.SCALE_TYPE),
            Status.INVALID_VALUE,
        ),
        "matrix_layout_create": Kind(
            "matrix layout",
            made(type=L.TYPE, rows=L.ROWS, cols=L.COLS, ld=L.LD),
            Status.INVALID_VALUE,
        ),
        "matmul_preference_create": Kind(
            "matmul preference", made(), Status.INVALID_VALUE
        ),
    }

    def matmul_desc_set_attribute(self, a: Any) -> None:
        self._set(a, "matmul_desc")

    def matrix_layout_set_attribute(self, a: Any) -> None:
        self._set(a, "mat_layout", "matrix_layout")

    def matmul_preference_set_attribute(self, a: Any) -> None:
        self._set(a, "pref", "matmul_preference")

    def _set(self, a: Any, parameter: str, kind: str = "") -> None:
        """Set one attribute from the bytes at `buf`."""
        maker = f"{kind or parameter}_create"
        held = self.held(getattr(a, parameter), parameter, maker)
        what, size = self.kinds[maker].what, SIZES[maker].get(a.attr)
        needs(a.attr < BEYOND and a.buf != 0, f"attribute {a.attr} cannot be set.")
        if size is None:
            self.model.lacks(f"attribute {a.attr} of a {what}")
        needs(
            a.size_in_bytes == size,
            f"attribute {a.attr} of a {what} has {size} bytes, and {a.size_in_bytes} "
            "are passed.",
        )
        data = self.model.read(a.buf, size or 0, "buf")
        held[a.attr] = int.from_bytes(data, "little", signed=True)

    def matmul_algo_get_heuristic(self, a: Any) -> None:
        """Write the algorithms whose workspaces the preference allows."""
        work, most = self._work(a, "operation_desc"), 0
        if a.preference:
            held = self.held(a.preference, "preference", "matmul_preference_create")
            most = held[P.MAX_WORKSPACE_BYTES]
        count = "return_algo_count"
        self.model.write(a.return_algo_count, bytes(4), count)
        work.supported()
        found = [words for words in work.algorithms() if words[3] <= most]
        found = found[: max(a.requested_algo_count, 0)]
        for place, words in enumerate(found):
            data = struct.pack("<8QQif4i", *words, words[3], 0, 0.9, 0, 0, 0, 0)
            at = a.heuristic_results_array + place * len(data)
            self.model.write(at, data, "heuristic_results_array")
        self.model.write(a.return_algo_count, struct.pack("<i", len(found)), count)
        if not found:
            raise Refusal(Status.NOT_SUPPORTED)

    def matmul(self, a: Any) -> None:
        """Check the arguments as the library does, and compute the product."""
        work, size = self._work(a, "compute_desc"), a.workspace_size_in_bytes
        work.supported()
        if a.algo:
            self._algorithm(a, work)
        if a.workspace and size:
            self.model.room("the product", a.workspace, size, size)
        scale, mode = CudaType(work.desc[A.SCALE_TYPE]), work.desc[A.POINTER_MODE]
        taken = (*work.matrices[:2], work.matrices[3])
        self._compute(work, self.model.scaled(a, scale, mode, a.stream, matrices=taken))

    def _work(self, a: Any, desc: str) -> Matmul:
        """Return the product to compute; raise `Refusal` for unsuitable arguments."""
        self.held(a.light_handle, "light_handle")
        held = self.held(getattr(a, desc), desc, "matmul_desc_create")
        layouts = [
            self.held(getattr(a, name), name, "matrix_layout_create")
            for name in ("adesc", "bdesc", "cdesc", "ddesc")
        ]
        at = [getattr(a, x, 0) for x in "abcd"]
        return Matmul(self.model, held, layouts, at)

    def _algorithm(self, a: Any, work: Matmul) -> None:
        """Refuse an algorithm that does not suit this product and workspace."""
        words = struct.unpack("<8Q", self.model.read(a.algo, 64, "algo"))
        if words[0] != MAGIC:
            self.model.refuse(
                Fault(
                    "pointer",
                    "algo is the address of something that is no algorithm.",
                    "It has to be one of the results of the heuristic: the address of "
                    'results["algo"][i], which is also that of results[i].',
                )
            )
        other = "this algorithm was found for another product."
        needs(words[4] == work.fingerprint(), other, Status.NOT_SUPPORTED)
        needs(
            words[3] <= a.workspace_size_in_bytes,
            f"this algorithm needs {words[3]:,} bytes of workspace, and "
            f"{a.workspace_size_in_bytes:,} are passed.",
        )
        aligned = not (words[3] and a.workspace % ALIGNED)
        needs(aligned, f"the workspace is not aligned to {ALIGNED} bytes.")

    def _compute(self, work: Matmul, scalars: tuple[float, float]) -> None:
        """Compute D = epilogue(alpha op(A) op(B) + beta C)."""
        desc, (alpha, beta) = work.desc, scalars
        a, b, c, d = work.matrices
        trans = desc[A.TRANSA], desc[A.TRANSB]
        total = alpha * product(self.model, (a, b, d), trans, work.compute)
        if beta:
            total = total + beta * self.model.matrix(c).to(torch.float64)
        out = self.model.matrix(d)
        total = self._epilogue(work, total)
        out.copy_(rounded(total, out.dtype))

    def _epilogue(self, work: Matmul, total: torch.Tensor) -> torch.Tensor:
        """Apply the epilogue to `total`, and return the result.

        It may add a bias with one element per row of D, store the auxiliary matrix, and
        apply an activation function.
        """
        d, desc = work.matrices[3], work.desc
        if d.batch > 1 and (work.has("BIAS") or work.has("AUX")):
            self.model.lacks(f"the epilogue {work.epilogue.name} for a batch")
        if work.has("BIAS"):
            vector = desc[A.BIAS_POINTER], work.bias_type, d.rows, 1, d.rows
            bias = self.model.matrix(Matrix("the bias", *vector))
            total = total + bias.to(torch.float64)
        if work.has("AUX"):
            at = desc[A.EPILOGUE_AUX_POINTER], d.kind, d.rows, d.cols
            where = Matrix("the auxiliary matrix", *at, desc[A.EPILOGUE_AUX_LD])
            held = self.model.matrix(where)
            held.copy_(total.float().to(held.dtype))
        if work.has("RELU"):
            return total.clamp(min=0)
        return gelu(total) if work.has("GELU") else total
