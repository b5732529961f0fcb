"""The measurements of chapter 17: of launches and a layer, and of norms."""

from .measure_layer import (
    back_table,
    chains,
    layer_table,
    one_pass,
    print_per_kernel,
    replay_steps,
)
from .measure_norms import (
    back_kernels,
    backward,
    next_row,
    norm_kernels,
    overview,
    registers,
    shapes,
    variants,
    wide_kernels,
)

__all__ = [
    "back_kernels",
    "back_table",
    "backward",
    "chains",
    "layer_table",
    "next_row",
    "norm_kernels",
    "one_pass",
    "overview",
    "print_per_kernel",
    "registers",
    "replay_steps",
    "shapes",
    "variants",
    "wide_kernels",
]
