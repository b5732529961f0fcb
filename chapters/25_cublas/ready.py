"""Products that are ready to be timed: row-major tensors, on PyTorch's current stream.

They are written with the bindings, as the exercises of the lab are.
"""

import ctypes
from typing import Any

import numpy as np
import torch

from weft.libraries import CudaType, cublas, cublaslt
from weft.libraries.arguments import room, stream
from weft.libraries.cublas import ComputeType, Operation
from weft.libraries.cublaslt import (
    Epilogue,
    MatmulDescAttribute,
    MatmulPreferenceAttribute,
)

WORKSPACE = 1 << 25  # bytes
KINDS = {
    torch.float16: CudaType.R_16F,
    torch.bfloat16: CudaType.R_16BF,
    torch.float32: CudaType.R_32F,
    torch.float8_e4m3fn: CudaType.R_8F_E4M3,
}
_one, _zero = ctypes.c_float(1), ctypes.c_float(0)
ONE, ZERO = ctypes.addressof(_one), ctypes.addressof(_zero)


class Product:
    """c = a @ b by cuBLAS, with a handle and a workspace that are kept."""

    def __init__(self, compute: ComputeType = ComputeType.COMPUTE_32F) -> None:
        self.handle, self.compute = cublas.create(), compute
        self.room = room(WORKSPACE)

    def _begin(self) -> None:
        """Set the stream, and after it the workspace, which it takes away."""
        cublas.set_stream(self.handle, stream())
        cublas.set_workspace(self.handle, self.room.data_ptr(), self.room.nbytes)

    def __call__(self, a: Any, b: Any, c: Any) -> None:
        """Queue c = a @ b: (m, k), (k, n) → (m, n)."""
        self._begin()
        (m, k), n = a.shape, b.shape[1]
        cublas.gemm_ex(
            *(self.handle, Operation.N, Operation.N, n, m, k, ONE),
            *(b.data_ptr(), KINDS[b.dtype], b.stride(0)),
            *(a.data_ptr(), KINDS[a.dtype], a.stride(0), ZERO),
            *(c.data_ptr(), KINDS[c.dtype], c.stride(0), self.compute, -1),
        )

    def batch(self, a: Any, b: Any, c: Any) -> None:
        """Queue c[i] = a[i] @ b[i] for all i; b may be one matrix for all of them."""
        self._begin()
        (count, m, k), n = a.shape, b.shape[-1]
        step = b.stride(0) if b.ndim == 3 else 0
        cublas.gemm_strided_batched_ex(
            *(self.handle, Operation.N, Operation.N, n, m, k, ONE),
            *(b.data_ptr(), KINDS[b.dtype], b.stride(-2), step),
            *(a.data_ptr(), KINDS[a.dtype], a.stride(1), a.stride(0), ZERO),
            *(c.data_ptr(), KINDS[c.dtype], c.stride(1), c.stride(0)),
            *(count, self.compute, -1),
        )


class Linear:
    """y = gelu(x @ w.T + bias) by cuBLASLt, with descriptors that are made once.

    bias: None for the product alone. nbytes: how much workspace there may be. fast:
    whether fp8 is added up with fewer bits. found: the heuristic's algorithms.
    """

    def __init__(
        self,
        x: Any,
        w: Any,
        bias: Any,
        y: Any,
        nbytes: int = WORKSPACE,
        fast: bool = False,
    ) -> None:
        """Make the descriptors, and ask the heuristic for algorithms."""
        what = MatmulDescAttribute
        self.x, self.w, self.y = x, w, y
        self.room = room(nbytes)
        self.handle = cublaslt.create()
        self.desc = cublaslt.matmul_desc_create(ComputeType.COMPUTE_32F, CudaType.R_32F)
        self._put(what.TRANSA, Operation.T, np.int32)
        if bias is not None:
            self._put(what.EPILOGUE, Epilogue.GELU_BIAS, np.int32)
            self._put(what.BIAS_POINTER, bias.data_ptr(), np.int64)
        if fast:
            self._put(what.FAST_ACCUM, 1, np.int8)
        self.layouts = [
            cublaslt.matrix_layout_create(
                KINDS[t.dtype], t.shape[1], t.shape[0], t.stride(0)
            )
            for t in (w, x, y)
        ]
        self.found = self._algorithms(16)

    def _put(self, attribute: MatmulDescAttribute, value: int, dtype: Any) -> None:
        held = np.array([value], dtype)
        cublaslt.matmul_desc_set_attribute(
            self.desc, attribute, held.ctypes.data, held.nbytes
        )

    def _algorithms(self, most: int) -> Any:
        """The heuristic's algorithms within the workspace, best guess first."""
        preference = cublaslt.matmul_preference_create()
        limit = np.array([self.room.nbytes], np.uint64)
        name = MatmulPreferenceAttribute.MAX_WORKSPACE_BYTES
        cublaslt.matmul_preference_set_attribute(
            preference, name, limit.ctypes.data, limit.nbytes
        )
        found = np.zeros(most, cublaslt.matmul_heuristic_result_dtype)
        count = np.zeros(1, np.int32)
        a, b, d = self.layouts
        cublaslt.matmul_algo_get_heuristic(
            *(self.handle, self.desc, a, b, d, d, preference, most),
            *(found.ctypes.data, count.ctypes.data),
        )
        cublaslt.matmul_preference_destroy(preference)
        return found[: count[0]]

    def __call__(self, number: int = 0) -> None:
        """Queue the layer, with one of the algorithms that were found."""
        a, b, d = self.layouts
        algo, out = self.found[number : number + 1], self.y.data_ptr()
        cublaslt.matmul(
            *(self.handle, self.desc, ONE, self.w.data_ptr(), a),
            *(self.x.data_ptr(), b, ZERO, out, d, out, d, algo.ctypes.data),
            *(self.room.data_ptr(), self.room.nbytes, stream()),
        )
