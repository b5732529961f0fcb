# %% [markdown]
# # 05 · Your first kernel
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/05_first_kernel.ipynb)
#
# **After this lab, you can**
#
# - compute how many blocks a launch needs, and write the launch;
# - write a kernel in which each thread finds its own element, with `cuda.grid` and by
#   hand, and leaves the other elements alone;
# - make a kernel independent of its launch with a grid-stride loop;
# - write a kernel in CUDA C++, and read one in Triton;
# - compute, from the bytes it moves, the least time that an elementwise kernel can
#   take, and say when the launch sets the time instead.
#
# **You need** about 75 minutes. You do not need a GPU: the exercises run in the
# simulator, and without a GPU the measurements show times from the reference GPU, an
# H200. Exercise 7 needs a C++ compiler: Colab has one, and on Debian, Ubuntu and WSL,
# `sudo apt install g++` installs it. If you use a GPU, it needs compute capability 7.5
# or higher (8.0 for the Triton part) and 2 GB of memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import numpy as np
from numba import cuda

from weft import bench, check, explore, hint, quiz
from weft.exploring import choose

chapter = weft.lab("05_first_kernel")

# %% [markdown]
# ## 1 · How many blocks
#
# A launch takes two numbers: `kernel[blocks, threads](...)` starts `blocks` blocks of
# `threads` threads each. You choose the number of threads, 128 for example. The number
# of blocks follows from it: just enough for each of the `n` elements to get its own
# thread.
#
# | n | threads | blocks | idle threads |
# | ---: | ---: | ---: | ---: |
# | 128 | 128 | 1 | 0 |
# | 129 | 128 | 2 | 127 |
# | 1000 | 256 | 4 | 24 |
#
# This function is not a kernel yet, but ordinary Python that runs on the host. The
# check's `spec` computes the same number the slow way: it counts the blocks, which
# begin at elements 0, `threads`, 2 × `threads` and so on, below `n`.
#
# Stuck? Run `hint("blocks_for")` in a separate cell. Each call gives you the next of
# three hints.

# %%
def blocks_for(n, threads):
    """Return how many blocks of `threads` threads cover n elements."""
    # about 1 line
    # BEGIN SOLUTION
    return (n + threads - 1) // threads
    # END SOLUTION

# %%
check(
    blocks_for,
    spec=lambda n, threads: len(range(0, n, threads)),
    inputs=[(1, 128), (128, 128), (129, 128), (1000, 256), (1 << 26, 256)],
    because=chapter.checks.last_block,
)

# %% [markdown] tags=["solution"]
# Adding `threads - 1` before the floor division carries every remainder over to the
# next multiple, and leaves exact multiples where they are. `-(-n // threads)` does
# the same by rounding a negative number down. `n // threads` loses the last, partly
# filled block, and `n // threads + 1` starts one block too many whenever `threads`
# divides `n`. `math.ceil(n / threads)` passes here, but it goes through a float,
# which cannot hold every `n` beyond 2^53 exactly.

# %% [markdown]
# ## 2 · One thread, one element
#
# Now write the kernel. Every thread of the launch runs the same function. The only
# difference between them is the number that `cuda.grid(1)` returns: 0, 1, 2, … across
# all blocks. Thread `i` adds element `i`.
#
# A launch always starts whole blocks. For 1000 elements and blocks of 128, that means
# 1024 threads, and the last 24 have no element. They must notice this and do nothing.
# The other threads have to share the work: the check rejects a kernel in which a single
# thread adds all the elements, even though its result is right.
#
# ```python
# vector_add(a, b, out)    # (n,), (n,) -> (n,)  float32
# ```
#
# A kernel returns nothing: it writes its result into `out`. Stuck?
# `hint("vector_add")`.

# %%
@cuda.jit
def vector_add(a, b, out):
    """Write a + b into out, one thread per element."""
    i = cuda.grid(1)

    # about 2 lines
    # BEGIN SOLUTION
    if i < out.size:
        out[i] = a[i] + b[i]
    # END SOLUTION

