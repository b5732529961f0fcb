# %% [markdown]
# # 07 · Host and device
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/07_host_device.ipynb)
#
# **After this lab, you can**
#
# - send data to the GPU and fetch the results, and copy no more than you must;
# - say which kind of host memory a copy needs, and what that memory costs;
# - time a kernel, and tell its time from the time that the launch takes;
# - overlap copies with kernels, and read the overlap off a timeline;
# - order streams by events, and reuse a buffer without a race.
#
# **You need** about 90 minutes. You do not need a GPU: the exercises run in a model of
# one, and without a GPU the measurements show times from the reference GPU. If you use
# a GPU, it needs compute capability 7.5 or higher and 1 GB of memory, and the host
# needs 2 GB.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import ctypes
import inspect
import threading
import time

import numpy as np
from numba import cuda, float32

from weft import bench, hint, quiz
from weft.streams import check, timeline
from weft.timing import Sample

chapter = weft.lab("07_host_device")
checks = chapter.checks

# %% [markdown]
# ## The kernel is given
#
# For once you write no kernel. The one below lets temperatures cool towards 20 degrees:
# in each step, a value loses a thousandth of its excess. The kernel stays as it is for
# the whole lab. What changes is the Python around it, the **host's** side: what is
# copied, when, in which order, and what waits for what.
#
# Given: the kernel `cool`; `THREADS`, the number of threads in its blocks; and
# `blocks(n)`, which returns how many of these blocks cover `n` elements. The cell
# prints the kernel.

# %% tags=["given"]
STEPS = 4  # more of them later, when time matters
kernels = chapter.kernels
cool, blocks, THREADS = kernels.cool, kernels.blocks, kernels.THREADS
print(inspect.getsource(cool.py_func))

# %% [markdown]
# ## 1 · Host–device copies
#
# The CPU (the **host**) and the GPU (the **device**) each have their own memory, with a
# bus between the two. A kernel works on the device's memory. So a calculation takes
# four steps:
#
# 1. `cuda.to_device(x)` makes an array on the device and copies `x` into it.
#    `cuda.device_array_like(x)` makes one and copies nothing.
# 2. Launch: `cool[blocks(n), THREADS](d_x, d_out, STEPS)`.
# 3. `d_out.copy_to_host()` brings the result back, as a new NumPy array.
# 4. The memory on the device is freed when nothing refers to it any more.
#
# The check counts what crosses the bus: `x` has to cross it once and the result once,
# and nothing else may. It also requires blocks of at least 32 threads; `THREADS` is
# enough. Stuck? `hint("cooled")`; there are three hints.
#
# ```python
# cooled(x)    # NumPy array (n,) float32 -> a new NumPy array (n,)
# ```

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
# There are two copies and no more: `d_out` is made on the device, where its initial
# contents do not matter. Numba would also accept `cool[...](x, out, STEPS)` with NumPy
# arrays. But then it copies *both* to the device and *both* back, and the next launch
# does it all again.
#
# The copy back waits until the kernel is finished. Nothing else in this function does.

# %% [markdown]
# ## 2 · How long did that take?
#
# A launch only puts the kernel into a queue, and returns. If you read the clock then,
# you measure the queueing.
#
# An **event** is a mark that the host puts into the queue. When the GPU reaches the
# mark, it records the time:
#
# ```python
# event = cuda.event()
# event.record()                    # into the queue (of the default stream)
# event.synchronize()               # the host waits until the GPU gets there
# first.elapsed_time(last)          # milliseconds between two of them
# ```
#
# Write a function that times any other function. `work()` takes no arguments, queues a
# kernel and returns at once. The GPU may still be busy with something else when your
# function is called. Stuck? `hint("milliseconds")`.
#
# ```python
# milliseconds(work)    # a function -> float, ms on the GPU
# ```

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
# it. Whatever was queued earlier is finished when the GPU reaches the first. The host
# waits only for the second mark, and only before it asks for the time.
#
# You can also use `time.perf_counter()`, with `cuda.synchronize()` before each reading:
# before the first, so that earlier work is finished, and before the second, so that
# yours is. The difference then includes the launch, for which the GPU has to wait. The
# time between two events also includes the launch if the GPU was idle, because then it
# reaches the first event before the launch arrives.

