"""The stream on which PyTorch is working: launches on its tensors belong there.

Every launch must query the stream again, because `with torch.cuda.stream(...)` and a
graph's capture change it. A check tests whether a launch did so, by making another
stream the current one; without a GPU that stream is only a number.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, SupportsInt

from weft import device

HANDLE = 0x57EA3  # the handle of the stream that a check simulates without a GPU
LEGACY = 1  # CU_STREAM_LEGACY, another number for the default stream

_pretended = False


def current_stream() -> Any:
    """Return PyTorch's current stream for a launch: `kernel[grid, block, stream]`.

    Without a GPU, returns 0, the default stream, unless a check simulates another.
    """
    if not device.find().usable:
        return _of_numba(HANDLE) if _pretended else 0
    import torch

    internal: Any = torch._C  # `torch.cuda.current_stream()` takes 20 times as long
    return _of_numba(internal._cuda_getCurrentRawStream(internal._cuda_getDevice()))


@functools.lru_cache(64)
def _of_numba(handle: int) -> Any:
    """Return Numba's stream for a driver's handle; 0 stands for the default stream."""
    from numba import cuda

    return cuda.external_stream(handle) if handle else 0


def handle_of(stream: Any) -> int:
    """Return the driver's handle of a Numba stream, or 0 for the default one."""
    handle = getattr(stream, "handle", stream)
    handle = getattr(handle, "value", handle) or 0
    # A simulated `cuda.stream()` has no handle: any but the default's will do.
    number = int(handle) if isinstance(handle, SupportsInt) else id(stream)
    return 0 if number == LEGACY else number


@contextlib.contextmanager
def another() -> Iterator[Callable[[Any], bool]]:
    """Make another stream the current one within a `with` block.

    Yields a function that returns whether a launch's stream is that stream.
    """
    import torch

    cuda_of_torch: Any = torch.cuda
    if device.find().usable and cuda_of_torch.is_available():
        side = cuda_of_torch.Stream()
        side.wait_stream(cuda_of_torch.current_stream())
        with cuda_of_torch.stream(side):
            yield lambda stream: handle_of(stream) == side.cuda_stream
        cuda_of_torch.current_stream().wait_stream(side)
    else:
        with _pretending(cuda_of_torch):
            yield lambda stream: handle_of(stream) == HANDLE


@contextlib.contextmanager
def _pretending(cuda_of_torch: Any) -> Iterator[None]:
    """Make PyTorch report a simulated current stream within a `with` block."""
    global _pretended
    before = cuda_of_torch.current_stream
    cuda_of_torch.current_stream = lambda device=None: SimpleNamespace(
        cuda_stream=HANDLE
    )
    _pretended = True
    try:
        yield
    finally:
        cuda_of_torch.current_stream = before
        _pretended = False
