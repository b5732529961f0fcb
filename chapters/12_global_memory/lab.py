# %% [markdown]
# # 12 · Global memory
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/12_global_memory.ipynb)
#
# **After this lab, you can**
#
# - count by hand the sectors that a warp's load moves, and predict from them how much a
#   stride, a layout or a random order slows a kernel down;
# - say where such a prediction fails, and which counter shows why;
# - copy arrays of any length, 16 bytes at a time, as fast as PyTorch's own copy;
# - turn an array of structs into columns, and gather rows without wasting bytes;
# - measure the latency and the rate of each level: shared memory, L1, L2 and memory;
# - say when constant memory helps and when it makes a kernel slower.
#
# **You need** about 90 minutes. You do not need a GPU: the exercises run in the
# simulator, and without a GPU the measurements show times from the reference GPU, an
# H200. If you use a GPU, it needs compute capability 7.5 or higher and 6 GB of memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import numpy as np
from numba import cuda, float32, int32, uint32, uint64

from weft import check, hint, quiz
from weft.intrinsics import load4, store4

chapter = weft.lab("12_global_memory")
checks = chapter.checks

# %% [markdown]
# ## 1 · Who takes which element?
#
# A copy is the simplest thing that a kernel can do: every byte is read once and written
# once. Here each thread copies `PIECE` elements. Which elements should it take? The
# obvious choice is eight neighbours per thread, as for the cores of a CPU: elements 0
# to 7 to thread 0, elements 8 to 15 to thread 1, and so on. The kernel below does that,
# and its results are right. Run the check and read what it says.
#
# What counts is not what one thread does over time, but what the 32 **lanes** of a
# **warp** do in the same instruction. Memory answers in **sectors** of 32 bytes. A load
# by a warp is a **request**, and it fetches every sector that contains a byte for any
# of the lanes, whether the lanes need 4 bytes of that sector or all 32.
#
# | the first load of a warp | addresses | sectors | bytes used |
# | --- | --- | ---: | ---: |
# | eight neighbours per thread | 0, 32, 64, …, 992 | 32 | 128 of 1024 |
# | 32 neighbours per warp | 0, 4, 8, …, 124 | 4 | 128 of 128 |
#
# Fix the kernel. Each thread should still copy eight elements, but in every iteration
# of the loop neighbouring threads should take neighbouring elements. In the hints, a
# block still copies `blockDim.x * PIECE` consecutive elements; other orders are allowed
# too. The check tries blocks of 64 and of 96 threads, and allows each thread `PIECE`
# loads. Stuck? Run `hint("copy_pieces")`; there are three hints.
#
# ```python
# copy_pieces(x, out)    # (n,) -> (n,)  float32
# ```

# %% tags=["given"]
PIECE = 8


# %% tags=["broken"]
@cuda.jit
def copy_pieces(x, out):
    """Copy x into out, PIECE elements per thread."""
    # BEGIN SOLUTION
    # was: start = cuda.grid(1) * PIECE
    start = cuda.blockIdx.x * cuda.blockDim.x * PIECE + cuda.threadIdx.x
    # END SOLUTION

    for k in range(PIECE):
        # BEGIN SOLUTION
        # was: i = start + k
        i = start + k * cuda.blockDim.x
        # END SOLUTION
        if i < x.size:
            out[i] = x[i]


# %% [markdown]
# Look at the kernel before you fix it. `explore` launches it in the simulator and shows
# which sectors each of its lines requests. In its first request, a warp uses an eighth
# of the sectors that it fetches. Move the slider to its next requests: which sectors do
# they touch? Run the cell again after each change.

# %%
ones = np.ones(64 * PIECE, np.float32)
weft.explore(copy_pieces)[1, 64](ones, np.zeros_like(ones))

