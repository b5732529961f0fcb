# %% [markdown]
# # 03 · Driver, toolkit, roofline
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

weft.lab("03_setup")

# %% [markdown]
# ## 1 · Ask the driver
#
# Everything that talks to an NVIDIA GPU, whether PyTorch, Numba or `nvidia-smi`, ends
# up calling the functions of one library, `libcuda`, which comes with the **driver**.
# The library has a C interface, and its functions follow one pattern: a function
# returns a **status**, which is 0 if all went well, and writes its answer into memory,
# at the address given by its first argument. This is how you call such a function from
# Python:
#
# ```python
# number = ctypes.c_int()                               # a place for an answer
# status = cuda.cuDriverGetVersion(ctypes.byref(number))    # a pointer to the place
# number.value                                          # what is there now
# ```
#
# The next cell has toy versions of four of these functions.


# %% tags=["given"]
SAID = {}  # function, arguments: its status, and what it leaves in the place


class DriverFunction:
    """A function of the driver that answers from a list, or with a status."""

    def __init__(self, name, answers, status=0):
        self.name = name
        for arguments, answer in answers.items():
            SAID[self, *arguments] = status, answer

    def __call__(self, where, *arguments):
        if isinstance(where, ctypes.Array):
            place = ctypes.c_int.from_buffer(where)  # its first element
        elif hasattr(where, "_obj"):  # of ctypes.byref
            place = where._obj
        else:  # of ctypes.pointer
            place = getattr(where, "contents", None)
        if not isinstance(place, (ctypes.c_int, ctypes.c_uint)):
            raise TypeError(f"{self.name} wants a pointer to an int first")
        status, place.value = SAID[self, *arguments]
        return status

    def __repr__(self):
        return self.name


version = DriverFunction("cuDriverGetVersion", {(): 13000})
attribute = DriverFunction(
    "cuDeviceGetAttribute",
    {(16, 0): 132, (16, 1): 40, (75, 0): 9, (76, 0): 0, (38, 0): 52428800},
)
count = DriverFunction("cuDeviceGetCount", {(): 2})
no_gpu = DriverFunction("cuDeviceGetCount", {(): -1}, status=100)
no_context = DriverFunction("cuCtxGetDevice", {(): 7}, status=201)


def told(function, *arguments):
    """Return what a function answers, or -status."""
    status, answer = SAID[function, *arguments]
    return -status or answer


def why_not(function, *rest):
    """Say why the last of `rest` is not what the function answers."""
    *arguments, got = rest
    status, left = SAID[function, *arguments]
    if not status:
        return (
            "The status was 0: all went well. The answer is where the pointer "
            "points."
        )
    if got == left:
        return (
            "That is what stood in the place. But the status was not 0, and "
            "then nothing there is of use."
        )
    if got == status:
        return "That is the status. Without a minus it looks like an answer."
    return "The status was not 0. Which one it was, the caller wants to know."


# %% [markdown]
# Write the function that you will use to query all of them. It makes a place for the
# answer, calls `function` with a pointer to that place and with any other arguments,
# and returns the answer. If the status is not 0, the place holds nothing useful: then
# return the negative status, as many C libraries do.
#
# ```python
# ask(cuDeviceGetAttribute, 16, 0)    # attribute 16 of GPU 0: its SMs -> 132
# ```
#
# Stuck? `hint("ask")` in a cell of its own; there are three hints.


# %%
def ask(function, *arguments):
    """Return the number that a function of the driver answers, or -status."""
    # about 3 lines
    # BEGIN SOLUTION
    number = ctypes.c_int()
    status = function(ctypes.byref(number), *arguments)
    return -status if status else number.value
    # END SOLUTION


# %%
check(
    ask,
    spec=told,
    inputs=[
        (version,),
        (attribute, 16, 0),
        (attribute, 16, 1),
        (attribute, 75, 0),
        (attribute, 76, 0),
        (attribute, 38, 0),
        (count,),
        (no_gpu,),
        (no_context,),
    ],
    because=why_not,
)

# %% [markdown] tags=["solution"]
# An unchecked status is how a program comes to compute with -1 GPUs. Python would raise
# an exception; C has none, so a test follows every call. `ctypes` cannot know what a C
# function expects: pass `number` to the real library instead of `ctypes.byref(number)`,
# and it writes to address 0. There is no exception, and no Python process any more.

# %% [markdown]
# ## Your GPU
#
# Here your `ask` calls the real library. `cuda.h` lists over a hundred attributes; the
# cell queries those that this course needs. If you have no GPU, the solution's page
# shows the attributes of an H200.

