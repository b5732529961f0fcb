"""Exercises in `@cuda.jit` kernels: simulated, compiled, run on a GPU, counted."""
