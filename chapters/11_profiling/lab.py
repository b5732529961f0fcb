# %% [markdown]
# # 11 · Profiling
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/11_profiling.ipynb)
#
# **After this lab, you can**
#
# - time a launch with events, and say what each other way of timing measures;
# - compute the least time of a kernel from its bytes and its operations;
# - tell from measurements what a program waits for: launches, memory, arithmetic or
#   latency;
# - read a profiler's counters, and know what to do where that is not permitted;
# - remove each of these four bottlenecks, and measure the gain.
#
# **You need** about 90 minutes. You do not need a GPU: the exercises run in the
# simulator, and without a GPU the measurements show times from the reference GPU, an
# H200. If you use a GPU, it needs compute capability 7.5 or higher and 3 GB of memory.
# You need no profiler either: the counters were recorded on the reference GPU.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import itertools
import math
import statistics
from time import perf_counter

import numpy as np
from numba import cuda, float32

from weft import bench, check, hint, quiz, timing
from weft.lesson import answers

weft.lab("11_profiling")

# %% [markdown]
# ## 1 · Two clocks
#
# A launch puts a kernel into the GPU's queue and returns. So a stopwatch around a
# launch times the queueing. The GPU has a clock of its own, which you read with an
# **event**: a mark that you put into the queue. When the GPU reaches the mark, it
# records the time.
#
# Here is a toy GPU with the same two clocks. Read its code, which is shorter than an
# explanation. Its `record`, `synchronize` and `elapsed_time` work like the methods of
# PyTorch's events that have the same names.

# %% tags=["given"]
class ToyGPU:
    """A queue with two clocks, in ms: the host's, and when the GPU is done."""

    def __init__(self, *kernel_ms):
        self.times = itertools.cycle(kernel_ms)
        self.median = statistics.median(kernel_ms)
        self.compiling = 300.0  # the first launch waits for the compiler
        self.host = self.done = 0.0

    def launch(self):
        """Queue the kernel: the host goes on, the GPU starts when free."""
        self.host += self.compiling + 0.02
        self.compiling = 0.0
        self.done = max(self.done, self.host) + next(self.times)

    def event(self):
        """Make an event."""
        return ToyEvent(self)

    def __repr__(self):
        return f"a toy GPU, {self.median} ms"


class ToyEvent:
    """A mark in the queue of a ToyGPU."""

    def __init__(self, gpu):
        self.gpu, self.at = gpu, None

    def record(self):
        """Queue the mark: the GPU records the time when it gets there."""
        self.at = max(self.gpu.done, self.gpu.host)

    def synchronize(self):
        """Make the host wait until the GPU has reached the mark."""
        self.gpu.host = max(self.gpu.host, self.at)

    def elapsed_time(self, end):
        """Return the ms from this mark to `end`."""
        if self.at is None or end.at is None:
            raise RuntimeError("an event was not recorded")
        if self.gpu.host < end.at:
            raise RuntimeError("the GPU has not come to an event yet")
        return end.at - self.at


# %% [markdown]
# Write a function that times a launch. A single number proves little: the first launch
# of a kernel compiles it, and now and then something else gets in the way. So launch
# the kernel once without timing it. Then time 20 launches, each between two new events,
# and return the **median**, in ms. (The check has a toy with 11 fast launches and 9
# slow ones. One more slow launch would change the median.)
#
# ```python
# gpu_time(gpu)    # gpu.launch(), gpu.event() -> ms
# ```
#
# Stuck? Run `hint("gpu_time")`; there are three hints.

# %%
def gpu_time(gpu):
    """Return the median ms that the GPU needs for gpu.launch(), of 20."""
    # about 9 lines
    # BEGIN SOLUTION
    gpu.launch()

    times = []
    while len(times) < 20:
        start, end = gpu.event(), gpu.event()
        start.record()
        gpu.launch()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)
    # END SOLUTION


# %%
check(
    gpu_time,
    spec=lambda gpu: gpu.median,
    inputs=lambda rng: [
        (ToyGPU(3.0),),
        (ToyGPU(2.0, 1.6, 2.0, 9.0, 2.0),),
        (ToyGPU(*[2.0] * 11, *[3.0] * 9),),  # one more slow one tips it over
        (ToyGPU(2.0, 2.0, *[3.0] * 9, *[2.0] * 9),),  # the slow ones early
    ],
    tolerance=0.02,
)