# %%
ATTRIBUTES = {  # CU_DEVICE_ATTRIBUTE_…, from cuda.h
    "compute capability, major": 75,
    "compute capability, minor": 76,
    "SMs": 16,
    "clock of an SM, kHz": 13,
    "clock of the memory, kHz": 36,
    "width of the memory bus, bits": 37,
    "L2, bytes": 38,
    "threads of a warp": 10,
    "threads of a block, at most": 1,
    "threads of an SM, at most": 39,
    "registers of an SM": 82,
    "shared memory of an SM, bytes": 81,
    "shared memory of a block, bytes": 8,
    "shared memory of a block, if asked for": 97,
}

if weft.on_gpu("its driver is who answers"):
    libcuda = weft.device.load_driver()
    libcuda.cuInit(0)
    mine = {
        what: ask(libcuda.cuDeviceGetAttribute, number, 0)
        for what, number in ATTRIBUTES.items()
    }
    print("CUDA that the driver supports:", ask(libcuda.cuDriverGetVersion))
    for what, answer in mine.items():
        print(f"{what:<40}{answer:>12,}" if answer is not None else what)

# %% [markdown]
# ## 2 · Peaks from attributes
#
# Four of these numbers, and the number of lanes in an SM, give the two rates that a
# data sheet prints in large letters.
#
# - **Bandwidth**: each wire of the bus carries two bits per cycle of the memory's clock
#   ("double data rate").
# - **float32 arithmetic**: each SM has a number of float32 lanes (64 for capability 7.5
#   and 8.0, 128 for 8.6 and later), and each lane finishes a multiply-add in every
#   cycle. A multiply-add counts as two operations.
#
# Mind the units. `gpu` is a dictionary: `gpu["sms"]` is the number of SMs,
# `gpu["lanes"]` the number of lanes in each SM, `gpu["khz"]` the clock of the SMs in
# kHz, `gpu["memory_khz"]` the clock of the memory in kHz, and `gpu["bus_bits"]` the
# width of the bus in bits. Return both rates, in units of 10^9 per second. The check
# compares them with the data sheets.
#
# ```python
# peaks(gpu)    # a dict -> (bandwidth in GB/s, arithmetic in GFLOP/s), two floats
# ```
#
# Stuck? `hint("peaks")`.

# %% tags=["given"]
DATA_SHEET = {  # GB/s and GFLOP/s, as NVIDIA gives them
    "T4": (320.0, 8_100.0),
    "A100 40 GB": (1555.0, 19_500.0),
    "L4": (300.0, 30_300.0),
    "H100 SXM": (3350.0, 66_900.0),
}
FACTORS = "name", "sms", "lanes", "khz", "memory_khz", "bus_bits"
GPUS = [
    dict(zip(FACTORS, numbers, strict=True))
    for numbers in [
        ("T4", 40, 64, 1_590_000, 5_001_000, 256),
        ("A100 40 GB", 108, 64, 1_410_000, 1_215_000, 5120),
        ("L4", 58, 128, 2_040_000, 6_251_000, 192),
        ("H100 SXM", 132, 128, 1_980_000, 2_619_000, 5120),
    ]
]


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
    spec=lambda gpu: DATA_SHEET[gpu["name"]],
    inputs=[(gpu,) for gpu in GPUS],
    tolerance=0.005,
    unseen=False,
)

# %% [markdown] tags=["solution"]
# The number of lanes is the one thing that the driver does not report. It follows from
# the capability, by a table in NVIDIA's programming guide. The rest is a matter of
# factors: 2 for the double data rate, 1/8 for bits, 1000 for kHz, and 2 for the
# multiply-add. An H200 reports a memory clock of 3.2 GHz and a bus of 6016 bits, which
# makes 4815 GB/s; its data sheet says 4.8 TB/s.

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
# and `images` is a list of names.
#
# ```python
# image_for(capability, images)    # -> one of the names, or "no image"
# ```
#
# Stuck? `hint("image_for")`.


# %% tags=["given"]
def parts(image):
    """Split a name: "sm_90a" -> ("sm", (9, 0), True)."""
    kind, digits, only = re.fullmatch(r"(sm|compute)_(\d+)(a?)", image).groups()
    return kind, (int(digits[:-1]), int(digits[-1])), only == "a"


