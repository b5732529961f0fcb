"""cuBLAS, thinly: the part of `nvmath.bindings.cublas` that the course uses.

Every function is one of C's. Matrices and scalars are passed by address; a status
other than 0 raises cuBLASError.
"""

from weft.libraries.binding import bound
from weft.libraries.binding import cuBLASError as cuBLASError
from weft.libraries.enumerations import ComputeType as ComputeType
from weft.libraries.enumerations import GemmAlgo as GemmAlgo
from weft.libraries.enumerations import Math as Math
from weft.libraries.enumerations import Operation as Operation
from weft.libraries.enumerations import PointerMode as PointerMode
from weft.libraries.enumerations import Status as Status

create = bound("cublas", "create")
destroy = bound("cublas", "destroy")
get_version = bound("cublas", "get_version")
set_stream = bound("cublas", "set_stream")
get_stream = bound("cublas", "get_stream")
set_workspace = bound("cublas", "set_workspace")
set_pointer_mode = bound("cublas", "set_pointer_mode")
get_pointer_mode = bound("cublas", "get_pointer_mode")
set_math_mode = bound("cublas", "set_math_mode")
get_math_mode = bound("cublas", "get_math_mode")
sgemm = bound("cublas", "sgemm")
gemm_ex = bound("cublas", "gemm_ex")
sgemm_strided_batched = bound("cublas", "sgemm_strided_batched")
gemm_strided_batched_ex = bound("cublas", "gemm_strided_batched_ex")
