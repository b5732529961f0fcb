"""Load compiled kernels with the driver API and say what it answers.

python load.py FILE...
"""

import ctypes
import sys
import time
from pathlib import Path

cuda = ctypes.CDLL("libcuda.so.1")
LOOPS = 20


def said(status: int) -> str:
    name, text = ctypes.c_char_p(), ctypes.c_char_p()
    cuda.cuGetErrorName(status, ctypes.byref(name))
    cuda.cuGetErrorString(status, ctypes.byref(text))
    return f"{status} {name.value.decode()}: {text.value.decode()}"


def load(image: bytes) -> tuple[int, float]:
    """Load a module and unload it; return the status and the ms of loading."""
    module = ctypes.c_void_p()
    begun = time.perf_counter()
    status = cuda.cuModuleLoadData(ctypes.byref(module), image)
    took = (time.perf_counter() - begun) * 1e3
    if not status:
        cuda.cuModuleUnload(module)
    return status, took


device, context = ctypes.c_int(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
assert cuda.cuCtxSetCurrent(context) == 0

for path in map(Path, sys.argv[1:]):
    image = path.read_bytes() + b"\0"
    status, took = load(image)
    if status:
        print(f"{path.name:<16} {said(status)}")
        continue
    times = sorted(load(image)[1] for _ in range(LOOPS))
    print(f"{path.name:<16} loaded in {times[LOOPS // 2]:.3f} ms (median of {LOOPS})")
