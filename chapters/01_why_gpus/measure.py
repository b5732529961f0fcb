"""The measurements of chapter 01. Each function times, and returns a table.

On a GPU, importing this module finds out how many threads of the CPU are fastest.
"""

import os
from time import perf_counter

import numba
import numpy as np
from numba import cuda

import weft
from weft import bench

from .kernels import (
    chase_cpu,
    chase_gpu,
    in_turn_cpu,
    in_turn_gpu,
    shared_out_cpu,
)

if weft.GPU:
    import torch

if hasattr(os, "sched_getaffinity"):
    THREADS = len(os.sched_getaffinity(0))  # those that we may use
else:
    THREADS = os.cpu_count()


def shown(value, digits=2):
    """Write a number for a table; "?" where an exercise is still open."""
    return "?" if value is None else f"{value:,.{digits}f}"


def one_thread_each():
    numbers = np.arange(1_047_577, 1_048_577)
    out = np.empty_like(numbers)
    d_numbers = cuda.to_device(numbers)
    d_out = cuda.device_array_like(numbers)
    return {
        "one thread of the CPU": lambda: in_turn_cpu(numbers, out),
        "one thread of the GPU": lambda: in_turn_gpu[1, 1](d_numbers, d_out),
    }


def alone(guess=None):
    """Let one thread of each processor work through 1,000 numbers."""
    return bench.compare(
        "1,000 numbers by one thread",
        one_thread_each,
        baseline="one thread of the CPU",
        guess=guess,
        host=True,
        unsteady="the host's time is part of it",
    )


def seconds(count):
    """Return how long `count` threads of the CPU take for 2^18 numbers."""
    numba.set_num_threads(count)
    numbers = np.arange(1, 1 << 18)
    out = np.empty_like(numbers)
    times = []
    for _ in range(9):
        start = perf_counter()
        shared_out_cpu(numbers, out)
        times.append(perf_counter() - start)
    return np.median(times)


