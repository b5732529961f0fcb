"""The measurements of chapter 11. Each function times, and returns a table."""

from time import perf_counter

import numpy as np
from numba import cuda

import weft
from weft import bench, timing

from .kernels import (
    column_sums,
    cube_roots,
    double,
    one_division,
    one_step,
    speeds,
)

if weft.GPU:
    import torch

STEPS = 64
SPRINGS, MANY, ROWS, COLS = 1 << 14, 1 << 24, 1 << 15, 1024
WORK = {  # bytes, operations
    "springs": (STEPS * SPRINGS * 16, STEPS * SPRINGS * 4),
    "speeds": (MANY * 16, MANY * 6),
    "roots": (MANY * 8, MANY * 20 * 5),
    "columns": (ROWS * COLS * 4, ROWS * COLS),
}


def between_1_and_2(*shape):
    return torch.rand(*shape, device="cuda") + 1


def on_gpu(*shapes):
    return [cuda.as_cuda_array(between_1_and_2(*s)) for s in shapes]


def chain():
    """Return the function that launches one_step 64 times."""
    a, b = (
        [cuda.to_device(np.ones(SPRINGS, np.float32)) for _ in "xv"] for _ in range(2)
    )

    def launches(stream=0):
        now, then = a, b
        for _ in range(STEPS):
            one_step[SPRINGS // 128, 128, stream](*now, *then)
            now, then = then, now

    return launches


def as_graph(launches):
    """Return the function that starts all of these launches as one graph."""
    launches()  # compiles
    side = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        launches(cuda.external_stream(side.cuda_stream))
    return graph.replay


def programs():
    """Return the four programs, as bench.compare takes them."""
    rows, out = on_gpu((MANY, 8), (MANY,))
    x, roots = on_gpu((MANY,), (MANY,))
    matrix, sums = on_gpu((ROWS, COLS), (COLS,))
    return {
        "springs": chain(),
        "speeds": lambda: speeds[MANY // 256, 256](rows, out),
        "roots": lambda: cube_roots[MANY // 256, 256](x, roots),
        "columns": lambda: column_sums[COLS // 64, 64](matrix, sums),
    }


def waited():
    """Time the four programs as the host waits for them."""
    return bench.compare(
        "four programs, as waited for",
        programs,
        host=True,
        unsteady="the host's time is part of it",
    )


def programs_alone():
    return programs() | {"springs": as_graph(chain())}


def alone():
    """Time the GPU's part of the four programs."""
    return bench.compare("four programs, the GPU's part", programs_alone)


def roofs():
    """Time a copy and a matrix product; return a table for each."""

    def ceilings():
        x, out = (torch.empty(1 << 27, device="cuda") for _ in "xo")
        return {"copy": lambda: out.copy_(x)}

    def products():
        a, b = (torch.rand(4096, 4096, device="cuda") for _ in "ab")
        return {"product": lambda: torch.mm(a, b)}

    copy = bench.compare("a copy of 512 MiB", ceilings, bytes=2 * 4 << 27)
    product = bench.compare(
        "a product, 4096 x 4096 float32", products, flops=2 * 4096**3
    )
    return copy, product


def near_roofs(waited, alone, copy, product):
    """Print, for each program, how busy the GPU is and how near the roofs.

    All are tables: of the programs as waited for, of the GPU's part alone, of a copy
    and of a matrix product. Prints nothing where one has no rows.
    """
    if not (len(copy) and len(product) and len(waited)):
        return
    print("             waited   GPU alone    busy    memory    compute")
    for name, (moved, operations) in WORK.items():
        if name not in [row.name for row in alone]:
            continue
        ms = alone[name].ms
        by_bytes = moved / copy["copy"].rate * 1e3 / ms
        by_flops = operations / product["product"].rate * 1e3 / ms
        busy = min(1, ms / waited[name].ms)
        print(
            f"{name:9}{waited[name].ms * 1e3:7.0f} us {ms * 1e3:8.0f} us"
            f"{busy:8.0%}{by_bytes:10.1%}{by_flops:11.1%}"
        )


def columns(piece_sums, PIECE, copy, guess=None):
    """Add up columns: a thread per column, the learner's kernel, and PyTorch."""

    def sums():
        x = between_1_and_2(ROWS, COLS)
        d_x, (out,) = cuda.as_cuda_array(x), on_gpu((COLS,))
        pieces = (COLS // 64, ROWS // PIECE), 64
        return {
            "column_sums": lambda: column_sums[COLS // 64, 64](d_x, out),
            "piece_sums": lambda: piece_sums[pieces](d_x, out),
            "torch.sum": lambda: x.sum(dim=0),
        }

    return bench.compare(
        "32768 x 1024, sums of the columns",
        sums,
        baseline="column_sums",
        bytes=4 * ROWS * COLS,
        ceiling=copy["copy"].rate if weft.GPU else None,
        guess=guess,
    )


class Reading:
    """A stopwatch for functions that time themselves, in ms."""

    def once(self, function, host):
        return timing.Sample(function(), 0.0)


readings = Reading() if weft.GPU else None


def stopwatches(size):
    """Return four ways to time a launch on `size` elements, in ms."""

    def build():
        x = cuda.to_device(np.ones(size, np.float32))
        before, after = (torch.cuda.Event(enable_timing=True) for _ in "ba")
        long = torch.empty(1 << 29, dtype=torch.int8, device="cuda")

        def clock(wait):
            torch.cuda.synchronize()
            begun = perf_counter()
            double[-(-size // 256), 256](x)
            if wait:
                torch.cuda.synchronize()
            return (perf_counter() - begun) * 1e3

        def events(behind):
            torch.cuda.synchronize()
            if behind:
                long.zero_()
            before.record()
            double[-(-size // 256), 256](x)
            after.record()
            after.synchronize()
            return before.elapsed_time(after)

        return {
            "clock": lambda: clock(wait=False),
            "clock, waiting": lambda: clock(wait=True),
            "events": lambda: events(behind=False),
            "events, queued": lambda: events(behind=True),
        }

    return build


def large(guess=None):
    """Time a long kernel in four ways."""
    return bench.compare(
        "2^26 numbers, four stopwatches",
        stopwatches(1 << 26),
        baseline="events, queued",
        guess=guess,
        stopwatch=readings,
    )


def small(guess=None):
    """Time a short kernel in four ways."""
    return bench.compare(
        "1024 numbers, four stopwatches",
        stopwatches(1 << 10),
        baseline="events, queued",
        guess=guess,
        stopwatch=readings,
    )


class RealGPU:
    """The two methods of a ToyGPU, for the GPU in this machine."""

    def __init__(self, launch):
        self.launch = launch

    def event(self):
        return torch.cuda.Event(enable_timing=True)


def time_launches(gpu_time):
    """Print what the learner's stopwatch reports for a long and a short kernel."""
    for size in (1 << 26, 1 << 10):
        x = cuda.to_device(np.ones(size, np.float32))
        gpu = RealGPU(lambda x=x: double[-(-x.size // 256), 256](x))
        print(f"{size:10,} numbers: {gpu_time(gpu)} ms")


def springs(all_steps, guess=None):
    """Take 64 steps: by 64 launches, as a graph, and with the learner's kernel."""

    def fewer_launches():
        launches = chain()
        pair = [cuda.to_device(np.ones(SPRINGS, np.float32)) for _ in "xv"]
        out = [cuda.to_device(np.ones(SPRINGS, np.float32)) for _ in "xv"]
        grid = SPRINGS // 128, 128
        return {
            "64 launches": launches,
            "as a graph": as_graph(launches),
            "all_steps": lambda: all_steps[grid](*pair, STEPS, *out),
        }

    return bench.compare(
        "springs, 64 steps",
        fewer_launches,
        baseline="64 launches",
        host=True,
        guess=guess,
    )


def layout(field_speeds, copy, guess=None):
    """Compute speeds from rows of particles, and from rows of fields."""

    def layouts():
        rows, fields, out = on_gpu((MANY, 8), (8, MANY), (MANY,))
        grid = MANY // 256, 256
        return {
            "a row a particle": lambda: speeds[grid](rows, out),
            "a row a field": lambda: field_speeds[grid](fields, out),
        }

    return bench.compare(
        "speeds of 2^24 particles",
        layouts,
        baseline="a row a particle",
        bytes=16 * MANY,
        ceiling=copy["copy"].rate if weft.GPU else None,
        guess=guess,
    )


def width(cube_roots32, guess=None):
    """Compute cube roots in float64 and in float32."""

    def widths():
        x, out = on_gpu((MANY,), (MANY,))
        grid = MANY // 256, 256
        return {
            "float64": lambda: cube_roots[grid](x, out),
            "float32": lambda: cube_roots32[grid](x, out),
        }

    return bench.compare(
        "2^24 cube roots",
        widths,
        baseline="float64",
        flops=100 * MANY,
        guess=guess,
    )


def fewer(cube_roots32):
    """Compute cube roots with two divisions per step, and with one."""

    def divisions():
        x, out = on_gpu((MANY,), (MANY,))
        grid = MANY // 256, 256
        return {
            "two divisions": lambda: cube_roots32[grid](x, out),
            "one division": lambda: one_division[grid](x, out),
        }

    return bench.compare(
        "2^24 cube roots in float32",
        divisions,
        baseline="two divisions",
        flops=100 * MANY,
    )


def in_kernels(**works):
    """Print how long each function takes, and how much is in kernels."""
    from torch.profiler import ProfilerActivity, profile, record_function

    what = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=what, acc_events=True) as seen:
        for work in works.values():  # warm up: the profiler starts slowly
            work()
        torch.cuda.synchronize()
        for name, work in works.items():
            with record_function(name):
                work()
                torch.cuda.synchronize()
    on_host, on_device = [], []
    for event in seen.events():
        of_gpu = event.device_type.name == "CUDA"
        (on_device if of_gpu else on_host).append(event)
    for name in works:
        (whole,) = [e.time_range for e in on_host if e.name == name]
        kernels = [
            e.time_range.elapsed_us()
            for e in on_device
            if whole.start <= e.time_range.start < whole.end
            and e.name not in works  # the range itself, on the GPU's side
        ]
        print(
            f"{name:10}{whole.elapsed_us():8.0f} us, {len(kernels):3} kernels, "
            f"{sum(kernels):6.0f} us in kernels"
        )


def timeline(all_steps):
    """Print how much of 64 launches, of a graph and of one launch is in kernels."""
    launches = chain()
    pair = [cuda.to_device(np.ones(SPRINGS, np.float32)) for _ in "xv"]
    out = [cuda.to_device(np.ones(SPRINGS, np.float32)) for _ in "xv"]
    grid = SPRINGS // 128, 128
    in_kernels(
        launches=launches,
        graph=as_graph(launches),
        all_steps=lambda: all_steps[grid](*pair, STEPS, *out),
    )
