# %% [markdown]
# # 11 · Profiling
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/11_profiling.ipynb)
#
# **After this lab, you can**
#
# - time a launch with events, and say what each other way of timing measures;
# - compute a kernel's least possible time from its bytes and its operations;
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

chapter = weft.lab("11_profiling")
checks = chapter.checks

# %% [markdown]
# ## 1 · Host time and GPU time
#
# A launch puts a kernel into the GPU's queue and returns. So a stopwatch around a
# launch times the queueing. The GPU has its own clock, which you read with an
# **event**: a mark that you put into the queue. When the GPU reaches the mark, it
# records the time.
#
# In this exercise you use a toy GPU that has the same two clocks, both in ms:
#
# - `gpu.launch()` queues its kernel, and `gpu.event()` makes an event;
# - `event.record()` queues the mark: the GPU records the time when it reaches the mark;
# - `event.synchronize()` makes the host wait until the GPU has reached the mark;
# - `start.elapsed_time(end)` returns the ms from one mark to the other.
#
# The last three work like the methods of PyTorch's events that have the same names.
# (The toy's code is in `chapters/11_profiling/checks.py`.)
#
# Write a function that times a launch. A single number proves little, because the first
# launch also compiles the kernel, and any launch may be disturbed by something else. So
# launch the kernel once without timing it. Then time 20 launches, each between two new
# events, and return the **median**, in ms. (The check has a toy with 11 fast launches
# and 9 slow ones. One more slow launch would change the median.) Stuck? Run
# `hint("gpu_time")`; there are three hints.
#
# ```python
# gpu_time(gpu)    # gpu.launch(), gpu.event() -> ms
# ```

# %%
def gpu_time(gpu):
    """Return the median of the GPU's times for 20 gpu.launch() calls, in ms."""
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
    inputs=checks.toys,
    tolerance=0.02,
)

# %% [markdown] tags=["solution"]
# There are four easy mistakes. Without `synchronize`, you read an event that the GPU
# has not reached yet. Without the launch before the loop, one of the 20 times includes
# the compilation, which would spoil a mean. The smallest of the 20 times is the
# luckiest run. And the host's clock times the queueing.
#
# The check has a tolerance of 2 %, for a reason. When the queue is empty, the GPU
# reaches the first event at once and then waits for the launch, so the time includes
# the host's 0.02 ms. The first of the measurements at the end shows when that matters.

# %% [markdown]
# ## Four programs
#
# Here are four programs that are slow. Each does one piece of work, in float32:
#
# - **springs**: move 16,384 masses on springs through 64 small time steps, one launch
#   per step;
# - **speeds**: compute the speeds of 16.8 million particles. Each particle has 8
#   numbers, of which one is its mass and three are its velocity;
# - **roots**: compute the cube roots of 16.8 million numbers, in 20 steps of Newton's
#   method;
# - **columns**: compute the sums of the 1024 columns of a matrix with 32,768 rows.
#
# The next cell prints their kernels. Read them. What does each of them wait for? There
# are four suspects:
#
# - **launch**: the GPU is idle most of the time, since the host is slow to queue
#   kernels;
# - **memory**: bytes move as fast as the memory can move them;
# - **compute**: some arithmetic unit is as busy as it can be;
# - **latency**: the GPU is at work, but none of its units is busy, because the warps
#   spend their time waiting.
#
# Write down what you suspect before you measure.

# %% tags=["given"]
print(chapter.kernels.listing())

# %%
suspects = {"springs": None, "speeds": None, "roots": None, "columns": None}

waited = chapter.measure.waited()
waited

# %% [markdown]
# The table shows how long you wait. Now measure the GPU's part alone. (Python cannot
# queue 64 launches as fast as the GPU runs them, so here they are recorded beforehand
# and started together. Exercise 3 comes back to this.)

# %%
alone = chapter.measure.alone()
alone

# %% [markdown]
# ## What would be possible?
#
# The **roofline** gives a lower bound on a kernel's time. The kernel has to move its
# bytes, which takes at least bytes / (rate of a copy), and to do its operations, which
# takes at least operations / (rate of a matrix product). The larger of these two times
# is the shortest that is possible on this machine. Measure the two rates.

# %%
copy, product = chapter.measure.roofs()
print(copy, product, sep="\n\n")

# %% [markdown]
# Count bytes and operations **by hand**, from what the program has to do, not from how
# it does it. For each speed, three numbers are read and one is written, which makes 16
# bytes; the operations are 3 products, 2 sums and a root. For each cube root, 4 bytes
# are read and 4 are written, and a step of Newton's method has 5 operations.
#
# The next cell does the divisions. `busy` is the share of the waiting time in which the
# GPU works. The last two columns divide each of the roofline's two times by the GPU's
# time. They show how close the program comes to each roof.

