"""Programs of a grid that load and store blocks, in whatever language they are written.

The common parts of the checks of Triton and cuTile: memory in which every address
belongs to an array, a trace of accesses, hazards, and the results of a launch.
"""
