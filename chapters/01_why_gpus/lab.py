# %% [markdown]
# # 01 · Why GPUs
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/01_why_gpus.ipynb)
#
# **After this lab, you can**
#
# - say which of two processors will finish first, and why, before you time them;
# - write the host's part of a GPU program: send, launch and fetch;
# - find the size from which a GPU pays off, copies included;
# - compute the speed-up that more workers give a program, and its limit;
# - compute how many threads it takes to keep a memory busy.
#
# **You need** about 60 minutes, and lab 00. You do not need a GPU: without one, the
# exercises run in the simulator, and the measurements show times from the reference
# GPU. If you use a GPU, it needs compute capability 7.5 or higher and 3 GB of memory,
# and the host needs 6 GB.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import inspect
import math
import os
from time import perf_counter

import matplotlib.pyplot as plt
import numba
import numpy as np
from numba import cuda, float32, njit, prange

from weft import bench, check, hint, quiz, streams
from weft.device import cpu

chapter = weft.lab("01_why_gpus")
checks, mistakes = chapter.checks, chapter.mistakes

# %% [markdown]
# ## Two processors
#
# Your machine has a **CPU**, which runs this notebook, and perhaps a **GPU**. A CPU
# runs a few threads, each as fast as possible. A GPU runs many thousands of threads,
# none of them fast. In this lab, the two processors race.

# %%
print("CPU:", cpu.name(), "with", chapter.measure.THREADS, "threads")
print("GPU:", weft.device.find().name or "none here")

# %% [markdown]
# ## 1 · One number for each thread
#
# Take a number. If it is even, halve it; if it is odd, triple it and add one. Repeat
# until you reach 1, and count the steps. From 6 you get 3, 10, 5, 16, 8, 4, 2, 1, which
# is 8 steps. From 27, it takes 111 steps. There is no known short cut: to know where
# step 50 leads, you have to take the 49 before it.
#
# Given: the function that counts the steps, once as plain Python, once compiled for the
# CPU and once for the GPU. The source, which the cell prints, is the same for all
# three. (`n >> 1` is half of `n`, and `n & 1` is 1 for odd numbers.)

# %% tags=["given"]
kernels = chapter.kernels
steps, steps_cpu = kernels.steps, kernels.steps_cpu
steps_gpu = kernels.steps_gpu
print(inspect.getsource(steps))

# %% [markdown]
# The steps of one number have to be taken one after another. But different numbers do
# not depend on each other, so let each thread take one number. As in lab 00, the index
# and the guard are given. Add the line that does the work. A kernel can call
# `steps_gpu` like any function. (Along the way the numbers may exceed 2^31, so leave
# them int64.)
#
# ```python
# count_steps(numbers, out)    # (n,) -> (n,)  int64
# ```
#
# Stuck? `hint("count_steps")` in a cell of its own; there are three hints.

# %%
@cuda.jit
def count_steps(numbers, out):
    """Write into out how many steps lead from each of the numbers to 1."""
    i = cuda.grid(1)

    if i < out.size:
        # about 1 line
        # BEGIN SOLUTION
        out[i] = steps_gpu(numbers[i])
        # END SOLUTION


