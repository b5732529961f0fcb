"""The programs of the lab, before and after: python programs.py [NAME ...].

Without a name, all of them run once. With --seconds S each runs for as long.
"""

import argparse
import math
import time
from contextlib import contextmanager

import numpy as np
import torch
from numba import cuda, float32

STEPS = 64
DT = float32(0.01)
PIECE = 64
VX, VY, VZ = 3, 4, 5


@cuda.jit
def one_step(x, v, x_out, v_out):
    """Advance each spring by one time step."""
    i = cuda.grid(1)

    if i < x.size:
        v_out[i] = v[i] - DT * x[i]
        x_out[i] = x[i] + DT * v_out[i]


@cuda.jit
def all_steps(x, v, steps, x_out, v_out):
    """Advance each spring by many time steps."""
    i = cuda.grid(1)

    if i < x.size:
        place, speed = x[i], v[i]
        for _ in range(steps):
            speed -= DT * place
            place += DT * speed
        x_out[i], v_out[i] = place, speed


@cuda.jit
def speeds(particles, out):
    """Write how fast each particle is; particles: (n, 8), one row each."""
    i = cuda.grid(1)

    if i < out.size:
        vx, vy, vz = particles[i, VX], particles[i, VY], particles[i, VZ]
        out[i] = math.sqrt(vx * vx + vy * vy + vz * vz)


@cuda.jit
def field_speeds(fields, out):
    """Write how fast each particle is; fields: (8, n), one row per field."""
    i = cuda.grid(1)

    if i < out.size:
        x, y, z = fields[VX, i], fields[VY, i], fields[VZ, i]
        out[i] = math.sqrt(x * x + y * y + z * z)


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
def cube_roots32(x, out):
    """Write the cube root of each x, by 20 steps of Newton's method."""
    i = cuda.grid(1)

    if i < x.size:
        y = float32(1)
        for _ in range(20):
            y = (float32(2) * y + x[i] / (y * y)) / float32(3)
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


@cuda.jit
def piece_sums(x, out):
    """Add the sum of each piece of PIECE rows to its column of out."""
    col = cuda.grid(1)
    first = cuda.blockIdx.y * PIECE

    if col < x.shape[1]:
        part = float32(0)
        for row in range(first, min(first + PIECE, x.shape[0])):
            part += x[row, col]
        cuda.atomic.add(out, col, part)


def device(*shape):
    return torch.rand(*shape, device="cuda") + 1


def springs():
    n = 1 << 14
    a, b = ([cuda.to_device(np.ones(n, np.float32)) for _ in "xv"] for _ in range(2))

    def chain(stream=0):
        now, then = a, b
        for _ in range(STEPS):
            one_step[n // 128, 128, stream](*now, *then)
            now, then = then, now

    def once():
        all_steps[n // 128, 128](*a, STEPS, *b)

    return {"one_step": chain, "all_steps": once}


def particles():
    n = 1 << 24
    rows, fields, out = map(cuda.as_cuda_array, (device(n, 8), device(8, n), device(n)))
    return {
        "speeds": lambda: speeds[n // 256, 256](rows, out),
        "field_speeds": lambda: field_speeds[n // 256, 256](fields, out),
    }


def roots():
    n = 1 << 24
    x, out = map(cuda.as_cuda_array, (device(n), device(n)))
    return {
        "cube_roots": lambda: cube_roots[n // 256, 256](x, out),
        "cube_roots32": lambda: cube_roots32[n // 256, 256](x, out),
    }


def columns():
    rows, cols = 1 << 15, 1024
    x, out = map(cuda.as_cuda_array, (device(rows, cols), device(cols)))
    return {
        "column_sums": lambda: column_sums[cols // 64, 64](x, out),
        "piece_sums": lambda: piece_sums[(cols // 64, rows // PIECE), 64](x, out),
    }


@contextmanager
def named(name):
    """Put a named range around what happens here."""
    torch.cuda.nvtx.range_push(name)
    yield
    torch.cuda.nvtx.range_pop()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=0)
    args = parser.parse_args()
    for make in (springs, particles, roots, columns):
        for name, work in make().items():
            if args.names and name not in args.names:
                continue
            with named(name):
                work()
                torch.cuda.synchronize()
            end = time.monotonic() + args.seconds
            if args.seconds:
                print(name, flush=True)
            while time.monotonic() < end:
                for _ in range(10):
                    work()
                torch.cuda.synchronize()


if __name__ == "__main__":
    main()