# %% [markdown]
# ## 3 · Pieces and streams
#
# These queues are called **streams**. Operations in one stream run one after another.
# Operations in *different* streams may run at the same time. The GPU has one engine
# that copies data in, one that copies data out, and its SMs for kernels, so it can do
# three things at once if they are in different streams.
#
# So cut the data into pieces, and assign them to the streams in turn. For each piece,
# in one stream: copy in, launch, copy out.
#
# ```python
# s = cuda.stream()
# d_a[0:8].copy_to_device(a[0:8], stream=s)
# kernel[grid, block, s](d_a[0:8], d_b[0:8])
# d_b[0:8].copy_to_host(b[0:8], stream=s)
# ```
#
# `x` and `out` are **pinned**: the operating system may not move or swap out their
# pages, and the bus can read from them. So a call that queues a copy in a stream
# returns at once, as a launch does. What you queue is executed some time later. **When
# your function returns, `out` must be complete**: `stream.synchronize()` waits for one
# stream, `cuda.synchronize()` for all. The last piece may be smaller, and a short array
# has fewer pieces. Stuck? `hint("pipeline")`.
#
# ```python
# pipeline(x, out, d_x, d_out, streams, pieces)    # all (n,); out is the result
# ```

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


# %%
check(
    pipeline,
    spec=lambda x: 20 + (x - 20) * 0.999**STEPS,
    inputs=lambda rng, n: (rng.uniform(0, 90, n).astype(np.float32),),
    given=checks.on_streams(3, pieces=8),
    result="out",
    sizes=[64, 1, 100, 256],
    limits={"traffic": 1, "overlap": 1.8},
    tolerance=1e-4,
)

# %% [markdown] tags=["solution"]
# Nothing in the loop waits. The host queues one piece after another, in a few tenths of
# a millisecond each, and waits once, at the end. Within a piece the stream keeps the
# order; between pieces there is no order to keep, since they share no data.
#
# If you leave the `stream` out of a launch, the launch goes into the **default
# stream**. What is queued there begins only when all other streams are idle, and the
# other streams wait until it has finished, so nothing overlaps any more.

# %% [markdown]
# ## See it
#
# Here is the same function on a timeline. (On a GPU each bar is measured, by one event
# before and one after each copy and each launch. Without a GPU you see the model that
# the check uses.) Change the number of streams, then the number of pieces. What are the
# smallest numbers with which anything still overlaps?

# %%
STEPS = 260 if weft.GPU else 4  # a kernel about as long as a copy
seen = timeline(
    pipeline, checks.on_streams(3, pieces=8), chapter.measure.warm
)
seen

# %%
alone = timeline(
    pipeline, checks.on_streams(1, pieces=8), chapter.measure.warm
)
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
# Copying 268 MB in at 55 GB/s takes 4.9 ms, the kernel takes about as long, and the
# copy out takes 4.9 ms again. One after another, the three take 15 ms. If they ran at
# the same time from start to end, they would take 4.9 ms.
#
# `one stream` has everything in one stream, in 8 pieces. The rows from `2 pieces` to
# `128 pieces` use three streams. `pageable` has 8 pieces and three streams, but its
# arrays are plain NumPy arrays. How many times as fast as `one stream` is each row?

# %%
guess = {"8 pieces": None, "128 pieces": None, "pageable": None}

overlap = chapter.measure.overlap(pipeline, guess)
overlap

# %% tags=["solution"]
overlap.expect("8 pieces", at_least=1.5)
overlap.expect("8 pieces", at_least=1.2, times="2 pieces")
overlap.expect("one stream", at_least=1.5, times="pageable")

# %% [markdown] tags=["solution"]
# With two pieces, little can overlap: the first comes in alone, and the last goes out
# alone. With many pieces, the host cannot queue them as fast as the GPU finishes them,
# because each piece costs the host three calls and six slices in Python. To see how
# long that takes, divide the time of 128 pieces by their number. (If you make the
# slices once, outside the function, you pay for them once.)
#
# With pageable memory, streams are of no use. A copy from or to pageable memory keeps
# the host busy until the copy has finished, so the host cannot queue the other pieces
# meanwhile.

# %% [markdown]
# ## 4 · One stream for each job
#
# There is another way to divide the work: one stream brings pieces in, one computes,
# and one takes results away. The steps *within* a piece are now in different streams,
# and nothing enforces their order unless you do.
#
# ```python
# event = cuda.event(timing=False)    # an order, no time
# event.record(arrive)                # after everything queued in arrive so far
# event.wait(compute)                 # compute continues when the event has happened
# ```
#
# `event.wait(stream)` makes the *stream* wait. The host goes on queueing.
#
# The starter copies, computes and copies back, each in its own stream, and waits at the
# end. Run the check on the starter as it is, and read the verdict. Then add the missing
# order. Stuck? `hint("by_job")`.
#
# ```python
# by_job(x, out, d_x, d_out, arrive, compute, leave, pieces)
# ```

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


