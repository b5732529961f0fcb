# %% [markdown]
# # 01 · Why GPUs
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/01_why_gpus.ipynb)
#
# **After this lab, you can**
#
# - say which of two processors will finish first, and why, before you time them;
# - write the host's part of a GPU program: send, launch and fetch;
# - find the size from which a GPU pays off, with its copies included;
# - compute what more workers can do for a program, and what they cannot;
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

import math
import os
from time import perf_counter

import matplotlib.pyplot as plt
import numba
import numpy as np
from numba import cuda, float32, njit, prange

from weft import bench, check, hint, quiz, streams
from weft.device import cpu

mistakes = weft.lab("01_why_gpus").mistakes

# %% [markdown]
# ## Two processors
#
# Your machine has a **CPU**, which runs this notebook, and perhaps a **GPU**. A CPU
# runs a few threads, each as fast as possible. A GPU runs many thousands of threads,
# none of them fast. In this lab, the two processors race.

# %%
if hasattr(os, "sched_getaffinity"):
    THREADS = len(os.sched_getaffinity(0))  # those that we may use
else:
    THREADS = os.cpu_count()

print("CPU:", cpu.name(), "with", THREADS, "threads")
print("GPU:", weft.device.find().name or "none here")


def shown(value, digits=2):
    """Write a number for a table; "?" where an exercise is still open."""
    return "?" if value is None else f"{value:,.{digits}f}"

# %% [markdown]
# ## 1 · One number for each thread
#
# Take a number. If it is even, halve it; if it is odd, triple it and add one. Repeat
# until you reach 1, and count the steps. From 6 you get 3, 10, 5, 16, 8, 4, 2, 1, which
# is 8 steps. From 27, it takes 111 steps. There is no known short cut: to know where
# step 50 leads, you have to take the 49 before it.
#
# Here is the function that counts the steps, once as plain Python, once compiled for
# the CPU and once for the GPU. The source is the same for all three. (`n >> 1` is half
# of `n`, and `n & 1` is 1 for odd numbers.)

# %% tags=["given"]
def steps(n):
    """Count the steps that lead from n to 1."""
    count = 0
    while n != 1:
        n = 3 * n + 1 if n & 1 else n >> 1
        count += 1
    return count


steps_cpu = njit(steps)
steps_gpu = cuda.jit(device=True)(steps)

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
# Threads do not all take equally long: the thread with 27 takes 111 steps, whereas its
# neighbour with 28 takes only 18. On a GPU, 32 threads run together, so the neighbour
# waits. Chapter 8 examines what this wait costs.

# %% [markdown]
# ## Measure: one after the other
#
# **One** thread works through a thousand numbers, from 1,047,577 to 1,048,576: first a
# CPU thread, then a GPU thread. The program is the same. Which is faster, and by what
# factor? Write down your guess (10 means that the GPU is ten times as fast as the CPU,
# and 0.1 that it has a tenth of the CPU's speed), then run the cell.

# %%
@njit
def in_turn_cpu(numbers, out):
    for i in range(numbers.size):
        out[i] = steps_cpu(numbers[i])


@cuda.jit
def in_turn_gpu(numbers, out):
    for i in range(numbers.size):
        n = numbers[i]
        out[i] = steps_gpu(n)


guess = {"one thread of the GPU": None}


def one_thread_each():
    numbers = np.arange(1_047_577, 1_048_577)
    out = np.empty_like(numbers)
    d_numbers = cuda.to_device(numbers)
    d_out = cuda.device_array_like(numbers)
    return {
        "one thread of the CPU": lambda: in_turn_cpu(numbers, out),
        "one thread of the GPU": lambda: in_turn_gpu[1, 1](d_numbers, d_out),
    }


alone = bench.compare(
    "1,000 numbers by one thread",
    one_thread_each,
    baseline="one thread of the CPU",
    guess=guess,
    host=True,
)
alone

# %% tags=["solution"]
alone.expect("one thread of the CPU", at_least=5, times="one thread of the GPU")

# %% [markdown] tags=["solution"]
# The CPU is faster, by far. Each step needs the result of the one before, so all that
# counts is how soon a result is available: **latency**. A CPU has a higher clock, needs
# fewer cycles for an addition, and predicts which way a branch will go. All of that is
# there to make one thread fast, and a GPU has little of it.

