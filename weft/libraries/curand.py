"""cuRAND's host API, thinly: the part of `nvmath.bindings.curand` that is used here."""

from weft.libraries.binding import bound
from weft.libraries.binding import cuRANDError as cuRANDError
from weft.libraries.enumerations import Ordering as Ordering
from weft.libraries.enumerations import RandStatus
from weft.libraries.enumerations import RngType as RngType

Status = RandStatus

create_generator = bound("curand", "create_generator")
destroy_generator = bound("curand", "destroy_generator")
get_version = bound("curand", "get_version")
set_stream = bound("curand", "set_stream")
set_pseudo_random_generator_seed = bound("curand", "set_pseudo_random_generator_seed")
set_generator_offset = bound("curand", "set_generator_offset")
set_generator_ordering = bound("curand", "set_generator_ordering")
generate = bound("curand", "generate")
generate_uniform = bound("curand", "generate_uniform")
generate_normal = bound("curand", "generate_normal")
