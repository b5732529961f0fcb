# %% [markdown]
# # 00 · Start here
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/00_start_here.ipynb)
#
# **After this lab, you can**
#
# - say which parts of this course your machine can run;
# - change a kernel, check it, and read the verdict;
# - ask for a hint, make a prediction, and compare it with a measurement;
# - find your place on the progress board.
#
# **You need** 15 minutes. You do not need a GPU: without one, kernels run in a
# simulator.
#
# Click the grey cell below and press Shift+Enter. The cell runs, and the next one is
# selected. Work through every lab in this way, from top to bottom. If you restart the
# notebook, run all cells above your current one again: choose *Run ▸ Run All Above
# Selected Cell*.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import numpy as np
from numba import cuda

from weft import bench, check, hint, quiz

chapter = weft.lab("00_start_here")

# %% [markdown]
# ## Your first edit
#
# A **kernel** is a function that a GPU runs many times at once. Each run is a
# **thread**, and threads differ only in their numbers. `cuda.grid(1)` returns the
# number of the thread that calls it.
#
# Here thread `i` is responsible for element `i`: it reads `x[i]` and must write twice
# that value to `out[i]`. The kernel is complete except for the one line that does this.
# Write that line where the comment is, replacing `pass`, and run the cell. Then run the
# check below the cell.
#
# ```python
# double(x, out)    # (n,) -> (n,)  float32
# ```

# %%
@cuda.jit
def double(x, out):
    """Write 2 * x into out, one thread per element."""
    i = cuda.grid(1)

    if i < out.size:
        # about 1 line
        # BEGIN SOLUTION
        out[i] = x[i] + x[i]
        # END SOLUTION