# %%
check(
    copy_pieces,
    spec=lambda x: x,
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[1024, 1, 1000, 4096],
    launch=lambda n: (-(-n // (64 * PIECE)), 64) if n != 1000 else (2, 96),
    full=1 << 24,
    limits={"sectors": 4, "loads": PIECE},
)

# %% [markdown] tags=["solution"]
# Thread `t` takes elements `t`, `t + blockDim.x`, `t + 2 * blockDim.x`, … of its
# block's part. The elements of one thread are now far apart, but that does no harm.
# What counts is the warp, which touches 128 consecutive bytes in every iteration.
#
# The **grid-stride loop** of chapter 5 has this property built in, with the stride of
# the whole grid instead of the block's.

# %% [markdown]
# ## 2 · Sixteen bytes at a time
#
# `load4(x, i)` reads `x[i]` to `x[i + 3]` in **one** instruction of 128 bits and
# returns four numbers; `store4(out, i, a, b, c, d)` writes four. `i` must be a multiple
# of 4 here, since a 16-byte access has to begin on a 16-byte boundary.
#
# A warp's `load4` is a request for 512 consecutive bytes, 16 sectors, all of them used.
# Such loads are as coalesced as loads of 4 bytes. They take a quarter of the
# instructions, and keep four times as many bytes in flight per thread.
#
# Write a copy that uses them, for **any** length and **any** launch:
#
# - copy the groups of four in a grid-stride loop;
# - copy the `x.size % 4` elements that are left over, at most three, one by one: a few
#   threads take one each.
#
# Load each element only once, in one thread; the check counts the loads of each thread.
# Stuck? `hint("copy4")`.
#
# ```python
# copy4(x, out)    # (n,) -> (n,)  float32; any launch
# ```

# %%
@cuda.jit
def copy4(x, out):
    """Copy x into out, four elements at a time."""
    fours = x.size // 4  # how many groups of four

    # about 6 lines
    # BEGIN SOLUTION
    for i in range(cuda.grid(1), fours, cuda.gridsize(1)):
        a, b, c, d = load4(x, 4 * i)
        store4(out, 4 * i, a, b, c, d)

    i = 4 * fours + cuda.grid(1)
    if i < x.size:
        out[i] = x[i]
    # END SOLUTION


# %%
check(
    copy4,
    spec=lambda x: x,
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[512, 1, 3, 1030, 2048],
    launch=lambda n: (2, 64) if n > 512 else (3, 32),
    full=(1 << 24) + 3,
    limits={"sectors": 16, "load_bytes": 16, "store_bytes": 16, "loads": 5},
)

# %% [markdown] tags=["solution"]
# The loop's end is its guard: since `i < fours`, element `4 * i + 3` is always inside
# the array. The leftovers follow the last whole group, so the first one to three
# threads of the grid take them. They take at most three scalar loads in the whole
# launch, and these cost nothing.

# %% [markdown]
# ## Measure: six ways to copy
#
# The array has 2^28 float32, 1 GiB, so a copy moves 2 GiB. `copy_` is PyTorch's
# device-to-device copy.
#
# - `neighbours`: the kernel of exercise 1 before you fixed it, with eight neighbours
#   per thread;
# - `one each`: thread `i` copies element `i`, perfectly coalesced;
# - `four in turn`: four elements per thread, a block apart, each stored before the next
#   is loaded;
# - `four each`: four scalar loads per thread, a block apart, then four stores;
# - `copy4`: your kernel of exercise 2;
# - `CUDA C++`: the same kernel in CUDA C++.
#
# All of them use every byte that they move. How fast are they, compared with `copy_`?
# Predict, and replace each `None` with your number: 1.0 is as fast as `copy_`. (Until
# you have done exercise 2, the kernel in the row `copy4` does nothing, quickly.)

# %%
guess = {"neighbours": None, "one each": None, "copy4": None}

copies = chapter.measure.copies(copy4, guess)
copies

# %% tags=["solution"]
copies.expect("one each", at_least=1.5, times="neighbours")
copies.expect("copy4", at_least=1.3, times="one each")
copies.expect("copy4", ceiling=0.95)

# %% [markdown] tags=["solution"]
# Coalescing gains the most, but it does not bring a kernel to the copy's speed. One
# element per thread is too little, for two reasons. By **Little's law**, the bytes in
# flight must at every moment amount to rate × latency. On an H200 half of a copy's 4.24
# TB/s is reading, and a load takes about 345 ns (you measure that below), so 0.7 MB
# must be in flight, or 5.5 KB for each of 132 SMs. An SM holds 2048 threads. If each of
# them waits for 4 bytes, 8 KB are in flight, but only while all of them wait. Threads
# also have to be started: a million blocks that do nothing take longer than the whole
# copy (chapter 14). `four in turn` starts a quarter of the blocks, but each thread
# still has one load in flight, so its gain over `one each` is due to the blocks. In
# `four each`, a thread has four loads in flight, so its further gain is due to these.
#
# `four each` shows that the *width* is not what matters here. Four scalar loads before
# the first store also put 16 bytes in flight per thread, and are just as fast. `load4`
# achieves this with a quarter of the instructions. That begins to matter when the data
# come from a level closer than memory, as *The rates* shows, further down.

# %% [markdown]
# ## 3 · Array of structs or struct of arrays
#
# A million particles have four float32 each: x, y, z and a mass. You can store them in
# two ways:
#
# - an **array of structs** (AoS): x, y, z, m of particle 0, then those of particle 1,
#   and so on. In an array of shape (n, 4), a row is a particle;
# - a **struct of arrays** (SoA): all x, then all y, and so on. In an array of shape (4,
#   n), a row is a field.
#
# In the first case, a kernel that needs x alone reads every fourth number, with a
# stride of 4. In the second, it reads neighbours.
#
# Convert an array of structs into a struct of arrays. A thread takes one particle,
# whose four numbers are 16 consecutive bytes and begin on a boundary of 16. So one
# `load4(p, (row, column))` fetches them, and a warp uses every byte of its 16 sectors.
# Then come four stores, one into each row of `out`, each of them coalesced. Stuck?
# `hint("to_columns")`.
#
# ```python
# to_columns(p, out)    # (n, 4) -> (4, n)  float32
# ```

# %%
@cuda.jit
def to_columns(p, out):
    """Turn an array of structs p (n, 4) into columns out (4, n)."""
    i = cuda.grid(1)

    # about 6 lines
    # BEGIN SOLUTION
    if i < p.shape[0]:
        x, y, z, m = load4(p, (i, 0))
        out[0, i] = x
        out[1, i] = y
        out[2, i] = z
        out[3, i] = m
    # END SOLUTION


# %%
check(
    to_columns,
    spec=lambda p: p.T,
    inputs=lambda rng, n: (rng.random((n, 4), np.float32),),
    sizes=[64, 1, 100, 512],
    launch=lambda n: (-(-n // 64), 64),
    full=1 << 22,
    limits={"sectors": 16, "load_bytes": 16, "loads": 4},
)

# %% [markdown] tags=["solution"]
# Four scalar loads `p[i, k]` give the right result too. But each of them touches all 16
# sectors and uses a quarter of each, so 64 sectors pass through L1 to deliver the data
# of 16. (The sectors come from memory only once, and the other three loads find them in
# L1.) The wide load requests each sector once.

# %% [markdown]
# ## 4 · Rows in random order
#
# A **gather** reads the elements whose indices are in another array: `out[i] =
# x[idx[i]]`. Every neural network that takes words begins with a gather: row `idx[i]`
# of a table is the vector of word `i`.
#
# Here each row has 32 float32, which take 128 bytes. Random rows are far apart,
# whatever the order of the threads. But *within* a row the elements are neighbours. So
# let a warp take a row: lane `c` takes column `c`.
#
# ```python
# gather_rows(table, idx, out)    # (m, 32), int32 (n,) -> (n, 32)  float32
# ```
#
# The launch is one-dimensional, with one thread per element of `out`, in blocks of 64.
# A thread needs two loads, one of an index and one of an element; the check allows 3.
# Stuck? `hint("gather_rows")`.

# %%
@cuda.jit
def gather_rows(table, idx, out):
    """Copy row idx[i] of table (m, 32) to row i of out (n, 32)."""
    t = cuda.grid(1)

    # about 3 lines
    # BEGIN SOLUTION
    row, col = t // 32, t % 32
    if row < idx.size:
        out[row, col] = table[idx[row], col]
    # END SOLUTION


# %%
check(
    gather_rows,
    spec=lambda table, idx: table[idx],
    inputs=lambda rng, m, n: (
        rng.random((m, 32), np.float32),
        rng.integers(0, m, n, np.int32),
    ),
    sizes=[(8, 4), (5, 1), (40, 7), (100, 32)],
    launch=lambda m, n: (-(-n // 2), 64),
    full=(1 << 18, 1 << 16),
    limits={"sectors": 4, "loads": 3},
)

# %% [markdown] tags=["solution"]
# All lanes of a warp read the same `idx[row]`: one sector, and one word, which the
# hardware broadcasts to all of them. The row itself is 4 sectors, all used, wherever it
# is. With one thread per row, each load of a warp would touch 32 rows, and so 32
# sectors.

# %% [markdown]
# ## 5 · How long a load takes
#
# Everything so far was about rates. The other number to know is the **latency**, the
# time from request to answer. To measure it, each load must wait for the one before it.
# So fill an array with links: `link[i]` is the index of the next element to load. A
# thread that follows the links cannot make a load before the previous one has been
# answered. This is called a **pointer chase**.
#
# Begin at place 0, follow `steps` links, and store the place where you end.
#
# ```python
# chase(link, steps, out)    # uint32 (n,), int -> uint32 (1,); one thread
# ```
#
# In the check, the links lead through all `n` places in random order. Stuck?
# `hint("chase")`.

# %%
@cuda.jit
def chase(link, steps, out):
    """Follow `steps` links from place 0; out[0] is where they end."""
    i = uint32(0)

    # about 3 lines
    # BEGIN SOLUTION
    for _ in range(steps):
        i = link[i]
    out[0] = i
    # END SOLUTION


# %%
check(
    chase,
    spec=checks.follow,
    inputs=lambda rng, n, steps: (checks.ring(n), np.int32(steps)),
    sizes=[(16, 5), (64, 1), (64, 200), (100, 99)],
    launch=lambda n, steps: (1, 1),
    full=(1 << 16, 1000),
)

# %% [markdown] tags=["solution"]
# Three things keep such a kernel honest. The result is stored; otherwise the compiler
# would drop the loop. The order is random; otherwise a neighbouring sector might
# already be on its way. And the place is unsigned: Numba tests whether a signed index
# is negative, and those instructions would be timed too, once per load.

# %% [markdown]
# ## 6 · Constant memory
#
# Some data, such as a kernel's coefficients, are the same for all threads. **Constant
# memory** is for such data: up to 64 KB that the kernel cannot change, with its own
# cache, which delivers *one* word at a time, to all lanes that need it.
# `cuda.const.array_like(C)` puts the NumPy array `C` there. `C` must exist when the
# kernel is compiled.
#
# Compute the polynomial c0 + c1 x + c2 x² + … + c7 x⁷ of each element, by **Horner's
# rule**, from the inside out: begin with c7; multiply by x and add c6; multiply by x
# and add c5; and so on.
#
# ```python
# polynomial(x, out)    # (n,) -> (n,)  float32
# ```
#
# Do not use float64: the check rejects it. Stuck? `hint("polynomial")`.

# %% tags=["given"]
COEFFICIENTS = np.array(
    [1.0, -0.5, 0.25, 0.75, -0.125, 0.5, 0.0625, -0.25], np.float32
)


# %%
@cuda.jit
def polynomial(x, out):
    """Evaluate the polynomial with COEFFICIENTS at every element of x."""
    c = cuda.const.array_like(COEFFICIENTS)
    i = cuda.grid(1)

    # about 5 lines
    # BEGIN SOLUTION
    if i < x.size:
        value = c[7]
        for k in range(6, -1, -1):
            value = value * x[i] + c[k]
        out[i] = value
    # END SOLUTION


# %%
check(
    polynomial,
    spec=lambda x: np.polynomial.polynomial.polyval(x, COEFFICIENTS),
    because=checks.why_not_horner,
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[64, 1, 100],
    launch=lambda n: (-(-n // 64), 64),
    full=1 << 22,
    limits={"float64": 0},
)

# %% [markdown] tags=["solution"]
# All lanes need `c[7]` at the same time, then all need `c[6]`: one word per request,
# which is what constant memory is made for. (With `k` known to the compiler, the
# coefficients even become part of the instructions.) A NumPy array that a kernel uses
# as a global name is also put into constant memory; `array_like` makes that visible to
# readers.

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious: eight
# measurements, each with a prediction. Their code is in `measure.py` and their kernels
# in `kernels.py`, both in `chapters/12_global_memory`. The solution and the chapter's
# page explain what each table shows. A prediction is a speed relative to the first row:
# 0.25 for a kernel that takes four times as long. The last section has ideas for more.

# %% [markdown]
# ### Strides
#
# Now let the lanes drift apart on purpose: thread `i` reads `x[i * s]`, and writes
# `out[i]` as usual. (Each thread handles four such elements, a block apart, with all
# four loads before the first store, so that enough bytes are in flight.)
#
# Count on paper how many sectors one load moves at each stride. The cell lets Python
# count them, and uses its count as the prediction:

# %%
def sectors(addresses, size=4):
    """Return how many sectors a request for size bytes per address moves."""
    return len({(a + k) // 32 for a in addresses for k in range(size)})


expected = {}
for s in chapter.measure.STRIDES:
    moved = sectors([4 * s * lane for lane in range(32)]) + 4  # 4 more to write
    expected[f"stride {s}"] = 8 / moved  # a copy moves 4 + 4
    print(f"stride {s:2}: {moved:2} sectors, {8 / moved:.2f} of a copy")

strides = chapter.measure.strides(expected)
strides

# %% tags=["solution"]
for s in (1, 2, 4, 8) if len(strides) else ():
    counted, measured = expected[f"stride {s}"], strides[f"stride {s}"].ratio
    print(f"stride {s}: predicted {counted:.2f}, measured {measured:.2f}")
    strides.expect(f"stride {s}", law=counted, within=0.15)
strides.expect("stride 1", at_least=3.5, times="stride 8")
strides.expect("stride 8", at_least=1.6, times="stride 16")

# %% [markdown] tags=["solution"]
# Up to a stride of 8, counting sectors tells you all you need. From 8 on, every lane
# has its own sector and the count stays at 32, so the speed should fall no
# further. But it does: at 16 the time nearly doubles once more.
#
# The profiler shows what happens (its numbers are in the chapter). The L1 cache
# requests 32 sectors, as counted, but memory delivers **64 bytes** for each. When a
# sector is missing, L2 fetches its neighbour too. At a stride of 8 the next lane needs
# that neighbour; at 16 no lane does. Counted this way, stride 16 moves 64 + 4 sectors,
# which predicts 12 % of a copy's speed.
#
# You can set how much L2 fetches, for your program's own CUDA context. The limit is
# called `cudaLimitMaxL2FetchGranularity`, and is 64 by default; CUDA's manual calls it
# a hint. Change it for a moment:

# %% tags=["solution"]
fetches = chapter.measure.fetches()
fetches[32]

# %% tags=["solution"]
fetches[64]

# %% tags=["solution"]
fetches[128]

# %% tags=["solution"]
less, usual, more = (fetches[size] for size in (32, 64, 128))
less.expect("stride 16", at_least=1.3, times="stride 16", of=usual)
usual.expect("stride 32", at_least=1.3, times="stride 32", of=more)
usual.expect(
    "stride 8", at_least=0.9, at_most=1.1, times="stride 8", of=less
)

# %% [markdown] tags=["solution"]
# With 32 bytes instead of 64, stride 16 moves half as much and takes little longer than
# stride 8. With 128 bytes, stride 32 moves twice as much as with 64, and takes 1.7
# times as long on an H200 and 1.8 times as long on an H100. At stride 8, where the
# neighbours are needed, the setting changes nothing.
#
# Stride 32 is still unexplained. With 32 bytes it moves as much as stride 16, but it
# takes 1.8 times as long on an H200 and 1.6 times on an H100. So at this stride the
# cost is per access, not per byte. *Pages* of the memory chips would explain it, but no
# counter shows them.
#
# Finally, let the lanes be neighbours, but let the first not begin on a boundary. A
# load of `x[i + 1]` touches 5 sectors instead of 4. Counting sectors predicts 8 / 9 of
# a copy's speed.

# %% tags=["solution"]
shifts = chapter.measure.shifts()
shifts

# %% tags=["solution"]
shifts.expect("offset 1", at_least=0.95)

# %% [markdown] tags=["solution"]
# The offset costs next to nothing. The fifth sector is the next warp's first, so one of
# the two warps finds it in L1 or L2, and memory delivers it once.

# %% [markdown]
# ### Strides, writing
#
# Now store with a stride: `out[i * s] = x[i]`. A lane's store changes 4 bytes of a
# sector, and bytes that no lane stores must stay what they were: a sector that is
# written in part has to be read first. How will the table differ from the one above?

# %%
guess = {f"stride {s}": None for s in (2, 8, 32)}

writes = chapter.measure.strided_writes(guess)
writes

# %% tags=["solution"]
# A partly written sector is read as well: stride 2 moves 4 + 8 + 8.
for s in (1, 2, 4, 8) if len(writes) else ():
    part = sectors([4 * s * lane for lane in range(32)])
    counted = 8 / (4 + part * (2 if s > 1 else 1))
    measured = writes[f"stride {s}"].ratio
    print(f"stride {s}: predicted {counted:.2f}, measured {measured:.2f}")
    writes.expect(f"stride {s}", law=counted, within=0.15)

# %% [markdown] tags=["solution"]
# Memory with error correction cannot write 4 bytes alone. When a sector is written in
# part, it is read, changed in L2, and written back: 64 bytes of traffic for each
# sector. Counted this way, the predictions for the strides up to 8 are within six per
# cent of the measurements. A sector that is written *whole* need not be read. That
# should be true even if several lanes, or several requests in quick succession, write
# it together.

# %% [markdown]
# ### Cache hints
#
# PTX lets a load say that its data will not be used again (`ld.global.cs`) or that
# nothing writes to them while the kernel runs (`ld.global.nc`, the *read-only* path).
# `weft.intrinsics` has both. The row `cs` uses the first hint for its loads and its
# stores, and `nc` the second for its loads. What do they gain in a copy?

# %%
guess = {"cs": None, "nc": None}

hints = chapter.measure.hints(copy4, guess)
hints

# %% tags=["solution"]
hints.expect("no hint", at_least=0.98, times="nc")
hints.expect("no hint", at_least=0.98, times="cs")

# %% [markdown] tags=["solution"]
# The read-only path changes nothing, and streaming costs one or two per cent. A copy
# uses each byte once, so it does not matter what a cache keeps.
#
# A hint may help if something *is* used again. Now each element of a stream of 1 GiB
# needs an entry at a random place in a table of 32 MB. The table fits into L2, as long
# as the stream does not push it out.

# %% tags=["solution"]
beside = chapter.measure.beside()
beside

# %% [markdown] tags=["solution"]
# The streaming hint again changes the speed by several per cent, but this time for the
# better. Measure before you believe in a hint.

# %% [markdown]
# ### One field of a struct
#
# A kernel adds a number to one field, x, of each of 2^25 particles. The particles are
# stored as structs of 4 or of 8 floats, or as columns. Predict from sectors: what share
# of the speed with columns does the kernel reach with structs of 4, and with structs of
# 8?

# %%
guess = {"struct of 4": None, "struct of 8": None}

fields = chapter.measure.fields(guess)
fields

# %% tags=["solution"]
for f in (4, 8) if len(fields) else ():
    ratio = fields[f"struct of {f}"].ratio
    print(f"struct of {f}: predicted {1 / f:.3f}, measured {ratio:.3f}")
    fields.expect(f"struct of {f}", law=1 / f, within=0.15)

# %% [markdown] tags=["solution"]
# With columns a warp reads 4 sectors and writes 4, with structs of 4 it reads 16 and
# writes 16, and with structs of 8 it reads 32 and writes 32. That is four and eight
# times as many sectors, and on an H200 the kernel takes 4.4 and 9.2 times as long.
# (With structs of 4, the partial writes cause no extra reads: the sector is already in
# L2. With structs of 8, the profiler counts 14 % more bytes read.)
#
# A kernel that needs *all* fields pays nothing for structs, if it loads them whole. So
# choose the layout by which fields are used together. If one kernel uses x, y and z,
# and no kernel uses the other fields, store x, y and z together and keep the other
# fields elsewhere.

# %% [markdown]
# ### Random access
#
# The rows below gather 2^25 float32 out of 1 GiB, in different ways. The baseline is a
# plain copy of 2^25 elements.
#
# - `in order`: `idx[i] = i`, one index for each element;
# - `sorted`: random places, but in ascending order;
# - `random`: random places;
# - `random rows`: your kernel, with random rows of 32 elements; and `rows, wide`: the
#   same rows with `load4`.
#
# Calculate first, in bytes per element: 4 are read for the index, and 4 are written.
# The element itself takes another 4 bytes if the places are in order. A random place
# takes a pair of sectors, because L2 fetches 64 bytes at a time. One place in 8 is
# read, so sorted places often share a pair. Predict `sorted`, `random` and `random
# rows`.

# %%
guess = {"sorted": None, "random": None, "random rows": None}

gathered = chapter.measure.gathered(gather_rows, guess)
gathered

# %% tags=["solution"]
gathered.expect("random rows", at_least=4, times="random")
gathered.expect("in order", at_least=4, times="random")
gathered.expect("sorted", at_least=1.5, times="random")

# %% [markdown] tags=["solution"]
# Count as before, in bytes per element. In order, they are 4 + 4 + 4, one and a half
# times a copy's 8. For random places they are 4 + 64 + 4, nine times a copy's 8, and
# the profiler confirms that 64 bytes come from memory for each element. But the time is
# more than nine times a copy's. Here bytes no longer predict the time; they only bound
# it from below.
#
# The rest of the time may go into address translation, or into the path from L2 to the
# SMs. To find out, gather the same number of elements out of smaller tables and out of
# a larger one: a table of 16 MB is in L2, and a table of 4 GiB has four times as many
# addresses as one of 1 GiB. Then gather contiguous *pieces* out of 1 GiB: the shorter
# the pieces, the more of them there are.

# %% tags=["solution"]
by_table = chapter.measure.by_table()
by_table

# %% tags=["solution"]
pieces = chapter.measure.pieces()
pieces

# %% tags=["solution"]
by_table.expect("4 GiB", at_least=0.9)
pieces.expect("32 bytes", at_least=4)
if weft.device.find().l2 > 1 << 25 or not weft.GPU:  # others are smaller
    by_table.expect("16 MB", at_least=2.5)

# %% [markdown] tags=["solution"]
# Out of L2 the same requests take about a quarter of the time, so the path from L2 to
# the SMs is not the limit. An eighth of the accesses, of 32 bytes each, takes a sixth
# of the time: the cost is per access. That leaves the *pages* of the memory chips
# (nearly every place is in a different page, which would have to be opened first) and
# address translation. From 1 GiB to 4 GiB the time hardly changes, but 1 GiB may
# already be too much for the nearest cache of translations. No counter shows either.
#
# Sorting the indices brings the neighbours together again. Only one element in 8 is
# needed, so most bytes still go to waste, but elements on the same page follow each
# other. Random rows of 128 bytes cost a fraction of what random elements do. If an
# access has to be random, make it long.

# %% [markdown]
# ### The levels
#
# Each row of the next table follows a million links, so its milliseconds are
# nanoseconds per load. The links are 128 bytes apart, each in its own cache line,
# and fill 16 KB, 192 KB, and so on, up to 2 GB. Two other rows come first: a million
# multiply-adds, each of which needs the result of the one before it and reads only
# registers; and a million links in shared memory.
#
# Where will the time jump? (An H200 has 256 KB in each SM for L1 and shared memory
# together, and 60 MB of L2.) Guess the ratios: how many times as fast as a load from
# memory (256 MB) is a load from L1 (16 KB), and one from L2 (16 MB)?

# %%
guess = {"16 KB": None, "16 MB": None}

latency = chapter.measure.latency(chase, guess)
latency

# %% tags=["solution"]
latency.expect("16 KB", at_least=8)
latency.expect("shared memory", at_least=1.1, times="16 KB")
latency.expect("2 GB", at_least=0.9)
if weft.device.find().l2 > 1 << 25 or not weft.GPU:  # others are smaller
    latency.expect("16 MB", at_least=1.7)

# %% [markdown] tags=["solution"]
# There are three plateaus: L1, L2 and memory. The links of 192 KB still come from L1,
# those of 16 MB from L2. Only a part of the 32 MB comes from L2, and nothing of the 64
# MB, although the driver reports 60 MB of L2 on an H200 (50 MB on an H100). Probably
# this is because L2 has two halves, and what an SM loads is kept in the half that it is
# attached to.
#
# About 40 cycles is a long time for a first-level cache. But a GPU's caches are there
# mainly for their bandwidth. Other warps can hide their latency.
#
# A load from 2 GB takes about as long as one from 256 MB. A chase through so much
# memory might also have had to wait for address translation, but there is no sign of
# that here.

# %% [markdown]
# ### The rates
#
# Now read the same levels with all threads, 16 bytes per lane: how many bytes per
# second come out of registers, shared memory, L1, L2 and memory? All rows read the same
# number of bytes. (The lanes of a warp change places from one iteration to the next,
# because otherwise the compiler would keep only one read.) Guess the rates as multiples
# of the last row's.

# %%
guess = {"L2": None, "L1": None, "registers": None}

rates = chapter.measure.rates(guess)
rates

# %% tags=["solution"]
rates.expect("L2", at_least=1.5)
rates.expect("L1", at_least=2.5, times="L2")
rates.expect("shared memory", at_least=0.9, times="L1")

# %% [markdown] tags=["solution"]
# Shared memory and L1 are the same piece of hardware, which delivers 128 bytes per
# cycle: 132 SMs × 128 bytes × 1.98 GHz = 33.5 TB/s, and both come close to that. When
# memory is only read, it delivers 3 % more than in a copy on an H100, and 10 % more on
# an H200.
#
# Does it matter now whether a lane loads 4 bytes or 16? Measure that twice: in a loop
# whose loads share an index and differ by a constant that is part of the instruction,
# and in a loop with a new index for each load.

# %% tags=["solution"]
width = chapter.measure.width()
width

# %% tags=["solution"]
width.expect("4 bytes", at_least=0.8)
width.expect("16 bytes, new index", at_least=2, times="4 bytes, new index")

# %% [markdown] tags=["solution"]
# A request of 4 bytes per lane is 128 bytes, all that L1 delivers in a cycle. So wide
# loads gain no bandwidth. They only save instructions: where each load needs a dozen of
# them for its index, a quarter of the loads means a quarter of these instructions.

# %% [markdown]
# ### One word for all, or each its own
#
# Each of 2^22 threads makes 256 look-ups in a table of 256 float32. In one case all
# lanes of a warp need the same word in each look-up; in the other, each lane needs a
# different word. The table is in constant, in global or in shared memory. Which memory
# wins in each case? (1.0 is the first row.)

# %%
guess = {"constant, own": None, "global, own": None}

looked = chapter.measure.looked(guess)
looked

# %% tags=["solution"]
looked.expect("constant, same", at_least=4, times="constant, own")
looked.expect("global, own", at_least=2, times="constant, own")

# %% [markdown] tags=["solution"]
# Constant memory delivers one word at a time. If 32 lanes need 32 different words, they
# take turns, which takes many times as long. So coefficients belong in constant memory,
# but a table indexed by data does not. Such a table belongs in shared memory, or stays
# where it is: global loads come from L1 here, which delivers one word to all lanes as
# fast as 32 neighbouring words.

# %% [markdown]
# ### If you want more
#
# - Copy from `x[1:]`, which begins 4 bytes off a boundary: `load4` does not work there,
#   but `store4` still does. How fast are four loads and one wide store?
# - Gather random rows of 1, 2, 4, …, 256 float32, always 2^25 elements in all. At what
#   length do the pages of the memory chips begin to show?
# - Write `to_columns` and its inverse for structs of 8 float32.
# - Shuffle the indices of `in order` within windows of 32, of 4096 and of 2^16
#   elements. Which of these slow the gather down, and what does the size of L2 have to
#   do with that?
# - Use four lanes per particle, one for each field of a struct of 4. Why is an AoS then
#   read with coalesced loads, without any `load4`?

# %% [markdown]
# ## What you learned
#
# 1. A warp's load moves whole sectors of 32 bytes. Count the distinct sectors, and you
#    can predict the cost of a stride or a layout before you measure it.
# 2. L2 fetches 64 bytes at a time, a sector written in part is read first, and random
#    accesses take longer than their bytes suggest. Where a prediction fails, look at
#    the counters.
# 3. Coalesced is not enough: keep 16 bytes in flight per thread. 128-bit accesses do
#    that with a quarter of the instructions.
# 4. Load structs whole, or use columns instead; make random accesses long.
# 5. L1, L2 and memory differ in latency and in rate. Other warps hide latency; nothing
#    hides a low rate. Constant memory is for what all lanes need at the same time.

# %%
quiz()
