"""A thin cuRAND binding: the part of `nvmath.bindings.curand` that the course uses."""

from weft.libraries.binding import content

__getattr__, __dir__ = content("curand", __name__)
