"""cuRAND's host API, thinly: the part of `nvmath.bindings.curand` that is used here."""

from weft.libraries.binding import content

__getattr__, __dir__ = content("curand", __name__)
