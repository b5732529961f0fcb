"""What the measurements of chapter 35 need: digits, and the fused step."""

from . import digits
from .fused import Fused

__all__ = ["Fused", "digits"]
