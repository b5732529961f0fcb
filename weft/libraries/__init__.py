"""NVIDIA's C libraries: thin bindings, and a model that checks calls to them.

     from weft.libraries import cublas, cublasLt, cudnn, cufft, curand

With a GPU, the functions of `cublas` are NVIDIA's. Without one, or in a check that uses
a model, they belong to a model, which does the same arithmetic and records the calls.
"""

from typing import Any

from weft.libraries import cublas, cudnn, cufft, curand
from weft.libraries import cublaslt as cublasLt
from weft.libraries.headers import CudaType
from weft.libraries.loading import library

__all__ = [
    "CudaType",
    "cublas",
    "cublasLt",
    "cudnn",
    "cufft",
    "curand",
    "library",
    "on_device",
]


def on_device(tensor: Any) -> Any:
    """Copy a CPU tensor, or a NumPy array, to the device on which the libraries work.

    This is the GPU, or a model's device if there is no GPU or a check uses the model.
    The copy has an address, a shape and strides, and its `cpu()` copies it back.
    """
    from weft.libraries import arguments

    return arguments.on_device(tensor)
