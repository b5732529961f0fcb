"""The measurements of chapter 03. A function returns a table, or prints a report."""

import ctypes
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from numba import cuda

import weft
from weft import bench

from .kernels import CUDA_CPP, vector_add

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
SMS, KHZ, MEMORY_KHZ, BITS = 132, 1_980_000, 3_201_000, 6016  # an H200's
LANES = 128
if weft.GPU:  # Numba asks the same function, and has names for the numbers
    asked = cuda.get_current_device()
    SMS, KHZ = asked.MULTIPROCESSOR_COUNT, asked.CLOCK_RATE
    MEMORY_KHZ, BITS = asked.MEMORY_CLOCK_RATE, asked.GLOBAL_MEMORY_BUS_WIDTH
    LANES = 64 if weft.device.find().capability in ((7, 5), (8, 0)) else 128
PEAK_BYTES, PEAK_FLOPS = 2e3 * MEMORY_KHZ * BITS / 8, 2e3 * SMS * LANES * KHZ
N = 4096
n = 1 << 26


def attributes(ask):
    """Print this GPU's attributes, asked for by the learner's function."""
    libcuda = weft.device.load_driver()
    libcuda.cuInit(0)
    mine = {
        what: ask(libcuda.cuDeviceGetAttribute, number, 0)
        for what, number in ATTRIBUTES.items()
    }
    print("CUDA that the driver supports:", ask(libcuda.cuDriverGetVersion))
    for what, answer in mine.items():
        print(f"{what:<40}{answer:>12,}" if answer is not None else what)


def copies():
    import torch

    x = torch.empty(1 << 29, dtype=torch.int8, device="cuda").random_()
    out = torch.empty_like(x)
    return {"copy": lambda: out.copy_(x)}


def moved():
    """Copy 512 MiB, and print the peaks that this GPU could reach."""
    print(f"peaks: {PEAK_BYTES / 1e12:.2f} TB/s, {PEAK_FLOPS / 1e12:.1f} TFLOP/s")
    return bench.compare(
        "copy of 512 MiB",
        copies,
        bytes=2 << 29,
        ceiling=PEAK_BYTES,
    )


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


def multiplied():
    """Multiply two matrices in float32."""
    return bench.compare(
        "product, 4096 x 4096",
        lambda: {"float32": products()["float32"]},
        flops=2 * N**3,
        ceiling=PEAK_FLOPS,
    )


def tensor(guess=None):
    """Multiply two matrices in float32, in TF32 and in bf16."""
    return bench.compare(
        "the same on tensor cores",
        products,
        baseline="float32",
        flops=2 * N**3,
        guess=guess,
    )


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


def added(moved, guess=None):
    """Add two arrays, beside a copy of as many bytes."""
    return bench.compare(
        "2^26 float32",
        additions,
        baseline="copy of as many bytes",
        bytes=12 * n,
        ceiling=moved["copy"].rate,
        guess=guess,
    )


def compiler():
    """Return NVIDIA's module that compiles CUDA C++."""
    import cuda.core as core

    if not hasattr(core, "Program"):  # older versions keep it elsewhere
        import cuda.core.experimental as core
    return core


def compiled(arch, form):
    """Return the kernel as a cubin or as PTX."""
    core = compiler()
    options = core.ProgramOptions(arch=arch)
    program = core.Program(CUDA_CPP, code_type="c++", options=options)
    return bytes(program.compile(form).code)


def load(image):
    """Let the driver load an image; return what it says."""
    libcuda = weft.device.load_driver()
    name, text = ctypes.c_char_p(), ctypes.c_char_p()
    module = ctypes.c_void_p()
    status = libcuda.cuModuleLoadData(ctypes.byref(module), image + b"\0")
    libcuda.cuGetErrorName(status, ctypes.byref(name))
    libcuda.cuGetErrorString(status, ctypes.byref(text))
    return f"{status} {name.value.decode()}: {text.value.decode()}"


def load_images():
    """Print what the driver says to images for this GPU and for others."""
    gpu = weft.device.find()
    compiler().Device().set_current()
    other = "sm_80" if gpu.capability[0] != 8 else "sm_90"
    ptx = compiled(gpu.sm, "ptx")
    future = re.sub(rb"\.version [\d.]+", b".version 9.9", ptx)

    print(gpu.sm, "→", load(compiled(gpu.sm, "cubin")))
    print("PTX →", load(ptx))
    print(other, "→", load(compiled(other, "cubin")))
    print("PTX 9.9 →", load(future))


def read_numbas(global_bytes):
    """Print what Numba's vector_add moves, and the machine code of the one in C++."""
    ones = cuda.to_device(np.ones(100, np.float32))
    vector_add[4, 32](ones, ones, cuda.device_array_like(ones))
    numbas = next(iter(vector_add.inspect_asm().values()))
    print("Numba's PTX:", len(numbas.splitlines()), "lines, bytes", end=" ")
    print(global_bytes(numbas))

    if shutil.which("cuobjdump"):
        with tempfile.TemporaryDirectory() as folder:
            cubin = Path(folder, "add.cubin")
            cubin.write_bytes(compiled(weft.device.find().sm, "cubin"))
            listing = subprocess.run(
                ["cuobjdump", "-sass", cubin], capture_output=True, text=True
            ).stdout
        for line in re.findall(r"/\*[0-9a-f]{4}\*/\s+(.*?);", listing):
            if re.search(r"LDG|STG|FADD|IMAD|EXIT", line):
                print("   ", line)
