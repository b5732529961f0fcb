"""cuTile's kernels, checked without a GPU.

cuTile is a separate package, `cuda-tile`. Its compiler, which is written in Python,
turns a kernel into typed instructions; these are executed here, in NumPy, with every
access traced. `cuda-tile` is imported only when a check needs it.
"""

from weft.tile_programs.cutile import missing

__all__ = ["missing"]
