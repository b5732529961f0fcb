# %% [markdown]
# # 10 · Debugging
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/10_debugging.ipynb)
#
# **After this lab, you can**
#
# - name ten ways in which a kernel can go wrong, and recognise each by its symptoms;
# - say which tool detects which of them, and what no tool detects;
# - read the reports of compute-sanitizer and cuda-gdb;
# - find the launch that caused an error, although a later call reports it;
# - fix each of ten broken kernels with a line or two.
#
# **You need** about 90 minutes. You do not need a GPU: the exercises run in the
# simulator, and without a GPU the measurements show times from the reference GPU, an
# H200. If you use a GPU, it needs compute capability 7.5 or higher and 2 GB of memory.
# The chapter shows recordings of all the tools, so you need none of them installed.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import numpy as np
from numba import cuda, float32, int32

from weft import bench, hint, quiz
from weft.diagnosis import check

chapter = weft.lab("10_debugging")
checks = chapter.checks

# %% [markdown]
# ## How this lab goes
#
# There are ten kernels, each with one bug, and each bug is of a different kind. For
# each kernel:
#
# 1. read what the kernel should do and what was observed, then read the kernel;
# 2. write your **diagnosis** into the cell below it. A letter in quotes will do, such
#    as `"a"`. Without a diagnosis, there is no verdict;
# 3. run the check and read the verdict. It shows the bug but does not mark your
#    diagnosis, so compare the two yourself. The third hint for each kernel begins with
#    the right letter;
# 4. fix the kernel, which takes a line or two, and check again.
#
# Here is the list of suspects. Ten of these twelve occur, each in one kernel.
#
# - **a** · a loop never ends
# - **b** · a barrier is missing
# - **c** · an index is below zero
# - **d** · two threads update one element, and one update gets lost
# - **e** · a guard lets too many threads through
# - **f** · shared memory is read before it is written
# - **g** · a value from the data is used as an index, unchecked
# - **h** · an index is computed with the wrong row length
# - **i** · a barrier is in a place that not every thread of the block reaches
# - **j** · a part of the output is written by no thread
# - **k** · a thread relies on another block having got far enough
# - **l** · arithmetic is done in 64 bits where 32 were meant
#
# You need two terms of chapter 13. **Shared memory** is a small memory that each block
# has to itself; `cuda.shared.array` makes an array there. A **barrier**,
# `cuda.syncthreads()`, is a line that no thread of a block passes before all of the
# block's threads have reached it.

# %% [markdown]
# ## 1 · Inverting a picture
#
# Each pixel becomes 1 minus its value. There is one thread per pixel, in blocks of 8 ×
# 8 threads. Shapes: (rows, cols) → (rows, cols), float32.
#
# **Observed:** the picture is right. But with 30 rows, all 1000 elements of another
# array, which the kernel never mentions, have changed. Stuck? `hint("invert")`. There
# are three hints for each kernel.

# %% tags=["broken"]
@cuda.jit
def invert(x, out):
    """Write 1 - x into out, for a picture (rows, cols)."""
    col, row = cuda.grid(2)

    # BEGIN SOLUTION
    # was: if col < x.shape[1]:
    if row < x.shape[0] and col < x.shape[1]:
    # END SOLUTION
        out[row, col] = float32(1) - x[row, col]


# %% tags=["given"]
# BEGIN SOLUTION
# was: diagnosis = None
diagnosis = "e: the guard looks at the columns only"
# END SOLUTION

