"""cuTile's kernels, checked without a GPU.

cuTile is a separate package, `cuda-tile`. Its compiler turns a kernel into typed
instructions in Python; these are executed here, in NumPy, with every access traced.
Nothing here imports it before a check does.
"""

from weft.tile_programs.cutile import missing

__all__ = ["missing"]