# %%
check(
    count_steps,
    spec=lambda numbers: np.vectorize(steps)(numbers),
    inputs=lambda rng, n: (np.append(rng.integers(1, 1000, n - 1), 113_383),),
    sizes=[32, 1, 50],
    launch=lambda n: (-(-n // 32), 32),
    full=1 << 12,
    limits={"loads": 2, "float64": 0},
)

# %% [markdown] tags=["solution"]
# Thread `i` does not count the steps of `i`, but those of element `i`, `numbers[i]`.
# The result goes to the same index of `out`.
#
# Threads do not all take equally long: the thread with 27 takes 111 steps, whereas
# its neighbour with 28 takes only 18. On a GPU, 32 threads run together, so the
# neighbour has to wait for the thread with 27. Chapter 8 examines what this wait
# costs.

# %% [markdown]
# ## Measure: one after the other
#
# **One** thread works through a thousand numbers, from 1,047,577 to 1,048,576: first a
# CPU thread, then a GPU thread, with the same program. Which of them is faster, and by
# what factor? Write down your guess (10 means that the GPU is ten times as fast as the
# CPU, and 0.1 that it has a tenth of the CPU's speed), then run the cell.

# %%
guess = {"one thread of the GPU": None}

alone = chapter.measure.alone(guess)
alone

# %% tags=["solution"]
alone.expect("one thread of the CPU", at_least=5, times="one thread of the GPU")

# %% [markdown] tags=["solution"]
# The CPU is faster, by far. Each step needs the result of the one before, so all that
# counts is how soon a result is available: **latency**. A CPU has a higher clock, needs
# fewer cycles for an addition, and predicts which way a branch will go. All of this
# makes a single thread fast, and a GPU has little of it.

# %% [markdown]
# ## Measure: all at once
#
# Now take the numbers from 1 to 1,048,576, and use everything that each processor has.
# The CPU splits them among several threads, and the cell tries out which number of
# threads is fastest. It need not be the largest: often two threads share a core, and if
# other programs are running, the slowest thread holds up the others. The GPU gets one
# thread per number and runs your kernel: once with the numbers already in its memory,
# and once including both copies, of the numbers to the GPU and of the results back.
#
# How many times as fast as *many* CPU threads is the GPU? (If exercise 1 is still open,
# the cell times a kernel that does nothing, and does that very quickly.)

# %%
guess = {"GPU": None, "GPU and copies": None}

crowd = chapter.measure.crowd(count_steps, guess)
crowd

# %% tags=["solution"]
crowd.expect("GPU", at_least=15)
crowd.expect("GPU and copies", at_least=4)

# %% [markdown] tags=["solution"]
# The code is the same, but the result is the opposite. No thread of the GPU has become
# any faster, but so many of them run at once that their speed hardly matters. What
# counts here is how many results come out per second: **throughput**.

# %% [markdown]
# ## 2 · Host, device and launches
#
# A GPU has its own memory, and a kernel works on the data in that memory. The CPU,
# called the **host**, is in charge. Every program in this course has the same shape:
#
# 1. allocate memory on the **device**, as the GPU is called here;
# 2. **send** the data: `d_x.copy_to_device(x)`;
# 3. **launch** the kernel: `kernel[blocks, threads](d_x, d_out)`;
# 4. **fetch** the results: `d_out.copy_to_host(out)`.
#
# Below, the kernel `to_fahrenheit` is complete, and the memory is allocated: names with
# `d_` are arrays on the device. Write the other three steps. Each temperature needs its
# own thread. A block has 32 threads, and `blocks` is the number of blocks that you
# need.
#
# The check records what has been written to each array, and names any line that comes
# too early. Stuck? `hint("converted")`.
#
# ```python
# converted(celsius)    # NumPy array (n,) float32 -> a new NumPy array (n,)
# ```

# %% tags=["given"]
@cuda.jit
def to_fahrenheit(celsius, out):
    """Write each temperature in degrees Fahrenheit into out."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = float32(1.8) * celsius[i] + float32(32)


# %%
def converted(celsius):
    """Return the temperatures in degrees Fahrenheit, computed by the GPU."""
    blocks = math.ceil(celsius.size / 32)
    out = np.zeros_like(celsius)
    d_celsius = cuda.device_array_like(celsius)
    d_out = cuda.device_array_like(celsius)

    # about 3 lines: send, launch, fetch
    # BEGIN SOLUTION
    d_celsius.copy_to_device(celsius)
    to_fahrenheit[blocks, 32](d_celsius, d_out)
    d_out.copy_to_host(out)
    # END SOLUTION

    return out


# %%
streams.check(
    converted,
    spec=lambda celsius: 1.8 * celsius + 32,
    inputs=lambda rng, n: (rng.uniform(-40, 40, n).astype(np.float32),),
    given=checks.pageable,
    sizes=[64, 1, 50, 33_000],
    limits={"traffic": 1, "block": 32},
)

# %% [markdown] tags=["solution"]
# `d_celsius` and `d_out` start out with whatever was in that memory before. Without the
# first copy, the kernel converts rubbish. If the last copy comes too early, you fetch
# rubbish. Neither error is reported, so when a GPU program gives wrong numbers, check
# the order first.
#
# In CUDA C++ the lines are `cudaMalloc`, `cudaMemcpy`, `kernel<<<blocks, threads>>>`
# and `cudaMemcpy` again. The chapter shows the two programs side by side.

# %% [markdown]
# ## 3 · Where the GPU begins to win
#
# A launch and two copies take time, and for a small amount of data they take nearly all
# of it. So there is often a **crossover**, a size from which the GPU is faster.
#
# You get a table of measurements as arrays of equal length. `sizes` is in ascending
# order. For each size, `cpu` has the CPU's time in milliseconds, and `send`, `kernel`
# and `fetch` have the times of the three parts of the GPU's work. Return the smallest
# size at which the GPU is faster and stays faster at every larger size in the table. If
# the GPU is still behind at the last size, return `math.inf`.
#
# Measurements are noisy. If the GPU is ahead once, that does not mean that it stays
# ahead. Stuck? `hint("crossover")`.
#
# ```python
# crossover(sizes, cpu, send, kernel, fetch)    # arrays (m,) -> a size
# ```

# %%
def crossover(sizes, cpu, send, kernel, fetch):
    """Return the size from which the GPU is faster; math.inf for never."""
    # about 6 lines
    # BEGIN SOLUTION
    found = math.inf
    for k in range(len(sizes) - 1, -1, -1):
        if send[k] + kernel[k] + fetch[k] >= cpu[k]:
            break
        found = sizes[k]
    return found
    # END SOLUTION


# %%
check(
    crossover,
    spec=lambda sizes, cpu, *gpu: min(
        sizes[sizes > max(sizes[cpu <= sum(gpu)], default=0)], default=math.inf
    ),
    inputs=checks.races,
    because=mistakes.crossover,
)

# %% [markdown] tags=["solution"]
# If you start from the largest size and go down for as long as the GPU is ahead, a
# lucky win among losses does not count. All three parts belong to the GPU's time.

# %% [markdown]
# ## 4 · Amdahl's law
#
# A program takes one worker an hour. One part of it, the fraction `serial` of that
# hour, can be done only by one worker at a time. The rest can be shared out evenly. How
# many times as fast is the program with `workers` workers?
#
# Draw it first: two boxes, one after the other, each as long as its part takes. Which
# of the boxes gets shorter with more workers, and how long do the two take together
# then? The speed-up is the old time divided by the new one.
#
# The check uses no formula. It simulates the workers and measures how long they take.
# Stuck? `hint("amdahl")`.
#
# ```python
# amdahl(serial, workers)    # fraction from 0 to 1, int -> speed-up
# ```

# %%
def amdahl(serial, workers):
    """Return the speed-up of `workers` workers over one."""
    # about 2 lines
    # BEGIN SOLUTION
    hours = serial + (1 - serial) / workers
    return 1 / hours
    # END SOLUTION


# %%
check(
    amdahl,
    spec=checks.by_the_clock,
    inputs=lambda rng: [
        (0.2, 3),
        (0.05, 16),
        (0.01, 16896),
        (round(rng.uniform(0.1, 0.4), 2), int(rng.integers(3, 100))),
    ],
    tolerance=1e-4,
    because=mistakes.amdahl,
)

# %% [markdown] tags=["solution"]
# `amdahl(0.05, …)` approaches 20 and never exceeds it: a twentieth that cannot be
# shared is a twentieth that stays. Gene Amdahl made this point in 1967, to argue that
# computers with many processors would not be worth the trouble.

# %% [markdown]
# ## 5 · Gustafson's law
#
# In 1988 John Gustafson had a machine with 1024 processors, and programs that ran more
# than 1000 times as fast on it as on one processor. He had not broken Amdahl's law, but
# asked a different question. People do not buy a thousand processors to solve the same
# small problem a thousand times as fast. They buy them to solve a larger problem.
#
# So now keep the *time* the same. With `workers` workers, a program takes an hour. For
# the fraction `serial` of that hour, one worker works and the others watch; for the
# rest of the hour, all of them work. How many hours would **one** worker need for the
# same work? Stuck? `hint("gustafson")`.
#
# ```python
# gustafson(serial, workers)    # fraction from 0 to 1, int -> speed-up
# ```

# %%
def gustafson(serial, workers):
    """Return the hours one worker needs for what `workers` do in an hour."""
    # about 1 line
    # BEGIN SOLUTION
    return serial + (1 - serial) * workers
    # END SOLUTION


# %%
check(
    gustafson,
    spec=checks.in_an_hour,
    inputs=lambda rng: [
        (0.2, 3),
        (0.05, 16),
        (0.01, 1024),
        (round(rng.uniform(0.1, 0.4), 2), int(rng.integers(3, 100))),
    ],
    tolerance=1e-4,
    because=mistakes.gustafson,
)

# %% [markdown]
# The cell prints both laws side by side, for a program that is 5 % serial.

# %%
chapter.measure.both_laws(amdahl, gustafson)

# %% [markdown] tags=["solution"]
# With the same 5 %, the two results for 1024 workers differ by a factor of 50. They do
# not contradict each other, because the two hours differ. Amdahl takes 5 % of the hour
# that one worker needs, and Gustafson takes 5 % of the hour in which all of them work.
# If your problem has a fixed size, use Amdahl's law. If it grows with the machine, as
# data, models and images do, use Gustafson's.

# %% [markdown]
# ## 6 · Little's law
#
# A load from a GPU's memory takes a certain time (its latency), and the memory delivers
# a certain number of bytes per second (its bandwidth). You can measure both at the end
# of this lab. To use all of that bandwidth, new loads have to be issued while others
# are still in flight. How many threads have to wait at once, if every thread waits for
# `each` bytes?
#
# Think of a pipe. Its contents are what flows in per second, times the seconds it takes
# to flow through: **bytes in flight = latency × bandwidth**. (This is Little's law,
# proved by John Little in 1961, and it holds for queues of people as well.)
#
# Mind the units: the latency is given in nanoseconds, 10⁻⁹ s, and the bandwidth in
# TB/s, 10¹² bytes per second. Stuck? `hint("threads_needed")`.
#
# ```python
# threads_needed(latency, bandwidth, each)    # ns, TB/s, bytes -> threads
# ```

# %%
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once to keep the memory busy."""
    # about 2 lines
    # BEGIN SOLUTION
    under_way = latency * 1e-9 * bandwidth * 1e12  # bytes
    return under_way / each
    # END SOLUTION


# %%
check(
    threads_needed,
    spec=checks.one_by_one,
    inputs=lambda rng: [
        (340, 4.8, 4),
        (100, 0.3, 64),
        (340, 4.8, 16),
        (int(rng.integers(200, 900)), round(rng.uniform(1, 8), 1), 12),
    ],
    tolerance=0.01,
    because=mistakes.threads_needed,
)

# %% [markdown] tags=["solution"]
# This is why a GPU needs so many threads. It does not shorten the wait, but does other
# work in the meantime. An H200 holds 270,336 threads. With 4 bytes each, that is not
# enough to keep its memory busy, even if all of them do nothing but wait. With 16 bytes
# each, four in ten of its threads are enough. Chapters 5 and 12 measure this.
#
# The H200 needs 340 ns × 4.8 TB/s = 1.6 MB in flight, whereas the CPU next to it needs
# about 20 KB. A few cores with a few dozen loads each can keep that many bytes in
# flight, and their caches shorten most loads.

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious: two sections of
# predictions and measurements, which use your functions. Their code is in `measure.py`,
# in `chapters/01_why_gpus`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### Three crossovers
#
# For three tasks, find the size from which a GPU pays off:
#
# - **steps**: your kernel, for the numbers from 1 to n;
# - **saxpy**: `y = 2.5 * x + y` for n float32 elements, two operations for every three
#   numbers moved;
# - **matmul**: the product of two n × n matrices, 2n³ operations for 3n² numbers moved.
#
# PyTorch computes the last two, on many CPU threads and on the GPU, with libraries that
# have been tuned for years. For `steps`, the CPU uses one thread or many, whichever is
# faster.
#
# Before you run the cells, guess: which of the three tasks needs the largest size for
# the GPU to pay off? And for which task does it never pay off, if the data come from
# the host and the result goes back there?

# %%
tables = chapter.measure.crossovers(count_steps)

# %% [markdown]
# Now apply `crossover` to the tables: first with everything included, then as if the
# data were already on the GPU and stayed there, with nothing to send and nothing to
# fetch.

# %%
measured = {
    task: chapter.measure.as_arrays(by_size)
    for task, by_size in tables.items()
    if all(len(table) for table in by_size.values())
}
chapter.measure.apply_crossover(crossover, measured)

# %%
figure, panels = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True)
for axes, task in zip(panels, measured, strict=False):
    sizes, cpu_ms, send, kernel, fetch = measured[task]
    axes.loglog(sizes, cpu_ms, "s-", label="CPU")
    axes.loglog(sizes, send + kernel + fetch, "o-", label="GPU and copies")
    axes.loglog(sizes, kernel, "^:", label="GPU")
    axes.set_xscale("log", base=2)
    axes.set_title(task)
    axes.set_xlabel("size")
    axes.grid(alpha=0.3)
    axes.legend()
panels[0].set_ylabel("ms")
plt.show()

# %% tags=["solution"]
tables["saxpy"][1 << 26].expect("CPU, many threads", at_least=1.1, times="send")
tables["saxpy"][1 << 26].expect("kernel", at_least=8, times="CPU, many threads")
tables["matmul"][4096].expect("kernel", at_least=8, times="CPU, many threads")

# %% [markdown] tags=["solution"]
# The deciding factor is the **work per byte that is copied**.
#
# - saxpy does two operations for every 12 bytes that cross the bus. The CPU's own
#   memory is faster than the bus, so by the time the data have arrived on the GPU,
#   the CPU could have finished. No size changes that, because both times grow in
#   proportion. If the data are already on the GPU, the GPU wins.
# - The matrix product does n / 6 operations per byte that crosses the bus. At n = 128
#   that is too little; at 4096 it is plenty. The copies still take longer than the
#   product itself, and the CPU next to the H200 takes about ten times as long as the
#   copies and the product together.
# - In `steps`, each number of 8 bytes takes about a hundred steps, and a result of 8
#   bytes comes back. This crossover is set by the cost of a launch, which is mostly
#   time spent in Python.

# %% [markdown]
# Now apply `amdahl` to the race. The GPU's arithmetic units share the work of the
# kernel, but the copies take as long as before. So with the copies as the serial part,
# how many times as fast would the whole task be on a GPU with ten times as many units?
# And with a million times as many?

# %%
chapter.measure.apply_amdahl(amdahl, measured)

# %% [markdown] tags=["solution"]
# For saxpy, nearly all of the time goes into copies, so a faster GPU would be of no
# use, but a faster bus would help. For the other two tasks, more than half of the time
# goes into copies.

# %% [markdown]
# ### Memory latency and bandwidth
#
# Here are two more races, this time between memories. In the first, each of a million
# loads has to wait for the one before it: `link[i]` is the index of the next element to
# load. That measures **latency**. (There are a million loads, so you can read the
# milliseconds as nanoseconds per load.) In the second, many threads add up 2^28 float32
# numbers, and no load has to wait for another. That measures **bandwidth**.
#
# Which of the two races does the CPU win? Guess for both: how many times as fast as the
# CPU is the GPU?

# %%
guess = {"GPU, 1 GB": None}
guess_sum = {"GPU": None}

far_off = chapter.measure.far_off(guess)
far_off

# %%
wide = chapter.measure.wide(guess_sum)
wide

# %% tags=["solution"]
far_off.expect("CPU, 1 GB", at_least=1.2, times="GPU, 1 GB")
wide.expect("GPU", at_least=10)

# %% [markdown] tags=["solution"]
# The path to a GPU's memory is about three times as long as the path to a CPU's, and
# many times as wide. That is neither an accident nor a flaw, as exercise 6 shows.

# %% [markdown]
# How many threads does your own GPU hold at once, and how many would it need to keep
# its memory busy?

# %%
chapter.measure.apply_threads_needed(threads_needed, far_off, wide)

# %% [markdown]
# ### If you want more
#
# - In `in_turn_gpu`, launch 2, 4, 8, … threads instead of one, each with its share of
#   the thousand numbers. How many GPU threads does it take to match one CPU thread?
# - Find the crossover of `steps` more exactly, by bisection between two sizes.
# - Add a fourth race: sorting, `np.sort` against `torch.sort`. Where do you expect the
#   crossover, with the copies and without them?
# - Apply Amdahl's law to a program with two serial parts, one before and one after the
#   shared part. Does the order matter?

# %% [markdown]
# ## What you learned
#
# 1. A CPU is built for latency: one thing, soon. A GPU is built for throughput: many
#    things at once, each of them slowly.
# 2. A GPU program allocates, sends, launches and fetches. Each step takes time.
# 3. Whether a GPU pays off depends on the size, and on the amount of work per byte
#    copied.
# 4. What cannot be shared sets the limit (Amdahl), unless the problem grows with the
#    machine (Gustafson).
# 5. Bytes in flight = latency × bandwidth. That is why a GPU needs so many threads.

# %%
quiz()