# %% [markdown] tags=["solution"]
# There are four easy mistakes. Without `synchronize`, you read an event that the GPU
# has not reached yet. Without the launch before the loop, one compilation ends up among
# the 20 times, and would spoil a mean. The smallest of the 20 times is the luckiest
# run. And the host's clock times the queueing.
#
# The check has a tolerance of 2 %, for a reason. When the queue is empty, the GPU
# reaches the first event at once and then waits for the launch, so the time includes
# the host's 0.02 ms. The next measurement shows when that matters.

# %% [markdown]
# ## Measure: four stopwatches, two launches
#
# Now time launches on a real GPU. A kernel doubles 2^26 numbers (and so moves 0.5 GB),
# and then 1024 numbers. Here are four ways to time each launch:
#
# - `clock`: the host's clock around the launch;
# - `clock, waiting`: the same, but the host waits for the GPU before it reads the clock
#   again;
# - `events`: a pair of events, in an empty queue;
# - `events, queued`: a pair of events after something long, so that the launch is in
#   the queue before the GPU reaches the first event.
#
# Which of them agree for the large array, and which for the small one? Guess the speed
# of each relative to `events, queued`, as in the table: 2 for a stopwatch that reports
# half the time that `events, queued` reports, 0.5 for twice that time.

# %%
guess = {"clock": None, "clock, waiting": None, "events": None}
guess_small = {"clock": None, "clock, waiting": None, "events": None}


@cuda.jit
def double(x):
    """Double each element of x."""
    i = cuda.grid(1)

    if i < x.size:
        x[i] *= float32(2)


class Reading:
    """A stopwatch for functions that time themselves, in ms."""

    def once(self, function, host):
        return timing.Sample(function(), 0.0)


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


if weft.GPU:
    import torch

readings = Reading() if weft.GPU else None
large = bench.compare(
    "2^26 numbers, four stopwatches",
    stopwatches(1 << 26),
    baseline="events, queued",
    guess=guess,
    stopwatch=readings,
)
large

# %%
small = bench.compare(
    "1024 numbers, four stopwatches",
    stopwatches(1 << 10),
    baseline="events, queued",
    guess=guess_small,
    stopwatch=readings,
)
small

# %% [markdown]
# And what does your `gpu_time` report?

# %%
class RealGPU:
    """The two methods of a ToyGPU, for the GPU in this machine."""

    def __init__(self, launch):
        self.launch = launch

    def event(self):
        return torch.cuda.Event(enable_timing=True)