# %%
check(
    vector_add,
    spec=lambda a, b: a + b,
    inputs=lambda rng, n: (
        rng.random(n, np.float32),
        rng.random(n, np.float32),
    ),
    sizes=[128, 1000, 1, 2500],
    launch=lambda n: (-(-n // 128), 128),
    full=1 << 24,
    limits={"loads": 4, "size": 1000},
)

# %% [markdown] tags=["solution"]
# Index, guard, work: most kernels in this course begin with these three steps. The
# guard looks at the size of the array, not at the launch, so it is right for every
# launch with enough threads. Without it, the last 24 threads would write past the end,
# and on a GPU nothing stops them. They overwrite whatever is there, and the program
# fails later, somewhere else, or not at all. The simulator stops at the first such
# write.

# %% [markdown]
# ## Look at it
#
# The GPU runs threads 32 at a time, as a **warp**, and memory is read and written in
# **sectors** of 32 bytes. One load or store by a warp is a **request**. `explore`
# launches your kernel in the simulator and shows which sectors each line of the kernel
# requests. This launch has 128 threads for 100 elements. Before you move the slider to
# the last warp, make a guess: how many of its 32 threads read anything?

# %%
ones = np.ones(100, np.float32)
explore(vector_add)[2, 64](ones, ones, np.zeros_like(ones))

# %% [markdown]
# ## 3 · The index by hand
#
# `cuda.grid(1)` is arithmetic on three numbers that every thread is given:
#
# - `cuda.blockIdx.x`: which block the thread is in;
# - `cuda.blockDim.x`: how many threads a block has;
# - `cuda.threadIdx.x`: the thread's number within the block.
#
# This time, compute the index from them yourself, and use it to write `x` backwards, so
# that the first element of `out` is the last element of `x`.
#
# ```python
# reverse(x, out)    # (n,) -> (n,)  float32
# ```
#
# In Python, `x[-1]` is the last element. Do not use that in a kernel, where an index
# should count from the start of the array: in CUDA C++, a negative index reads the
# memory before the array.
#
# The check launches blocks of 64 threads, except for 500 elements, where it launches
# blocks of 96. As in exercise 2, one thread must not do all the work. Stuck?
# `hint("reverse")`.

# %%
@cuda.jit
def reverse(x, out):
    """Write x into out, last element first."""
    # about 3 lines
    # BEGIN SOLUTION
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x

    if i < x.size:
        out[i] = x[x.size - 1 - i]
    # END SOLUTION

# %%
check(
    reverse,
    spec=lambda x: x[::-1],
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[64, 500, 1],
    launch=lambda n: (6, 96) if n == 500 else (-(-n // 64), 64),
    full=1 << 24,
    limits={"loads": 4, "size": 500},
)

# %% [markdown] tags=["solution"]
# Skip the blocks before yours, then count within your own: `blockIdx.x * blockDim.x +
# threadIdx.x`. The mirror image of element `i` among `n` is `n - 1 - i`; with `n - i`,
# thread 0 would read element `n`, which does not exist. Reading `x[i]` and writing to
# `out[n - 1 - i]` is equally good. A thread may read any element, as long as no two
# threads write to the same one.

# %% [markdown]
# ## 4 · Which thread does what
#
# One thread per element, but of which array? Here are two inputs of `n` elements each
# and one output of `2n`, in which they alternate: `a[0], b[0], a[1], b[1], …`
#
# The check launches one thread per **pair**, so each thread moves two elements. Decide
# what thread `i` reads, what it writes, and which array's size its guard should use.
# Stuck? `hint("interleave")`.
#
# ```python
# interleave(a, b, out)    # (n,), (n,) -> (2 n,)  float32
# ```

# %%
@cuda.jit
def interleave(a, b, out):
    """Write a[0], b[0], a[1], b[1], ... into out, one thread per pair."""
    # about 4 lines
    # BEGIN SOLUTION
    i = cuda.grid(1)

    if i < a.size:
        out[2 * i] = a[i]
        out[2 * i + 1] = b[i]
    # END SOLUTION

# %%
check(
    interleave,
    spec=lambda a, b: np.stack([a, b], axis=1).ravel(),
    inputs=lambda rng, n: (
        rng.random(n, np.float32),
        rng.random(n, np.float32),
    ),
    sizes=[64, 300, 1],
    launch=lambda n: (-(-n // 64), 64),
    full=1 << 24,
    limits={"loads": 4, "size": 300},
)

# %% [markdown] tags=["solution"]
# The launch decides how many threads there are; the kernel decides how much each of
# them does. Here each thread moves a pair, so the guard compares `i` with `a.size`.
# The guard `i < out.size` would let indices through that are beyond the last pair.
# You could also have one thread per output element, but that takes twice as many
# threads, each of which has to test whether its index is even.

# %% [markdown]
# ## 5 · The launch
#
# Now write the host's part of a launch. The kernel is given, with the guard that it
# needs. Write the function that chooses a launch for any `n`. It returns two integers,
# the number of blocks and the number of threads per block. Five things can go wrong
# with them:
#
# - too few threads in all, so that elements are left out;
# - whole blocks that have nothing to do;
# - a block of more than 1024 threads, which no GPU accepts;
# - a block of fewer than 32 threads, since the hardware runs 32 at a time;
# - a number that is not an integer.
#
# ```python
# launch_for(n) -> (blocks, threads)
# ```
#
# Stuck? `hint("launch_for")`.

# %% tags=["given"]
@cuda.jit
def halve(x, out):
    i = cuda.grid(1)

    if i < out.size:
        out[i] = x[i] // 2

# %%
def launch_for(n):
    """Return (blocks, threads) with a thread for each of n elements."""
    # about 2 lines
    # BEGIN SOLUTION
    threads = 128
    return (n + threads - 1) // threads, threads
    # END SOLUTION

# %%
check(
    launch_for,
    kernel=halve,
    spec=lambda x: x // 2,
    inputs=lambda rng, n: (rng.integers(0, 1000, n, np.int32),),
    sizes=[1, 255, 256, 257, 3000],
    full=1 << 24,
)

# %% [markdown] tags=["solution"]
# Any number of threads from 32 to 1024 is correct here, and a multiple of 32 is
# sensible: otherwise the last lanes of each block have nothing to do. But do not fit
# the block to the data: `(1, n)` works for 255 elements, and fails as soon as `n`
# exceeds 1024. Further down you will measure what a poor choice costs.

# %% [markdown]
# ## 6 · The grid-stride loop
#
# So far the launch had to fit the data. But if each thread comes back for more
# elements, a kernel can work with any launch. With `T` threads in the whole grid,
# thread `i` takes elements `i`, `i + T`, `i + 2T`, … up to the end. `cuda.gridsize(1)`
# gives you `T`. In every iteration, neighbouring threads take neighbouring elements,
# and each moves on by the size of the grid: this is a **grid-stride loop**. Do not give
# each thread a contiguous piece of the array instead.
#
# The kernel computes one of the oldest operations in numerical computing, *a times x
# plus y*, known in single precision as saxpy. It updates `y` in place, so if two
# threads take the same element, that element is updated twice.
#
# The check launches 128 threads, or 96, on up to 3000 elements. A thread therefore gets
# at most 24 elements, and needs one load of `x` and one of `y` for each, which makes 48
# loads. Stuck? `hint("saxpy")`.
#
# ```python
# saxpy(alpha, x, y)    # float32, (n,), (n,) -> y changed in place
# ```

# %%
@cuda.jit
def saxpy(alpha, x, y):
    """Add alpha * x to y in place, whatever the number of threads."""
    # about 2 lines
    # BEGIN SOLUTION
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] += alpha * x[i]
    # END SOLUTION

# %%
check(
    saxpy,
    spec=lambda alpha, x: alpha * x + x[::-1],
    inputs=lambda rng, n: (np.float32(2.5), rng.random(n, np.float32)),
    out=lambda alpha, x: x[::-1].copy(),  # y before; any values would do
    sizes=[128, 300, 3000, 1],
    launch=lambda n: (
        (1, 32) if 3000 < n < 1 << 20 else (3, 32) if n == 300 else (2, 64)
    ),
    full=1 << 20,
    limits={"loads": 48, "size": 3000},
)

# %% [markdown] tags=["solution"]
# The end of the range is the guard: a thread whose first element would be past the end
# does nothing at all. Stepping by the whole grid rather than by one keeps neighbouring
# threads on neighbouring elements in every iteration, and the memory system rewards
# that (chapter 12). If you step by a single block's size, `cuda.blockDim.x`, threads
# from several blocks take the same element, which is then updated several times.
#
# This is what the loop buys you: the result no longer depends on the launch. Even one
# block of one thread gives the right result, which is handy for debugging.

# %% [markdown]
# ## Look at the iterations
#
# Here are 512 elements and blocks of 64 threads. `choose` gives you a control for the
# number of blocks. Before you move it, guess: how many requests will the loads of `x`
# make in total with 1 block, with 4 and with 8? And how far does a warp move from one
# iteration to the next?

# %%
ones = np.ones(512, np.float32)
y = np.zeros_like(ones)
explore(saxpy)[choose(1, 2, 4, 8), 64](np.float32(2.5), ones, y)

# %% [markdown] tags=["solution"]
# There are 16 requests in every case, because 512 elements are 16 × 32, whichever warps
# take them. What changes is which warp makes them. A single block has two warps. Each
# of them runs eight iterations and moves on by 64 elements, the number of threads in
# the grid. Eight blocks have a warp for every request, so each warp runs just one
# iteration.

# %% [markdown]
# ## 7 · The same kernel in CUDA C++
#
# Most of what you will read about GPUs is in CUDA C++, and you now know enough to write
# some. Translate your `saxpy`. C++ differs from Python in four ways:
#
# - `__global__` before the type of the result makes a function a kernel. The type is
#   always `void`.
# - An array arrives as a pointer, the address of its first element. A pointer does not
#   know the length, so that is passed separately, as `n`.
# - There is no `cuda.grid` and no `cuda.gridsize`. A thread computes both from
#   `blockIdx.x`, `blockDim.x`, `threadIdx.x`, and `gridDim.x`, the number of blocks.
# - A variable is declared with its type, a statement ends with a semicolon, and a loop
#   has the form `for (start; condition; step)`.
#
# Write the whole kernel, from its first line. Except for `__global__`, this is its
# declaration:
#
# ```cpp
# void saxpy_cpp(float alpha, const float *x, float *y, int n)
# ```
#
# Running the cell only saves it. The check compiles it for the CPU and runs one thread
# after another, in a process of its own, where the address sanitizer of lab 04 watches
# every access. NVRTC, NVIDIA's compiler, then compiles the same text for a GPU. If you
# have one, the kernel runs there too. The launches are those of exercise 6. Stuck?
# `hint("saxpy_cpp")`.

# %%
import weft.c  # lets a cell begin with %%c

# %% language="c" magic_args="saxpy_cpp.cu"
# // about 7 lines
# // BEGIN SOLUTION
# __global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
# {
#     int stride = gridDim.x * blockDim.x;
#
#     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
#         y[i] += alpha * x[i];
# }
# // END SOLUTION

# %%
check(
    saxpy_cpp,
    prototype="void saxpy_cpp(float alpha, const float *x, float *y, int n)",
    spec=lambda alpha, x: alpha * x + x[::-1],
    inputs=lambda rng, n: (np.float32(2.5), rng.random(n, np.float32)),
    out=lambda alpha, x: x[::-1].copy(),  # y before
    call=lambda alpha, x, y: (alpha, x, y, np.int32(x.size)),
    sizes=[128, 300, 3000, 1],
    launch=lambda n: (
        (1, 32) if 3000 < n < 1 << 20 else (3, 32) if n == 300 else (2, 64)
    ),
    full=1 << 20,
)

# %% [markdown] tags=["solution"]
# The three parts of the `for` are those of Python's `range`: start, end and step. The
# end is now `n`, because `x.size` does not exist. Nothing but the caller's word
# connects `n` with the arrays. If `n` is too large, the kernel reads and writes what
# follows the arrays, and no guard helps.
#
# `int` has 32 bits. For an `n` close to 2^31, `i += stride` would go beyond the largest
# `int` and become negative. Kernels for arrays of that size count in `size_t`.

# %% [markdown]
# ## Measure: one kernel, three languages
#
# First, compute the limit by hand. For each element, the kernel reads 4 bytes from `a`
# and 4 from `b`, and writes 4 to `out`. For 2^26 elements that makes 3 × 4 × 2^26 = 805
# million bytes. One addition per 12 bytes takes next to no time in comparison, so
# memory sets the limit. Divide the bytes by your GPU's copy bandwidth, which
# `weft.doctor()` measures, and you have the least time possible.
#
# The table also has the same kernel in CUDA C++ and in Triton, as printed on the
# chapter's page. (Triton needs compute capability 8.0.) How close does your
# `vector_add` come to the speed of `torch.add`? Does it matter which language the same
# lines are written in? Replace each `None` with your guess (1.0 is PyTorch's speed, 0.5
# half of it), then run the cell. The ceiling is a plain copy that moves the same number
# of bytes.
#
# If you have not solved exercise 2 yet, the cell times a kernel that does nothing, and
# does that very quickly.

# %%
guess = {"Numba": None, "CUDA C++": None}

large = chapter.measure.large(vector_add, guess)
large

# %% tags=["solution"]
large.expect("Numba", at_least=0.5, times="torch.add")
large.expect("CUDA C++", at_least=0.7, times="torch.add")
large.expect("torch.add", at_least=1.05, times="CUDA C++")

# %% [markdown] tags=["solution"]
# Your first kernel gets most of the way to the ceiling. No kernel can be many times as
# fast, because all of them have to move the same bytes. The language makes little
# difference either. Your kernel and the one in CUDA C++ do the same, though Numba's
# machine code is a little longer, with 64-bit indices and a test for negative indices.
# PyTorch and Triton, which do reach the ceiling, handle eight elements per thread and
# fetch 16 bytes at a time, so more bytes are in flight while a thread waits. The last
# stretch goal below lets you try that.

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious: four measurements
# with your own kernels, each with a prediction. Their code is in `measure.py`, in
# `chapters/05_first_kernel`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### Less and less work
#
# Here is your kernel again, launched once for each size, on fewer and fewer elements.
# From 2^26 to 2^10, the work shrinks by a factor of 65,536. How many times as fast as
# the largest launch is the smallest?

# %%
guess = {"2^10": None}

one = chapter.measure.one(vector_add, guess)
one

# %% tags=["solution"]
one.expect("2^14", at_least=1 / 2, times="2^10")  # 16 times the work
one.expect("2^26", at_least=1 / 1000, times="2^10")  # 65,536 times

# %% [markdown] tags=["solution"]
# Below a certain size, the time stops falling. What remains is the launch overhead on
# the GPU, which has to fetch the launch, distribute the blocks, wait for memory once
# and report that it has finished. A thousand elements take nearly as long as sixteen
# thousand.

# %% [markdown]
# ### Many small launches
#
# So far you have seen what a launch costs the GPU. It also costs the host time: Python
# inspects the arguments, finds the compiled kernel and calls the driver. With
# `host=True`, the times are measured on the host. Each row of the table shows the time
# per launch when many launches follow one another, each on 1024 elements. Does the
# language matter now?

# %%
guess = {"Numba": None, "CUDA C++": None}

many = chapter.measure.many(vector_add, guess)
many

# %% tags=["solution"]
many.expect("torch.add", at_least=1.5, times="Numba")

# %% [markdown] tags=["solution"]
# Now the language does matter, or rather the path from Python to the driver: the host
# cannot keep up, and the GPU is idle between launches. One launch on a million elements
# would replace a thousand of these launches, and cost the host no more than one of
# them. Where launches cannot be merged, chapter 17 removes most of their cost.

# %% [markdown]
# ### Threads per block
#
# There are 2^26 elements again, with one thread for each; only the grouping into blocks
# changes. The hardware runs threads in warps of 32, so even a block of 1 thread
# occupies a whole warp. How fast are blocks of 1 and of 32 threads, compared with
# blocks of 256?

# %%
guess = {"1": None, "32": None}

grouped = chapter.measure.grouped(vector_add, guess)
grouped

# %% tags=["solution"]
grouped.expect("256", at_least=32, times="1")
grouped.expect("32", at_least=16, times="1")  # 32 times fewer blocks
grouped.expect("64", at_least=1.6, times="32")  # half as many

# %% [markdown] tags=["solution"]
# Blocks of 1 thread leave 31 of 32 lanes empty, so you might expect them to take 32
# times as long as blocks of 256. They take far longer. Divide the number of blocks by
# the time, row by row: for 1, 32, 64 and 128 threads you get nearly the same rate.
# These launches are not waiting for lanes or for memory, but for the GPU to start
# blocks. From 256 threads up there are few enough blocks, and memory is the limit
# again.

# %% [markdown]
# ### How many threads fill a GPU
#
# A grid-stride loop gives the right result for any launch, so you can find out how many
# blocks of 256 threads it takes to reach full speed. One block runs on one
# multiprocessor (SM); the reference GPU has 132 of them. How fast is one block,
# compared with the n / 256 blocks that give each element its own thread?

# %%
guess = {"1 block": None}

filled = chapter.measure.filled(saxpy, guess)
filled

# %% tags=["solution"]
filled.expect("n / 256", at_least=100, times="1 block")
filled.expect("8 per SM", at_least=2, times="1 per SM")
filled.expect("8 per SM", at_least=1.1, times="n / 256")

# %% [markdown] tags=["solution"]
# One block runs through 2^26 / 256 = 262,144 iterations. Divide its time by that
# number, and you know how long each iteration waits for memory: a few hundred
# nanoseconds. One block on each SM waits just as long, but 132 of them wait side by
# side. To fill the wait, an SM needs more threads to run in the meantime, which is
# called **latency hiding**. Eight blocks of 256 are all that an SM of the reference GPU
# can hold.
#
# Eight blocks per SM are also faster than one thread per element, probably because
# the loop is set up once per thread instead of once per element. (Starting the blocks
# is not the reason: `vector_add` starts as many, and takes less time.) Giving each
# thread more work in this way is called **thread coarsening**.

# %% [markdown]
# ### If you want more
#
# - Find the size at which launch overhead and memory traffic take equally long on your
#   GPU. First compute it from the measured rates, then measure it.
# - Compare the languages again with `float64`. Predict the times and the ratios first.
# - On a GPU, read the compiled kernel:
#   `print(next(iter(vector_add.inspect_asm().values())))`. Find the guard and the three
#   accesses to memory.
# - Let each thread of `vector_add` take four elements, spaced a whole grid apart. Load
#   all eight values first, then store the four sums. How close to `torch.add` do you
#   get?

# %% [markdown]
# ## What you learned
#
# 1. Blocks × threads must cover the elements. A launch starts only whole blocks, so
#    round up and guard.
# 2. `i = blockIdx.x * blockDim.x + threadIdx.x`, in every language that has threads.
# 3. A grid-stride loop makes the result independent of the launch.
# 4. An elementwise kernel is limited by the bytes it moves, whatever the language.
# 5. Every launch has a fixed cost, which dominates when there is little work.

# %%
quiz()
