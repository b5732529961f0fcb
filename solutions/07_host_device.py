# %% [markdown]
# # 07 · Host and device
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/07_host_device.ipynb)
#
# **When you are through, you can**
#
# - send data to the GPU and fetch the results, and copy no byte more than you must;
# - say which kind of host memory a copy wants, and what that memory costs;
# - time a kernel, and tell a time from the time of asking for it;
# - overlap copies with kernels, and read the overlap off a timeline;
# - order streams by events, and reuse a buffer without a race.
#
# **You need** about 90 minutes. No GPU: the exercises run in a model, and the
# measurements then show the rows of the reference GPU. With a GPU: compute
# capability 7.5 or higher, 1 GB of its memory and 2 GB of the host's.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import ctypes
import threading
import time

import numpy as np
from numba import cuda, float32

from weft import bench, hint, quiz
from weft.streams import check, timeline
from weft.timing import Sample

weft.lab("07_host_device")

# %% [markdown]
# ## The kernel is given
#
# For once you write no kernel. This one lets temperatures cool towards 20 degrees: in
# each step, a value loses a thousandth of what it is too warm. It stays as it is for
# the whole lab. What changes is the Python around it, the **host's** side: who copies
# what, when, in which order, and who waits for whom.

# %% tags=["given"]
STEPS = 4  # more of them later, when time matters
THREADS = 128


@cuda.jit
def cool(x, out, steps):
    """Let x cool towards 20 degrees, a thousandth of the difference a step."""
    i = cuda.grid(1)

    if i < x.size:
        t = x[i]
        for _ in range(steps):
            t += float32(0.001) * (float32(20) - t)
        out[i] = t