if weft.on_gpu("gpu_time has only the toy to time"):
    for size in (1 << 26, 1 << 10):
        x = cuda.to_device(np.ones(size, np.float32))
        gpu = RealGPU(lambda x=x: double[-(-x.size // 256), 256](x))
        print(f"{size:10,} numbers: {gpu_time(gpu)} ms")

# %% tags=["solution"]
large.expect("clock", at_least=2)
large.expect("events", at_least=0.6)
small.expect("events, queued", at_least=2, times="events")
small.expect("events, queued", at_least=2, times="clock, waiting")

# %% [markdown] tags=["solution"]
# For a long kernel, all stopwatches except the bare clock agree to within about a
# tenth. For a short kernel, three of the four measure the host. In an empty queue, a
# pair of events is no better than the clock: the GPU passes the first event, has
# nothing to do, and gets the kernel only when Python has finished the launch.
#
# `bench.compare` keeps the GPU busy first, as the last row does, and it clears the
# cache as well. With `host=True` it deliberately does the opposite: it times how long a
# program waits.

# %% [markdown]
# ## Four programs
#
# Here are four programs that are slow. Each does one piece of work, in float32:
#
# - **springs**: move 16,384 masses on springs through 64 small time steps, one launch
#   per step;
# - **speeds**: compute how fast 16.8 million particles are. Each particle has 8
#   numbers, one of which is its mass and three are its velocity;
# - **roots**: compute the cube roots of 16.8 million numbers, by 20 steps of Newton's
#   method;
# - **columns**: compute the sums of the 1024 columns of a matrix with 32,768 rows.
#
# Read the kernels. What does each of them wait for? There are four suspects:
#
# - **launch**: the GPU is idle most of the time, since the host is slow to queue
#   kernels;
# - **memory**: bytes move as fast as the memory can move them;
# - **compute**: some arithmetic unit is as busy as it can be;
# - **latency**: none of these. The GPU is at work, but hardly anything in it is busy,
#   because the warps spend their time waiting.
#
# Write down what you suspect before you measure.

# %% tags=["given"]
STEPS = 64
DT = float32(0.01)
VX, VY, VZ = 3, 4, 5  # where a particle keeps its velocity


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


# %%
suspects = {"springs": None, "speeds": None, "roots": None, "columns": None}

SPRINGS, MANY, ROWS, COLS = 1 << 14, 1 << 24, 1 << 15, 1024


def between_1_and_2(*shape):
    return torch.rand(*shape, device="cuda") + 1


def on_gpu(*shapes):
    return [cuda.as_cuda_array(between_1_and_2(*s)) for s in shapes]


def chain():
    """Return the function that launches one_step 64 times."""
    a, b = (
        [cuda.to_device(np.ones(SPRINGS, np.float32)) for _ in "xv"]
        for _ in range(2)
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


waited = bench.compare("four programs, as waited for", programs, host=True)
waited

# %% [markdown]
# That is how long you wait. Now measure the GPU's part alone. (Python cannot queue 64
# launches as fast as the GPU runs them, so here they are recorded beforehand and
# started together. Exercise 3 comes back to this.)

# %%
def programs_alone():
    return programs() | {"springs": as_graph(chain())}


alone = bench.compare("four programs, the GPU's part", programs_alone)
alone

# %% [markdown]
# ## What would be possible?
#
# The **roofline** gives a lower bound on a kernel's time. The kernel has to move its
# bytes, which takes at least bytes / (rate of a copy), and to do its operations, which
# takes at least operations / (rate of a matrix product). The larger of these two times
# is the least that this machine could need. Measure the two rates.

# %%
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
print(copy, product, sep="\n\n")

# %% [markdown]
# Count bytes and operations **by hand**, from what the program has to do, not from how
# it does it. For each speed, three numbers are read and one is written, which makes 16
# bytes; the operations are 3 products, 2 sums and a root. For each cube root, 4 bytes
# are read and 4 are written, and a step of Newton's method has 5 operations.
#
# The cell below does the divisions. `busy` is the share of the waiting time in which
# the GPU works. The last two columns divide each of the two least times by the GPU's
# time: how near is the program to each roof?

# %%
WORK = {  # bytes, operations
    "springs": (STEPS * SPRINGS * 16, STEPS * SPRINGS * 4),
    "speeds": (MANY * 16, MANY * 6),
    "roots": (MANY * 8, MANY * 20 * 5),
    "columns": (ROWS * COLS * 4, ROWS * COLS),
}


def near_roofs(waited, alone, work):
    """Print, for each program, how busy the GPU is and how near the roofs."""
    print("             waited   GPU alone    busy    memory    compute")
    for name, (moved, operations) in work.items():
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


if len(copy) and len(product) and len(waited):
    near_roofs(waited, alone, WORK)

# %% tags=["solution"]
alone.expect("springs", at_least=1 / 0.3, times="springs", of=waited)
for name in ("columns", "roots"):
    waited.expect(name, at_least=0.8, times=name, of=alone)

# %% [markdown]
# ## 2 · Name the class
#
# Your count says what a kernel *should* do. A profiler's counters say what it *does*.
# Nsight Compute counted the following on an H200, for one launch of each kernel (for
# the springs, one of the 64):
#
# | | springs | speeds | roots | columns |
# | --- | ---: | ---: | ---: | ---: |
# | Duration, us | 2.46 | 135 | 541 | 4134 |
# | DRAM Throughput, % | 1.2 | 92 | 4.4 | 0.7 |
# | read from DRAM, MB | 0.13 | 537 | 67 | 134 |
# | busiest pipeline, % | ALU 0.9 | ALU 13 | FP64 65 | ALU 0.8 |
# | Issue Slots Busy, % | 1.2 | 20 | 69 | 0.6 |
# | stalled on a load, % | 37 | 91 | 0 | 80 |
# | Waves Per SM | 0.06 | 62 | 62 | 0.00 |
# | Active Warps Per Scheduler | 1.0 | 12 | 15 | 1.0 |
# | sectors per load request | 4 | 32 | 4 | 4 |
#
# The throughput of a unit is a percentage of what that unit could do. A **wave** is as
# many blocks as the GPU can hold at once. An SM has four schedulers, and each can
# **issue** one instruction per cycle, for one of up to 16 warps. *Stalled on a load* is
# the share of a warp's time that it spends waiting for values from memory. A
# **request** is one load by a warp. Memory answers it in **sectors** of 32 bytes, 4 of
# which hold 32 float32.
#
# Look at the counters, at the table that you printed, and at the chapter if you like.
# Then fill in the classes. Where the check disagrees, it gives a reason.
#
# ```python
# classify(program)    # "springs" -> "launch", "memory", "compute" or "latency"
# ```
#
# Stuck? `hint("classify")`.

# %%
def classify(program):
    """Return what a program waits for."""
    # one line: a dictionary with four entries, and a look into it
    # BEGIN SOLUTION
    return {
        "springs": "launch",
        "speeds": "memory",
        "roots": "compute",
        "columns": "latency",
    }[program]
    # END SOLUTION


# %%
check(classify, **answers("classify"))

# %% [markdown] tags=["solution"]
# The order of the questions matters. **Is the GPU busy at all?** For the springs it is
# not, and nothing in their kernel's counters can show that: a kernel profiler sees one
# kernel at a time. **Is a roof near?** For the speeds, the count by hand said half of
# the memory's rate, whereas the counters say 92 %. Both are right: at full speed, the
# kernel moves more than twice the bytes it needs. **Is a unit busy?** The roots compute
# in float64, at half the rate, and with a division that takes many instructions. Your
# count could not show that. **None of these?** Then it is latency: there are 1024
# threads, one warp per scheduler, and each warp waits for its load.

# %% [markdown]
# ## 3 · Launch: all steps at once
#
# The springs wait for the host. There are two cures: record the launches once and start
# them together (a **CUDA graph**), or make fewer of them. Each mass has its own spring
# and is independent of the others, so a thread can do all the steps of its mass without
# leaving the kernel. Position and speed stay in two variables, which are registers.
#
# Put both loads before the first step, and both stores after the last. The check counts
# the loads of each thread and allows 2.
#
# ```python
# all_steps(x, v, steps, x_out, v_out)    # (n,), (n,), int -> (n,), (n,)  float32
# ```
#
# In each step, the new speed is `v - DT * x`, and the new position is `x + DT *` that
# new speed.
#
# Stuck? `hint("all_steps")`.

# %%
@cuda.jit
def all_steps(x, v, steps, x_out, v_out):
    """Advance each spring by many time steps."""
    i = cuda.grid(1)

    # about 6 lines
    # BEGIN SOLUTION
    if i < x.size:
        place, speed = x[i], v[i]
        for _ in range(steps):
            speed -= DT * place
            place += DT * speed
        x_out[i], v_out[i] = place, speed
    # END SOLUTION


# %% tags=["given"]
def step_by_step(x, v, steps):
    """Return position and speed after some steps, in NumPy."""
    for _step in range(steps):
        v = v - DT * x
        x = x + DT * v
    return x, v


# %%
check(
    all_steps,
    spec=step_by_step,
    inputs=lambda rng, n, steps: (
        rng.random(n, np.float32),
        rng.random(n, np.float32),
        steps,
    ),
    sizes=[(64, 1), (100, 7), (130, 20)],
    launch=lambda n, steps: (-(-n // 64), 64),
    full=(1 << 20, 64),
    limits={"loads": 2},
)

# %% [markdown]
# ## Measure: what did the launches cost?
#
# Compare the 64 launches with a graph of them, and with your kernel. One launch takes
# the host 25 to 50 µs, depending on how fast and how busy it is, and one kernel takes
# the GPU 1.3 µs. How many times as fast are the graph and your kernel?

# %%
guess = {"as a graph": None, "all_steps": None}


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


springs = bench.compare(
    "springs, 64 steps",
    fewer_launches,
    baseline="64 launches",
    host=True,
    guess=guess,
)
springs

# %% tags=["solution"]
springs.expect("as a graph", at_least=4)
springs.expect("all_steps", at_least=10)

# %% [markdown] tags=["solution"]
# The graph keeps the 64 kernels but removes the waiting for the host: one call starts
# them all, and the GPU takes little more than a microsecond for each. `all_steps` also
# removes 63 of the 64 kernels, and with them 63 of the 64 round trips to memory. What
# is left is mostly the cost of one launch with Numba.

# %% [markdown]
# ## 4 · Memory: move what you need
#
# A particle is a row of 8 numbers, 32 bytes, which is one sector. A warp's load of `vx`
# touches 32 rows, so it takes 32 sectors. These bring all 8 numbers of each particle,
# of which only 3 are needed. The kernel cannot be faster than its bytes allow.
#
# You can count those bytes without a GPU, and without anyone's permission. `weft.trace`
# runs a kernel in the simulator and records the memory that it touches. Here it does so
# for 128 particles, for each of which you counted 16 bytes: 2048 in total. How many
# bytes are moved? And how many of them are distinct, which no cache can save?

# %%
some = np.ones((128, 8), np.float32)
weft.trace(speeds)[2, 64](some, np.empty(128, np.float32))

# %% [markdown]
# Swap the two indices of the layout, so there is one row per *field*, with all
# particles in it. Then the `vx` of 32 neighbours are 128 consecutive bytes, and the
# masses are not touched. Write the kernel for that layout. The check allows 4 sectors
# per request, and 6 loads per thread, although 3 are enough.
#
# ```python
# field_speeds(fields, out)    # (8, n) -> (n,)  float32
# ```
#
# Stuck? `hint("field_speeds")`.

# %%
@cuda.jit
def field_speeds(fields, out):
    """Write how fast each particle is; fields: (8, n), one row per field."""
    # about 4 lines
    # BEGIN SOLUTION
    i = cuda.grid(1)

    if i < out.size:
        x, y, z = fields[VX, i], fields[VY, i], fields[VZ, i]
        out[i] = math.sqrt(x * x + y * y + z * z)
    # END SOLUTION


# %%
check(
    field_speeds,
    spec=lambda fields: np.sqrt((fields[VX : VZ + 1] ** 2).sum(axis=0)),
    inputs=lambda rng, n: (rng.random((8, n), np.float32),),
    sizes=[64, 1, 100, 256],
    launch=lambda n: (-(-n // 64), 64),
    full=1 << 20,
    limits={"sectors": 4, "loads": 6},
)

# %% [markdown]
# ## Measure: fewer bytes
#
# Predict with the roofline: how many bytes does each of the two kernels move per
# particle? What should the ratio of their times be, if both run at the rate of a copy?

# %%
guess = {"a row a field": None}


def layouts():
    rows, fields, out = on_gpu((MANY, 8), (8, MANY), (MANY,))
    grid = MANY // 256, 256
    return {
        "a row a particle": lambda: speeds[grid](rows, out),
        "a row a field": lambda: field_speeds[grid](fields, out),
    }


layout = bench.compare(
    "speeds of 2^24 particles",
    layouts,
    baseline="a row a particle",
    bytes=16 * MANY,
    ceiling=copy["copy"].rate if weft.GPU else None,
    guess=guess,
)
layout

# %% tags=["solution"]
layout.expect("a row a field", at_least=1.5)

# %% [markdown] tags=["solution"]
# Per particle, the first kernel reads 32 bytes and writes 4; the second reads 12 and
# writes 4. So the factor is 36 / 16 = 2.25 at most. (The trace reported 36 × 128 = 4608
# bytes for 128 particles.) Close to the roof, the only way to make a kernel faster is
# to move fewer bytes. Here the *layout* decides how many bytes move, which is why
# libraries keep fields apart ("struct of arrays").
#
# On an H200 the factor is less than 2.25, because the second kernel is not as near to
# the roof as the first, probably because each thread has only three loads of 4 bytes in
# flight. The slower memory of an H100 needs fewer bytes in flight: there the kernel
# comes within 2 % of the copy.

# %% [markdown]
# ## 5 · Compute: the arithmetic that you meant
#
# For the roots, Nsight Compute names the busiest pipeline: FP64. But the task was to
# compute in float32. A Python literal like `2.0` is a float64, and a float32 times a
# float64 is a float64, so the whole loop computes in float64. The H200 does that at
# half the rate of float32; most other GPUs do it at a 32nd or a 64th of that rate.
#
# Fix the kernel by changing two lines. `float32(2)` is a literal of type float32.
# (Dividing a float32 by the integer `3` gives a float64 again.) The check counts the
# lines that compute in float64, and allows none.
#
# ```python
# cube_roots32(x, out)    # (n,) -> (n,)  float32
# ```
#
# Stuck? `hint("cube_roots32")`.

# %% tags=["broken"]
@cuda.jit
def cube_roots32(x, out):
    """Write the cube root of each x, by 20 steps of Newton's method."""
    i = cuda.grid(1)

    if i < x.size:
        # BEGIN SOLUTION
        # was: y = 1.0
        y = float32(1)
        # END SOLUTION
        for _ in range(20):
            # BEGIN SOLUTION
            # was: y = (2.0 * y + x[i] / (y * y)) / 3.0
            y = (float32(2) * y + x[i] / (y * y)) / float32(3)
            # END SOLUTION
        out[i] = y


# %%
check(
    cube_roots32,
    spec=lambda x: np.cbrt(x),
    inputs=lambda rng, n: (1 + rng.random(n, np.float32),),
    sizes=[64, 1, 100],
    launch=lambda n: (-(-n // 64), 64),
    full=1 << 20,
    limits={"float64": 0},
)

# %% [markdown]
# ## Measure: half the width
#
# The new kernel does the same 20 steps with half the bits. The GPU has twice as many
# arithmetic units for float32. So is the kernel twice as fast?

# %%
guess = {"float32": None}


def widths():
    x, out = on_gpu((MANY,), (MANY,))
    grid = MANY // 256, 256
    return {
        "float64": lambda: cube_roots[grid](x, out),
        "float32": lambda: cube_roots32[grid](x, out),
    }


width = bench.compare(
    "2^24 cube roots",
    widths,
    baseline="float64",
    flops=100 * MANY,
    guess=guess,
)
width

# %% tags=["solution"]
width.expect("float32", at_least=1.3)

# %% [markdown] tags=["solution"]
# What is the bottleneck now? For the new kernel, Nsight Compute reports the XU pipeline
# at 80 %. This is the unit that starts reciprocals and checks the operands of
# divisions. An SM does 16 of these operations per cycle, but 128 additions. There are
# two divisions in a step, and one of them is by 3. You can write a division by a
# constant as a product. The compiler must not do that, because the last bit could
# differ.

# %% tags=["solution"]
THIRD = float32(1 / 3)


@cuda.jit
def one_division(x, out):
    """Write the cube root of each x; one division is now a product."""
    i = cuda.grid(1)

    if i < x.size:
        y = float32(1)
        for _ in range(20):
            y = (float32(2) * y + x[i] / (y * y)) * THIRD
        out[i] = y


def divisions():
    x, out = on_gpu((MANY,), (MANY,))
    grid = MANY // 256, 256
    return {
        "two divisions": lambda: cube_roots32[grid](x, out),
        "one division": lambda: one_division[grid](x, out),
    }


fewer = bench.compare(
    "2^24 cube roots in float32",
    divisions,
    baseline="two divisions",
    flops=100 * MANY,
)
fewer.expect("one division", at_least=1.2)
fewer

# %% [markdown] tags=["solution"]
# On paper the three kernels do the same number of operations. They differ in the
# instructions that these operations become and in the pipelines that execute them, and
# only the counters show that. (The largest saving is not to compute at all: between 1
# and 2, four steps come as near to the root in float32 as twenty do.)

# %% [markdown]
# ## 6 · Latency: more of them at once
#
# The program `columns` makes one launch, computes in float32, and has coalesced loads.
# But it has only 1024 threads, whereas the GPU has room for 270,336. Each thread adds
# 32,768 numbers and waits for its loads as it goes, so no unit is busy. The cure is
# more loads in flight, and so more threads.
#
# Cut each column into **pieces** of `PIECE` rows, with one thread per piece. The grid
# is now two-dimensional: `cuda.grid(1)` is still the column, and `cuda.blockIdx.y` is
# the number of the piece. The last piece may be shorter. Several threads add to the
# same element of `out`, so they need an atomic (chapter 9); `out` starts as zeros.
#
# The check allows each thread `PIECE` loads and one atomic.
#
# ```python
# piece_sums(x, out)    # (rows, cols) -> (cols,)  float32, starts at 0
# ```
#
# Stuck? `hint("piece_sums")`.

# %% tags=["given"]
PIECE = 64


# %%
@cuda.jit
def piece_sums(x, out):
    """Add the sum of each piece of PIECE rows to its column of out."""
    col = cuda.grid(1)
    first = cuda.blockIdx.y * PIECE

    # about 5 lines
    # BEGIN SOLUTION
    if col < x.shape[1]:
        part = float32(0)
        for row in range(first, min(first + PIECE, x.shape[0])):
            part += x[row, col]
        cuda.atomic.add(out, col, part)
    # END SOLUTION


# %%
check(
    piece_sums,
    spec=lambda x: x.sum(axis=0),
    inputs=lambda rng, rows, cols: (rng.random((rows, cols), np.float32),),
    out=lambda x: np.zeros(x.shape[1], np.float32),
    sizes=[(64, 32), (10, 40), (200, 70)],
    launch=lambda rows, cols: ((-(-cols // 32), -(-rows // PIECE)), 32),
    full=(8192, 1024),
    limits={"loads": PIECE, "atomics": 4 * 70},  # 200 rows: 4 pieces
)

# %% [markdown]
# ## Measure: more threads
#
# There are now 512 times as many threads. The roofline's bound is 134 MB at the rate of
# a copy: 32 µs on an H200. PyTorch has a sum, too. How many times as fast as
# `column_sums` are `piece_sums` and `torch.sum`?

# %%
guess = {"piece_sums": None, "torch.sum": None}


def sums():
    x = between_1_and_2(ROWS, COLS)
    d_x, (out,) = cuda.as_cuda_array(x), on_gpu((COLS,))
    pieces = (COLS // 64, ROWS // PIECE), 64
    return {
        "column_sums": lambda: column_sums[COLS // 64, 64](d_x, out),
        "piece_sums": lambda: piece_sums[pieces](d_x, out),
        "torch.sum": lambda: x.sum(dim=0),
    }


columns = bench.compare(
    "32768 x 1024, sums of the columns",
    sums,
    baseline="column_sums",
    bytes=4 * ROWS * COLS,
    ceiling=copy["copy"].rate if weft.GPU else None,
    guess=guess,
)
columns

# %% tags=["solution"]
columns.expect("piece_sums", at_least=10)

# %% [markdown] tags=["solution"]
# Not one instruction has become faster, but more loads are in flight. On the H200, at
# two thirds of the copy's rate, the kernel reaches another bottleneck: the ALU, 71 %
# busy, which computes a 64-bit index for every addition.
#
# By the way, `nvidia-smi` shows a "GPU-Util" of 99 % for `column_sums`. That is the
# share of the time during which any kernel runs. The power draw says more:
# `column_sums` draws 134 W, whereas an idle H200 draws 124 W, and `speeds` draws 599 W.

# %% [markdown]
# ## Look: a timeline, from PyTorch
#
# Where does the time go *between* kernels? PyTorch's profiler records each launch on
# the host and each kernel on the GPU. It needs no permission, and it sees Numba's
# kernels too. For the 64 launches, the graph and your kernel: how long does each take,
# and how much of that time is spent in kernels?

# %%
def timeline(**works):
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


if weft.on_gpu("the chapter shows a recorded timeline"):
    candidates = fewer_launches()
    timeline(
        launches=candidates["64 launches"],
        graph=candidates["as a graph"],
        all_steps=candidates["all_steps"],
    )

# %% [markdown]
# ## If you want more
#
# - Time the four programs with your own `gpu_time`. Which of the times is too long, and
#   what would you queue first to correct it?
# - If you may read counters, run `ncu --set full -k regex:speeds python programs.py
#   speeds` with `book/recordings/11_profiling/programs.py`. Find every number of
#   exercise 2 in its output.
# - How long should a piece be? Measure `piece_sums` with a `PIECE` of 16, 32, …, 1024.
# - Do four steps of Newton's method instead of twenty. How large is the error, and what
#   is the class of that kernel?
# - Give each thread of `all_steps` two springs; then try 2^24 springs. Which class is
#   the program in now, and what does the graph gain?
# - Profile three steps of one of your training loops with `torch.profiler`. How much of
#   the time is in kernels? Name the class before you change anything.
#
# ## What you learned
#
# 1. A launch returns before the kernel runs. Time with events, after a warm-up, and
#    take the median. Queue a short kernel after something long.
# 2. Divide the bytes by the copy's rate and the operations by the product's rate: the
#    larger quotient is the least time. How near you are to it says how much there is to
#    gain.
# 3. Ask in order: is the GPU busy? Is a roof near? Is a unit busy? If the GPU is busy
#    but the other two answers are no, it is latency.
# 4. Fewer launches, fewer bytes, cheaper arithmetic, more threads: each cures one
#    class and does nothing for the others.
# 5. A count by hand says what is needed, and a counter says what is done. The gap
#    between the two is what you can win back.

# %%
quiz()
