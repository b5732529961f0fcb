"""cuBLASLt, thinly: the part of `nvmath.bindings.cublasLt` that the course uses."""

from weft.libraries.binding import content

__getattr__, __dir__ = content("cublasLt", __name__)
