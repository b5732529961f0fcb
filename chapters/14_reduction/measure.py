"""The measurements of chapter 14. Each function times, and returns a table.

On a GPU, importing this module allocates 5 GiB. Without one, the tables show what the
reference GPU measured.
"""

import itertools
import os

import matplotlib.pyplot as plt
import numpy as np
from numba import cuda

import weft
from weft import bench

from .kernels import (
    BLOCK,
    SUM_CPP,
    do_nothing,
    load_only,
    read_tiles,
    sum_atomic,
    sum_double,
    sum_grid_tree,
    sum_masked,
    sum_narrow,
    sum_packed,
    sum_parts,
)

os.environ.setdefault("CUPY_ACCELERATORS", "cub")
try:
    import cupy

    cupy.cuda.Stream.from_external  # noqa: B018  CuPy 14 or later
except (ImportError, AttributeError):
    cupy = None

N = 1 << 28
if weft.GPU:
    import torch

    torch.manual_seed(14)
    many = torch.rand(1 << 30, device="cuda")
    x = many[:N]
    out = torch.zeros(1, device="cuda")
    d_x, d_out = cuda.as_cuda_array(x), cuda.as_cuda_array(out)
    total = x.double().sum().item()  # the right answer
    spare = [cuda.device_array(N // BLOCK, np.float32) for _ in range(2)]

million = N // BLOCK, BLOCK
sms = weft.device.find().sms or 132
full = (
    2 * sms,
    1024,
)  # two blocks of 1024 threads fill an SM  # two blocks of 1024 threads fill an SM
exponents = range(16, 31, 2)


def cub_sum(x):
    """Return a function that sums the tensor x with CUB, on torch's stream."""
    view = cupy.from_dlpack(x)

    def allocate(size):  # from PyTorch, which knows what a CUDA graph needs
        memory = torch.empty(size, dtype=torch.uint8, device="cuda")
        owned = cupy.cuda.UnownedMemory(memory.data_ptr(), size, memory)
        return cupy.cuda.MemoryPointer(owned, 0)

    def run():
        stream = cupy.cuda.Stream.from_external(torch.cuda.current_stream())
        with stream, cupy.cuda.using_allocator(allocate):
            return view.sum()

    return run


def readers():
    rows = {
        "torch.sum": lambda: torch.sum(x),
        "reading alone": lambda: read_tiles[N // 16384, 1024](d_x, d_out),
    }
    return rows | ({"CUB": cub_sum(x)} if cupy else {})


def reading():
    """Read 2^28 float32: by torch.sum, by CUB, and with a kernel that keeps nothing."""
    return bench.compare(
        "reading 2^28 float32", readers, baseline="torch.sum", bytes=4 * N
    )


def sum_all(kernel):
    """Launch kernel on d_x, then on the sums, until one is left."""
    source, turn = d_x, 0
    while source.size > 1:
        count = -(-source.size // BLOCK)
        kernel[count, BLOCK](source, spare[turn])
        source, turn = spare[turn][:count], 1 - turn
    return source


def from_zero(launch):
    """Return a function that sets out to 0 and then launches."""

    def run():
        out.zero_()
        launch()

    return run


def in_cpp(source, grid, block):
    """Return a function that launches the sum_grid of a C++ source on x."""
    import cuda.core as core

    if not hasattr(core, "Program"):  # older versions keep it elsewhere
        import cuda.core.experimental as core

    gpu = core.Device()
    gpu.set_current()
    stream = gpu.default_stream
    options = core.ProgramOptions(arch=weft.device.find().sm)
    program = core.Program(source, code_type="c++", options=options)
    twin = program.compile("cubin").get_kernel("sum_grid")
    config = core.LaunchConfig(grid=grid, block=block)
    pointers = x.data_ptr(), out.data_ptr()
    fours = np.int32(N // 4)
    return lambda: core.launch(stream, config, twin, *pointers, fours)


def ladder(sum_interleaved, sum_sequential, sum_shuffle, sum_grid, ceiling, guess=None):
    """Sum with every kernel up to the grid-stride loop, and with the same in C++."""
    return bench.compare(
        "2^28 float32",
        lambda: {
            "torch.sum": lambda: torch.sum(x),
            "interleaved": lambda: sum_all(sum_interleaved),
            "sequential": lambda: sum_all(sum_sequential),
            "shuffle": lambda: sum_all(sum_shuffle),
            "loads of 4 bytes": from_zero(lambda: sum_narrow[full](d_x, d_out)),
            "grid": from_zero(lambda: sum_grid[full](d_x, d_out)),
            "CUDA C++": from_zero(in_cpp(SUM_CPP, *full)),
            "C++, unsigned step": from_zero(
                in_cpp(SUM_CPP.replace("int step", "unsigned step"), *full)
            ),
            **readers(),
        },
        baseline="torch.sum",
        bytes=4 * N,
        ceiling=ceiling,
        guess=guess,
    )


def trees(sum_interleaved, sum_grid, ceiling):
    """Put the slowest tree into the fastest kernel."""
    return bench.compare(
        "2^28 float32, trees",
        lambda: {
            "interleaved": lambda: sum_all(sum_interleaved),
            "no division": lambda: sum_all(sum_masked),
            "grid": from_zero(lambda: sum_grid[full](d_x, d_out)),
            "grid, slow tree": from_zero(lambda: sum_grid_tree[full](d_x, d_out)),
            ceiling: readers()[ceiling],
        },
        baseline="grid",
        bytes=4 * N,
        ceiling=ceiling,
    )


def one_each(sum_interleaved, sum_sequential, sum_shuffle, ceiling, guess=None):
    """Sum with one element per thread."""
    return bench.compare(
        "2^28 float32, one element a thread",
        lambda: {
            "torch.sum": lambda: torch.sum(x),
            "interleaved": lambda: sum_all(sum_interleaved),
            "packed": lambda: sum_all(sum_packed),
            "sequential": lambda: sum_all(sum_sequential),
            "shuffle": lambda: sum_all(sum_shuffle),
            ceiling: readers()[ceiling],
        },
        baseline="torch.sum",
        bytes=4 * N,
        ceiling=ceiling,
        guess=guess,
    )


def starts(sum_shuffle, guess=None):
    """Start a million blocks that do less and less."""
    return bench.compare(
        "2^20 blocks of 256 threads",
        lambda: {
            "nothing": lambda: do_nothing[million](d_x, d_out),
            "a load": lambda: load_only[million](d_x, d_out),
            "shuffle": lambda: sum_shuffle[million](d_x, spare[0]),
        },
        baseline="nothing",
        guess=guess,
    )


def shape_for(n):
    """Return a grid and a block for n elements, the same on every GPU."""
    width, laps = (256, 1) if n < 1 << 22 else (1024, 4)
    return max(1, -(-n // (16 * width * laps))), width


def finish(sum_repeatable, ceiling, guess=None):
    """Finish a sum in three ways; then add in float64. Return a table for each."""

    def finishes():
        shape = shape_for(N)
        parts = torch.empty(shape[0], device="cuda")
        d_parts = cuda.as_cuda_array(parts)
        d_arrived = cuda.to_device(np.zeros(1, np.uint32))

        def two_launches():
            sum_parts[shape](d_x, d_parts)
            sum_parts[1, 1024](d_parts, d_out)

        return {
            "atomic": from_zero(lambda: sum_atomic[shape](d_x, d_out)),
            "last block": lambda: sum_repeatable[shape](d_x, d_parts, d_arrived, d_out),
            "two launches": two_launches,
            "torch.sum": lambda: torch.sum(x),
            **readers(),
        }

    def doubles():
        parts = torch.empty(full[0], device="cuda", dtype=torch.float64)
        d_parts = cuda.as_cuda_array(parts)
        d_arrived = cuda.to_device(np.zeros(1, np.uint32))
        return {
            "last block": finishes()["last block"],
            "float64": lambda: sum_double[full](d_x, d_parts, d_arrived, d_out),
            ceiling: readers()[ceiling],
        }

    ways = bench.compare(
        "2^28 float32, the finish",
        finishes,
        baseline="atomic",
        bytes=4 * N,
        ceiling=ceiling,
        guess=guess,
    )
    precise = bench.compare(
        "2^28 float32, added in float64",
        doubles,
        baseline="last block",
        bytes=4 * N,
        ceiling=ceiling,
    )
    return ways, precise


def sizes(sum_repeatable, guess=None):
    """Sum from 2^16 to 2^30 elements; return a table for each exponent."""

    def small_and_large(n):
        """Return what sums n elements, in each call another piece of `many`."""

        def build():
            pieces = list(many.split(n)[: max(4, (1 << 28) // n)])
            tensors = itertools.cycle(pieces)
            views = itertools.cycle([cuda.as_cuda_array(p) for p in pieces])
            grid, block = shape_for(n)
            d_parts = cuda.device_array(grid, np.float32)
            d_arrived = cuda.to_device(np.zeros(1, np.uint32))

            def last_block():
                launch = sum_repeatable[grid, block, bench.stream()]
                launch(next(views), d_parts, d_arrived, d_out)

            def two_launches():
                sum_parts[grid, block, bench.stream()](next(views), d_parts)
                sum_parts[1, 256, bench.stream()](d_parts, d_out)

            rows = {
                "torch.sum": lambda: torch.sum(next(tensors)),
                "last block": last_block,
                "two launches": two_launches,
            }
            if cupy:
                runs = itertools.cycle([cub_sum(p) for p in pieces])
                rows["CUB"] = lambda: next(runs)()
            return rows

        return build

    sizes = {
        e: bench.compare(
            f"2^{e} float32, in a row",
            small_and_large(1 << e),
            baseline="torch.sum",
            bytes=4 << e,
            guess=guess if e in (16, 22, 28) else None,
            graph=True,
        )
        for e in exponents
    }
    return sizes


def plot(sizes):
    """Show the rates for all sizes."""
    _, axes = plt.subplots(figsize=(7, 4), dpi=72)
    marks = {"torch.sum": "s--", "CUB": "^:", "last block": "o-"}
    for name, mark in marks.items():
        shown = {
            e: row.rate / 1e12
            for e, table in sizes.items()
            for row in table
            if row.name == name
        }
        axes.plot(list(shown), list(shown.values()), mark, label=name)
    axes.set_xticks(list(exponents), [f"$2^{{{e}}}$" for e in exponents])
    axes.set_xlabel("elements")
    axes.set_ylabel("TB/s")
    axes.set_ylim(0)
    axes.grid(alpha=0.3)
    axes.legend()
    plt.show()


def small(sum_grid):
    """Sum 2^18 elements with two trees."""

    def small_trees():
        d_small = d_x[: 1 << 18]
        return {
            "grid": lambda: sum_grid[64, 256, bench.stream()](d_small, d_out),
            "grid, slow tree": lambda: sum_grid_tree[64, 256, bench.stream()](
                d_small, d_out
            ),
        }

    return bench.compare(
        "2^18 float32, trees", small_trees, baseline="grid", graph=True
    )


def by_rows(argmax_rows, ceiling, guess=None):
    """Find the largest of each row, for long rows and for short ones."""

    def row_candidates(rows):
        def build():
            matrix = x.view(rows, -1)
            found = torch.empty(rows, dtype=torch.int32, device="cuda")
            d_matrix, d_found = map(cuda.as_cuda_array, (matrix, found))
            return {
                "torch.argmax": lambda: torch.argmax(matrix, 1),
                "yours": lambda: argmax_rows[rows, 256](d_matrix, d_found),
                "torch.amax": lambda: torch.amax(matrix, 1),
                ceiling: readers()[ceiling],
            }

        return build

    by_rows = {
        rows: bench.compare(
            f"argmax of {rows} rows of {N // rows}",
            row_candidates(rows),
            baseline="torch.argmax",
            bytes=4 * N,
            ceiling=ceiling,
            guess=guess,
        )
        for rows in (1 << 12, 1 << 15)
    }
    return by_rows


def results_of(run, times=50):
    """Return the different results of a function."""
    return {float(run()) for _ in range(times)}


def grid_sum(sum_grid):
    """Return a function that sums x with a learner's sum_grid."""

    def run():
        out.zero_()
        sum_grid[full](d_x, d_out)
        return out.item()

    return run


def torch_sum():
    return torch.sum(x)


def last_block_sum(sum_repeatable, shape):
    """Return a function that sums x with a learner's sum_repeatable."""
    d_parts = cuda.device_array(shape[0], np.float32)
    d_arrived = cuda.to_device(np.zeros(1, np.uint32))

    def run():
        sum_repeatable[shape](d_x, d_parts, d_arrived, d_out)
        return out.item()

    return run


def results_of_last_block(sum_repeatable, shape):
    return results_of(last_block_sum(sum_repeatable, shape))


def sum_in_float64():
    """Return the sum of x with accumulators in float64."""
    d_parts = cuda.device_array(full[0], np.float64)
    d_arrived = cuda.to_device(np.zeros(1, np.uint32))
    sum_double[full](d_x, d_parts, d_arrived, d_out)
    return out.item()


def error_of(value, right):
    return abs(float(value) / right - 1)


def errors(sum_sequential, sum_grid, sum_repeatable):
    """Return the relative errors of sums of x in several orders."""
    last_block = last_block_sum(sum_repeatable, shape_for(N))
    return {
        "tree": error_of(sum_all(sum_sequential).copy_to_host()[0], total),
        "grid": error_of(grid_sum(sum_grid)(), total),
        "last block": error_of(last_block(), total),
        "torch.sum": error_of(torch.sum(x), total),
    }
