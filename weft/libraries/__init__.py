"""NVIDIA's libraries in C: thin bindings, and a model that judges calls of them.

    from weft.libraries import cublas, cublasLt

With a GPU, the functions of `cublas` are NVIDIA's. Without one, and in a check, they
belong to a model, which does the same arithmetic and keeps book of what is passed.
"""

from weft.libraries import cublas
from weft.libraries import cublaslt as cublasLt
from weft.libraries.enumerations import CudaType

__all__ = ["CudaType", "cublas", "cublasLt"]
