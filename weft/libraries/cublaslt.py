"""A thin binding to cuBLASLt: what the course uses of `nvmath.bindings.cublasLt`."""

from weft.libraries.binding import content

__getattr__, __dir__ = content("cublasLt", __name__)