# %%
check(
    by_job,
    spec=lambda x: 20 + (x - 20) * 0.999**STEPS,
    inputs=lambda rng, n: (rng.uniform(0, 90, n).astype(np.float32),),
    given=checks.on_jobs(pieces=8),
    result="out",
    sizes=[64, 1, 100, 256],
    limits={"traffic": 1, "overlap": 1.8},
    tolerance=1e-4,
)

# %% [markdown] tags=["solution"]
# Record in the stream that does the work, wait in the stream that needs it.
# `leave.synchronize()` at the end is enough, because `leave` comes after `compute` for
# each piece, and `compute` after `arrive`.
#
# An event may be recorded again. A wait refers to the last record *when the wait was
# queued*, so one event would be enough for the whole loop. And a wait for an event that
# was never recorded waits for nothing, without an error.

# %% [markdown]
# ## 5 · Reusing a pinned buffer
#
# Often there is no pinned array that holds all the data. Data arrive in pieces, from a
# file or over the network. The host puts each piece into one of **two** pinned buffers
# while the GPU is busy with the other buffer. `near` contains the two buffers on the
# host, `d_x` and `d_out` contain two arrays each on the device, and everything with
# index `b` uses the stream `streams[b]`.
#
# The starter is right for two pieces, but not for more. Run the check, read which line
# runs ahead of which, and add the **one line** that is missing. `cuda.synchronize()` in
# the loop would not do: everything would wait for everything, and the check would say
# so. Stuck? `hint("feed")`.
#
# ```python
# feed(parts, out, near, d_x, d_out, streams)    # a list of (m,) -> out (pieces, m)
# ```

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


# %%
check(
    feed,
    spec=lambda parts: 20 + (parts - 20) * 0.999**STEPS,
    inputs=lambda rng, n: (rng.uniform(0, 90, (n, 32)).astype(np.float32),),
    given=checks.two_of_each,
    result="out",
    sizes=[2, 1, 9, 12],
    limits={"traffic": 1, "overlap": 1.5},
    tolerance=1e-4,
)

# %% [markdown] tags=["solution"]
# A copy in a stream reads the buffer *later*. If you write into the buffer before that,
# you send the wrong piece. The stream must have passed the copy. Wait for `streams[b]`
# alone, so the other stream can continue meanwhile.
#
# If you wait for the whole stream, you wait for the kernel and the copy back too. An
# event recorded right after the copy in would let the host fill the buffer earlier.
#
# The buffers on the device need no such line. Their next copy is in the same stream as
# the kernel that reads them.

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious: seven sections of
# measurements, each with a prediction. Their code is in `measure.py` and their kernels
# in `kernels.py`, both in `chapters/07_host_device`.
#
# The solution and the chapter's two pages explain what each table shows. The last
# section has ideas for more.

# %% [markdown]
# ### Which memory to copy from
#
# The operating system may move or swap out the pages of a NumPy array at any time. They
# are **pageable**, and the bus cannot read from them. So the driver first copies the
# data, piece by piece, into memory of its own that stays where it is. Such memory is
# called **pinned** (or page-locked). You can allocate it yourself:
# `cuda.pinned_array(shape, dtype)` makes a NumPy array in it.
#
# 2^26 float32 are 268 MB. The reference GPU's bus is PCIe of the fifth generation with
# 16 lanes: 63 GB/s on paper, so the copy takes at least 4.3 ms. How many times as fast
# as from pageable memory is the copy from pinned memory? And how many times as fast is
# it for 1,024 float32, which are 4 KB? Guess, then run the cells.

# %%
guess = {"pinned": None}
guess_small = {"pinned": None}

sent = chapter.measure.sent(guess)
sent

# %%
few = chapter.measure.few(guess_small)
few

# %% tags=["solution"]
sent.expect("pinned", at_least=1.8)
few.expect("pinned, by PyTorch", at_least=2, times="pinned")
sent.expect("pinned", at_least=20, times="pinned", of=few)  # GB/s

# %% [markdown] tags=["solution"]
# From pinned memory, the bus runs at nearly its full speed. From pageable memory, the
# CPU first makes a copy, and everything waits for that.
#
# For 4 KB, there is hardly anything to copy. What remains is the cost of the call, most
# of which is time spent in Python. PyTorch makes the call in a fraction of Numba's
# time, and still uses only a small share of the bus's rate. So send few large pieces,
# not many small ones.

