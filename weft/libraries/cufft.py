"""A thin cuFFT binding: the part of `nvmath.bindings.cufft` that the course uses.

A plan is made in two steps: `create` returns its number, `make_plan_many` sets what it
computes. Arrays are passed by address; a status other than 0 raises cuFFTError.
"""

from weft.libraries.binding import content

__getattr__, __dir__ = content("cufft", __name__)
