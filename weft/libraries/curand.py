"""cuRAND's host API, thinly: the part of `nvmath.bindings.curand` that is used here."""

from weft.libraries.binding import bound, cuRANDError
from weft.libraries.enumerations import Ordering, RngType
from weft.libraries.enumerations import RandStatus as Status

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

__all__ = [
    "Ordering",
    "RngType",
    "Status",
    "create_generator",
    "cuRANDError",
    "destroy_generator",
    "generate",
    "generate_normal",
    "generate_uniform",
    "get_version",
    "set_generator_offset",
    "set_generator_ordering",
    "set_pseudo_random_generator_seed",
    "set_stream",
]