BUNDLES = {  # capability, images: the one used, and why
    ((8, 6), "sm_80 compute_80"): ("sm_80", "same major, lower minor version"),
    ((9, 0), "sm_80 compute_80"): ("compute_80", "8.0 has another major"),
    ((9, 0), "sm_80"): ("no image", "8.0 has another major, and no PTX"),
    ((8, 0), "sm_86 sm_89"): ("no image", "both are newer than the GPU"),
    ((8, 9), "sm_80 sm_86 compute_80"): ("sm_86", "the higher of two that fit"),
    ((12, 0), "sm_75 compute_75 compute_90"): ("compute_90", "the highest PTX"),
    ((7, 5), "sm_80 compute_80"): ("no image", "PTX of a newer GPU is no use"),
    ((9, 0), "sm_90a compute_80"): ("sm_90a", "made for exactly this GPU"),
    ((10, 0), "sm_90a compute_90a"): ("no image", "both are for 9.0 alone"),
    ((10, 3), "sm_100 compute_100 sm_120"): ("sm_100", "the other is for 12.0"),
    ((12, 1), "sm_90 compute_120"): ("compute_120", "9.0 has another major"),
    ((9, 0), "compute_90"): ("compute_90", "PTX of its own capability"),
    ((9, 0), "compute_89"): ("compute_89", "PTX of any lower capability"),
    ((9, 0), "sm_90 compute_80"): ("sm_90", "machine code before PTX"),
    ((8, 6), "sm_80 compute_86"): ("sm_80", "sm_80 fits, and is machine code"),
    ((8, 9), "sm_86 sm_80"): ("sm_86", "the higher, wherever it stands"),
    ((12, 0), "compute_100 compute_90"): ("compute_100", "10.0 is above 9.0"),
    ((8, 0), "compute_86"): ("no image", "8.6 is newer than 8.0"),
    ((9, 0), "compute_90a"): ("compute_90a", "made for exactly this GPU"),
    ((10, 3), "sm_100a compute_90"): ("compute_90", "10.0a is for 10.0 alone"),
}


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
    spec=lambda capability, images: BUNDLES[capability, " ".join(images)][0],
    inputs=[(capability, images.split()) for capability, images in BUNDLES],
    because=lambda capability, images, answer: (
        "The driver's choice is "
        + "{}: {}.".format(*BUNDLES[capability, " ".join(images)])
    ),
    unseen=False,
)

# %% [markdown] tags=["solution"]
# Comparing pairs does half of the work: `(8, 6) <= (8, 9)` and `(9, 0) > (8, 9)` are
# both true, as they should be. Compared as numbers, 8.10 comes before 8.9; compared as
# texts, "12.0" comes before "9.0".
#
# This is why a two-year-old wheel may run on a GPU that did not exist then: it contains
# PTX. It is also why the wheel may start slowly: the driver translates all of the PTX
# once, and keeps the result in `~/.nv/ComputeCache`.

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
# | `"package"` | the installed package is one without CUDA |
# | `"hidden"` | the GPU is not visible to this process |
# | `"toolkit"` | the compiler no longer supports this GPU |
#
# Write a function that takes a message and returns the answer. Whether it does that
# with `if`s, with a dictionary or by searching for words is up to you.
#
# Stuck? `hint("diagnose")`.

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
# driver". A message comes from the component that notices, and that is seldom the one
# at fault: the runtime library notices that the driver is old, and the driver's own
# compiler notices that the PTX is too new for it.

# %% [markdown]
# ## The same, on your GPU
#
# NVRTC compiles a kernel in CUDA C++ to machine code for your GPU, to PTX, and to
# machine code for a GPU of another family. A copy of the PTX is changed so that it
# claims to come from a toolkit of the future. The driver loads what it can. Which of
# the four will it refuse, and with which status?

# %%
CUDA_CPP = r"""
extern "C" __global__ void vector_add(
    const float *a, const float *b, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        out[i] = a[i] + b[i];
}
"""