# %%
check(
    invert,
    diagnosis,
    spec=lambda x: 1 - x,
    inputs=lambda rng, m, n: (rng.random((m, n), np.float32),),
    sizes=[(16, 16), (10, 16), (5, 13)],
    launch=lambda m, n: ((-(-n // 8), -(-m // 8)), (8, 8)),
    full=(1000, 1500),
)

# %% [markdown] tags=["solution"]
# **e.** A block covers 8 rows, and the last blocks cover some rows that the picture
# does not have. The threads there read and write whatever follows in memory. You need
# one guard per axis.
#
# `memcheck` detects this. It reports "Invalid `__global__` read of size 4 bytes" and
# names the line, the thread, the block, and the nearest allocation. But it can do so
# only if the array is a separate allocation. Inside the large pieces that PyTorch takes
# from the driver, it cannot tell another array's memory from yours; the chapter shows a
# recording of each case.

# %% [markdown]
# ## 2 · Unpacking rows
#
# A flat array holds the rows of a matrix, one after another. Copy them into a matrix.
# Shapes: (rows × cols,) → (rows, cols), float32.
#
# **Observed:** square matrices are right. Of a 5 × 12 matrix, the first row is right
# but the other rows begin too early. None of compute-sanitizer's tools reports
# anything. Stuck? `hint("unpack")`.

# %% tags=["broken"]
@cuda.jit
def unpack(flat, rows, cols, out):
    """Copy flat, which holds rows one after another, into out."""
    col, row = cuda.grid(2)

    if row < rows and col < cols:
        # BEGIN SOLUTION
        # was: out[row, col] = flat[row * rows + col]
        out[row, col] = flat[row * cols + col]
        # END SOLUTION


# %% tags=["given"]
# BEGIN SOLUTION
# was: diagnosis = None
diagnosis = "h: a row is as long as there are columns"
# END SOLUTION

# %%
check(
    unpack,
    diagnosis,
    spec=lambda flat, rows, cols: flat.reshape(rows, cols),
    inputs=lambda rng, m, n: (rng.random(m * n, np.float32), m, n),
    sizes=[(5, 5), (5, 12), (13, 16)],
    launch=lambda m, n: ((-(-n // 8), -(-m // 8)), (8, 8)),
    full=(1000, 1500),
)

# %% [markdown] tags=["solution"]
# **h.** To get to row `row`, step over `row` whole rows, each `cols` long. With the
# number of rows instead, a square still comes out right, and a test that uses only
# squares never notices.
#
# No tool can detect this: every access is inside the array, free of races, and to
# initialised memory. The program is legal, but computes the wrong thing. Only a
# comparison with what *should* come out finds the bug, and only at a shape whose sides
# differ. That is why this course's checks use ragged sizes.

# %% [markdown]
# ## 3 · Exchanging neighbours
#
# Elements 0 and 1 change places, as do elements 2 and 3, and so on. If the number of
# elements is odd, the last one has no partner and stays where it is. There is one
# thread per pair. Shapes: (n,) → (n,), float32.
#
# **Observed:** with 100 elements the result is right. With 101, the last one comes out
# as 0, whatever it was. Stuck? `hint("swap_pairs")`.

# %% tags=["broken"]
@cuda.jit
def swap_pairs(x, out):
    """Exchange neighbours; an odd last element stays where it is."""
    i = 2 * cuda.grid(1)

    if i + 1 < x.size:
        out[i] = x[i + 1]
        out[i + 1] = x[i]
    # BEGIN SOLUTION
    # was:
    elif i < x.size:  # no partner
        out[i] = x[i]
    # END SOLUTION


# %% tags=["given"]
# BEGIN SOLUTION
# was: diagnosis = None
diagnosis = "j: nobody writes an odd last element"
# END SOLUTION

# %%
check(
    swap_pairs,
    diagnosis,
    spec=lambda x: np.append(
        x[: x.size // 2 * 2].reshape(-1, 2)[:, ::-1].ravel(),
        x[x.size // 2 * 2 :],
    ),
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[64, 100, 101, 1],
    launch=lambda n: (-(-n // 64), 32),
    full=(1 << 20) + 1,
)

# %% [markdown] tags=["solution"]
# **j.** The guard is right: a thread whose second element is missing must not touch it.
# But then no thread writes the element that is left over, which keeps the value that
# was in its memory before. In a fresh process that is 0; later on it could be anything.
# If a result depends on what ran *earlier*, suspect memory that was never written.
#
# `initcheck` detects this, though not in this kernel: it reports a line in the kernel
# that **reads** the element afterwards. From there, search backwards for the kernel
# that should have written the element.

# %% [markdown]
# ## 4 · Differences
#
# From each element, subtract the one before it. A 0 counts as the element before the
# first. Shapes: (n,) → (n,), float32.
#
# **Observed:** for the numbers 1 to 100, every difference should be 1, but the first
# one is -99. memcheck reports nothing. The same kernel in CUDA C++ gives other numbers,
# and memcheck does report an error in it. Stuck? `hint("differences")`.

# %% tags=["broken"]
@cuda.jit
def differences(x, out):
    """Write x[i] - x[i - 1]; before the first element there is a 0."""
    i = cuda.grid(1)

    if i < out.size:
        # BEGIN SOLUTION
        # was: out[i] = x[i] - x[i - 1]
        before = x[i - 1] if i > 0 else float32(0)
        out[i] = x[i] - before
        # END SOLUTION


# %% tags=["given"]
# BEGIN SOLUTION
# was: diagnosis = None
diagnosis = "c: thread 0 reads x[-1]"
# END SOLUTION

# %%
check(
    differences,
    diagnosis,
    spec=lambda x: np.diff(x, prepend=0),
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[32, 100, 1],
    launch=lambda n: (-(-n // 32), 32),
    full=1 << 20,
)

# %% [markdown] tags=["solution"]
# **c.** Thread 0 reads `x[-1]`. In Python this is the last element, and Numba gives
# `x[-1]` the same meaning on the GPU: 1 - 100 is -99. So no access is outside the
# array, and memcheck has nothing to report. In CUDA C++, `x[-1]` is whatever is 4 bytes
# before the array, and memcheck says exactly that.
#
# An array has two ends. If you shift an index to the left, guard the lower end too.

# %% [markdown]
# ## 5 · The largest of a block
#
# Each block of 128 threads finds the largest of its 128 elements. In every iteration,
# each of the first `step` threads takes the larger of its own value and the value
# `step` places further on; then `step` is halved. All of the numbers may be negative.
# Shapes: (n,) → (n / 128 rounded up,), float32.
#
# **Observed:** on an H200, 100 of 100 launches gave the right result. Under synccheck,
# which makes everything slower, 97 of 100 gave a wrong one. Stuck? `hint("block_max")`.

# %% tags=["given"]
BLOCK = 128

# %% tags=["broken"]
@cuda.jit
def block_max(x, out):
    """Write the largest of each group of BLOCK elements of x into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[min(i, x.size - 1)]
    cuda.syncthreads()

    step = BLOCK // 2
    while step > 0:
        if t < step:
            tile[t] = max(tile[t], tile[t + step])
        # BEGIN SOLUTION
        # was:
        cuda.syncthreads()  # outside the if: the whole block gets here
        # END SOLUTION
        step //= 2
    cuda.syncthreads()

    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


# %% tags=["given"]
# BEGIN SOLUTION
# was: diagnosis = None
diagnosis = "b: no barrier between two rounds"
# END SOLUTION

# %%
check(
    block_max,
    diagnosis,
    spec=lambda x: np.array(
        [x[k : k + BLOCK].max() for k in range(0, x.size, BLOCK)]
    ),
    inputs=lambda rng, n: (rng.random(n, np.float32) - 1,),
    sizes=[128, 300],
    launch=lambda n: (-(-n // BLOCK), BLOCK),
    full=1 << 20,
)

# %% [markdown] tags=["solution"]
# **b.** In the second iteration, thread 0 reads what thread 32 wrote in the first. The
# two are in different warps, and nothing makes thread 0 wait. On the H200 the warps
# happened to keep in step until a tool changed the timing. A test that runs the kernel
# a hundred times does not find such a bug. To find it, record which thread accessed
# which element, and whether a barrier came in between. `racecheck` does that on the
# GPU, and `check` in the simulator.

# %% [markdown]
# ## 6 · Counting
#
# How often does each of the numbers 0 to 15 occur? Each block counts its own elements
# in shared memory, then adds its counts to `out`. With `cuda.atomic.add` no update gets
# lost. Shapes: (n,) → (16,), int32; out begins with zeros.
#
# **Observed:** the counts are right if this is the first kernel that a program runs.
# After another kernel has run, all 16 counts are wrong. Stuck? `hint("count_bins")`.

# %% tags=["given"]
BINS = 16

# %% tags=["broken"]
@cuda.jit
def count_bins(x, out):
    """Add to out how often each number from 0 to BINS - 1 occurs in x."""
    mine = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    # BEGIN SOLUTION
    # was:
    if t < BINS:
        mine[t] = 0  # it held what another block left
    cuda.syncthreads()

    # END SOLUTION
    if i < x.size:
        cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()

    if t < BINS:
        cuda.atomic.add(out, t, mine[t])


# %% tags=["given"]
# BEGIN SOLUTION
# was: diagnosis = None
diagnosis = "f: the counters in shared memory do not begin at 0"
# END SOLUTION

# %%
check(
    count_bins,
    diagnosis,
    spec=lambda x: np.bincount(x, minlength=BINS),
    inputs=lambda rng, n: (rng.integers(0, BINS, n, np.int32),),
    out=lambda x: np.zeros(BINS, np.int32),
    sizes=[64, 200],
    launch=lambda n: (-(-n // 64), 64),
    full=1 << 20,
)

# %% [markdown] tags=["solution"]
# **f.** Nothing clears shared memory for you. In a fresh process it happened to be
# zero, which is why the first run was right. After that, it contains what the last
# block on the same multiprocessor has left there. Once you set the counters to zero,
# you also need a barrier. Otherwise a fast thread counts before a slow one has cleared
# its counter.
#
# `initcheck` is silent: by default it watches global memory only. (Newer versions have
# an option for shared memory.) But `check` does report the bug, since the simulator
# records every write.

# %% [markdown]
# ## 7 · Mirrors
#
# Reverse each stretch of 64 elements; the last stretch may be shorter. There are fewer
# blocks than stretches, so a block handles several, one after another. Every thread
# puts an element into the tile, waits, and takes another one out. The second barrier
# ensures that no thread fills the tile again before all have read it. Shapes: (n,) →
# (n,), float32.
#
# **Observed:** with 992 elements, the result is right on an H200, though synccheck
# reports errors. With 1000 elements the program never ends. Stuck? `hint("mirror")`.

# %% tags=["given"]
WIDE = 64

# %% tags=["broken"]
@cuda.jit
def mirror(x, out):
    """Reverse each stretch of WIDE elements of x; the last may be shorter."""
    tile = cuda.shared.array(WIDE, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * WIDE

    while start < x.size:
        count = min(WIDE, x.size - start)
        if t < count:
            tile[t] = x[start + t]
            # BEGIN SOLUTION
            # was: cuda.syncthreads()
        cuda.syncthreads()  # the whole block
        if t < count:  # and then only those with an element
            # END SOLUTION
            out[start + t] = tile[count - 1 - t]
        cuda.syncthreads()
        start += cuda.gridDim.x * WIDE


# %% tags=["given"]
# BEGIN SOLUTION
# was: diagnosis = None
diagnosis = "i: the first barrier is inside the if"
# END SOLUTION

# %%
check(
    mirror,
    diagnosis,
    spec=lambda x: np.concatenate(
        [x[k : k + WIDE][::-1] for k in range(0, x.size, WIDE)]
    ),
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[256, 300],
    launch=lambda n: (2, WIDE),
    full=(1 << 16) + 3,
)

# %% [markdown] tags=["solution"]
# **i.** In the last iteration, the threads without an element skip the `if` and wait at
# the *second* barrier while the others wait at the *first*. The CUDA programming guide
# calls the result undefined, and an H200 behaved in two different ways. With 992
# elements, the last stretch has 32 elements. Warp 0 waited at the first barrier and
# warp 1 at the second, and since both had reached some barrier, both went on. With 1000
# elements, the last stretch has 40 elements. Some lanes of warp 1 waited at the first
# barrier and its other lanes at the second, and none of them ever went on.
#
# `synccheck` reports the first case. The second one never ends, so there is no report.
# In a kernel with a single iteration and no second barrier, neither `synccheck` nor
# `check` finds anything, because a barrier does not wait for threads that have *ended*.
# A barrier in such an `if` is still a bug, and it shows as soon as someone adds another
# barrier below.

# %% [markdown]
# ## 8 · Gathering
#
# `out[i]` is element number `index[i]` of `x`. Some entries of `index` mean "none":
# they are the length of `x`, or a very large number. For these, `out[i]` is 0. Shapes:
# (m,), (n,) int32 → (n,), float32.
#
# **Observed:** the launch succeeds, and so does the launch of another kernel after it.
# Then the result of that other kernel is copied back, and the copy fails with an error
# that names no kernel. From there on, every call fails. Stuck? `hint("gather")`.

# %% tags=["given"]
NONE = 99_999_999

# %% tags=["broken"]
@cuda.jit
def gather(x, index, out):
    """Write x[index[i]] into out[i], and 0 where index[i] is no index."""
    i = cuda.grid(1)

    if i < out.size:
        # BEGIN SOLUTION
        # was: out[i] = x[index[i]]
        j = index[i]
        out[i] = x[j] if 0 <= j < x.size else float32(0)
        # END SOLUTION


# %% tags=["given"]
# BEGIN SOLUTION
# was: diagnosis = None
diagnosis = "g: index[i] is not looked at before it is used"
# END SOLUTION

# %%
check(
    gather,
    diagnosis,
    spec=lambda x, index: np.where(
        index < x.size, x[np.minimum(index, x.size - 1)], 0
    ),
    inputs=lambda rng, m, n: checks.some_missing(rng, m, n, NONE),
    sizes=[(50, 100), (10, 64)],
    launch=lambda m, n: (-(-n // 32), 32),
    full=(1 << 16, 1 << 20),
)

# %% [markdown] tags=["solution"]
# **g.** The guard checks `i`, which the kernel computes itself. Check what comes from
# outside as well: an index in the data is input.
#
# `memcheck` names the line, the thread and the address at once. Without it, you first
# have to find the *launch*. The next section shows how.

# %% [markdown]
# ## The launch to blame
#
# A launch only puts the kernel into a queue; Python goes on at once. When the kernel
# fails, milliseconds later, the call that launched it has long since returned. So the
# error is reported by the next call that checks the queue: a copy, a synchronisation or
# an allocation. From then on the process's **context** on the GPU is lost. Every call
# fails with the same error until the process ends.
#
# So the failing program must not run in this notebook. The cells below print the end of
# the program, and run it in a separate process. It launches a broken `gather` between
# two launches of a correct `double`, and copies the result of `double`. `say` makes a
# call and prints whether it failed. **Which line will report the error?**
# Then the program runs once more, with `CUDA_LAUNCH_BLOCKING=1` in the environment,
# which makes every launch wait for its kernel. Which line will report the error now?
# Guess, then run. (No GPU? The chapter has a recording from an H200.)

# %%
print(*chapter.measure.LATE.split("\n\n")[-2:], sep="\n\n")

# %%
if weft.on_gpu("in the simulator a kernel fails where it is launched"):
    late, blocking = chapter.measure.late()
    print(late)
    print("with CUDA_LAUNCH_BLOCKING=1:\n")
    print(blocking)

# %% tags=["solution"]
if weft.GPU:
    assert late.count("fine") == 3
    assert "copy y         failed" in late
    assert blocking.count("fine") == 1
    assert "launch gather  failed" in blocking

# %% [markdown] tags=["solution"]
# The copy reports the error, but it did nothing wrong. With blocking launches, the
# right line reports the error, and every call after it fails as before, because a lost
# context stays lost. In a notebook that means *restart the kernel*. Nothing else helps,
# and any results in the device's memory are gone.
#
# So if an error makes no sense where it appears, run the program again with
# `CUDA_LAUNCH_BLOCKING=1` to get the launch, then with `compute-sanitizer` to get the
# line.

# %% [markdown]
# ## 9 · Looking up
#
# `edges` is sorted. For each element of `x`, how many of the edges are less than that
# element? (An edge that is equal does not count.) This is a binary search: the answer
# is between `low` and `high`, and each iteration halves that interval. Shapes: (m,),
# (n,) → (n,), int32.
#
# **Observed:** on some data the answer comes at once. On other data it never comes: the
# program hangs. Under compute-sanitizer it hangs too. Stuck? `hint("find_place")`.

# %% tags=["broken"]
@cuda.jit
def find_place(edges, x, out):
    """Write into out how many of the sorted edges are less than x."""
    i = cuda.grid(1)

    if i < x.size:
        low, high = 0, edges.size
        while low < high:
            mid = (low + high) // 2
            if edges[mid] < x[i]:
                # BEGIN SOLUTION
                # was: low = mid
                low = mid + 1
                # END SOLUTION
            else:
                high = mid
        out[i] = low


# %% tags=["given"]
# BEGIN SOLUTION
# was: diagnosis = None
diagnosis = "a: with low = mid the interval need not get smaller"
# END SOLUTION

# %%
check(
    find_place,
    diagnosis,
    spec=lambda edges, x: np.searchsorted(edges, x).astype(np.int32),
    inputs=lambda rng, m, n: (
        np.sort(rng.integers(0, 2 * m, m)).astype(np.float32),
        rng.integers(0, 2 * m + 1, n).astype(np.float32),
    ),
    sizes=[(16, 40), (7, 33), (1, 5)],
    launch=lambda m, n: (-(-n // 32), 32),
    full=(1000, 1 << 20),
)

# %% [markdown] tags=["solution"]
# **a.** With `low = 9` and `high = 10`, `mid` is 9. If `edges[9]` is less than `x[i]`,
# `low = mid` changes nothing, and the loop never ends. But then `edges[mid]` is known
# to be less, so the search can continue after it: `low = mid + 1`.
#
# As long as a kernel hangs, no tool writes a report. But a debugger can stop the kernel
# and look inside: the chapter has a session of `cuda-gdb` that finds 10 threads of 128
# still searching, and shows the values of `low` and `high` in one of them.

# %% [markdown]
# ## 10 · Shares
#
# What share of the total is each element? Each thread adds its element to `total[0]`,
# waits at a barrier, and divides its element by the total. Shapes: (n,) → (1,), (n,),
# float32; both begin with zeros.
#
# **Observed:** with one block the result is right. With 256 blocks, 100 of 100 launches
# on an H200 were wrong. None of compute-sanitizer's tools reports anything. Stuck?
# `hint("shares")`.

# %% tags=["broken"]
@cuda.jit
def shares(x, total, out):
    """Add x up in total[0], then write each element's share into out."""
    i = cuda.grid(1)

    if i < x.size:
        cuda.atomic.add(total, 0, x[i])
    # BEGIN SOLUTION
    # was: cuda.syncthreads()
    cuda.cg.this_grid().sync()
    # END SOLUTION

    if i < x.size:
        out[i] = x[i] / total[0]


# %% tags=["given"]
# BEGIN SOLUTION
# was: diagnosis = None
diagnosis = "k: syncthreads waits for one block, the sum needs all"
# END SOLUTION

# %%
check(
    shares,
    diagnosis,
    spec=lambda x: (x.sum(keepdims=True), x / x.sum()),
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    out=lambda x: (np.zeros(1, np.float32), np.zeros(x.size, np.float32)),
    sizes=[64, 100, 250],
    launch=lambda n: (-(-n // 64), 64),
    full=1 << 14,
    tolerance=1e-4,
)

# %% [markdown] tags=["solution"]
# **k.** `syncthreads` waits for the threads of one block. When these threads divide,
# other blocks may not have added their elements yet. `this_grid().sync()` waits for the
# whole grid; Numba then launches the kernel cooperatively, which requires all blocks to
# fit on the GPU at once (chapter 8). The other fix has no such limit: end the kernel
# after the sum, and divide in a second kernel, which starts only when the first has
# ended.
#
# `racecheck` watches shared memory only, so it does not detect this race. `check`
# watches global memory as well.

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious: what it costs to
# compile for debugging, and to look at every launch. The last section has ideas for
# more.

# %% [markdown]
# ### What looking costs
#
# Why not always compile for debugging? Here are three ways to compile the same kernel,
# a saxpy over 2^24 elements:
#
# - `plain`: `@cuda.jit`;
# - `lineinfo`: `@cuda.jit(lineinfo=True)`, which adds a table from instructions to
#   source lines, so that tools can name lines;
# - `debug`: `@cuda.jit(debug=True, opt=False)`, for a debugger: no optimisation, and
#   errors raised in the kernel reach the host.
#
# Calculate first: the saxpy moves 3 × 4 × 2^24 = 201 MB. Without optimisation, every
# variable is in memory and not in a register, so it is loaded for every use and stored
# after every change. How fast will `debug` be, as a multiple of `plain`? Guess, then
# run.

# %%
guess = {"lineinfo": 1.0, "debug": None}

looking = chapter.measure.looking(guess)
looking

# %% tags=["solution"]
looking.expect("lineinfo", at_least=0.95, times="plain")
looking.expect("plain", at_least=10, times="debug")

# %% [markdown] tags=["solution"]
# Line information is free, so leave it in. Use `debug` only with a debugger. A race
# that shows in `plain` may well stay hidden in `debug`, because the timing is
# different.

# %% [markdown]
# ### What it costs to look at every launch
#
# The table compares two ways to launch a small kernel 100 times: without checking for
# errors (`no look`), and with a `cuda.synchronize()` after each launch, which reports
# an error where it happens. How fast will `synchronise` be, as a multiple of `no look`?

# %%
guess = {"synchronise": None}

waiting = chapter.measure.waiting(guess)
waiting

# %% tags=["solution"]
waiting.expect("no look", at_least=1.1, times="synchronise")

# %% [markdown] tags=["solution"]
# Waiting costs time at each launch. A program with a few long kernels hardly notices,
# but a program with many short kernels does.

# %% [markdown]
# ### If you want more
#
# - Use the two letters that are left: write a kernel with bug **l** (`x[i] * 0.1` will
#   do; with `0.5` the compiler sees that float32 gives the same) and one with bug
#   **d**, and check each, the first with `limits={"float64": 0}`. Which one is slow,
#   and which one is wrong?
# - Break `block_max` in another way: put the new barrier inside the `if`, and predict
#   the verdict. Then remove the last barrier of the kernel. Why does `check` pass the
#   kernel now, and would you?
# - Fix `shares` with two kernels instead of one.
# - With a GPU and the CUDA toolkit: the programs of the chapter's recordings are in
#   `book/recordings/10_debugging`. Run one under `compute-sanitizer`, fix it, and run
#   it again.
# - Delete one line from a kernel of an earlier lab and give the kernel to a friend.

# %% [markdown]
# ## What you learned
#
# 1. Look at the symptom first. Does the bug show only at ragged sizes, only after other
#    kernels, only with several blocks, or only sometimes? The symptom points to the
#    class of the bug.
# 2. memcheck reports accesses outside an allocation, and initcheck reports memory that
#    is read before it is written (by default, global memory). racecheck reports two
#    threads that use shared memory with no barrier in between, and synccheck reports
#    misplaced barriers. If legal accesses give wrong numbers, only a comparison finds
#    the bug.
# 3. A test that passes a hundred times does not disprove a race.
# 4. A launch does not report its kernel's error. A later, innocent call does:
#    `CUDA_LAUNCH_BLOCKING=1` finds the launch, and compute-sanitizer the line.
# 5. After an illegal access the context is lost; restart the process.

# %%
quiz()
