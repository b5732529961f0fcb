"""The measurement of chapter 04: loops in Python, in C and in NumPy."""

import time

import numpy as np


def best(function, times=20):
    """Return the time of the fastest run, in ms."""
    runs = []
    for _ in range(times):
        start = time.perf_counter()
        function()
        runs.append(1e3 * (time.perf_counter() - start))
    return min(runs)


def python_loop(values):
    total = 0.0
    for value in values:
        total += value * value
    return total


def loops(sum_squares, guess):
    """Print and return how many ms the sum of a million squares takes.

    sum_squares: the C function, or None if it was not compiled.
    """
    x = np.random.default_rng(0).random(1_000_000)
    values = x.tolist()
    ms = {"Python": best(lambda: python_loop(values))}
    if sum_squares:
        ms["C"] = best(lambda: sum_squares(x, x.size))
    ms["NumPy"] = best(lambda: (x * x).sum())

    for name, took in ms.items():
        times, said = ms["Python"] / took, guess.get(name)
        print(f"{name:7} {took:7.3f} ms   {times:6.1f} times as fast", end="")
        print(f", you said {said}" if said is not None else "")
    return ms