if weft.on_gpu("the driver loads machine code into one"):
    import cuda.core as core

    if not hasattr(core, "Program"):  # older versions keep it elsewhere
        import cuda.core.experimental as core

    def compiled(arch, form):
        """Return the kernel as a cubin or as PTX."""
        options = core.ProgramOptions(arch=arch)
        program = core.Program(CUDA_CPP, code_type="c++", options=options)
        return bytes(program.compile(form).code)

    def load(image):
        """Let the driver load an image; return what it says."""
        name, text = ctypes.c_char_p(), ctypes.c_char_p()
        module = ctypes.c_void_p()
        status = libcuda.cuModuleLoadData(ctypes.byref(module), image + b"\0")
        libcuda.cuGetErrorName(status, ctypes.byref(name))
        libcuda.cuGetErrorString(status, ctypes.byref(text))
        return f"{status} {name.value.decode()}: {text.value.decode()}"

    gpu = weft.device.find()
    core.Device().set_current()
    other = "sm_80" if gpu.capability[0] != 8 else "sm_90"
    ptx = compiled(gpu.sm, "ptx")
    future = re.sub(rb"\.version [\d.]+", b".version 9.9", ptx)

    print(gpu.sm, "→", load(compiled(gpu.sm, "cubin")))
    print("PTX →", load(ptx))
    print(other, "→", load(compiled(other, "cubin")))
    print("PTX 9.9 →", load(future))

# %% [markdown]
# ## 5 · Read the PTX
#
# PTX is worth reading, because it shows what a kernel loads and stores before any GPU
# has run it. The first listing below is `vector_add`, as `nvcc` translates it. An
# instruction has a name, then types after dots, then registers (`%f1` float32, `%rd8` a
# 64-bit address); square brackets mark an address in memory.

# %% tags=["given"]
PTX = """
    ld.param.u64      %rd1, [vector_add_param_0];    // a
    ld.param.u64      %rd2, [vector_add_param_1];    // b
    ld.param.u64      %rd3, [vector_add_param_2];    // out
    ld.param.u32      %r2, [vector_add_param_3];     // n
    mov.u32           %r3, %ctaid.x;
    mov.u32           %r4, %ntid.x;
    mov.u32           %r5, %tid.x;
    mad.lo.s32        %r1, %r3, %r4, %r5;            // i
    setp.ge.s32       %p1, %r1, %r2;
    @%p1 bra          $L__BB0_2;

    cvta.to.global.u64 %rd4, %rd1;
    mul.wide.s32      %rd5, %r1, 4;
    add.s64           %rd6, %rd4, %rd5;
    cvta.to.global.u64 %rd7, %rd2;
    add.s64           %rd8, %rd7, %rd5;
    ld.global.f32     %f1, [%rd8];
    ld.global.f32     %f2, [%rd6];
    add.f32           %f3, %f2, %f1;
    cvta.to.global.u64 %rd9, %rd3;
    add.s64           %rd10, %rd9, %rd5;
    st.global.f32     [%rd10], %f3;

$L__BB0_2:
    ret;
"""
IN_FOURS = """
    ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd5];
    ld.global.nc.v4.f32 {%f5, %f6, %f7, %f8}, [%rd6];
    st.global.v4.f32  [%rd7], {%f9, %f10, %f11, %f12};
"""
MIXED = """
    ld.global.u8      %rs1, [%rd5];
    ld.shared.f32     %f1, [%r4];
    cvt.rn.f64.u16    %fd1, %rs1;
    // st.global.f64  [%rd1], %fd9;    an old version
    st.global.v2.f64  [%rd7], {%fd1, %fd1};
    atom.global.add.f32 %f2, [%rd8], %f1;
"""
LINES = {  # an instruction: bytes loaded, bytes stored
    "ld.global.b16     %rs1, [%rd5];": (2, 0),
    "ld.global.v2.b32  {%r1, %r2}, [%rd5];": (8, 0),
    "ld.global.nc.s64  %rd6, [%rd5];": (8, 0),
    "ld.global.v4.u16  {%rs1, %rs2, %rs3, %rs4}, [%rd5];": (8, 0),
    "ld.local.f64      %fd1, [%rd5];": (0, 0),
    "st.global.s8      [%rd7], %rs1;": (0, 1),
    "st.global.v2.u64  [%rd7], {%rd1, %rd2};": (0, 16),
    "st.shared.b32     [%r4], %r1;": (0, 0),
    "// ld.global.f32  %f1, [%rd5];": (0, 0),
}
MOVED = {PTX: (8, 4), IN_FOURS: (32, 16), MIXED: (1, 16)}


def listings(rng):
    """Return the three above and one more, drawn by lot."""
    drawn = [list(LINES)[k] for k in rng.integers(len(LINES), size=20)]
    text = "".join(f"    {line}\n" for line in drawn)
    MOVED[text] = tuple(np.sum([LINES[line] for line in drawn], axis=0))
    return [(ptx,) for ptx in (PTX, IN_FOURS, MIXED, text)]


def counted(ptx):
    """Return what a listing is known to move."""
    return MOVED[ptx]


