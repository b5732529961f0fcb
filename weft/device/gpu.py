"""The GPU that the labs can use, or why there is none, as the driver says.

It is asked through ctypes, so that it costs next to nothing and can be asked before
Numba is imported.

The numbers of the driver's answers and attributes: CUDA Driver API, `cuda.h`.
"""

import ctypes
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from weft.device import toolkit
from weft.device.toolkit import Toolkit
from weft.wording import capital

OLDEST_CUDA = (12, 0)
OLDEST_DRIVER = "525"  # the first that supports CUDA 12 (CUDA release notes, table 3)
OLDEST_CAPABILITY = (7, 5)  # the T4's

_MEANWHILE = "The labs run in the simulator meanwhile."

_MAJOR, _MINOR, _SMS, _L2 = 75, 76, 16, 38  # CU_DEVICE_ATTRIBUTE_…

_ANSWERS = {  # of cuInit: what it means, what to do
    34: (
        "the libcuda found is the toolkit's stub, not the driver",
        "Remove the folder that ends in `stubs` from LD_LIBRARY_PATH.",
    ),
    46: (
        "another program has the GPU to itself",
        "End it (`nvidia-smi` lists it), or ask for a GPU of your own.",
    ),
    100: (
        "the NVIDIA driver is installed but shows no GPU",
        "If `nvidia-smi` lists one, this program may not see it: start a container "
        "with `--gpus all`; in Colab choose a GPU under Runtime, Change runtime type.",
    ),
    304: (
        "the driver could not reach the GPU's device files",
        "Check that you may read and write /dev/nvidia*; in a container, start it with "
        "`--gpus all`.",
    ),
    802: (
        "the GPU is not ready yet",
        "On a machine with NVSwitch start the service nvidia-fabricmanager.",
    ),
    803: (
        "the driver's library and its kernel module are of different versions",
        "The driver was updated while it was running: restart the machine. "
        "In a container, use the host's libcuda.",
    ),
    804: (
        "a CUDA compatibility library stands before the driver's own and does not "
        "support this GPU",
        "Remove the folder `compat` of CUDA from LD_LIBRARY_PATH (or the package "
        "cuda-compat), or update the driver of the host.",
    ),
    999: (
        "the driver answers with an unknown error",
        "Often it is the driver after a suspend or an update: restart the machine, or "
        "`sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm`.",
    ),
}


@dataclass(frozen=True)
class Device:
    """The GPU that kernels run on, or the reason why none can be used.

    usable: whether kernels run on a GPU here. If not, `why` says in a few words what
    is missing and `advice` what to do; what is known of the GPU is still filled in.
    unasked: a setting keeps the GPU out. no_driver: nothing of NVIDIA's is installed.
    memory and l2 are in bytes; cuda is the version that the driver supports.
    """

    usable: bool
    why: str = ""
    advice: str = ""
    name: str = ""
    capability: tuple[int, int] = (0, 0)
    sms: int = 0
    memory: int = 0
    l2: int = 0
    cuda: tuple[int, int] = (0, 0)
    unasked: bool = False
    no_driver: bool = False

    @property
    def reason(self) -> str:
        """Return why there is no usable GPU, and what to do; "" if there is one."""
        return "" if self.usable else f"{_sentence(self.why)} {self.advice}"

    @property
    def sm(self) -> str:
        """Return the capability as compilers write it: `sm_90`."""
        return f"sm_{self.capability[0]}{self.capability[1]}"

    @property
    def line(self) -> str:
        """Return one line: the GPU, or the simulator and why."""
        if self.usable:
            return f"{self.name} ({self.sm}, {self.sms} SMs)"
        return f"simulator ({self.why})"


