"""Programs that run on a grid and load and store blocks, in any language.

The common parts of the checks of Triton and cuTile: memory in which every address
belongs to an array, a trace of accesses, hazards, and the results of a launch.
"""
