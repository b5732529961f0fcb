# %% [markdown]
# # 00 · Start here
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/00_start_here.ipynb)
#
# **When you are through, you can**
#
# - say what your machine will run of this course, and what it will not;
# - change a kernel, check it, and read the verdict;
# - ask for a hint, make a prediction, and hold it against a measurement;
# - find your place on the progress board.
#
# **You need** 15 minutes. No GPU: without one, kernels run in a simulator.
#
# Click the grey cell below and press Shift+Enter: it runs, and the next one is
# selected. Work through every lab like this, from top to bottom.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import numpy as np
from numba import cuda

from weft import bench, check, hint, quiz

weft.lab("00_start_here")

# %% [markdown]
# ## Your first edit
#
# A **kernel** is a function that a GPU runs many times at once. Each run is a
# **thread**, and the only thing a thread knows that the others do not is its number.
# `cuda.grid(1)` asks for it.
#
# Here thread `i` looks after element `i`: it reads `x[i]` and must write twice that
# into `out[i]`. Everything is there but the one line that does it. Put it where the
# comment stands, in place of `pass`, and run the cell; then run the check below it.
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
# That was a kernel. A thread does one small thing to one element; there are as many
# threads as elements. `2 * x[i]` is right as well. In later chapters you will see
# why we wrote a sum: Numba computes `2 * x[i]` in 64 bits, because a bare `2` is a
# 64-bit integer to it.

# %% [markdown]
# ## What just happened
#
# `check` ran **your** kernel, compared every element with the `spec`, a line of NumPy
# that says what is wanted, and gave a **verdict**. It runs in stages and stops at the
# first one that fails:
#
# 1. in the simulator, on small and awkward sizes, watching every read and write;
# 2. on the GPU at full size, where there is a GPU;
# 3. where a lab asks for it, what your memory accesses cost.
#
# A verdict names the bug, the line and the thread. It does not give the answer away.
# For that there are hints, several for each exercise, from a nudge to nearly the
# answer. Ask for the first one now; the same call again gives the next.

# %%
hint("double")

# %% [markdown]
# ## Read a verdict, then mend
#
# This kernel squares each element. It has a bug, and it is one you will meet in the
# wild. Run the cell and its check **before** you change anything, and read the
# verdict from the top:
#
# - the first line names the kernel and the kind of bug;
# - then comes the source line, as you wrote it, and what happened there;
# - then the thread, the index it asked for, and why that is wrong.
#
# Blocks of threads come whole: here 32 at a time. For 50 elements two blocks start,
# so 64 threads, and 14 of them have no element. Mend the kernel where the comment
# stands.
#
# ```python
# mend_me(x, out)    # (n,) -> (n,)  float32
# ```
#
# Stuck? `hint("mend_me")` in a cell of its own.

# %% tags=["broken"]
@cuda.jit
def mend_me(x, out):
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
    mend_me,
    spec=lambda x: x * x,
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[32, 50],
    launch=lambda n: (-(-n // 32), 32),
    full=1 << 20,
)

# %% [markdown] tags=["solution"]
# The test is called a **guard**, and nearly every kernel has one. Returning early and
# putting the work inside `if i < out.size:` come to the same. On a GPU the broken
# kernel might well have seemed to work: the stray threads write into whatever memory
# follows the array. That is why a check looks in the simulator first.

# %% [markdown]
# ## A thread's number is data too
#
# Once more, with the whole body left to you: add to each element its own position.
# Index, guard, work.
#
# ```python
# add_index(x, out)    # (n,) -> (n,)  int32
# ```
#
# Stuck? `hint("add_index")`.

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
# `cuda.threadIdx.x` would have passed for 32 elements: it counts within the
# block, and there was only one. With 50 elements the second block starts again at 0.
# Awkward sizes are in every check for this reason.

# %% [markdown]
# ## Predict, then measure
#
# Labs end with a measurement, and before it you write down what you expect. A guess
# you made yourself is the quickest way to notice that your picture of the machine is
# wrong.
#
# Your `double` reads 2^26 numbers and writes as many, 537 million bytes in all.
# PyTorch's `torch.mul` does the same with a kernel that experts wrote. How fast is
# yours beside it? 0.01 would be a hundredth of its speed, 1.0 just as fast. Put your
# guess in place of `None`, then run the cell.

# %%
guess = {"double": None}

n = 1 << 26


def candidates():
    import torch

    x = torch.rand(n, device="cuda")
    out = torch.empty_like(x)
    d_x, d_out = cuda.as_cuda_array(x), cuda.as_cuda_array(out)
    return {
        "torch.mul": lambda: torch.mul(x, 2, out=out),
        "double": lambda: double[n // 256, 256](d_x, d_out),
    }


table = bench.compare(
    "2^26 float32",
    candidates,
    baseline="torch.mul",
    bytes=2 * 4 * n,
    guess=guess,
)
table

# %% tags=["solution"]
table.expect("double", at_least=0.35, times="torch.mul")

# %% [markdown] tags=["solution"]
# One line of Python, and the experts are not even twice as fast. Doubling a
# number costs nothing beside fetching it from memory and putting it back, and both
# kernels fetch the same bytes. What the library does better is to fetch several
# elements per thread at once. Chapter 5 finds out where such a gap comes from; the
# rest of the course closes it.

# %% [markdown]
# ## Your machine
#
# The doctor looks at what your labs will run on. Each line says what was found and
# what it means for you; a line that needs something done says what to do.
#
# - **GPU**: with one, every part of every lab runs that its compute capability
#   allows. Without one, the exercises run in the simulator, and measurements show the
#   rows of the reference GPU, marked as such.
# - **Driver and CUDA**: the driver decides which CUDA the installed packages may use.
# - **Copy bandwidth and arithmetic rates**: the ceilings of *this* machine. Later
#   labs compare your kernels with these and not with somebody else's GPU.

# %%
weft.doctor()

# %% [markdown]
# ## Where you are
#
# Every pass of a check is recorded on your machine, and nowhere else. The board shows
# all labs and their exercises.

# %%
weft.progress()

# %% [markdown]
# ## If you want more
#
# - Break `double` on purpose: write to `out[i + 1]`, forget the guard, write `x[i]`
#   instead of `out[i]`. Which verdict does each get?
# - Put `print(i)` into `double`, launch it on a small array with
#   `double[2, 4](x, out)`, and see in which order the threads come.
#
# ## What you learned
#
# 1. A kernel is run by many threads; `cuda.grid(1)` tells a thread its number.
# 2. Index, guard, work: the guard stops threads that have no element.
# 3. A verdict names bug, line and thread; `hint` helps without the answer.
# 4. Predict before you measure.
# 5. `weft.doctor()` says what this machine runs, `weft.progress()` where you are.

# %%
quiz()