# %% [markdown]
# ## Measure: all at once
#
# Now take the numbers from 1 to 1,048,576, and use everything that each processor has.
# The CPU splits them among the number of threads that turns out to be fastest. That
# need not be all of its threads: often two of them share a core, and if other programs
# are running, the slowest thread holds up the others. So the cell tries several counts.
# The GPU gets one thread per number and runs your kernel: once with the numbers already
# in its memory, and once including both copies, the numbers to the GPU and the results
# back.
#
# How many times as fast as *many* CPU threads is the GPU? (If exercise 1 is still open,
# the cell times a kernel that does nothing, and does that very quickly.)

# %%
@njit(parallel=True)
def shared_out_cpu(numbers, out):
    for i in prange(numbers.size):
        out[i] = steps_cpu(numbers[i])


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
    import torch

    counts = [THREADS - 2, THREADS // 2, THREADS // 4]
    best = min({max(count, 1) for count in counts}, key=seconds)
    print(f"The CPU is fastest with {best} of its {THREADS} threads.")
    numba.set_num_threads(best)
    torch.set_num_threads(best)


def pinned(x):
    """Return x as a tensor in memory that the GPU can copy from directly."""
    return torch.from_numpy(x).pin_memory()


guess = {"GPU": None, "GPU and copies": None}


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


crowd = bench.compare(
    "2^20 numbers by many threads",
    everybody,
    baseline="CPU, many threads",
    guess=guess,
    host=True,
)
crowd

# %% tags=["solution"]
crowd.expect("GPU", at_least=15)
crowd.expect("GPU and copies", at_least=4)

# %% [markdown] tags=["solution"]
# The lines of code are the same, but the result is the opposite. No thread of the GPU
# has become any faster, but there are so many of them that it does not matter. What
# counts here is how many results come out per second: **throughput**.

# %% [markdown]
# ## 2 · The shape of a program
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
# The check keeps track of what has been written where, and names any line that comes
# too early.
#
# ```python
# converted(celsius)    # NumPy array (n,) float32 -> a new NumPy array (n,)
# ```
#
# Stuck? `hint("converted")`.

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
    given=lambda bench, celsius: (bench.pageable(celsius),),
    sizes=[64, 1, 50, 33_000],
    limits={"traffic": 1, "block": 32},
)

# %% [markdown] tags=["solution"]
# `d_celsius` and `d_out` start out with whatever was in that memory before. Without the
# first copy, the kernel converts rubbish. If the last copy comes too early, rubbish is
# what you get back. Nothing reports either error, so the order is the first thing to
# check when a GPU program gives wrong numbers.
#
# In CUDA C++ the lines are `cudaMalloc`, `cudaMemcpy`, `kernel<<<blocks, threads>>>`
# and `cudaMemcpy` again. The chapter shows the two programs side by side.

# %% [markdown]
# ## 3 · Where the GPU begins to win
#
# A launch and two copies take time, and for a small amount of data they take nearly all
# of it. So there is often a **crossover**, a size from which the GPU is faster.
#
# You get a table of measurements as arrays: the `sizes`, from small to large, and for
# each size the time in milliseconds that the CPU takes, and the times of the three
# parts of the GPU's work: `send`, `kernel` and `fetch`. Return the smallest size such
# that the GPU is faster at that size and at every larger size in the table. If the GPU
# is still behind at the last size, return `math.inf`.
#
# Measurements are noisy. If the GPU is ahead once, that does not mean that it stays
# ahead.
#
# ```python
# crossover(sizes, cpu, send, kernel, fetch)    # arrays (m,) -> a size
# ```
#
# Stuck? `hint("crossover")`.

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


# %% tags=["given"]
PARTS = {  # of the CPU's time: send, kernel, fetch
    "w": (0.2, 0.3, 0.2),  # the GPU is ahead
    "k": (0.3, 1.2, 0.3),  # it is behind: its kernel is slow
    "c": (0.8, 0.3, 0.8),  # both copies are
    "s": (0.8, 0.3, 0.2),  # one of them is
    "f": (0.2, 0.3, 0.8),
    "t": (0.25, 0.5, 0.25),  # a tie
}


def races(rng):
    """Make tables of times, for as many sizes as there are letters of PARTS."""
    tables = []
    four = "kkww", "kcfw", "kcsw", "kwsw", "wwww", "kkwk"
    for letters in (*four, "kkkww", "wtw"):
        m = len(letters)
        sizes = 2 ** np.sort(rng.choice(np.arange(4, 14), m, replace=False))
        cpu = 4 * np.round(sizes * rng.uniform(0.8, 1.2, m) / 16)
        parts = np.array([PARTS[letter] for letter in letters]).T
        tables.append((sizes, cpu, *np.round(cpu * parts, 1)))
    return tables


