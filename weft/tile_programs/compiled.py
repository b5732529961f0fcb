"""Stage 2, which needs no GPU: the machine code that `tileiras` makes from a kernel.

The instructions that a check executes do not show how many registers and how much
shared memory a kernel needs, nor whether that is too much. The machine code does, if
CUDA's tile compiler is installed.
"""

import ctypes
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from weft import device
from weft.checking.verdict import Failed
from weft.device.occupancy import Occupancy, occupancy
from weft.errors import LearnerError
from weft.launching import driver_call
from weft.programs.launching import Launch, bound, launches
from weft.tile_programs import cutile
from weft.tile_programs.exercise import TileExercise
from weft.tile_programs.run import refusal
from weft.wording import sentence

REFERENCE = (9, 0)  # the compute capability without a GPU
OLDEST = (8, 0)  # the lowest for which cuTile compiles
SECONDS = 60.0  # limit for one kernel; a tile that does not fit can take 5 s
ALIGNED = 4096  # assumed size of an array along each axis


@dataclass(frozen=True)
class MachineCode:
    """A compiled kernel.

    cubin: an ELF file for the compute capability. name: the kernel's name in it.
    threads: per block. registers: per thread. shared: bytes per block. local: bytes of
    local memory per thread, which holds what does not fit into registers.
    """

    cubin: bytes
    capability: tuple[int, int]
    name: str
    threads: int
    registers: int
    shared: int
    local: int

    @property
    def resident(self) -> Occupancy:
        """How many of the kernel's blocks an SM holds at once, and what limits them."""
        held = self.threads, self.registers, self.shared
        return occupancy(self.capability, *held)


def target() -> tuple[int, int]:
    """Return the compute capability to compile for: this GPU's, or `REFERENCE`."""
    gpu = device.find()
    return gpu.capability if gpu.usable else REFERENCE


def compiled(kernel: Any, *given: Any) -> MachineCode:
    """Compile a kernel for the given arguments, as in `compiled(kernel, x, out, 128)`.

    given: as for `ct.launch`; a tensor may be on any device, even "meta". Raises
    LearnerError if `cuda-tile` or `tileiras` is missing, and `cutile.Refused` if the
    kernel is refused.
    """
    if reason := cutile.missing() or cutile.no_compiler():
        raise LearnerError(f"{reason}; `pip install cuda-tile[tileiras]` brings it")
    capability = target()
    function = cutile.function_of(kernel)
    assert function is not None
    gpu = "sm_{}{}".format(*capability)
    cubin = cutile.machine_code(kernel, given, gpu, SECONDS)
    return read(cubin, capability, function.__name__)


def launcher(kernel: Any, grid: Sequence[int], *given: Any) -> Callable[[], None]:
    """Return a function that launches a kernel on tensors, on PyTorch's stream.

    It does the same as `ct.launch(stream, grid, kernel, given)`, without analysing the
    arguments again. Raises the errors of `compiled`, and RuntimeError if the driver
    refuses the kernel.
    """
    code = compiled(kernel, *given)
    driver = ctypes.CDLL("libcuda.so.1")
    module, handle = ctypes.c_void_p(), ctypes.c_void_p()
    name = code.name.encode()
    error = driver.cuModuleLoadData(
        ctypes.byref(module), code.cubin
    ) or driver.cuModuleGetFunction(ctypes.byref(handle), module, name)
    if error:
        raise RuntimeError(f"the driver does not load {code.name}: CUDA error {error}")
    assert handle.value is not None
    call, buffer = driver_call(handle.value), packed(kernel, given)
    size = ctypes.c_size_t(len(buffer))
    addresses = ctypes.addressof(buffer), ctypes.addressof(size)
    # cuda.h: CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE and _END
    extra = (ctypes.c_void_p * 5)(1, addresses[0], 2, addresses[1], 0)
    kept = module, buffer, size, given  # as long as the function exists

    def launch() -> None:
        assert kept
        call(tuple(grid), code.threads, 0, extra)

    return launch


def packed(kernel: Any, given: Sequence[Any]) -> Any:
    """Pack a launch's arguments, without the constants, into a buffer for the driver.

    An array becomes its address, and its shape and strides in elements.
    """
    function = cutile.function_of(kernel)
    assert function is not None
    form, values = "", []
    for name, value in bound(function, tuple(given), {}).items():
        if name in cutile.constants(function):
            continue
        if hasattr(value, "data_ptr"):
            form += "Q" + 2 * value.dim() * "i"
            values += [value.data_ptr(), *value.shape, *value.stride()]
        else:
            form += "f" if isinstance(value, float) else "i"
            values.append(value)
    return ctypes.create_string_buffer(
        struct.pack(form, *values), struct.calcsize(form)
    )


