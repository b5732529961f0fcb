"""Checks of `@cuda.jit` kernels, in stages: simulation, compilation, GPU run, cost."""
