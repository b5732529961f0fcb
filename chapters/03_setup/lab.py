# %% [markdown]
# # 03 · Setup: driver, toolkit, roofline
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/03_setup.ipynb)
#
# **After this lab, you can**
#
# - query a GPU's driver through its own C functions;
# - compute a GPU's peak rates from what the driver reports;
# - tell whether a compiled kernel runs on a given GPU, and what to change when you get
#   an error message about it;
# - read the PTX of a small kernel and count the bytes that it moves;
# - measure the roofline of your own machine, and say which of its two roofs limits a
#   kernel.
#
# **You need** about 60 minutes. You do not need a GPU: toy functions stand in for
# drivers and GPUs, and without a GPU the measurements show times from the reference
# GPU. If you use a GPU, it needs compute capability 7.5 or higher and 3 GB of memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import ctypes
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from numba import cuda

from weft import bench, check, hint, quiz
from weft.exploring import figure
from weft.lesson import answers

chapter = weft.lab("03_setup")
checks = chapter.checks

# %% [markdown]
# ## 1 · Querying the driver
#
# Everything that talks to an NVIDIA GPU, whether PyTorch, Numba or `nvidia-smi`, ends
# up calling the functions of one library, `libcuda`, which comes with the **driver**.
# The library has a C interface, and its functions follow one pattern: a function
# returns a **status**, which is 0 if all went well, and writes its answer into memory,
# at the address given by its first argument. This is how you call such a function from
# Python:
#
# ```python
# number = ctypes.c_int()                               # memory for an answer
# status = cuda.cuDriverGetVersion(ctypes.byref(number))    # a pointer to it
# number.value                                          # what is there now
# ```
#
# Write one function that calls any of them. It makes a variable for the answer, calls
# `function` with a pointer to that variable and with any other arguments, and returns
# the answer. If the status is not 0, the variable contains nothing useful. In that
# case, return the negative status, as many C libraries do. The check calls `ask` with
# toy versions of four of these functions. Stuck? `hint("ask")` in a cell of its own;
# there are three hints.
#
# ```python
# ask(cuDeviceGetAttribute, 16, 0)    # attribute 16 of GPU 0: its SMs -> 132
# ```

# %%
def ask(function, *arguments):
    """Return the answer of a driver function, or -status."""
    # about 3 lines
    # BEGIN SOLUTION
    number = ctypes.c_int()
    status = function(ctypes.byref(number), *arguments)
    return -status if status else number.value
    # END SOLUTION


# %%
check(ask, spec=checks.told, inputs=checks.ASKED, because=checks.why_not)

# %% [markdown] tags=["solution"]
# An unchecked status is how a program comes to compute with -1 GPUs. Python would raise
# an exception. C has no exceptions, so you have to test the status after every call.
# `ctypes` cannot know what a C function expects: pass `number` to the real library
# instead of `ctypes.byref(number)`, and it writes to address 0. That does not raise an
# exception. It ends the Python process.

# %% [markdown]
# ## Your GPU
#
# Here your `ask` calls the real library. `cuda.h` lists over a hundred attributes; the
# cell queries those that this course needs. If you have no GPU, the solution's page
# shows the attributes of an H200.

# %%
if weft.on_gpu("its driver is who answers"):
    chapter.measure.attributes(ask)

# %% [markdown]
# ## 2 · Peaks from attributes
#
# Four of these numbers, and the number of float32 units in an SM, give the two rates
# that a data sheet prints in large letters.
#
# - **Bandwidth**: each wire of the bus carries two bits per cycle of the memory's clock
#   ("double data rate").
# - **float32 arithmetic**: each SM has a number of float32 units (64 for capability 7.5
#   and 8.0, 128 for 8.6 and later), and each unit finishes a multiply-add in every
#   cycle. A multiply-add counts as two operations.
#
# Mind the units. `gpu` is a dictionary: `gpu["sms"]` is the number of SMs,
# `gpu["lanes"]` the number of float32 units in each SM, `gpu["khz"]` the clock of the
# SMs in kHz, `gpu["memory_khz"]` the clock of the memory in kHz, and `gpu["bus_bits"]`
# the width of the bus in bits. Return both rates, in units of 10^9 per second. The
# check compares them with the data sheets. Stuck? `hint("peaks")`.
#
# ```python
# peaks(gpu)    # a dict -> (bandwidth in GB/s, arithmetic in GFLOP/s), two floats
# ```

