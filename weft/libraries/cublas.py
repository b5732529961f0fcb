"""A thin cuBLAS binding: the part of `nvmath.bindings.cublas` that the course uses.

Every function is a C function. Matrices and scalars are passed by address; a status
other than 0 raises cuBLASError.
"""

from weft.libraries.binding import content

__getattr__, __dir__ = content("cublas", __name__)
