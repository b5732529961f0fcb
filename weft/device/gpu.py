"""The GPU that the labs can use, or why there is none, according to the driver.

The driver is called through ctypes, which is fast, and possible before Numba is
imported.

The driver's error codes and attribute numbers are those of `cuda.h` (CUDA Driver API).
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
from weft.wording import Words, capital

OLDEST_CUDA = (12, 0)
OLDEST_DRIVER = "525"  # the first that supports CUDA 12 (CUDA release notes, table 3)
OLDEST_CAPABILITY = (7, 5)  # the T4's

_MAJOR, _MINOR, _SMS, _L2 = 75, 76, 16, 38  # CU_DEVICE_ATTRIBUTE_…

words = Words(__file__)


def _said(row: str, **told: Any) -> tuple[str, str]:
    """Return (why, advice) for an unusable GPU, worded by `row`."""
    meanwhile = words.rows["meanwhile"]["advice"]
    said = words(row, meanwhile=meanwhile, **told)
    return said["why"], said["advice"]


@dataclass(frozen=True)
class Device:
    """The GPU that kernels run on, or the reason why none can be used.

    usable: whether kernels run on a GPU here. If not, `why` says in a few words what is
    missing and `advice` what to do; what is known about the GPU is still filled in.
    unasked: whether a setting excludes the GPU. no_driver: whether NVIDIA's driver is
    missing, except on macOS. memory, l2: in bytes. cuda: the version that the driver
    supports. count: the number of GPUs that the driver shows.
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
    count: int = 1

    def without(self, why: str, advice: str) -> "Device":
        """Return the same GPU, marked unusable, with the reason and advice."""
        return replace(self, usable=False, why=why, advice=advice)

    @property
    def reason(self) -> str:
        """Why there is no usable GPU, and what to do; "" if there is one."""
        return "" if self.usable else f"{capital(self.why)}. {self.advice}"

    @property
    def sm(self) -> str:
        """The capability as compilers write it: `sm_90`."""
        return f"sm_{self.capability[0]}{self.capability[1]}"

    @property
    def line(self) -> str:
        """One line that names the GPU, or says why the simulator is used."""
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

    Without arguments the answer is computed once and kept. The arguments replace parts
    of the machine: load returns the driver's library (ctypes) or raises OSError; pieces
    finds CUDA's compilers; installed says whether a module can be imported.
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
    """Compute the result of `find`, with the cheapest decisive checks first."""
    if _is_set(environ, "WEFT_SIMULATOR"):
        return Device(False, *_said("set", switch="WEFT_SIMULATOR"), unasked=True)
    found = ask_driver(load, environ)
    if not found.usable:
        return found
    missing = _compilers(found, pieces(), installed)
    if missing:
        return found.without(*missing)
    if _is_set(environ, "NUMBA_ENABLE_CUDASIM"):
        why, advice = _said("set", switch="NUMBA_ENABLE_CUDASIM")
        return replace(found.without(why, advice), unasked=True)
    return found


def ask_driver(
    load: Callable[[], Any] | None = None, environ: Mapping[str, str] = os.environ
) -> Device:
    """Return the first GPU as the driver reports it, without looking for compilers."""
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
    count = _int(cuda.cuDeviceGetCount)
    if not count:
        return Device(False, *_refusal(100, environ), cuda=supports)
    return replace(_first_gpu(cuda, supports), count=count)


def _first_gpu(cuda: Any, supports: tuple[int, int]) -> Device:
    """Return GPU 0, marked unusable if it is too old for the labs."""
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
    has, needs = (".".join(map(str, c)) for c in (capability, OLDEST_CAPABILITY))
    return device.without(*_said("old-gpu", gpu=device.name, has=has, needs=needs))


def load_driver() -> Any:
    """Load the driver's library and return it. Raises OSError if there is none."""
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
        return _said("no-numba", install=install)
    if found.missing:
        one = len(found.missing) == 1
        verbs = ("compiles", "is") if one else ("compile", "are")
        told = {"pieces": " and ".join(found.missing), "install": install}
        return _said("no-compilers", compile=verbs[0], are=verbs[1], **told)
    if found.major and found.major > gpu.cuda[0]:
        told = {"supports": ".".join(map(str, gpu.cuda)), "install": install}
        return _said("new-compilers", major=found.major, **told)
    return None


def _no_driver() -> tuple[str, str]:
    """Return (why, advice) for a machine without the driver's library."""
    if sys.platform == "darwin":
        return _said("macos")
    do = (
        "install its driver in Windows, never inside Linux"
        if os.path.isdir("/usr/lib/wsl")
        else "install its driver from https://www.nvidia.com/drivers"
    )
    return _said("no-driver", do=do)


def _too_old(supports: tuple[int, int]) -> tuple[str, str]:
    """Return (why, advice) for a driver that is too old for CUDA 12."""
    version = driver_version()
    which = f"NVIDIA driver {version}" if version else "the NVIDIA driver"
    return _said(
        "old-driver",
        driver=which,
        supports=".".join(map(str, supports)),
        needs=OLDEST_CUDA[0],
        oldest=OLDEST_DRIVER,
    )


def _refusal(answer: int, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return (why, advice) for `answer`, an error code of cuInit."""
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    if answer == 100 and visible is not None:
        return _said("hidden", visible=visible)
    if str(answer) not in words.rows:
        return _said("another-answer", answer=answer)
    why, advice = _said(str(answer))
    return why + f" (cuInit: {answer})" * (answer != 100), advice


def _int(function: Any, *arguments: Any) -> int:
    """Call a driver function that writes an int; return the int, or 0 on error."""
    value = ctypes.c_int(0)
    return 0 if function(ctypes.byref(value), *arguments) else value.value


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _is_set(environ: Mapping[str, str], name: str) -> bool:
    """Return whether a switch in the environment is on; "" and "0" are off."""
    return environ.get(name, "") not in ("", "0")