def find(
    load: Callable[[], Any] | None = None,
    environ: Mapping[str, str] | None = None,
    pieces: Callable[[], Toolkit] | None = None,
    installed: Callable[[str], bool] | None = None,
) -> Device:
    """Return the GPU that the labs can use, or why there is none. Never raises.

    Without arguments the answer is computed once and kept. The arguments stand in
    for the machine: load returns the driver's library (ctypes) or raises OSError;
    pieces finds CUDA's compilers; installed says whether a module can be imported.
    """
    if not any(seam is not None for seam in (load, environ, pieces, installed)):
        return _find_once()
    env = os.environ if environ is None else environ
    return _find(
        load or load_driver, env, pieces or toolkit.find, installed or _is_installed
    )


@cache
def _find_once() -> Device:
    return _find(load_driver, os.environ, toolkit.find, _is_installed)


def _find(
    load: Callable[[], Any],
    environ: Mapping[str, str],
    pieces: Callable[[], Toolkit],
    installed: Callable[[str], bool],
) -> Device:
    """Answer `find`: ask for what is cheap and decisive first."""
    if _is_set(environ, "WEFT_SIMULATOR"):
        return Device(
            False,
            "WEFT_SIMULATOR is set",
            "Unset it and restart the kernel to use the GPU.",
            unasked=True,
        )
    found = ask_driver(load, environ)
    if not found.usable:
        return found
    missing = _compilers(found, pieces(), installed)
    if missing:
        return replace(found, usable=False, why=missing[0], advice=missing[1])
    if _is_set(environ, "NUMBA_ENABLE_CUDASIM"):
        return replace(
            found,
            usable=False,
            why="NUMBA_ENABLE_CUDASIM is set",
            advice="Unset it and restart the kernel to use the GPU.",
            unasked=True,
        )
    return found


def ask_driver(
    load: Callable[[], Any] | None = None, environ: Mapping[str, str] = os.environ
) -> Device:
    """Return what the driver says of the first GPU, whatever else is installed."""
    try:
        cuda = (load or load_driver)()
    except OSError:
        return Device(False, *_no_driver(), no_driver=sys.platform != "darwin")
    answer = cuda.cuInit(0)
    version = _int(cuda.cuDriverGetVersion)
    supports = (version // 1000, version % 1000 // 10)
    if answer:
        return Device(False, *_refusal(answer, environ), cuda=supports)
    if supports < OLDEST_CUDA:
        return Device(False, *_too_old(supports), cuda=supports)
    if not _int(cuda.cuDeviceGetCount):
        return Device(False, *_refusal(100, environ), cuda=supports)
    return _first_gpu(cuda, supports)


def _first_gpu(cuda: Any, supports: tuple[int, int]) -> Device:
    """Describe GPU 0, and refuse it if it is older than the labs support."""
    handle = ctypes.c_int(0)
    cuda.cuDeviceGet(ctypes.byref(handle), 0)
    name = ctypes.create_string_buffer(128)
    cuda.cuDeviceGetName(name, len(name), handle)
    memory = ctypes.c_size_t(0)
    cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), handle)
    capability = (
        _int(cuda.cuDeviceGetAttribute, _MAJOR, handle),
        _int(cuda.cuDeviceGetAttribute, _MINOR, handle),
    )
    device = Device(
        True,
        name=name.value.decode(errors="replace"),
        capability=capability,
        sms=_int(cuda.cuDeviceGetAttribute, _SMS, handle),
        memory=memory.value,
        l2=_int(cuda.cuDeviceGetAttribute, _L2, handle),
        cuda=supports,
    )
    if capability >= OLDEST_CAPABILITY:
        return device
    major, minor = OLDEST_CAPABILITY
    return replace(
        device,
        usable=False,
        why=f"the {device.name} has compute capability {capability[0]}.{capability[1]}",
        advice=f"The labs need {major}.{minor} or newer (a T4, an RTX 20, or later). "
        "The labs run in the simulator here.",
    )