# %%
check(
    double,
    spec=lambda x: 2 * x,
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[32, 50, 1],
    launch=lambda n: (-(-n // 32), 32),
    full=1 << 20,
)

# %% [markdown] tags=["solution"]
# That was your first kernel. Each thread does one small thing to one element, and there
# are as many threads as elements, or a few more. `2 * x[i]` is right as well. Later
# chapters show why we wrote a sum: to Numba a bare `2` is a 64-bit integer, so Numba
# computes `2 * x[i]` in 64 bits.

# %% [markdown]
# ## What just happened
#
# `check` ran **your** kernel and compared every element with the `spec`, a line of
# NumPy that says what the result should be. In the call, `sizes` lists the numbers of
# elements to try, and `launch` says how many threads to start for each size; later labs
# explain its formula. The result is a **verdict**. A check runs in stages, and stops at
# the first stage that fails:
#
# 1. it runs the kernel in the simulator, on small and awkward sizes, and inspects every
#    read and write;
# 2. it runs the kernel on the GPU at full size, if there is a GPU;
# 3. in labs about speed, it adds up what your memory accesses cost.
#
# In the verdict of a kernel that passes, “3 sizes and one not listed” means that the
# check ran the three `sizes` in the call and one more, and “1 larger case” means that
# it also ran a far larger size.
#
# The verdict of a kernel that fails names the bug, the line and the thread. It does not
# give the answer away. Each exercise has several hints for when you are stuck, from a
# nudge to almost the whole answer. Ask for the first one now. Run the same cell again
# for the next one.

# %%
hint("double")

# %% [markdown]
# ## Read a verdict, then fix the kernel
#
# This kernel squares each element. It has a bug that you will meet again in real code.
# Run the cell and its check **before** you change anything, and read the verdict from
# the top:
#
# - the first line names the kernel and the kind of bug;
# - then comes the source line, as you wrote it, and what happened there;
# - the last lines name the thread and say where to read more.
#
# A GPU starts threads only in whole **blocks** of a fixed size, 32 threads in this
# check. For 50 elements it needs two blocks, so there are 64 threads, and 14 of them
# have no element. Fix the kernel where the comment is. Stuck? Run `hint("fix_me")` in a
# cell of its own.
#
# ```python
# fix_me(x, out)    # (n,) -> (n,)  float32
# ```

# %% tags=["broken"]
@cuda.jit
def fix_me(x, out):
    """Write the square of x into out, one thread per element."""
    i = cuda.grid(1)

    # about 2 lines: which threads should stop here?
    # BEGIN SOLUTION
    if i >= out.size:
        return
    # END SOLUTION

    out[i] = x[i] * x[i]


# %%
check(
    fix_me,
    spec=lambda x: x * x,
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[32, 50],
    launch=lambda n: (-(-n // 32), 32),
    full=1 << 20,
)

# %% [markdown] tags=["solution"]
# The `if` is called a **guard**, and nearly every kernel has one. You can return early,
# or put the work inside `if i < out.size:`; the effect is the same. On a GPU the broken
# kernel might well have seemed to work, because the stray threads write to whatever
# memory follows the array. That is why a check runs a kernel in the simulator first.

# %% [markdown]
# ## A thread's number is data too
#
# Here is one more kernel, with the whole body left to you. Add each element's position
# to its value. Follow the same three steps: index, guard, work. Stuck?
# `hint("add_index")`.
#
# ```python
# add_index(x, out)    # (n,) -> (n,)  int32
# ```

# %%
@cuda.jit
def add_index(x, out):
    """Write x[0] + 0, x[1] + 1, x[2] + 2, ... into out."""
    # about 3 lines
    # BEGIN SOLUTION
    i = cuda.grid(1)

    if i < out.size:
        out[i] = x[i] + i
    # END SOLUTION


# %%
check(
    add_index,
    spec=lambda x: x + np.arange(x.size, dtype=np.int32),
    inputs=lambda rng, n: (rng.integers(0, 100, n, np.int32),),
    sizes=[32, 50, 1],
    launch=lambda n: (-(-n // 32), 32),
    full=1 << 20,
)

# %% [markdown] tags=["solution"]
# With 32 elements, `cuda.threadIdx.x` would have passed, because it numbers the threads
# within a block, and there is only one block. With 50 elements, the numbers start again
# at 0 in the second block. This is why every check uses awkward sizes.

# %% [markdown]
# ## Predict, then measure
#
# Labs end with measurements, and before each one you write down what you expect. A
# guess that is far off is the quickest way to find out what you have misunderstood
# about the machine.
#
# Your `double` reads 2^26 numbers and writes 2^26, 4 bytes each, which makes 537
# million bytes in all. PyTorch's `torch.mul` does the same with a kernel that experts
# wrote. How fast is `double`, compared with `torch.mul`? A guess of 0.01 means a
# hundredth of its speed, and 1.0 means the same speed. Replace `None` with your guess,
# then run the cell. Without a GPU, the table shows times from the **reference GPU**, an
# H200, as the tables of the book do. (The code that measures is in `measure.py`, in the
# chapter's folder, `chapters/00_start_here`; chapter 5 explains such code.)

# %%
guess = {"double": None}

table = chapter.measure.doubling(double, guess)
table

# %% tags=["solution"]
table.expect("double", at_least=0.35, times="torch.mul")

# %% [markdown] tags=["solution"]
# You wrote one line of Python, and the experts are not even twice as fast. Doubling a
# number costs next to nothing compared with fetching it from memory and writing it
# back, and both kernels move the same bytes. The library does one thing better: each of
# its threads fetches several elements at once. Chapter 5 shows where such a gap comes
# from, and chapter 12 closes it.

# %% [markdown]
# ## Your machine
#
# The doctor looks at the machine that your labs will run on. Each line of its report
# says what it found and what that means for you. If you need to do something, the line
# says what to do.
#
# - **GPU**: with one, you can run every part of every lab that its compute capability
#   allows. (That is NVIDIA's version number for GPUs.) Without one, the exercises run
#   in the simulator, and measurements show times from the reference GPU, marked as
#   such.
# - **Driver and CUDA**: the driver decides which version of CUDA the installed packages
#   can use.
# - **Copy bandwidth and arithmetic rates**: how many bytes per second your GPU can
#   copy, and how many operations per second it can do. Later labs compare your
#   kernels with these rates, not with those of someone else's GPU.

# %%
weft.doctor()

# %% [markdown]
# ## Where you are
#
# Every check you pass is recorded on your machine, and nowhere else. The board shows
# all the labs and their exercises.

# %%
weft.progress()

# %% [markdown]
# ## If you want more

# %% [markdown]
# - Break `double` on purpose: write to `out[i + 1]`, leave out the guard, write to
#   `x[i]` instead of `out[i]`. Which verdict does each change lead to?
# - Put `print(i)` into `double`, launch it on a small array, and see in which order the
#   threads run:
#
#   ```python
#   x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
#   double[2, 4](x, out)
#   ```

# %% [markdown]
# ## What you learned
#
# 1. Many threads run the same kernel; `cuda.grid(1)` gives each thread its number.
# 2. Index, guard, work: the guard stops threads that have no element.
# 3. A verdict names the bug, the line and the thread; `hint` helps without giving the
#    answer away.
# 4. Predict before you measure.
# 5. `weft.doctor()` says what this machine can run, and `weft.progress()` shows where
#    you are.

# %%
quiz()
