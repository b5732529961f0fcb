"""cuRAND's host API, thinly: the part of `nvmath.bindings.curand` in use here."""

from weft.libraries.binding import content

__getattr__, __dir__ = content("curand", __name__)