# The stage of a check


def compile_stage(exercise: TileExercise) -> list[str]:
    """Compile the kernel at full size if `full_tiles` is given, else at the last size.

    Returns facts; raises `Failed` if the check fails.
    """
    if reason := cutile.no_compiler():
        return [f"not compiled: {reason}"]
    if target() < OLDEST:
        return ["not compiled: cuTile needs compute capability 8.0 or higher"]
    launch = next(launches(exercise, exercise.case(exercise.sizes[-1])))
    try:
        code = compiled(exercise.kernel, *full_size(launch).values())
    except cutile.Refused as refused:
        raise Failed(stopped(launch, refused)) from None
    if code.local and exercise.full_tiles:
        tiles = ", ".join(f"{k} = {n}" for k, n in exercise.full_tiles.items())
        counts: dict[str, Any] = {"local": code.local, "registers": code.registers}
        raise Failed(launch.verdict("spills", when=tiles, **counts))
    return [
        "compiles for compute capability {}.{}: ".format(*code.capability)
        + f"{code.threads} threads, {code.registers} registers each"
        + f", {code.local:,} bytes of local memory" * (code.local > 0)
    ]


def full_size(launch: Launch) -> dict[str, Any]:
    """Return a launch's arguments at full size, with meta tensors instead of arrays.

    If the exercise has no `full_tiles`, returns the arguments of `launch` unchanged.
    """
    assert isinstance(launch.exercise, TileExercise)
    tiles = launch.exercise.full_tiles
    if not tiles:
        return launch.arguments
    import torch

    def large(value: Any) -> Any:
        if not hasattr(value, "data_ptr"):
            return value
        shape = [ALIGNED] * value.dim()
        return torch.empty(shape, dtype=value.dtype, device="meta")

    return {k: large(value) for k, value in launch.arguments.items()} | dict(tiles)


def stopped(launch: Launch, refused: cutile.Refused) -> Any:
    """Return the verdict on a kernel that cuTile's compiler or `tileiras` refuses."""
    if refused.places:
        return refusal(launch, refused)
    said = sentence(" ".join(refused.reason.split())[:300])
    return launch.verdict("not-assembled", said=said)


# ELF files, in the form of NVIDIA's tools

ATTRIBUTES = {0x2F: "registers", 0x11: "local"}  # EIATTR_REGCOUNT, _FRAME_SIZE
THREADS = 0x10  # EIATTR_REQNTID
SIZED = 4  # EIFMT_SVAL: an attribute preceded by its size


def read(cubin: bytes, capability: tuple[int, int], name: str) -> MachineCode:
    """Read a kernel's resources from the sections of its ELF file."""
    found = {"registers": 0, "local": 0, "threads": 0, "shared": 0}
    for title, content, size in sections(cubin):
        if title == f".nv.shared.{name}":
            found["shared"] = size
        if not title.startswith(".nv.info"):
            continue
        for number, value in attributes(content):
            # of a symbol: the kernel, or a function that it calls
            if number in ATTRIBUTES:
                key, (_, count) = ATTRIBUTES[number], struct.unpack("<II", value)
                found[key] = max(found[key], count)
            elif number == THREADS:
                x, y, z = struct.unpack("<III", value)
                found["threads"] = x * y * z
    return MachineCode(cubin, capability, name, **found)


def sections(file: bytes) -> Iterator[tuple[str, bytes, int]]:
    """Yield the title, content and size of each section of a 64-bit ELF file."""
    (start,) = struct.unpack_from("<Q", file, 0x28)
    size, count, names = struct.unpack_from("<HHH", file, 0x3A)
    heads = [
        struct.unpack_from("<IIQQQQ", file, start + k * size) for k in range(count)
    ]
    titles = heads[names][4]
    for title, _, _, _, offset, length in heads:
        at = titles + title
        text = file[at : file.index(b"\0", at)].decode()
        yield text, file[offset : offset + length], length


def attributes(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number and value of each sized attribute in a `.nv.info` section."""
    at = 0
    while at + 4 <= len(content):
        form, number, size = struct.unpack_from("<BBH", content, at)
        at += 4
        if form == SIZED:
            yield number, content[at : at + size]
            at += size