# %%
def peaks(gpu):
    """Return (GB/s, GFLOP/s) from sms, lanes, khz, memory_khz and bus_bits."""
    # about 3 lines
    # BEGIN SOLUTION
    bandwidth = 2 * gpu["memory_khz"] * 1e3 * gpu["bus_bits"] / 8
    arithmetic = 2 * gpu["sms"] * gpu["lanes"] * gpu["khz"] * 1e3
    return bandwidth / 1e9, arithmetic / 1e9
    # END SOLUTION


# %%
check(
    peaks,
    spec=lambda gpu: checks.DATA_SHEET[gpu["name"]],
    inputs=[(gpu,) for gpu in checks.GPUS],
    tolerance=0.005,
    unseen=False,
)

# %% [markdown] tags=["solution"]
# The number of float32 units is the one thing that the driver does not report. It
# follows from the capability, by a table in NVIDIA's programming guide. The rest is a
# matter of factors: 2 for the double data rate, 1/8 for bits, 1000 for kHz, and 2 for
# the multiply-add. An H200 reports a memory clock of 3.2 GHz and a bus of 6016 bits,
# which makes 4815 GB/s; its data sheet says 4.8 TB/s.

# %% [markdown]
# ## 3 · Will it run there?
#
# A compiled kernel is a bundle of **images**. `sm_80` is machine code (SASS) for
# compute capability 8.0. `compute_80` is **PTX**, an assembly language that no GPU
# executes: the driver translates it when the program starts. The driver chooses an
# image from a bundle by these rules:
#
# - machine code runs on GPUs of the **same major** version whose minor version is **the
#   same or higher**. If several such images fit, the driver takes the one with the
#   highest version;
# - if no machine code fits, the driver translates PTX of the **same or a lower**
#   capability, again the highest in the bundle;
# - images whose names end in `a` (`sm_90a`, `compute_90a`) use instructions of a single
#   capability, and fit no other.
#
# | GPU | images | used |
# | ---: | --- | --- |
# | 8.6 | sm_80, compute_80 | sm_80 |
# | 9.0 | sm_80, compute_80 | compute_80, translated |
# | 9.0 | sm_80 | no image |
#
# Write a function that applies these rules. `capability` is a pair such as `(8, 6)`,
# and `images` is a list of names. Given: `parts`, which takes a name apart. Stuck?
# `hint("image_for")`.
#
# ```python
# image_for(capability, images)    # -> one of the names, or "no image"
# ```

# %% tags=["given"]
def parts(image):
    """Split a name: "sm_90a" -> ("sm", (9, 0), True)."""
    kind, digits, only = re.fullmatch(r"(sm|compute)_(\d+)(a?)", image).groups()
    return kind, (int(digits[:-1]), int(digits[-1])), only == "a"


# %%
def image_for(capability, images):
    """Return the image that a GPU of this capability uses, or "no image"."""
    # about 12 lines
    # BEGIN SOLUTION
    code, ptx = [], []
    for image in images:
        kind, made_for, only = parts(image)
        if (only and made_for != capability) or made_for > capability:
            continue
        if kind == "compute":
            ptx.append((made_for, image))
        elif made_for[0] == capability[0]:
            code.append((made_for, image))
    found = code or ptx
    return max(found)[1] if found else "no image"
    # END SOLUTION


# %%
check(
    image_for,
    spec=checks.used,
    inputs=checks.bundles(),
    because=checks.why_used,
    unseen=False,
)

# %% [markdown] tags=["solution"]
# Comparing pairs does half of the work: `(8, 6) <= (8, 9)` and `(9, 0) > (8, 9)` are
# both true, as they should be. Compared as numbers, 8.10 comes before 8.9; compared as
# texts, "12.0" comes before "9.0".
#
# A two-year-old wheel may run on a newer GPU because the wheel contains PTX. Its first
# start may then be slow, because the driver translates all of the PTX once. The driver
# keeps the result in `~/.nv/ComputeCache`.

# %% [markdown]
# ## 4 · What does the message want?
#
# Three things have to fit together: the **driver**, the **toolkit** that a program was
# built with (most wheels ship its libraries), and the **GPU**. The messages printed
# below say that something does not fit. Each was provoked on purpose; the chapter shows
# how.
#
# | answer | what is wrong |
# | --- | --- |
# | `"driver"` | the driver is older than the program |
# | `"build"` | the program has no code for this GPU |
# | `"package"` | the installed package contains no CUDA |
# | `"hidden"` | the GPU is not visible to this process |
# | `"toolkit"` | the compiler no longer supports this GPU |
#
# Write a function that takes a message and returns the answer. Whether it does that
# with `if`s, with a dictionary or by searching for words is up to you. Stuck?
# `hint("diagnose")`.

# %%
for (message,) in answers("diagnose")["inputs"]:
    print(message)