# %% [markdown]
# ### What memory costs
#
# Why not pin all memory? For the first table, memory for 2^24 float32 (67 MB) is
# allocated on the device, as pinned memory, and as a plain NumPy array of ones, and
# then freed. For the second table, 268 MB are fetched from the device: into a new
# array, as `copy_to_host()` makes it, into a NumPy array that has been used before, and
# into a pinned array. How fast is allocating pinned memory, compared with device
# memory? Is `new` any slower than `used`? Express your guesses as the tables do,
# relative to `device` and to `new`: 2 means half the time, and 0.01 a hundred times as
# long.

# %%
guess = {"pinned": None}
guess_fetch = {"used": None, "pinned": None}

made = chapter.measure.made(guess)
made

# %%
fetched = chapter.measure.fetched(guess_fetch)
fetched

# %% tags=["solution"]
made.expect("device", at_least=20, times="pinned")
fetched.expect("used", at_least=2)
fetched.expect("pinned", at_least=1.8, times="used")

# %% [markdown] tags=["solution"]
# Pinning is slow: every page has to be found, locked and made known to the device. It
# also takes memory away from everything else. So pin a buffer **once** and use it
# often; if you pin it for a single copy, that costs more than it saves.
#
# A *new* array is slow in another way. The operating system hands out its pages one by
# one when they are first touched, and that happens during the copy.
# `copy_to_host(out)`, into an array that you keep, avoids that.

# %% [markdown]
# ### No copy at all
#
# **Mapped** memory is pinned memory that kernels can access: each load crosses the bus.
# **Unified** (managed) memory has one address on both sides, and the driver moves each
# page to the side that accesses it.
#
# A kernel adds up 2^22 float32 (17 MB). The host has just written one number into each
# of their 4 KB pages. There are five ways to the sum:
#
# - `copy`: from pinned memory to the device, then the sum;
# - `mapped`: the sum, over the bus;
# - `managed`: the sum, with pages that move when they are accessed;
# - `prefetched`: the same as `managed`, after a call that moves all pages to the
#   device;
# - `both ways`: the same as `prefetched`, with another call that moves the pages back
#   before the host writes to them again.
#
# For the second table, the sum is computed four times over, on the same data. Which way
# wins in the first table, and which in the second? The kernel of the third table needs
# only 1,024 elements out of 2^24, anywhere in the array.

# %%
guess = {"mapped": None, "managed": None, "prefetched": None}
guess_four = {"mapped": None, "managed": None}
guess_gather = {"mapped": None}

once = chapter.measure.once(guess)
once

# %%
four = chapter.measure.four(guess_four)
four

# %%
some = chapter.measure.some(guess_gather)
some

# %% tags=["solution"]
once.expect("copy", at_least=1.2, times="managed")
four.expect("copy", at_least=1.2, times="mapped")
some.expect("mapped", at_least=10)

# %% [markdown] tags=["solution"]
# If the data are read once, mapped memory costs no more than a copy: the same bytes
# cross the same bus. If they are read four times, they cross the bus four times.
# Managed memory probably pays for its faults: a page moves when an access finds it on
# the other side. Managed memory offers convenience, and arrays larger than the device's
# memory.
#
# If a kernel needs only a few of many elements, mapped memory wins by far, because the
# other elements are never copied.

# %% [markdown]
# ### A speed-up that is not one
#
# Now forget to wait, on purpose. Take a kernel over 2^26 float32 with 100 steps, and
# one with ten times as many, and time each in three ways: `no wait` reads the clock
# before and after the launch, `synchronise` also waits, `events` is your function.
#
# How many times as fast does the kernel look, if nothing waits for it? And how does
# that change if it has ten times as much to do?

# %%
guess = {"no wait": None, "synchronise": None}
guess_long = {"no wait": None}

short, long = chapter.measure.stopwatches(
    milliseconds, guess, guess_long
)
short

# %%
long

# %% tags=["solution"]
short.expect("no wait", at_least=20)  # it is not
long.expect("no wait", at_least=150)
short.expect("events", at_least=8, times="events", of=long)
long.expect("no wait", at_least=1 / 3, times="no wait", of=short)
short.expect("synchronise", at_least=0.9)

# %% [markdown] tags=["solution"]
# The false time does not depend on the work, and that is how you can recognise it: do
# ten times as much work, and see whether it takes ten times as long. A second test is
# to divide the bytes moved by the time. If the result is more than the memory can
# deliver, the kernel is not brilliant: the timing is wrong.

# %% [markdown]
# ### What a race looks like
#
# Without the events, is the result wrong? The cell below copies a result back in a
# separate stream, with nothing to order the copy after the kernel, and does so five
# times. What share of the elements will be old if the kernel takes about as long as the
# copy? What share if the kernel takes four times as long? And what share if copy and
# kernel are in one stream, but the host reads `out` without waiting?
#
# (The simulator does one thing after another: there, nothing is ever old.)

