"""A thin binding of cuRAND: what the course uses of `nvmath.bindings.curand`."""

from weft.libraries.binding import content

__getattr__, __dir__ = content("curand", __name__)