# %%
check(
    crossover,
    spec=lambda sizes, cpu, *gpu: min(
        sizes[sizes > max(sizes[cpu <= sum(gpu)], default=0)], default=math.inf
    ),
    inputs=races,
    because=mistakes.crossover,
)

# %% [markdown] tags=["solution"]
# If you start from the largest size and go down for as long as the GPU is ahead, a
# lucky win among losses does not count. Note that all three parts belong to the GPU's
# time.

# %% [markdown]
# ## Measure: three crossovers
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


def race(title, racing, sizes):
    """Time a task at all sizes: size -> table."""
    return {
        n: bench.compare(title.format(n), racing(n), host=True) for n in sizes
    }


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

# %% [markdown]
# Now apply your function to the tables: first with everything included, then as if the
# data already lived on the GPU and stayed there, with nothing to send and nothing to
# fetch.

# %%
def as_arrays(by_size):
    """Return sizes, and the ms of CPU, send, kernel and fetch, as arrays."""
    rows = [
        {row.name: row.ms for row in table} for table in by_size.values()
    ]
    cpus = [min(v for k, v in r.items() if "CPU" in k) for r in rows]
    parts = ([r[k] for r in rows] for k in ("send", "kernel", "fetch"))
    return tuple(map(np.array, (list(by_size), cpus, *parts)))


measured = {
    task: as_arrays(by_size)
    for task, by_size in tables.items()
    if all(len(table) for table in by_size.values())
}
for task, (sizes, cpu_ms, send, kernel, fetch) in measured.items():
    nothing = np.zeros_like(send)
    whole = crossover(sizes, cpu_ms, send, kernel, fetch)
    there = crossover(sizes, cpu_ms, nothing, kernel, nothing)
    print(
        f"{task:7} with copies: {shown(whole, 0):>6}"
        f"   data already there: {shown(there, 0):>6}"
    )

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
#   memory is faster than the bus, so by the time the data have arrived on the GPU, the
#   CPU could have finished. No size changes that, because both times grow in
#   proportion. If the data already live on the GPU, the GPU wins.
# - The matrix product does n / 6 operations per byte that crosses the bus. At n = 128
#   that is too little; at 4096 it is plenty. The copies still take longer than the
#   product itself, and the CPU next to the H200 takes about ten times as long as the
#   copies and the product together.
# - In `steps`, each number of 8 bytes takes about a hundred steps, and a result of 8
#   bytes comes back. What sets this crossover is the cost of a launch, most of which is
#   time spent in Python.

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
# The check uses no formula: it simulates the workers and looks at the clock.
#
# ```python
# amdahl(serial, workers)    # fraction from 0 to 1, int -> speed-up
# ```
#
# Stuck? `hint("amdahl")`.

# %%
def amdahl(serial, workers):
    """Return how many times as fast `workers` are as one."""
    # about 2 lines
    # BEGIN SOLUTION
    hours = serial + (1 - serial) / workers
    return 1 / hours
    # END SOLUTION


# %% tags=["given"]
def ticks(alone, shared, workers):
    """Return how long it takes: a step a tick, `shared` ones by all workers."""
    return alone + math.ceil(shared / workers)


def by_the_clock(serial, workers):
    """Share out a million steps for each worker, and compare two times."""
    alone, shared = serial * 1e6 * workers, (1 - serial) * 1e6 * workers
    return ticks(alone, shared, 1) / ticks(alone, shared, workers)


# %%
check(
    amdahl,
    spec=by_the_clock,
    inputs=lambda rng: [
        (0.2, 3),
        (0.05, 16),
        (0.01, 16896),
        (round(rng.uniform(0.1, 0.4), 2), int(rng.integers(3, 100))),
    ],
    tolerance=1e-4,
    because=mistakes.amdahl,
)

# %% [markdown]
# Back to the race. The GPU's arithmetic units share the work of the kernel, but the
# copies take as long as before. So with the copies as the serial part, how many times
# as fast would the whole task be on a GPU with ten times as many units? And with a
# million times as many?

# %%
for task, (_, _, send, kernel, fetch) in measured.items():
    copies = (send + fetch)[-1] / (send + kernel + fetch)[-1]
    print(
        f"{task:7} copies {copies:4.0%}"
        f"   10 times the units: {shown(amdahl(copies, 10))}"
        f"   a million times: {shown(amdahl(copies, 10**6))}"
    )

