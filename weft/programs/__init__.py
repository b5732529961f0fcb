"""Programs of a grid that load and store blocks, in whatever language they are written.

What the rooms of Triton and of cuTile have in common: memory in which every address
belongs to an array, a trace of accesses, hazards, and what a launch leaves behind.
"""