# %%
def diagnose(message):
    """Return "driver", "build", "package", "hidden" or "toolkit"."""
    # about 12 lines
    # BEGIN SOLUTION
    signs = {
        "driver version is insufficient": "driver",
        "unsupported toolchain": "driver",
        "no kernel image": "build",
        "not compiled with CUDA": "package",
        "No CUDA GPUs": "hidden",
        "Unsupported gpu architecture": "toolkit",
    }
    return next(what for sign, what in signs.items() if sign in message)
    # END SOLUTION


# %%
check(diagnose, **answers("diagnose"))

# %% [markdown] tags=["solution"]
# Two of the six messages are about the driver, and neither of them says "update the
# driver". A message comes from the component that notices the problem, and that is
# seldom the one at fault: the runtime library notices that the driver is old, and the
# driver's own compiler notices that the PTX is too new for it.

# %% [markdown]
# ## 5 · Read the PTX
#
# PTX is worth reading, because it shows what a kernel loads and stores before any GPU
# has run it. The listing below is `vector_add`, as `nvcc` translates it. An
# instruction has a name, then types after dots, then registers (`%f1` float32, `%rd8` a
# 64-bit address); square brackets mark an address in memory.
#
# Write a function that counts the bytes that one thread loads from **global** memory
# and stores there. The type at the end of the name gives the number of bits (`f32`,
# `u8`, `b64`, …), and a `.v2` or `.v4` before the type gives the number of values that
# are moved at once. Other kinds of memory (`ld.param`, `ld.shared`) do not count, nor
# do atomics, and a comment moves nothing. Stuck? `hint("global_bytes")`.
#
# ```python
# global_bytes(ptx)    # -> (bytes loaded, bytes stored)
# ```

# %%
print(checks.PTX)

# %%
def global_bytes(ptx):
    """Return the bytes a thread loads from and stores to global memory."""
    # about 10 lines
    # BEGIN SOLUTION
    moved = {"ld": 0, "st": 0}
    for line in ptx.splitlines():
        words = line.split("//")[0].split()
        if not words:
            continue
        kind, *rest = words[0].split(".")
        if kind in moved and rest[0] == "global":
            values = int(rest[-2][1]) if rest[-2] in ("v2", "v4") else 1
            moved[kind] += values * int(rest[-1][1:]) // 8
    return moved["ld"], moved["st"]
    # END SOLUTION


# %%
check(global_bytes, spec=checks.counted, inputs=checks.listings)

# %% [markdown] tags=["solution"]
# Twelve bytes for one addition: that ratio, 1/12 of an operation per byte, is all you
# need to say how fast `vector_add` can be on any GPU. The next exercise computes it.
#
# Of the 22 instructions in the listing, three move data and one does the addition. Most
# of the others compute addresses. A GPU hides that work while it waits for memory, and
# chapter 12 shows when it cannot.

# %% [markdown]
# ## 6 · Under which roof
#
# A kernel takes at least as long as it takes to move its bytes, and at least as long as
# it takes to do its operations. Given the bytes, the operations and the two rates of a
# machine, the **roofline** gives the longer of the two times. Return that time in ms.
#
# ```python
# least_ms(flops, bytes, machine)    # -> ms
# ```
#
# `machine.copy` is in bytes per second, `machine.fp32` in operations per second. Among
# the cases are `vector_add` on 2^26 elements and the product of two 4096 × 4096
# matrices, on a T4 and on an H200. In which of these four cases is arithmetic the
# limit? Stuck? `hint("least_ms")`.

# %%
def least_ms(flops, bytes, machine):
    """Return the least time of a kernel on a machine, in ms."""
    # about 3 lines
    # BEGIN SOLUTION
    moving = bytes / machine.copy * 1e3
    computing = flops / machine.fp32 * 1e3
    return max(moving, computing)
    # END SOLUTION


# %%
check(
    least_ms,
    spec=lambda flops, bytes, machine: checks.LEAST[flops, bytes, machine],
    inputs=list(checks.LEAST),
    tolerance=1e-3,
    unseen=False,
)

# %% [markdown] tags=["solution"]
# Arithmetic limits the two products, and memory limits the two additions. The last two
# cases are one kernel with 20 operations per byte, which is limited by memory on a T4
# and by arithmetic on an H200: in the time that it takes to move one byte, a T4 can do
# 29 operations, whereas an H200 can do 12. Which limit applies depends on both the
# kernel and the machine.