# %% [markdown] tags=["solution"]
# `amdahl(0.05, …)` approaches 20 and never exceeds it: a twentieth that cannot be
# shared is a twentieth that stays. Gene Amdahl made this point in 1967, to argue that
# computers with many processors would not be worth the trouble.
#
# For saxpy, nearly all of the time goes into copies, so a faster GPU would be of no
# use, but a faster bus would help. For the other two tasks, more than half of the time
# goes into copies.

# %% [markdown]
# ## 5 · Gustafson's law
#
# In 1988 John Gustafson had a machine with 1024 processors, and programs that ran more
# than 1000 times as fast on it as on one processor. He had not broken Amdahl's law. He
# had asked a different question. Nobody buys a thousand processors to get the same
# small problem done in the blink of an eye. They buy them to solve a larger problem.
#
# So now keep the *time* the same. With `workers` workers, a program takes an hour. For
# the fraction `serial` of that hour, one worker works and the others watch; for the
# rest of the hour, all of them work. How many hours would **one** worker need for the
# same work?
#
# ```python
# gustafson(serial, workers)    # fraction from 0 to 1, int -> speed-up
# ```
#
# Stuck? `hint("gustafson")`.

# %%
def gustafson(serial, workers):
    """Return how many hours one needs for what `workers` do in an hour."""
    # about 1 line
    # BEGIN SOLUTION
    return serial + (1 - serial) * workers
    # END SOLUTION


# %% tags=["given"]
def in_an_hour(serial, workers):
    """Let workers work for a million ticks, and then one do the same work."""
    alone = serial * 1e6
    shared = (1 - serial) * 1e6 * workers
    return ticks(alone, shared, 1) / ticks(alone, shared, workers)


# %%
check(
    gustafson,
    spec=in_an_hour,
    inputs=lambda rng: [
        (0.2, 3),
        (0.05, 16),
        (0.01, 1024),
        (round(rng.uniform(0.1, 0.4), 2), int(rng.integers(3, 100))),
    ],
    tolerance=1e-4,
    because=mistakes.gustafson,
)

# %%
print("5 % serial      Amdahl   Gustafson")
for workers in (1, 4, 16, 64, 256, 1024):
    fixed = shown(amdahl(0.05, workers))
    scaled = shown(gustafson(0.05, workers))
    print(f"{workers:4} workers {fixed:>9} {scaled:>11}")

# %% [markdown] tags=["solution"]
# With the same 5 %, the two results for 1024 workers differ by a factor of 50. They do
# not contradict each other, because each is 5 % of a different hour: Amdahl's is the
# hour of one worker, Gustafson's the hour of all of them. If your problem has a fixed
# size, ask Amdahl. If it grows with the machine, as data, models and images do, ask
# Gustafson.

# %% [markdown]
# ## Measure: how far, how wide
#
# Here are two more races, this time between memories. In the first, each of a million
# loads has to wait for the one before it: memory holds links, and `link[i]` says where
# to go next. That measures **latency**. (There are a million loads, so you can read the
# milliseconds as nanoseconds per load.) In the second, many threads add up 2^28 float32
# numbers, and no load has to wait for another. That measures **bandwidth**.
#
# Which of the two races does the CPU win? Guess for both: how many times as fast as the
# CPU is the GPU?

# %%
@njit
def chase_cpu(link, count, out):
    i = out[0]  # where the last run ended: nothing is cached there yet
    for _ in range(count):
        i = link[i]
    out[0] = i


@cuda.jit
def chase_gpu(link, count, out):
    i = out[0]  # where the last run ended: nothing is cached there yet
    for _ in range(count):
        i = link[i]
    out[0] = i


