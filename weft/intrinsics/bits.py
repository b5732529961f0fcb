"""The bits of numbers, as a register holds them."""

from typing import Any

import numpy as np


def bits(value: Any) -> int:
    """Return an integer's low 32 bits, or the bits of any other number as float32."""
    if isinstance(value, (int, np.integer)):
        return int(value) & 0xFFFFFFFF
    return int(np.float32(value).view(np.uint32))