# %%
chapter.measure.near_roofs(waited, alone, copy, product)

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
# The throughput of a unit is a percentage of what that unit could do. A **wave** is the
# number of blocks that the GPU can hold at once. An SM has four schedulers. In each
# cycle, a scheduler can **issue** one instruction, for one of up to 16 warps. *Stalled
# on a load* is the share of a warp's time that it spends waiting for values from
# memory. A **request** is one load by a warp. Memory answers it in **sectors** of 32
# bytes, 4 of which hold 32 float32.
#
# Look at the counters, at the table that you printed, and at the chapter if you like.
# Then fill in the classes. Where the check disagrees, it gives a reason. Stuck?
# `hint("classify")`.
#
# ```python
# classify(program)    # "springs" -> "launch", "memory", "compute" or "latency"
# ```

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
# kernel at a time. **Is a roof near?** For the speeds, the count by hand said less than
# half of the memory's rate, whereas the counters say 92 %. Both are right: at full
# speed, the kernel moves more than twice the bytes it needs. **Is a unit busy?** The
# roots compute in float64, at half the rate, and with a division that takes many
# instructions. Your count could not show that. **None of these?** Then the class is
# latency. The columns have only 1024 threads, one warp per scheduler, and each warp
# waits for its loads.

# %% [markdown]
# ## 3 · Launch: all steps at once
#
# The springs wait for the host. There are two cures: record the launches once and start
# them together (a **CUDA graph**), or make fewer of them. Each mass has its own spring
# and is independent of the others, so a thread can do all the steps of its mass without
# leaving the kernel. Position and speed stay in two variables, that is, in registers.
#
# Put both loads before the first step, and both stores after the last. The check counts
# the loads of each thread and allows 2.
#
# ```python
# all_steps(x, v, steps, x_out, v_out)    # (n,), (n,), int -> (n,), (n,)  float32
# ```
#
# In each step, the new speed is `v - DT * x`, and the new position is `x + DT *` that
# new speed. Stuck? `hint("all_steps")`.

# %% tags=["given"]
DT = float32(0.01)

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