# %%
slow = 4 * STEPS
no_event = [chapter.measure.old_share(STEPS, wait=True) for _ in range(5)]
no_event_slow = [chapter.measure.old_share(slow, wait=True) for _ in range(5)]
no_wait = [chapter.measure.old_share(STEPS, wait=False) for _ in range(5)]
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
            lambda steps=steps, wait=wait: (
                chapter.measure.old_share(steps, wait) > 0.05
            ),
        )

# %% [markdown] tags=["solution"]
# Copy and kernel start together. If the kernel runs a little ahead of the copy all the
# way, every element is there in time, by luck: on the reference GPU the first line
# shows hardly anything old. Give the kernel more to do, and the copy overtakes it.
#
# As with any race, a right result proves nothing. So the check does not look only at
# the numbers. It also looks for what orders the copy after the kernel.

# %% [markdown]
# ### Waiting for less
#
# There are 16 parts of 2^22 float32. `all` waits with `cuda.synchronize()` before each
# part, and `its own` is your version. Filling a buffer takes the host some time, too.
# How many times as fast as `all` is your version?

# %%
guess = {"its own": None}

feeding = chapter.measure.feeding(feed, STEPS, guess)
feeding

# %% tags=["solution"]
feeding.expect("its own", at_least=1.15)

# %% [markdown]
# ### Priorities, callbacks, threads
#
# In these three short measurements, you write nothing but the guesses.
#
# **Priorities.** A long kernel is running. A small kernel arrives in another stream,
# with the same priority or a higher one. How much earlier is it finished?
#
# **Callbacks.** After a kernel of about half a millisecond the host has to act. It can
# wait (`synchronise`), ask again and again (`query`), or have one of its functions
# called from the stream (`callback`, with `cuLaunchHostFunc`). How much time passes
# between the launch and the moment when the host knows?
#
# **Threads.** 2,000 small launches are made by one Python thread, by two that share
# them, or by four. Each has its own stream and its own array. How many times as fast
# are four?

# %%
guess = {"high priority": None}
guess_told = {"callback": None}
guess_threads = {"4 threads": None}

first_come = chapter.measure.first_come(guess)
first_come

# %%
told_host = chapter.measure.told_host(guess_told)
told_host

# %%
threaded = chapter.measure.threaded(guess_threads)
threaded

# %% tags=["solution"]
first_come.expect("high priority", at_least=5)
threaded.expect("1 thread", at_least=1.0, times="4 threads")

# %% [markdown] tags=["solution"]
# A higher priority does not interrupt the blocks that are running. But when one of them
# ends, the small kernel's blocks start before the large one's. With equal priorities,
# the small kernel waits until the large one has no more blocks to start.
#
# A callback needs a thread of the driver and Python's lock, and must not call CUDA. It
# is for signals, not for work. Because of that lock, only one thread of a Python
# program queues work at a time, however many there are. Four threads are slower,
# probably because they compete for the lock. Threads help where they *wait*:
# `synchronize()` releases the lock.

# %% [markdown]
# ### If you want more
#
# - Let `pipeline` queue all copies in first, then all launches, then all copies out.
#   Predict the timeline, then look.
# - In `feed`, wait for an event that is recorded right after the copy in. Does the
#   model get faster? Does your GPU?
# - Give `cool` ten times as many steps. How many times as fast can overlap make
#   `pipeline` now, at most? What is the answer for a tenth as many steps?
# - Draw the timeline of `by_job`, with `timeline(by_job, checks.on_jobs(8),
#   chapter.measure.warm)`. How does it differ from that of `pipeline`?
# - Run `pipeline` from two threads at once, each with its own arrays and streams. Then
#   let both use the *same* streams. What can go wrong, and what cannot?

# %% [markdown]
# ## What you learned
#
# 1. The bus is slow: about 50 GB/s, compared with more than 3,000 for an H100's or
#    H200's memory. Copy once, keep the data on the device, and copy back only the
#    results.
# 2. The bus can read pinned memory directly. Pinned memory is expensive to make, so
#    make it once.
# 3. A launch returns at once, and so does a copy in a stream from pinned memory.
#    Without waiting, you time only the launch, and read results that are not there yet.
# 4. Work in one stream runs in order. Between two streams there is no order unless an
#    event makes one. The default stream enforces more order than you want.
# 5. A buffer that a queued copy reads or writes is in use until the copy has finished.

# %%
quiz()
