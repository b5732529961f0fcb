"""cuFFT, thinly: the part of `nvmath.bindings.cufft` that the course uses.

A plan is made in two steps: `create` gives its number, `make_plan_many` says what it
does. Arrays are passed by address; a status other than 0 raises cuFFTError.
"""

from weft.libraries import enumerations
from weft.libraries.binding import bound
from weft.libraries.binding import cuFFTError as cuFFTError

Direction = enumerations.FftDirection
Result = enumerations.FftResult
Type = enumerations.FftType

create = bound("cufft", "create")
destroy = bound("cufft", "destroy")
get_version = bound("cufft", "get_version")
set_stream = bound("cufft", "set_stream")
make_plan1d = bound("cufft", "make_plan1d")
make_plan_many = bound("cufft", "make_plan_many")
get_size = bound("cufft", "get_size")
exec_c2c = bound("cufft", "exec_c2c")
exec_r2c = bound("cufft", "exec_r2c")
exec_c2r = bound("cufft", "exec_c2r")