# %% [markdown]
# ## Measure: the roofs of this machine
#
# No program reaches the peaks of exercise 2. The practical limits are what the best
# programs reach: a copy within the GPU's memory, and cuBLAS for arithmetic, on the
# ordinary cores (float32) and on the **tensor cores** (TF32, bf16). What share of its
# peak will the copy reach, and what share will cuBLAS reach in float32? The column
# `ceiling` shows the answers.

# %%
moved = chapter.measure.moved()
moved

# %%
multiplied = chapter.measure.multiplied()
multiplied

# %% [markdown] tags=["solution"]
# A copy reaches 88 % of what an H200's wires could carry, and 90 % on an H100, probably
# because the memory has to be refreshed, and has to turn around between reading and
# writing. cuBLAS reaches 77 % of the float32 peak on both; chapter 19 tries to reach
# the same rate, and shows what makes that hard.

# %% [markdown]
# ## Your roofline
#
# The course measures the same rates once for each GPU and keeps them in `.weft/`;
# wherever a later lab's table says `ceiling`, it means these rates. (Without a GPU,
# they are the rates of your CPU.)

# %%
print(weft.device.ceilings())

# %% [markdown]
# Now put one kernel under that roof. `vector_add` on 2^26 elements moves 805 MB, and
# `least_ms` gives the least time for that. What share of the copy's rate will
# `vector_add` reach?

# %%
guess = {"vector_add": None}  # 1.0: as many bytes per second as a copy

added = chapter.measure.added(moved, guess)
added

# %% tags=["solution"]
moved.expect("copy", ceiling=0.6)
multiplied.expect("float32", ceiling=0.4)
added.expect("vector_add", at_least=0.5)

# %% [markdown] tags=["solution"]
# A first kernel in Python is close to the roof. It has hardly any arithmetic, so
# nothing that you do to its arithmetic will make it faster. You can still gain the rest
# of the copy's rate, and chapter 12 shows how.
#
# The figure shows the two measured roofs and the kernel. Move the mark: how many
# operations per byte would it take before arithmetic is the limit?

# %%
figure(
    "roofline",
    intensity=0.0833,
    bandwidth=moved["copy"].rate,
    peak=multiplied["float32"].rate,
    kernels=[
        {
            "name": "add",
            "intensity": 0.0833,
            "bytes": added["vector_add"].rate,
        }
    ],
)

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious. Its code is in
# `measure.py`, in `chapters/03_setup`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### Will it run on your GPU?
#
# NVRTC compiles a kernel in CUDA C++ to machine code for your GPU, to PTX, and to
# machine code for a GPU of another family. A copy of the PTX is changed so that it
# claims to come from a toolkit of the future. The driver loads what it can. Which of
# the four will it refuse, and with which status?

# %%
if weft.on_gpu("the driver loads machine code into one"):
    chapter.measure.load_images()

# %% [markdown]
# ### Numba's PTX
#
# Numba's version of `vector_add` is longer: array descriptors carry sizes and strides,
# and indices are 64-bit. The cell below counts the bytes that this version moves. If
# `cuobjdump` is installed (it comes with the CUDA toolkit), the cell also shows the
# machine code of the kernel in CUDA C++.

# %%
if weft.on_gpu("Numba compiles for one"):
    chapter.measure.read_numbas(global_bytes)

# %% [markdown]
# ### Tensor cores
#
# The tensor cores have their own roof. Here they multiply two 4096 × 4096 matrices in
# TF32, which keeps 10 of float32's 23 bits of fraction, and in bf16, which keeps 7. How
# many times as fast as in float32 is the product in each format?

# %%
guess = {"TF32": None, "bf16": None}

tensor = chapter.measure.tensor(guess)
tensor

# %% tags=["solution"]
if weft.device.find().capability >= (8, 0):
    tensor.expect("bf16", at_least=3)

# %% [markdown]
# ### If you want more
#
# - Pass PTX for a GPU newer than yours (`compute_120`, for example) to `load` in
#   `measure.py`. Which status does it return?
# - `weft.device.ceilings(again=True)` measures again. How much do two measurements
#   differ? How much do they differ while another program uses the GPU?
# - Look up your GPU's data sheet. Which of its rates does it give for "boost" clocks,
#   and which "with sparsity"?

# %% [markdown]
# ## What you learned
#
# 1. Everything ends in the driver's C functions: they return a status, and the answer
#    comes through a pointer.
# 2. Machine code runs within a major version; PTX runs on anything newer.
# 3. The driver must be at least as new as the toolkit, and there must be code for the
#    GPU: most error messages are about one of these two conditions.
# 4. PTX shows how many bytes a kernel moves, before it runs.
# 5. A machine is described by two measured rates, a kernel by its bytes and operations.
#    The longer of the two resulting times is the least that the kernel can take.

# %%
quiz()