# %% [markdown]
# Write a function that counts the bytes that one thread loads from **global** memory
# and stores there. The type at the end of the name gives the number of bits (`f32`,
# `u8`, `b64`, …), and a `.v2` or `.v4` before the type gives the number of values that
# are moved at once. Other kinds of memory (`ld.param`, `ld.shared`) do not count, nor
# do atomics, and a comment moves nothing.
#
# ```python
# global_bytes(ptx)    # -> (bytes loaded, bytes stored)
# ```
#
# Stuck? `hint("global_bytes")`.


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
check(
    global_bytes,
    spec=counted,
    inputs=listings,
)

# %% [markdown] tags=["solution"]
# Twelve bytes for one addition: that ratio, 1/12 of an operation per byte, is all you
# need to say how fast `vector_add` can be on any GPU. The next exercise computes it.
#
# The listing shows one thing more: of 22 instructions, three move data and one does the
# addition. Most of the others compute addresses. A GPU hides that work while it waits
# for memory, and chapter 12 shows when it cannot.

# %% [markdown]
# Numba's version of the same kernel is longer: array descriptors carry sizes and
# strides, and indices are 64-bit. The cell counts the bytes that this version moves. If
# `cuobjdump` is installed (it comes with the CUDA toolkit), the cell also shows the
# machine code of the kernel in CUDA C++.


