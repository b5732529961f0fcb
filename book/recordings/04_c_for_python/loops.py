"""The sum of a million squares, four times: how long each takes."""

import ctypes
import time

import numpy as np

N = 1_000_000


def load(path):
    function = ctypes.CDLL(path).sum_squares
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    function.restype = ctypes.c_double
    return function


def python_loop(values):
    total = 0.0
    for value in values:
        total += value * value
    return total


def best(function, times=20):
    runs = []
    for _ in range(times):
        start = time.perf_counter()
        function()
        runs.append(1e3 * (time.perf_counter() - start))
    return min(runs)


x = np.random.default_rng(0).random(N)
values = x.tolist()
plain, optimised = load("./libsums0.so"), load("./libsums2.so")
address = x.ctypes.data
ms = {
    "Python": best(lambda: python_loop(values)),
    "C, gcc -O0": best(lambda: plain(address, N)),
    "C, gcc -O2": best(lambda: optimised(address, N)),
    "(x * x).sum()": best(lambda: (x * x).sum()),
    "np.dot(x, x)": best(lambda: np.dot(x, x)),
}
for name, took in ms.items():
    print(f"{name:13} {took:7.2f} ms   {ms['Python'] / took:6.1f} times as fast")
