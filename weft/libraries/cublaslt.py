"""cuBLASLt, thinly: the part of `nvmath.bindings.cublasLt` that the course uses."""

import numpy as np

from weft.libraries.binding import bound
from weft.libraries.binding import cuBLASLtError as cuBLASLtError
from weft.libraries.enumerations import Epilogue as Epilogue
from weft.libraries.enumerations import MatmulDescAttribute as MatmulDescAttribute
from weft.libraries.enumerations import (
    MatmulPreferenceAttribute as MatmulPreferenceAttribute,
)
from weft.libraries.enumerations import MatrixLayoutAttribute as MatrixLayoutAttribute
from weft.libraries.enumerations import Order as Order
from weft.libraries.enumerations import PointerMode as PointerMode

create = bound("cublasLt", "create")
destroy = bound("cublasLt", "destroy")
matmul_desc_create = bound("cublasLt", "matmul_desc_create")
matmul_desc_destroy = bound("cublasLt", "matmul_desc_destroy")
matmul_desc_set_attribute = bound("cublasLt", "matmul_desc_set_attribute")
matrix_layout_create = bound("cublasLt", "matrix_layout_create")
matrix_layout_destroy = bound("cublasLt", "matrix_layout_destroy")
matrix_layout_set_attribute = bound("cublasLt", "matrix_layout_set_attribute")
matmul_preference_create = bound("cublasLt", "matmul_preference_create")
matmul_preference_destroy = bound("cublasLt", "matmul_preference_destroy")
matmul_preference_set_attribute = bound("cublasLt", "matmul_preference_set_attribute")
matmul_algo_get_heuristic = bound("cublasLt", "matmul_algo_get_heuristic")
matmul = bound("cublasLt", "matmul")

# One result of the heuristic: an algorithm of 64 opaque bytes, and what is known of it.
matmul_heuristic_result_dtype = np.dtype(
    [
        ("algo", "<u8", (8,)),
        ("workspace_size", "<u8"),
        ("state", "<i4"),
        ("waves_count", "<f4"),
        ("reserved", "<i4", (4,)),
    ]
)