def blocks(n):
    """Return how many blocks of THREADS give n threads."""
    return -(-n // THREADS)


# %% [markdown]
# ## 1 · There and back
#
# The CPU (the **host**) and the GPU (the **device**) have memories of their own, and a
# bus between them. A kernel works on the device's. So a calculation is four steps:
#
# 1. `cuda.to_device(x)` makes an array on the device and copies `x` into it.
#    `cuda.device_array_like(x)` makes one and copies nothing.
# 2. Launch: `cool[blocks(n), THREADS](d_x, d_out, STEPS)`.
# 3. `d_out.copy_to_host()` brings the result back, as a new NumPy array.
# 4. The memory on the device is given back when nothing refers to it any more.
#
# The check counts what crosses the bus: `x` once, the result once, nothing else. And
# it wants blocks of at least 32 threads, as `THREADS` gives them.
#
# ```python
# cooled(x)    # NumPy array (n,) float32 -> a new NumPy array (n,)
# ```
#
# Stuck? `hint("cooled")`; there are three hints.

# %%
def cooled(x):
    """Return x, cooled on the device, as a NumPy array."""
    # about 4 lines
    # BEGIN SOLUTION
    d_x = cuda.to_device(x)
    d_out = cuda.device_array_like(d_x)
    cool[blocks(x.size), THREADS](d_x, d_out, STEPS)
    return d_out.copy_to_host()
    # END SOLUTION


# %%
check(
    cooled,
    spec=lambda x: 20 + (x - 20) * 0.999**STEPS,
    inputs=lambda rng, n: (rng.uniform(0, 90, n).astype(np.float32),),
    given=lambda bench, x: (bench.pageable(x),),
    sizes=[64, 1, 300],
    limits={"traffic": 1, "block": 32},
    tolerance=1e-4,
)

# %% [markdown] tags=["solution"]
# Two copies, no more: `d_out` is made on the device, where its first contents do not
# matter. Numba would also take `cool[...](x, out, STEPS)` with NumPy arrays. It then
# copies *both* to the device and *both* back, and the next launch does it all again.
#
# The copy back waits until the kernel is done. Nothing else in this function does.

# %% [markdown]
# ## Measure: which memory to copy from
#
# The operating system may move or swap out the pages of a NumPy array at any time.
# They are **pageable**, and the bus cannot read from them: the driver first copies the
# data, piece by piece, into memory of its own that stays where it is. Memory that
# stays where it is is called **pinned** (or page-locked): `cuda.pinned_array(shape,
# dtype)` makes a NumPy array in it.
#
# 2^26 float32 are 268 MB. The bus is PCIe of the fifth generation, 16 lanes: 63 GB/s
# on paper, 4.3 ms. How many times as fast is the copy from pinned memory? And 1,024
# float32, 4 KB? Guess, then run.

# %%
guess = {"pinned": None}
guess_small = {"pinned": None}


def sending(n):
    def build():
        page = np.ones(n, np.float32)
        pinned = cuda.pinned_array(n, np.float32)
        pinned[:] = 1
        d_x = cuda.device_array(n, np.float32)
        t_x = torch.empty(n, device="cuda")
        t_pinned = torch.ones(n).pin_memory()
        return {
            "pageable": lambda: d_x.copy_to_device(page),
            "pinned": lambda: d_x.copy_to_device(pinned),
            "pinned, by PyTorch": lambda: t_x.copy_(
                t_pinned, non_blocking=True
            ),
        }

    return build


if weft.GPU:
    import torch

sent = bench.compare(
    "2^26 float32 to the device",
    sending(1 << 26),
    baseline="pageable",
    bytes=4 << 26,
    guess=guess,
    host=True,
)
sent

# %%
few = bench.compare(
    "2^10 float32 to the device",
    sending(1 << 10),
    baseline="pageable",
    bytes=4 << 10,
    guess=guess_small,
    host=True,
)
few

# %% tags=["solution"]
sent.expect("pinned", at_least=1.8)
few.expect("pinned, by PyTorch", at_least=2, times="pinned")
sent.expect("pinned", at_least=20, times="pinned", of=few)  # GB/s

# %% [markdown] tags=["solution"]
# Pinned memory lets the bus run at nearly what it can. From pageable memory a CPU
# copies first, and that is what everything waits for.
#
# 4 KB are another matter. There is hardly anything to copy, and what is left is the
# cost of asking, most of it Python's. PyTorch asks in a fraction of Numba's time, and
# still gets a small share of the bus. So send few large pieces, not many small ones.

# %% [markdown]
# ## Measure: what memory costs
#
# Why is not all memory pinned? Make 2^24 float32 (67 MB) on the device, pinned, and as
# a plain NumPy array of ones, and give it back. Then fetch 268 MB from the device: into
# a new array, as `copy_to_host()` makes it, into a NumPy array that has been used
# before, and into a pinned one. How does making pinned memory compare with device
# memory, and is `new` any slower than `used`? Guess as the tables count, against
# `device` and `new`: 2 is half the time, 0.01 a hundred times as long.

# %%
guess = {"pinned": None}
guess_fetch = {"used": None, "pinned": None}


def making():
    n = 1 << 24
    return {
        "device": lambda: cuda.device_array(n, np.float32),
        "NumPy, filled": lambda: np.ones(n, np.float32),
        "pinned": lambda: cuda.pinned_array(n, np.float32),
    }


def fetching():
    n = 1 << 26
    d_x = cuda.to_device(np.ones(n, np.float32))
    used = np.ones(n, np.float32)
    pinned = cuda.pinned_array(n, np.float32)
    pinned[:] = 1
    return {
        "new": lambda: d_x.copy_to_host(),
        "used": lambda: d_x.copy_to_host(used),
        "pinned": lambda: d_x.copy_to_host(pinned),
    }


made = bench.compare(
    "memory for 2^24 float32",
    making,
    baseline="device",
    guess=guess,
    host=True,
)
made

# %%
fetched = bench.compare(
    "2^26 float32 to the host",
    fetching,
    baseline="new",
    bytes=4 << 26,
    guess=guess_fetch,
    host=True,
)
fetched

# %% tags=["solution"]
made.expect("device", at_least=20, times="pinned")
fetched.expect("used", at_least=2)
fetched.expect("pinned", at_least=1.8, times="used")

# %% [markdown] tags=["solution"]
# Pinning is slow: every page has to be found, locked and made known to the device. It
# also takes memory away from everybody else. So pin a buffer **once** and use it
# often; pinned for a single copy, it costs more than it saves.
#
# And a *new* array is slow in another way. The operating system hands out its pages
# one by one when they are first touched, and that happens during the copy.
# `copy_to_host(out)`, into an array you keep, avoids it.

# %% [markdown]
# ## Measure: no copy at all
#
# **Mapped** memory is pinned memory that kernels can reach: each load crosses the bus.
# **Unified** (managed) memory has one address on both sides, and the driver moves
# pages to whoever touches them.
#
# A kernel adds up 2^22 float32 (17 MB). The host has just written into them, a number
# in each page of 4 KB:
#
# - `copy`: from pinned memory to the device, then the sum;
# - `mapped`: the sum, over the bus;
# - `managed`: the sum, with pages that move.
#
# Then the sum four times over, of the same data. Which one wins the first, and which
# the second? Last, a kernel that needs 1,024 elements of 2^24, anywhere in the array.

# %%
guess = {"mapped": None, "managed": None}
guess_four = {"mapped": None, "managed": None}
guess_gather = {"mapped": None}


@cuda.jit
def total(x, out):
    """Add up x: a sum for each thread."""
    s = float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        s += x[i]
    out[cuda.grid(1)] = s


@cuda.jit
def gather(x, at, out):
    """Write x[at[k]] into out[k]."""
    k = cuda.grid(1)
    if k < out.size:
        out[k] = x[at[k]]


def adding(times):
    def build():
        n = 1 << 22
        far = cuda.device_array(n, np.float32)
        near = cuda.pinned_array(n, np.float32)
        mapped = cuda.mapped_array(n, np.float32)
        managed = cuda.managed_array(n, np.float32)
        out = cuda.device_array(512 * 256, np.float32)

        def sums(x):
            for _ in range(times):
                total[512, 256](x, out)
            cuda.synchronize()  # before the host writes again

        def copy():
            near[::1024] = 1
            far.copy_to_device(near)
            sums(far)

        def over_the_bus():
            mapped[::1024] = 1
            sums(mapped)

        def moving():
            managed[::1024] = 1
            sums(managed)

        return {"copy": copy, "mapped": over_the_bus, "managed": moving}

    return build


def gathering():
    n = 1 << 24
    at = cuda.to_device(np.random.default_rng(7).integers(0, n, 1024))
    near = cuda.pinned_array(n, np.float32)
    mapped = cuda.mapped_array(n, np.float32)
    near[:], mapped[:] = 1, 1
    far = cuda.device_array(n, np.float32)
    out = cuda.device_array(1024, np.float32)

    def copy():
        far.copy_to_device(near)
        gather[4, 256](far, at, out)

    return {"copy": copy, "mapped": lambda: gather[4, 256](mapped, at, out)}


once = bench.compare(
    "17 MB from the host, read once",
    adding(1),
    baseline="copy",
    guess=guess,
    host=True,
)
once

# %%
four = bench.compare(
    "17 MB from the host, read four times",
    adding(4),
    baseline="copy",
    guess=guess_four,
    host=True,
)
four

# %%
some = bench.compare(
    "1,024 elements of 2^24",
    gathering,
    baseline="copy",
    guess=guess_gather,
    host=True,
)
some

# %% tags=["solution"]
once.expect("copy", at_least=1.2, times="managed")
four.expect("copy", at_least=1.2, times="mapped")
some.expect("mapped", at_least=10)

# %% [markdown] tags=["solution"]
# Read once, mapped memory costs no more than a copy: the same bytes cross the same
# bus. Read four times, mapped memory crosses it four times. Managed memory pays
# for its pages, which move in small groups when somebody stumbles over them. What it
# buys is convenience, and arrays larger than the device's memory.
#
# For a few elements of many, mapped memory wins by far. Nobody copies the rest.

# %% [markdown]
# ## 2 · How long did that take?
#
# A launch only puts the kernel into a queue, and returns. Whoever looks at the clock
# then measures the queueing.
#
# An **event** is a mark that the host puts into the queue, and the GPU notes the time
# when it gets there:
#
# ```python
# event = cuda.event()
# event.record()                    # into the queue (of the default stream)
# event.synchronize()               # the host waits until the GPU gets there
# first.elapsed_time(last)          # milliseconds between two of them
# ```
#
# Write a function that times any other. `work()` takes no arguments, queues a kernel
# and returns at once. Mind that the GPU may still be busy with something else when
# yours is called.
#
# ```python
# milliseconds(work)    # a function -> float, ms on the GPU
# ```
#
# Stuck? `hint("milliseconds")`.

# %%
def milliseconds(work):
    """Return how many milliseconds the GPU needs for what work() queues."""
    # about 6 lines
    # BEGIN SOLUTION
    first, last = cuda.event(), cuda.event()
    first.record()
    work()
    last.record()
    last.synchronize()
    return first.elapsed_time(last)
    # END SOLUTION


# %%
check(milliseconds, timer=[(12.5, 0), (0.5, 0), (3, 8)])

# %% [markdown] tags=["solution"]
# Both marks are in the same queue as the kernel, one right before and one right after
# it. What was in the queue earlier is over when the GPU comes to the first. The host
# waits for the second only, and only before it asks for the time.
#
# `time.perf_counter()` can do it too, with `cuda.synchronize()` before each look at
# it: before the first, so that earlier work is over; before the second, so that yours
# is. It then measures the launch as well, which the host does while the GPU waits. So
# do the events if the GPU was idle: it passes the first one before the launch is there.

# %% [markdown]
# ## Measure: a speed-up that is none
#
# Now forget to wait, on purpose. A kernel over 2^26 float32 with 100 steps, and one
# with ten times as many, each timed in three ways: `no wait` looks at the clock before
# and after the launch, `synchronise` waits as well, `events` is yours.
#
# How many times as fast does the kernel look, if nobody waits? And how does that change
# if it has ten times as much to do?

# %%
guess = {"no wait": None, "synchronise": None}
guess_long = {"no wait": None}


class Told:
    """A stopwatch that believes what the function returns, in milliseconds."""

    def once(self, function, host):
        cuda.synchronize()
        ms = function()
        cuda.synchronize()
        return Sample(ms, 0.0)


def timed(steps):
    def build():
        n = 1 << 26
        x = cuda.to_device(np.ones(n, np.float32))
        out = cuda.device_array_like(x)

        def work():
            cool[blocks(n), THREADS](x, out, steps)

        def wake_up():  # a host that has waited for long is slow at first
            cool[1, THREADS](x, out, 0)
            cuda.synchronize()

        def no_wait():
            wake_up()
            start = time.perf_counter()
            work()
            return (time.perf_counter() - start) * 1e3

        def synchronise():
            wake_up()
            start = time.perf_counter()
            work()
            cuda.synchronize()
            return (time.perf_counter() - start) * 1e3

        return {
            "events": lambda: milliseconds(work),
            "synchronise": synchronise,
            "no wait": no_wait,
        }

    return build


told = Told() if weft.GPU else None
short = bench.compare(
    "100 steps, timed in three ways",
    timed(100),
    baseline="events",
    guess=guess,
    stopwatch=told,
)
short

# %%
long = bench.compare(
    "1,000 steps, timed in three ways",
    timed(1000),
    baseline="events",
    guess=guess_long,
    stopwatch=told,
)
long

# %% tags=["solution"]
short.expect("no wait", at_least=20)  # it is not
long.expect("no wait", at_least=150)
short.expect("events", at_least=8, times="events", of=long)
long.expect("no wait", at_least=1 / 3, times="no wait", of=short)
short.expect("synchronise", at_least=0.9)

# %% [markdown] tags=["solution"]
# The false time knows nothing of the work. That is how to recognise it: do ten times as
# much, and see whether it takes ten times as long. A second test: divide
# the bytes moved by the time. If more comes out than the memory can do, the clock is
# wrong and not the kernel brilliant.

# %% [markdown]
# ## 3 · Pieces and streams
#
# The queues have a name: **streams**. In a stream, one thing happens after the other.
# What is in *different* streams may happen at the same time. The GPU has an engine that
# copies in, one that copies out, and its SMs for kernels: three things at once, if they
# are in different streams.
#
# So cut the data into pieces, and deal them to the streams in turn. For each piece, in
# one stream: copy in, launch, copy out.
#
# ```python
# s = cuda.stream()
# d_a[0:8].copy_to_device(a[0:8], stream=s)
# kernel[grid, block, s](d_a[0:8], d_b[0:8])
# d_b[0:8].copy_to_host(b[0:8], stream=s)
# ```
#
# `x` and `out` are pinned, so a copy in a stream returns at once, like a launch. What
# you queue is done some time later. **When your function returns, `out` must be
# complete**: `stream.synchronize()` waits for one stream, `cuda.synchronize()` for all.
# The last piece may be smaller, and of a short array there are fewer pieces.
#
# ```python
# pipeline(x, out, d_x, d_out, streams, pieces)    # all (n,); out is the result
# ```
#
# Stuck? `hint("pipeline")`.

# %%
def pipeline(x, out, d_x, d_out, streams, pieces):
    """Cool x into out, in pieces that take turns in the streams."""
    n = x.size
    size = -(-n // pieces)

    # about 8 lines
    # BEGIN SOLUTION
    for k, lo in enumerate(range(0, n, size)):
        hi = min(lo + size, n)
        stream = streams[k % len(streams)]
        d_x[lo:hi].copy_to_device(x[lo:hi], stream=stream)
        cool[blocks(hi - lo), THREADS, stream](d_x[lo:hi], d_out[lo:hi], STEPS)
        d_out[lo:hi].copy_to_host(out[lo:hi], stream=stream)
    for stream in streams:
        stream.synchronize()
    # END SOLUTION


# %% tags=["given"]
def on_streams(count, pieces):
    """Lay out what a pipeline needs: pinned memory, device memory, streams."""

    def given(bench, x):
        streams = [bench.stream() for _ in range(count)]
        x, out = bench.pinned(x), bench.pinned_like(x)
        d_x, d_out = bench.device_like(x), bench.device_like(x)
        return x, out, d_x, d_out, streams, pieces

    return given


# %%
check(
    pipeline,
    spec=lambda x: 20 + (x - 20) * 0.999**STEPS,
    inputs=lambda rng, n: (rng.uniform(0, 90, n).astype(np.float32),),
    given=on_streams(3, pieces=8),
    result="out",
    sizes=[64, 1, 100, 256],
    limits={"traffic": 1, "overlap": 1.8},
    tolerance=1e-4,
)

# %% [markdown] tags=["solution"]
# Nothing in the loop waits. The host queues one piece after the other, a few tenths
# of a millisecond each, and waits once, at the end. Within a piece the stream keeps the
# order; between pieces there is none to keep, since they share no data.
#
# Whoever leaves the `stream` out of a launch gets the **default stream**. It begins
# when all other streams are idle, and they wait for it: nothing overlaps any more.

# %% [markdown]
# ## See it
#
# The same function, on a timeline. (On a GPU each bar was measured, by an event before
# and one after each copy and each launch. Without one you see the model that the check
# uses.) Change the number of streams, then of pieces. Which is the least that still
# overlaps?

# %%
n = 1 << 26 if weft.GPU else 1 << 8
STEPS = 260 if weft.GPU else 4  # a kernel about as long as a copy
warm = np.full(n, 80, np.float32)
seen = timeline(pipeline, on_streams(3, pieces=8), warm)
seen

# %%
alone = timeline(pipeline, on_streams(1, pieces=8), warm)
alone

# %% tags=["solution"]
bench.expect(
    "three streams overlap", seen.busy / seen.ms, at_least=1.5, live=weft.GPU
)
bench.expect(
    "one stream does not", alone.busy / alone.ms, at_most=1.1, live=weft.GPU
)

# %% [markdown]
# ## Measure: what overlap is worth
#
# By hand: 268 MB in at 55 GB/s take 4.9 ms, the kernel about as long, 4.9 ms out again.
# One after the other that makes 15 ms. If all three ran at once, all the time, it would
# be 4.9 ms.
#
# `one stream` is everything in one stream, in 8 pieces; the others use three streams
# and 2, 8, 32 or 128 pieces; `pageable` has 8 pieces and three streams, but its
# arrays are plain NumPy arrays. How many times as fast as `one stream` is each?

# %%
guess = {"8 pieces": None, "128 pieces": None, "pageable": None}


def piped():
    x, out = (cuda.pinned_array(n, np.float32) for _ in range(2))
    x[:], out[:] = 80, 0
    page, page_out = x.copy(), out.copy()
    d_x, d_out = (cuda.device_array(n, np.float32) for _ in range(2))
    streams = [cuda.stream() for _ in range(3)]

    def run(count, pieces):
        few = streams[:count]
        return lambda: pipeline(x, out, d_x, d_out, few, pieces)

    names = {f"{pieces} pieces": run(3, pieces) for pieces in (2, 8, 32, 128)}
    return {"one stream": run(1, 8)} | names | {
        "pageable": lambda: pipeline(page, page_out, d_x, d_out, streams, 8)
    }


overlap = bench.compare(
    "in, cool, out: 2^26 float32",
    piped,
    baseline="one stream",
    guess=guess,
    host=True,
)
overlap

# %% tags=["solution"]
overlap.expect("8 pieces", at_least=1.5)
overlap.expect("8 pieces", at_least=1.2, times="2 pieces")
overlap.expect("one stream", at_least=1.5, times="pageable")

# %% [markdown] tags=["solution"]
# With two pieces, little can overlap: the first comes in alone, the last goes out
# alone. With many, the host cannot queue them as fast as the GPU does them: each costs
# it three calls and six slices of Python, 0.3 ms beside the reference GPU. (Slices that
# are made once, outside of the function, cost that once.)
#
# From pageable memory, streams are of no use. A copy there keeps the host until it is
# through, and the host is who should be queueing the rest.

# %% [markdown]
# ## 4 · One stream for each job
#
# Another way to deal the work: one stream brings pieces in, one computes, one takes
# results away. The order *within* a piece now runs across streams, and nothing keeps it
# unless you say so.
#
# ```python
# event = cuda.event(timing=False)    # an order, no time
# event.record(arrive)                # after all that arrive has been given so far
# event.wait(compute)                 # compute goes on when the event has happened
# ```
#
# `event.wait(stream)` makes the *stream* wait. The host goes on queueing.
#
# The starter copies, computes and copies back, each in its stream, and waits at the
# end. Run the check as it is, and read. Then put the order in.
#
# ```python
# by_job(x, out, d_x, d_out, arrive, compute, leave, pieces)
# ```
#
# Stuck? `hint("by_job")`.

# %% tags=["broken"]
def by_job(x, out, d_x, d_out, arrive, compute, leave, pieces):
    """Cool x into out: a stream to copy in, one to compute, one to copy out."""
    n = x.size
    size = -(-n // pieces)

    for lo in range(0, n, size):
        hi = min(n, lo + size)
        d_x[lo:hi].copy_to_device(x[lo:hi], stream=arrive)
        # BEGIN SOLUTION
        # was:
        there = cuda.event(timing=False)
        there.record(arrive)
        there.wait(compute)
        # END SOLUTION
        cool[blocks(hi - lo), THREADS, compute](d_x[lo:hi], d_out[lo:hi], STEPS)
        # BEGIN SOLUTION
        # was:
        done = cuda.event(timing=False)
        done.record(compute)
        done.wait(leave)
        # END SOLUTION
        d_out[lo:hi].copy_to_host(out[lo:hi], stream=leave)
    leave.synchronize()


# %% tags=["given"]
def on_jobs(pieces):
    """Lay out what by_job needs."""

    def given(bench, x):
        jobs = [bench.stream() for _ in range(3)]
        x, out = bench.pinned(x), bench.pinned_like(x)
        return x, out, bench.device_like(x), bench.device_like(x), *jobs, pieces

    return given


# %%
check(
    by_job,
    spec=lambda x: 20 + (x - 20) * 0.999**STEPS,
    inputs=lambda rng, n: (rng.uniform(0, 90, n).astype(np.float32),),
    given=on_jobs(pieces=8),
    result="out",
    sizes=[64, 1, 100, 256],
    limits={"traffic": 1, "overlap": 1.8},
    tolerance=1e-4,
)

# %% [markdown] tags=["solution"]
# Record where the work is, wait where it is needed. `leave.synchronize()` at the end is
# enough, because the order is known by then: `leave` comes after `compute`, which comes
# after `arrive`.
#
# An event may be recorded again. A wait is for what was recorded last *when the wait
# was queued*, so one event would do for the whole loop. And a wait for an event that
# was never recorded waits for nothing, without a word.

# %% [markdown]
# ## Measure: what a race looks like
#
# Without the events, is the result wrong? Copy a result back in a stream of its own,
# with nothing to order it after the kernel, five times. What share of the elements is
# old, if the kernel takes about as long as the copy? If it takes four times as long?
# And if everything is in order, but the host reads `out` without waiting?
#
# (The simulator does one thing after the other: there, nothing is ever old.)

# %%
def old_share(steps, wait):
    """Return the share of out that is old: with no event, or read at once."""
    x, d_out = cuda.to_device(warm), cuda.to_device(np.zeros(n, np.float32))
    out = cuda.pinned_array(n, np.float32)
    out[:] = 0
    compute, leave = cuda.stream(), cuda.stream()
    cool[blocks(n), THREADS, compute](x, d_out, steps)
    d_out.copy_to_host(out, stream=leave if wait else compute)
    if wait:
        cuda.synchronize()
    early = np.mean(out[:: n // 256] == 0)
    cuda.synchronize()
    return float(early)


slow = 4 * STEPS
no_event = [old_share(STEPS, wait=True) for _ in range(5)]
no_event_slow = [old_share(slow, wait=True) for _ in range(5)]
no_wait = [old_share(STEPS, wait=False) for _ in range(5)]
for what, shares in {
    "no event": no_event,
    "no event, slow kernel": no_event_slow,
    "no wait": no_wait,
}.items():
    print(f"old, {what}:", [f"{share:.0%}" for share in shares])

# %% tags=["solution"]
if weft.GPU:
    for steps, wait in (slow, True), (STEPS, False):
        bench.sometimes(
            f"some is old after {steps} steps, wait={wait}",
            lambda steps=steps, wait=wait: old_share(steps, wait) > 0.05,
        )

# %% [markdown] tags=["solution"]
# Copy and kernel start together. Where the kernel runs a little ahead of the copy all
# the way, every element is there in time, by luck: on the reference GPU the first line
# shows hardly anything old. Give the kernel more to do, and the copy overtakes it.
#
# So a right result proves nothing, here as with any race. In the simulator nothing is
# ever old: it does one thing after the other. That is why the check does not look at
# the numbers alone, but at what orders the copy after the kernel.

# %% [markdown]
# ## 5 · A buffer, used again
#
# Often there is no pinned array with all the data in it. Data come in pieces, from a
# file or over the network, and the host puts each into one of **two** pinned buffers
# while the GPU is busy with the other. `near` has the two buffers on the host, `d_x`
# and `d_out` two each on the device, and there are two streams, one for each of them.
#
# The starter forgets something. It is right for two pieces. Run the check, read which
# line runs ahead of which, and put **one line** in. Not any line: with
# `cuda.synchronize()` in the loop all waits for all, and the check will say so.
#
# ```python
# feed(parts, out, near, d_x, d_out, streams)    # a list of (m,) -> out (pieces, m)
# ```
#
# Stuck? `hint("feed")`.

# %% tags=["broken"]
def feed(parts, out, near, d_x, d_out, streams):
    """Cool each of the parts into its row of out, through two buffers."""
    for k, part in enumerate(parts):
        b = k % 2
        # BEGIN SOLUTION
        # was:
        streams[b].synchronize()  # what was in this buffer has been used
        # END SOLUTION
        near[b][:] = part
        d_x[b].copy_to_device(near[b], stream=streams[b])
        grid = blocks(part.size), THREADS, streams[b]
        cool[grid](d_x[b], d_out[b], STEPS)
        d_out[b].copy_to_host(out[k], stream=streams[b])
    cuda.synchronize()


# %% tags=["given"]
def two_of_each(bench, parts):
    """Lay out what feed needs: parts (pieces, m), two buffers, two streams."""
    near = [bench.pinned_like(parts[0]) for _ in range(2)]
    d_x, d_out = ([bench.device_like(near[0]) for _ in range(2)] for _ in "xo")
    streams = [bench.stream() for _ in range(2)]
    return list(parts), bench.pinned_like(parts), near, d_x, d_out, streams


# %%
check(
    feed,
    spec=lambda parts: 20 + (parts - 20) * 0.999**STEPS,
    inputs=lambda rng, n: (rng.uniform(0, 90, (n, 32)).astype(np.float32),),
    given=two_of_each,
    result="out",
    sizes=[2, 1, 9, 12],
    limits={"traffic": 1, "overlap": 1.5},
    tolerance=1e-4,
)

# %% [markdown] tags=["solution"]
# A copy in a stream reads the buffer *later*. Who writes into the buffer before that
# sends the wrong piece. The stream has to have come past the copy: `streams[b]` alone,
# so that the other one goes on working meanwhile.
#
# Waiting for the whole stream waits for the kernel and the copy back too. An event
# recorded right after the copy in would let the host fill the buffer earlier.
#
# The buffers on the device need no such line. Their next copy is in the same stream as
# the kernel that reads them.

# %% [markdown]
# ## Measure: waiting for less
#
# 16 parts of 2^22 float32. `all` waits with `cuda.synchronize()` before each part, `its
# own` is yours. The host needs some time to fill a buffer, too: NumPy copies at about
# 9 GB/s there. How many times as fast is yours?

# %%
guess = {"its own": None}


def feed_waiting(parts, out, near, d_x, d_out, streams):
    """Feed, and wait for everything each time."""
    for k, part in enumerate(parts):
        b = k % 2
        cuda.synchronize()
        near[b][:] = part
        d_x[b].copy_to_device(near[b], stream=streams[b])
        grid = blocks(part.size), THREADS, streams[b]
        cool[grid](d_x[b], d_out[b], STEPS)
        d_out[b].copy_to_host(out[k], stream=streams[b])
    cuda.synchronize()


def fed():
    m = 1 << 22
    parts = list(np.full((16, m), 80, np.float32))
    out = cuda.pinned_array((16, m), np.float32)
    near = [cuda.pinned_array(m, np.float32) for _ in range(2)]
    d_x, d_out = (
        [cuda.device_array(m, np.float32) for _ in range(2)] for _ in "xo"
    )
    streams = [cuda.stream() for _ in range(2)]
    given = parts, out, near, d_x, d_out, streams
    return {
        "all": lambda: feed_waiting(*given),
        "its own": lambda: feed(*given),
    }


feeding = bench.compare(
    "16 parts through two buffers",
    fed,
    baseline="all",
    guess=guess,
    host=True,
)
feeding

# %% tags=["solution"]
feeding.expect("its own", at_least=1.15)

# %% [markdown]
# ## Measure: who goes first, and who is told
#
# Three short ones, to look at rather than to write.
#
# **Priorities.** A kernel of some 10 ms is running. A small one comes into another
# stream, of the same priority or of a higher one. How much earlier is it done?
#
# **Callbacks.** After a kernel of about half a millisecond the host has to act. It can
# wait (`synchronise`), ask again and again (`query`), or have a function of its own
# called from the stream (`callback`, with `cuLaunchHostFunc`). Until it knows, how much
# time has passed since the launch?
#
# **Threads.** 2,000 small launches, by one thread of Python, by two that share them, by
# four. Each has a stream and an array of its own. How many times as fast are four?

# %%
guess = {"high priority": None}
guess_told = {"callback": None}
guess_threads = {"4 threads": None}


def prioritised():
    big = cuda.device_array(1 << 24, np.float32)
    small = cuda.device_array(1 << 15, np.float32)
    cool[blocks(big.size), THREADS](big, big, 1)  # compiled

    def behind(priority):
        low, other = torch.cuda.Stream(), torch.cuda.Stream(priority=priority)
        a, b = (cuda.external_stream(s.cuda_stream) for s in (low, other))

        def run():
            came, left = cuda.event(), cuda.event()
            cool[blocks(big.size), THREADS, a](big, big, 3000)
            time.sleep(5e-4)  # it is running by now
            came.record(b)
            cool[blocks(small.size), THREADS, b](small, small, 100)
            left.record(b)
            left.synchronize()
            return came.elapsed_time(left)

        return run

    return {"same priority": behind(0), "high priority": behind(-1)}


first_come = bench.compare(
    "a small kernel behind a large one",
    prioritised,
    baseline="same priority",
    guess=guess,
    stopwatch=told,
)
first_come

# %%
def telling():
    from cuda.bindings import driver

    x = cuda.device_array(1 << 20, np.float32)
    stream = cuda.stream()
    event = cuda.event(timing=False)
    heard = threading.Event()
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    tell = kind(lambda _: heard.set())  # called by a thread of the driver
    address = driver.CUhostFn(ctypes.cast(tell, ctypes.c_void_p).value)

    def launched(then):
        def run():
            start = time.perf_counter()
            cool[blocks(x.size), THREADS, stream](x, x, 2000)
            then()
            return (time.perf_counter() - start) * 1e3

        return run

    def query():
        event.record(stream)
        while not event.query():
            pass

    def callback(keep=tell):  # it has to live until it has been called
        heard.clear()
        driver.cuLaunchHostFunc(stream.handle, address, 0)
        heard.wait()

    return {
        "synchronise": launched(stream.synchronize),
        "query": launched(query),
        "callback": launched(callback),
    }


told_host = bench.compare(
    "until the host knows",
    telling,
    baseline="synchronise",
    guess=guess_told,
    stopwatch=told,
)
told_host

# %%
def by_threads():
    arrays = [cuda.device_array(1 << 10, np.float32) for _ in range(4)]
    streams = [cuda.stream() for _ in range(4)]
    cool[8, THREADS](arrays[0], arrays[0], 1)  # compiled, before threads ask

    def loop(k, count):
        for _ in range(count):
            cool[8, THREADS, streams[k]](arrays[k], arrays[k], 1)

    def run(count):
        def work():
            threads = [
                threading.Thread(target=loop, args=(k, 2000 // count))
                for k in range(count)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        return work

    return {
        "1 thread": run(1),
        "2 threads": run(2),
        "4 threads": run(4),
    }


threaded = bench.compare(
    "2,000 small launches",
    by_threads,
    baseline="1 thread",
    guess=guess_threads,
    host=True,
)
threaded

# %% tags=["solution"]
first_come.expect("high priority", at_least=5)
threaded.expect("1 thread", at_least=1.0, times="4 threads")

# %% [markdown] tags=["solution"]
# A higher priority does not interrupt the blocks that run. But when one of them ends,
# the small kernel's blocks are started before the large one's. Within one priority, the
# small kernel waits until the large one has no more blocks to start.
#
# A callback takes a thread of the driver and Python's lock, and may call nothing of
# CUDA. It is for signals, not for work. And a Python program queues with one thread
# at a time, whatever their number, as the lock allows only that; four are slower,
# since they fight for it. Threads help where they *wait*: `synchronize()` gives the
# lock away.

# %% [markdown]
# ## If you want more
#
# - Let `pipeline` queue all copies in first, then all launches, then all copies out.
#   Predict the timeline, then look.
# - In `feed`, wait for an event that is recorded right after the copy in. Does the
#   model get faster? Does your GPU?
# - Give `cool` ten times as many steps. What is overlap worth now, at most? And with a
#   tenth of them?
# - Draw the timeline of `by_job`, with `timeline(by_job, on_jobs(8), warm)`. How does
#   it differ from that of `pipeline`?
# - Run `pipeline` from two threads at once, each with arrays and streams of its own.
#   Then let both use the *same* streams. What may go wrong, and what may not?
#
# ## What you learned
#
# 1. The bus is slow: some 50 GB/s against the 3,000 to 4,000 of an H100's or H200's
#    memory. Copy once, keep data there, copy back the results only.
# 2. Pinned memory is what the bus can read. It is costly to make: make it once.
# 3. A launch returns at once, and so does a copy in a stream from pinned memory.
#    Without waiting, you time the asking, and read what is not there yet.
# 4. In a stream, order. Between streams, none, except by events. With the default
#    stream, more order than you want.
# 5. A buffer that has been queued is in use until the queue has passed it.

# %%
quiz()