# %%
@cuda.jit
def vector_add(a, b, out):
    """Write a + b into out, one thread per element."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = a[i] + b[i]


if weft.on_gpu("Numba compiles for one"):
    ones = cuda.to_device(np.ones(100, np.float32))
    vector_add[4, 32](ones, ones, cuda.device_array_like(ones))
    numbas = next(iter(vector_add.inspect_asm().values()))
    print("Numba's PTX:", len(numbas.splitlines()), "lines, bytes", end=" ")
    print(global_bytes(numbas))

    if shutil.which("cuobjdump"):
        with tempfile.TemporaryDirectory() as folder:
            cubin = Path(folder, "add.cubin")
            cubin.write_bytes(compiled(gpu.sm, "cubin"))
            listing = subprocess.run(
                ["cuobjdump", "-sass", cubin], capture_output=True, text=True
            ).stdout
        for line in re.findall(r"/\*[0-9a-f]{4}\*/\s+(.*?);", listing):
            if re.search(r"LDG|STG|FADD|IMAD|EXIT", line):
                print("   ", line)

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
# matrices, on a T4 and on an H200. Which of these four cases does arithmetic limit?
#
# Stuck? `hint("least_ms")`.


# %% tags=["given"]
class Machine:
    """Two rates: a copy's, in bytes/s, and float32 arithmetic's, in FLOP/s."""

    def __init__(self, name, copy, fp32):
        self.name, self.copy, self.fp32 = name, copy, fp32

    def __repr__(self):
        return self.name


T4, H200 = Machine("T4", 2.4e11, 7.0e12), Machine("H200", 4.2e12, 5.1e13)
LEAST = {  # flops, bytes, machine: ms
    (1 << 26, 12 << 26, T4): 3.355,
    (1 << 26, 12 << 26, H200): 0.1917,
    (2 * 4096**3, 12 * 4096**2, T4): 19.63,
    (2 * 4096**3, 12 * 4096**2, H200): 2.695,
    (20 << 26, 1 << 26, T4): 0.2796,
    (20 << 26, 1 << 26, H200): 0.02632,
}


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
    spec=lambda flops, bytes, machine: LEAST[flops, bytes, machine],
    inputs=list(LEAST),
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
# The peaks of exercise 2 are never reached. What can be reached in practice is what the
# best existing programs reach: a copy within the GPU's memory, and cuBLAS for
# arithmetic, on the ordinary cores (float32) and on the **tensor cores** (TF32, bf16).
# What share of its peak will the copy reach, and what share will cuBLAS reach in
# float32? The column `ceiling` shows the answers.

# %%
SMS, KHZ, MEMORY_KHZ, BITS = 132, 1_980_000, 3_201_000, 6016  # an H200's
LANES = 128
if weft.GPU:  # Numba asks the same function, and has names for the numbers
    asked = cuda.get_current_device()
    SMS, KHZ = asked.MULTIPROCESSOR_COUNT, asked.CLOCK_RATE
    MEMORY_KHZ, BITS = asked.MEMORY_CLOCK_RATE, asked.GLOBAL_MEMORY_BUS_WIDTH
    LANES = 64 if weft.device.find().capability in ((7, 5), (8, 0)) else 128
PEAK_BYTES, PEAK_FLOPS = 2e3 * MEMORY_KHZ * BITS / 8, 2e3 * SMS * LANES * KHZ
print(f"peaks: {PEAK_BYTES / 1e12:.2f} TB/s, {PEAK_FLOPS / 1e12:.1f} TFLOP/s")


def copies():
    import torch

    x = torch.empty(1 << 29, dtype=torch.int8, device="cuda").random_()
    out = torch.empty_like(x)
    return {"copy": lambda: out.copy_(x)}


moved = bench.compare(
    "copy of 512 MiB",
    copies,
    bytes=2 << 29,
    ceiling=PEAK_BYTES,
)
moved

# %%
N = 4096


def products():
    import torch

    a, b = (torch.randn(N, N, device="cuda") for _ in "ab")
    out = torch.empty_like(a)
    p, q = a.bfloat16(), b.bfloat16()
    pq = torch.empty_like(p)

    def with_tf32():
        torch.set_float32_matmul_precision("high")
        torch.mm(a, b, out=out)
        torch.set_float32_matmul_precision("highest")

    plain = {"float32": lambda: torch.mm(a, b, out=out)}
    if weft.device.find().capability < (8, 0):  # no TF32, no bf16
        return plain
    return plain | {"TF32": with_tf32, "bf16": lambda: torch.mm(p, q, out=pq)}


multiplied = bench.compare(
    "product, 4096 x 4096",
    lambda: {"float32": products()["float32"]},
    flops=2 * N**3,
    ceiling=PEAK_FLOPS,
)
multiplied

# %% [markdown] tags=["solution"]
# A copy reaches 88 % of what an H200's wires could carry, and 90 % on an H100, probably
# because the memory has to be refreshed, and has to turn around between reading and
# writing. cuBLAS reaches 77 % of the float32 peak on both; chapter 19 tries to reach
# the same rate, and meets the obstacles.

# %% [markdown]
# Here is the same product on the tensor cores, which have a roof of their own: TF32
# keeps 10 of float32's 23 bits of fraction, and bf16 keeps 7. How many times as fast as
# in float32 is the product in each?

# %%
guess = {"TF32": None, "bf16": None}

tensor = bench.compare(
    "the same on tensor cores",
    products,
    baseline="float32",
    flops=2 * N**3,
    guess=guess,
)
tensor

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

n = 1 << 26


def additions():
    import torch

    x = torch.empty(6 * n, dtype=torch.int8, device="cuda").random_()
    copied = torch.empty_like(x)
    a, b = (cuda.as_cuda_array(torch.rand(n, device="cuda")) for _ in "ab")
    out = cuda.device_array_like(a)
    return {
        "copy of as many bytes": lambda: copied.copy_(x),
        "vector_add": lambda: vector_add[n // 256, 256](a, b, out),
    }


added = bench.compare(
    "2^26 float32",
    additions,
    baseline="copy of as many bytes",
    bytes=12 * n,
    ceiling=moved["copy"].rate,
    guess=guess,
)
added

# %% tags=["solution"]
moved.expect("copy", ceiling=0.6)
if weft.device.find().capability >= (8, 0):
    tensor.expect("bf16", at_least=3)
multiplied.expect("float32", ceiling=0.4)
added.expect("vector_add", at_least=0.5)

# %% [markdown] tags=["solution"]
# A first kernel in Python is just below the roof, and nothing that you do to its
# arithmetic will make it faster: there is hardly any. What you can still gain is the
# distance to the copy, and chapter 12 collects it.
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
# ## If you want more
#
# - Give `load` PTX for a GPU newer than yours (`compute_120`, for example). Which
#   status does it return?
# - `weft.device.ceilings(again=True)` measures again. How much do two measurements
#   differ? And while another program uses the GPU?
# - Look up your GPU's data sheet. Which of its rates does it give for "boost" clocks,
#   and which "with sparsity"?
#
# ## What you learned
#
# 1. Everything ends in the driver's C functions: they return a status, and the answer
#    comes through a pointer.
# 2. Machine code runs within a major version; PTX runs on anything newer.
# 3. The driver must be at least as new as the toolkit, and there must be code for the
#    GPU: most error messages are about one of these two conditions.
# 4. PTX shows how many bytes a kernel moves, before it runs.
# 5. A machine is two measured rates, and a kernel is bytes and operations. The longer
#    of the two times is the least that the kernel can take.

# %%
quiz()