def load_driver() -> Any:
    """Load the driver's library and return it. Raises OSError where there is none."""
    if sys.platform == "win32":
        return ctypes.CDLL("nvcuda.dll")
    for name in ("libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise OSError("no libcuda.so.1")


@cache
def driver_version() -> str:
    """Return the version of the NVIDIA driver, such as `580.159.03`; "" if unknown."""
    try:
        name = "nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"
        nvml = ctypes.CDLL(name)
        if nvml.nvmlInit_v2():
            return ""
        text = ctypes.create_string_buffer(80)
        answer = nvml.nvmlSystemGetDriverVersion(text, len(text))
        nvml.nvmlShutdown()
    except (OSError, AttributeError):
        return ""
    return "" if answer else text.value.decode(errors="replace")


def _compilers(
    gpu: Device, found: Toolkit, installed: Callable[[str], bool]
) -> tuple[str, str] | None:
    """Return (why, advice) if kernels cannot be compiled here, else None."""
    major = min(gpu.cuda[0], 13)
    install = f'Run `pip install "numba-cuda[cu{major}]"` and restart the kernel.'
    if not installed("numba_cuda"):
        return "the package numba-cuda is not installed", f"{install} {_MEANWHILE}"
    if found.missing:
        one = len(found.missing) == 1
        verbs = ("compiles", "is") if one else ("compile", "are")
        return (
            f"CUDA's {' and '.join(found.missing)}, which {verbs[0]} kernels, "
            f"{verbs[1]} not installed",
            f"{install} {_MEANWHILE}",
        )
    if found.major and found.major > gpu.cuda[0]:
        return (
            f"the compilers installed are CUDA {found.major}'s, and the driver "
            f"supports CUDA {gpu.cuda[0]}.{gpu.cuda[1]}",
            f"{install} Or update the driver. {_MEANWHILE}",
        )
    return None


def _no_driver() -> tuple[str, str]:
    """Return (why, advice) for a machine without the driver's library."""
    if sys.platform == "darwin":
        return "NVIDIA has no driver for macOS", "The labs run in the simulator here."
    do = (
        "install its driver in Windows, never inside Linux"
        if os.path.isdir("/usr/lib/wsl")
        else "install its driver from https://www.nvidia.com/drivers"
    )
    return "no NVIDIA driver here", f"If this machine has a GPU, {do}. {_MEANWHILE}"


def _too_old(supports: tuple[int, int]) -> tuple[str, str]:
    """Return (why, advice) for a driver that is too old for CUDA 12."""
    version = driver_version()
    which = f"NVIDIA driver {version}" if version else "the NVIDIA driver"
    return (
        f"{which} supports CUDA {supports[0]}.{supports[1]}",
        f"The labs need CUDA {OLDEST_CUDA[0]} (driver {OLDEST_DRIVER} or newer): "
        f"update the driver from https://www.nvidia.com/drivers. {_MEANWHILE}",
    )


def _refusal(answer: int, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return (why, advice) for the driver's answer to cuInit."""
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    if answer == 100 and visible is not None:
        return (
            f"CUDA_VISIBLE_DEVICES={visible!r} hides the GPU",
            f"Unset it and restart the kernel. {_MEANWHILE}",
        )
    why, advice = _ANSWERS.get(
        answer,
        (
            f"the driver answers cuInit with error {answer}",
            "Look it up under CUresult in NVIDIA's CUDA Driver API; `nvidia-smi` may "
            "say more.",
        ),
    )
    if answer in _ANSWERS and answer != 100:
        why += f" (cuInit: {answer})"
    return why, f"{advice} {_MEANWHILE}"


def _sentence(text: str) -> str:
    """Return `text` with a capital and a full stop."""
    return f"{capital(text)}."


def _int(function: Any, *arguments: Any) -> int:
    """Call a driver function that writes an int to its first argument."""
    value = ctypes.c_int(0)
    return 0 if function(ctypes.byref(value), *arguments) else value.value


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _is_set(environ: Mapping[str, str], name: str) -> bool:
    """Return whether a switch in the environment is on; "" and "0" are off."""
    return environ.get(name, "") not in ("", "0")