def links(size):
    """Return links through all of `size` bytes, 128 bytes apart, shuffled."""
    order = 32 * np.random.default_rng(1).permutation(size // 128)
    link = np.zeros(size // 4, np.uint32)
    link[order] = np.roll(order, -1)
    return link


guess = {"GPU, 1 GB": None}
guess_sum = {"GPU": None}


def chases():
    rungs = {}
    for name, size in {"16 KB": 1 << 14, "1 GB": 1 << 30}.items():
        cpu = links(size), 1_000_000, np.zeros(1, np.uint32)
        gpu = cuda.to_device(cpu[0]), 1_000_000, cuda.to_device(cpu[2])
        rungs[f"CPU, {name}"] = lambda args=cpu: chase_cpu(*args)
        rungs[f"GPU, {name}"] = lambda args=gpu: chase_gpu[1, 1](*args)
    return rungs


def sums():
    x = torch.ones(1 << 28)
    d_x = x.cuda()
    return {
        "CPU, many threads": lambda: torch.sum(x),
        "GPU": lambda: torch.sum(d_x),
    }


far_off = bench.compare(
    "a million loads, one after the other",
    chases,
    baseline="CPU, 1 GB",
    guess=guess,
    host=True,
)
far_off

# %%
wide = bench.compare(
    "sum of 2^28 float32",
    sums,
    baseline="CPU, many threads",
    bytes=4 * (1 << 28),
    guess=guess_sum,
    host=True,
)
wide

# %% tags=["solution"]
far_off.expect("CPU, 1 GB", at_least=1.2, times="GPU, 1 GB")
wide.expect("GPU", at_least=10)

# %% [markdown] tags=["solution"]
# The path to a GPU's memory is about three times as long as the path to a CPU's, and
# many times as wide. That is neither an accident nor a flaw, as the next exercise
# shows.

# %% [markdown]
# ## 6 · Little's law
#
# You have measured how long a load from a GPU's memory takes (its latency), and how
# many bytes per second the memory delivers (its bandwidth). To use all of that
# bandwidth, new loads have to be issued while others are still in flight. How many
# threads have to wait at once, if each waits for `each` bytes?
#
# Think of a pipe. Its contents are what flows in per second, times the seconds it takes
# to flow through: **bytes in flight = latency × bandwidth**. (This is Little's law,
# proved by John Little in 1961, and it holds for queues of people as well.)
#
# Mind the units: the latency is given in nanoseconds, 10⁻⁹ s, and the bandwidth in
# TB/s, 10¹² bytes per second.
#
# ```python
# threads_needed(latency, bandwidth, each)    # ns, TB/s, bytes -> threads
# ```
#
# Stuck? `hint("threads_needed")`.

# %%
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once for a busy memory."""
    # about 2 lines
    # BEGIN SOLUTION
    under_way = latency * 1e-9 * bandwidth * 1e12  # bytes
    return under_way / each
    # END SOLUTION


# %% tags=["given"]
def one_by_one(latency, bandwidth, each):
    """Start a thread whenever memory has time for one; count to the answer."""
    pause = each / (bandwidth * 1e12) * 1e9  # ns between two threads
    return float(len(np.arange(0, latency, pause)))


# %%
check(
    threads_needed,
    spec=one_by_one,
    inputs=lambda rng: [
        (340, 4.8, 4),
        (100, 0.3, 64),
        (340, 4.8, 16),
        (int(rng.integers(200, 900)), round(rng.uniform(1, 8), 1), 12),
    ],
    tolerance=0.01,
    because=mistakes.threads_needed,
)

# %% [markdown]
# How many threads does your own GPU hold at once, and how many would it need to keep
# its memory busy?

# %%
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

# %% [markdown] tags=["solution"]
# This is what all those threads are for. A GPU does not shorten the wait; it has other
# work to do in the meantime. An H200 holds 270,336 threads. With 4 bytes each, that is
# not enough to keep its memory busy, even if all of them do nothing but wait. With 16
# bytes each, four in ten of its threads are enough. Chapters 5 and 12 measure this.
#
# The H200 needs 340 ns × 4.8 TB/s = 1.6 MB in flight, whereas the CPU next to it needs
# about 20 KB. A few cores, each with a few dozen loads in flight, can do that, and
# caches make most loads short.

# %% [markdown]
# ## If you want more
#
# - In `in_turn_gpu`, launch 2, 4, 8, … threads instead of one, each with its share of
#   the thousand numbers. How many threads does it take to match one thread of the CPU?
# - Find the crossover of `steps` more exactly, by bisection between two sizes.
# - Add a fourth race: sorting, `np.sort` against `torch.sort`. Where do you expect the
#   crossover, with the copies and without them?
# - Apply Amdahl's law to a program with two serial parts, one before and one after the
#   shared part. Does the order matter?
#
# ## What you learned
#
# 1. A CPU is built for latency: one thing, soon. A GPU is built for throughput: many
#    things, each in its own time.
# 2. A GPU program allocates, sends, launches and fetches. Each step takes time.
# 3. Whether a GPU pays off depends on the size, and on how much work it does per byte
#    copied.
# 4. What cannot be shared sets the limit (Amdahl), unless the problem grows with the
#    machine (Gustafson).
# 5. Bytes in flight = latency × bandwidth. That is why a GPU needs so many threads.

# %%
quiz()
