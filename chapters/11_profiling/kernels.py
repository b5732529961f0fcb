"""The kernels of chapter 11: the four programs of the lab, and two others."""

import inspect
import math

from numba import cuda, float32

DT = float32(0.01)
VX, VY, VZ = 3, 4, 5  # where a particle keeps its velocity
THIRD = float32(1 / 3)


@cuda.jit
def one_step(x, v, x_out, v_out):
    """Advance each spring by one time step."""
    i = cuda.grid(1)

    if i < x.size:
        v_out[i] = v[i] - DT * x[i]
        x_out[i] = x[i] + DT * v_out[i]


@cuda.jit
def speeds(particles, out):
    """Write how fast each particle is; particles: (n, 8), one row each."""
    i = cuda.grid(1)

    if i < out.size:
        vx, vy, vz = particles[i, VX], particles[i, VY], particles[i, VZ]
        out[i] = math.sqrt(vx * vx + vy * vy + vz * vz)


@cuda.jit
def cube_roots(x, out):
    """Write the cube root of each x, by 20 steps of Newton's method."""
    i = cuda.grid(1)

    if i < x.size:
        y = 1.0
        for _ in range(20):
            y = (2.0 * y + x[i] / (y * y)) / 3.0
        out[i] = y


@cuda.jit
def column_sums(x, out):
    """Add up each column of x, one thread per column."""
    col = cuda.grid(1)

    if col < x.shape[1]:
        total = float32(0)
        for row in range(x.shape[0]):
            total += x[row, col]
        out[col] = total


def listing():
    """Return the code of the four kernels that the lab asks to read."""
    kernels = one_step, speeds, cube_roots, column_sums
    return "\n".join(inspect.getsource(kernel.py_func) for kernel in kernels)


@cuda.jit
def double(x):
    """Double each element of x."""
    i = cuda.grid(1)

    if i < x.size:
        x[i] *= float32(2)


@cuda.jit
def one_division(x, out):
    """Write the cube root of each x; one division is now a product."""
    i = cuda.grid(1)

    if i < x.size:
        y = float32(1)
        for _ in range(20):
            y = (float32(2) * y + x[i] / (y * y)) * THIRD
        out[i] = y