# %%
check(
    all_steps,
    spec=checks.step_by_step,
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
# ## 4 · Memory: move what you need
#
# A particle is a row of 8 numbers, 32 bytes, which is one sector. A warp's load of `vx`
# touches 32 rows, so it takes 32 sectors. These bring all 8 numbers of each particle,
# of which only 3 are needed. The kernel cannot be faster than its bytes allow.
#
# You can count those bytes without a GPU, and without anyone's permission. `weft.trace`
# runs a kernel in the simulator and records the memory that it touches. Here it does so
# for 128 particles, for each of which you counted 16 bytes: 2048 in total. How many
# bytes are moved? How many of them are distinct, so that even a perfect cache would
# have to fetch them?

# %%
some = np.ones((128, 8), np.float32)
weft.trace(chapter.kernels.speeds)[2, 64](some, np.empty(128, np.float32))

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

# %% tags=["given"]
VX, VY, VZ = 3, 4, 5  # where a particle keeps its velocity

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
# ## 5 · Compute: the arithmetic that you meant
#
# For the roots, Nsight Compute names the busiest pipeline: FP64. But the task was to
# compute in float32. A Python literal like `2.0` is a float64, and a float32 times a
# float64 is a float64, so the whole loop computes in float64. The H200 does that at
# half the rate of float32; most other GPUs do it at a 32nd or a 64th of that rate.
#
# Fix the kernel by changing two lines. `float32(2)` is a literal of type float32.
# (Dividing a float32 by the integer `3` gives a float64 again.) The check counts the
# lines that compute in float64, and allows none. Stuck? `hint("cube_roots32")`.
#
# ```python
# cube_roots32(x, out)    # (n,) -> (n,)  float32
# ```

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
# The check allows each thread `PIECE` loads and one atomic. Stuck?
# `hint("piece_sums")`.
#
# ```python
# piece_sums(x, out)    # (rows, cols) -> (cols,)  float32, starts at 0
# ```

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

columns = chapter.measure.columns(piece_sums, PIECE, copy, guess)
columns

# %% tags=["solution"]
columns.expect("piece_sums", at_least=10)

# %% [markdown] tags=["solution"]
# Not one instruction has become faster, but more loads are in flight. On the H200, the
# kernel reaches two thirds of the copy's rate. Its next bottleneck is the ALU, which is
# 71 % busy, probably with a 64-bit index for every addition.
#
# `nvidia-smi` shows a "GPU-Util" of 99 % for `column_sums`, but that is only the share
# of the time during which any kernel runs. The power draw tells you more: `column_sums`
# draws 134 W, whereas an idle H200 draws 124 W, and `speeds` draws 599 W.

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious: four
# measurements, each with a prediction, and a timeline. Their code is in `measure.py`
# and their kernels in `kernels.py`, both in `chapters/11_profiling`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### Four stopwatches, two launches
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

large = chapter.measure.large(guess)
large

# %%
small = chapter.measure.small(guess_small)
small

# %% [markdown]
# And what does your `gpu_time` report?

# %%
if weft.on_gpu("gpu_time has only the toy to time"):
    chapter.measure.time_launches(gpu_time)

# %% tags=["solution"]
large.expect("clock", at_least=2)
large.expect("events", at_least=0.6)
small.expect("events, queued", at_least=2, times="events")
small.expect("events, queued", at_least=2, times="clock, waiting")

# %% [markdown] tags=["solution"]
# For a long kernel, all stopwatches except `clock` agree to within about a tenth. For a
# short kernel, three of the four measure the host. In an empty queue, a pair of events
# is no better than the clock. The GPU passes the first event and is then idle until
# Python has finished the launch.
#
# `bench.compare` keeps the GPU busy first, as the last row does, and it clears the
# cache as well. With `host=True` it deliberately does the opposite: it times how long a
# program waits.

# %% [markdown]
# ### What did the launches cost?
#
# Compare the 64 launches with a graph of them, and with your kernel. One launch takes
# the host 25 to 50 µs, depending on how fast and how busy it is, and one kernel takes
# the GPU 1.3 µs. How many times as fast are the graph and your kernel?

# %%
guess = {"as a graph": None, "all_steps": None}

springs = chapter.measure.springs(all_steps, guess)
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
# ### Fewer bytes
#
# Predict with the roofline: how many bytes does each of the two kernels move per
# particle? What should the ratio of their times be, if both run at the rate of a copy?

# %%
guess = {"a row a field": None}

layout = chapter.measure.layout(field_speeds, copy, guess)
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
# On an H200 the factor is less than 2.25, because the second kernel does not come as
# close to the roof as the first. It probably has too few bytes in flight, since each
# thread makes only three loads of 4 bytes. The slower memory of an H100 needs fewer
# bytes in flight: there the kernel almost reaches the copy's rate.

# %% [markdown]
# ### Half the width
#
# `cube_roots32` does the same 20 steps with half the bits. For float32, the GPU has
# twice as many arithmetic units. Is the kernel twice as fast?

# %%
guess = {"float32": None}

width = chapter.measure.width(cube_roots32, guess)
width

# %% tags=["solution"]
width.expect("float32", at_least=1.3)

# %% [markdown] tags=["solution"]
# The kernel has a new bottleneck: Nsight Compute reports the XU pipeline at 80 %. This
# unit starts reciprocals and checks the operands of divisions. An SM does 16 of these
# operations per cycle, but 128 additions. A step has two divisions, one of which is by
# 3. You can write a division by a constant as a product, which the compiler must not
# do, because the last bit could differ.

# %% tags=["solution"]
fewer = chapter.measure.fewer(cube_roots32)
fewer.expect("one division", at_least=1.2)
fewer

# %% [markdown] tags=["solution"]
# On paper the three kernels do the same number of operations. They differ in the
# instructions that these operations become and in the pipelines that execute them, and
# only the counters show that. (The largest saving is not to compute at all: between 1
# and 2, four steps come as near to the root in float32 as twenty do.)

# %% [markdown]
# ### A timeline, from PyTorch
#
# Where does the time go *between* kernels? PyTorch's profiler records each launch on
# the host and each kernel on the GPU. It needs no permission, and it sees Numba's
# kernels too. For the 64 launches, the graph and your kernel: how long does each take,
# and how much of that time is spent in kernels?

# %%
if weft.on_gpu("the chapter shows a recorded timeline"):
    chapter.measure.timeline(all_steps)

# %% [markdown]
# ### If you want more
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

# %% [markdown]
# ## What you learned
#
# 1. A launch returns before the kernel runs. Time with events, after a warm-up, and
#    take the median. Queue a short kernel after something long.
# 2. Divide the bytes by the copy's rate and the operations by the product's rate: the
#    larger quotient is a lower bound on the kernel's time. Compare the measured time
#    with it to see how much there is to gain.
# 3. Ask in order: is the GPU busy? Is a roof near? Is a unit busy? If the GPU is busy
#    but the other two answers are no, the class is latency.
# 4. Fewer launches, fewer bytes, cheaper arithmetic, more threads: each cures one
#    class and does nothing for the others.
# 5. A count by hand says what is needed, and a counter says what is done. The gap
#    between the two is what you can win back.

# %%
quiz()