if weft.GPU:
    counts = [THREADS - 2, THREADS // 2, THREADS // 4]
    best = min({max(count, 1) for count in counts}, key=seconds)
    numba.set_num_threads(best)
    torch.set_num_threads(best)


def pinned(x):
    """Return x as a tensor in memory that the GPU can copy from directly."""
    return torch.from_numpy(x).pin_memory()


def crowd(count_steps, guess=None):
    """Count the steps of 2^20 numbers with all that each processor has."""

    def everybody():
        numbers = np.arange(1, (1 << 20) + 1)
        out = np.empty_like(numbers)
        near, back = pinned(numbers), pinned(out)
        far, found = near.cuda(), near.cuda()
        d_far, d_found = cuda.as_cuda_array(far), cuda.as_cuda_array(found)

        def kernel():
            count_steps[numbers.size // 128, 128](d_far, d_found)

        def all_of_it():
            far.copy_(near, non_blocking=True)
            kernel()
            back.copy_(found)

        return {
            "CPU, 1 thread": lambda: in_turn_cpu(numbers, out),
            "CPU, many threads": lambda: shared_out_cpu(numbers, out),
            "GPU": kernel,
            "GPU and copies": all_of_it,
        }

    if weft.GPU:
        print(f"The CPU is fastest with {best} of its {THREADS} threads.")
    return bench.compare(
        "2^20 numbers by many threads",
        everybody,
        baseline="CPU, many threads",
        guess=guess,
        host=True,
        unsteady="the host's time is part of it",
    )


def race(title, racing, sizes):
    """Time a task at all sizes: size -> table."""
    return {n: bench.compare(title.format(n), racing(n), host=True) for n in sizes}


def racing_saxpy(n):
    """Return the candidates of the race over y = 2.5 * x + y, n elements."""

    def build():
        x, y = (torch.rand(n).pin_memory() for _ in "xy")
        d_x, d_y = x.cuda(), y.cuda()

        def send():
            d_x.copy_(x, non_blocking=True)
            d_y.copy_(y, non_blocking=True)

        return {
            "CPU, many threads": lambda: torch.add(y, x, alpha=2.5, out=y),
            "send": send,
            "kernel": lambda: torch.add(d_y, d_x, alpha=2.5, out=d_y),
            "fetch": lambda: y.copy_(d_y),
        }

    return build


def racing_matmul(n):
    """Return the candidates of the race over a product of n x n matrices."""

    def build():
        a, b, c = (torch.rand(n, n).pin_memory() for _ in "abc")
        d_a, d_b, d_c = a.cuda(), b.cuda(), c.cuda()

        def send():
            d_a.copy_(a, non_blocking=True)
            d_b.copy_(b, non_blocking=True)

        return {
            "CPU, many threads": lambda: torch.matmul(a, b, out=c),
            "send": send,
            "kernel": lambda: torch.matmul(d_a, d_b, out=d_c),
            "fetch": lambda: c.copy_(d_c),
        }

    return build


def crossovers(count_steps):
    """Time three tasks at several sizes: task -> size -> table."""

    def racing_steps(n):
        """Return the candidates of the race over the numbers from 1 to n."""

        def build():
            numbers = np.arange(1, n + 1)
            out = np.empty_like(numbers)
            near, back = pinned(numbers), pinned(out)
            far, found = near.cuda(), near.cuda()
            d_far, d_found = cuda.as_cuda_array(far), cuda.as_cuda_array(found)
            grid = -(-n // 128), 128
            cpus = {"CPU, many threads": lambda: shared_out_cpu(numbers, out)}
            if n <= 1 << 12:
                cpus["CPU, 1 thread"] = lambda: in_turn_cpu(numbers, out)
            return cpus | {
                "send": lambda: far.copy_(near, non_blocking=True),
                "kernel": lambda: count_steps[grid](d_far, d_found),
                "fetch": lambda: back.copy_(found),
            }

        return build

    tables = {
        "steps": race(
            "steps of {:,} numbers",
            racing_steps,
            [1, 1 << 10, 1 << 12, 1 << 14, 1 << 16],
        ),
        "saxpy": race(
            "saxpy of {:,} elements",
            racing_saxpy,
            [1 << 10, 1 << 16, 1 << 20, 1 << 26],
        ),
        "matmul": race(
            "product of {0} x {0} matrices",
            racing_matmul,
            [128, 256, 512, 1024, 4096],
        ),
    }
    return tables


def as_arrays(by_size):
    """Return sizes, and the ms of CPU, send, kernel and fetch, as arrays."""
    rows = [{row.name: row.ms for row in table} for table in by_size.values()]
    cpus = [min(v for k, v in r.items() if "CPU" in k) for r in rows]
    parts = ([r[k] for r in rows] for k in ("send", "kernel", "fetch"))
    return tuple(map(np.array, (list(by_size), cpus, *parts)))


def apply_crossover(crossover, measured):
    """Print the learner's crossovers, with copies and without."""
    for task, (sizes, cpu_ms, send, kernel, fetch) in measured.items():
        nothing = np.zeros_like(send)
        whole = crossover(sizes, cpu_ms, send, kernel, fetch)
        there = crossover(sizes, cpu_ms, nothing, kernel, nothing)
        print(
            f"{task:7} with copies: {shown(whole, 0):>6}"
            f"   data already there: {shown(there, 0):>6}"
        )


def apply_amdahl(amdahl, measured):
    """Print how much faster more arithmetic units make each task."""
    for task, (_, _, send, kernel, fetch) in measured.items():
        copies = (send + fetch)[-1] / (send + kernel + fetch)[-1]
        print(
            f"{task:7} copies {copies:4.0%}"
            f"   10 times the units: {shown(amdahl(copies, 10))}"
            f"   a million times: {shown(amdahl(copies, 10**6))}"
        )


def both_laws(amdahl, gustafson):
    """Print what the two laws say of a program that is 5 % serial."""
    print("5 % serial      Amdahl   Gustafson")
    for workers in (1, 4, 16, 64, 256, 1024):
        fixed = shown(amdahl(0.05, workers))
        scaled = shown(gustafson(0.05, workers))
        print(f"{workers:4} workers {fixed:>9} {scaled:>11}")


def links(size):
    """Return links through all of `size` bytes, 128 bytes apart, shuffled."""
    order = 32 * np.random.default_rng(1).permutation(size // 128)
    link = np.zeros(size // 4, np.uint32)
    link[order] = np.roll(order, -1)
    return link


def chases():
    rungs = {}
    for name, size in {"16 KB": 1 << 14, "1 GB": 1 << 30}.items():
        cpu = links(size), 1_000_000, np.zeros(1, np.uint32)
        gpu = cuda.to_device(cpu[0]), 1_000_000, cuda.to_device(cpu[2])
        rungs[f"CPU, {name}"] = lambda args=cpu: chase_cpu(*args)
        rungs[f"GPU, {name}"] = lambda args=gpu: chase_gpu[1, 1](*args)
    return rungs


def far_off(guess=None):
    """Follow a million links through the memory of each processor."""
    return bench.compare(
        "a million loads, one after the other",
        chases,
        baseline="CPU, 1 GB",
        guess=guess,
        host=True,
    )


def sums():
    x = torch.ones(1 << 28)
    d_x = x.cuda()
    return {
        "CPU, many threads": lambda: torch.sum(x),
        "GPU": lambda: torch.sum(d_x),
    }


def wide(guess=None):
    """Add up 2^28 numbers on each processor."""
    return bench.compare(
        "sum of 2^28 float32",
        sums,
        baseline="CPU, many threads",
        bytes=4 * (1 << 28),
        guess=guess,
        host=True,
    )


def apply_threads_needed(threads_needed, far_off, wide):
    """Print how many threads this GPU holds, and how many keep its memory busy."""
    gpu = weft.device.find()
    if weft.on_gpu("how many threads it holds, only a GPU can say"):
        holds = gpu.sms * cuda.get_current_device().MAX_THREADS_PER_MULTIPROCESSOR
        print(f"{gpu.name} holds {holds:,} threads at once")
    if len(far_off) and len(wide):
        ns, tb = far_off["GPU, 1 GB"].ms, wide["GPU"].rate / 1e12
        print(f"{ns:.0f} ns, {tb:.2f} TB/s as measured")
        for each in (4, 8, 16):
            needed = threads_needed(ns, tb, each)
            print(f"{each:2} bytes each: {shown(needed, 0):>9} threads needed")
