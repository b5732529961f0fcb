"""The kernels of a step, the types they are compiled for, and their launches."""

from typing import Any

from weft import backend
from weft.launching import Launch, prepare

from . import (
    backward,
    forward,
    linear,
    moments,
    norm_backward,
    norm_forward,
    norm_update,
    update,
)

_I, _F = "int32[::1]", "float32[::1]"
_HEAD = f"{_F},{_F},uint8[::1],{_I},{_I},{_I},{_F},int32,int32,int32"
_UPDATE = f"int16[::1],{_I},{_F},float32,int32"
Kernel = tuple[Any, str, tuple[int, int], int]  # types, launch bounds, shared bytes
PLAIN: dict[str, Kernel] = {
    "forward": (
        forward.forward,
        f"{_I},{_I},{_I},{_F},{_I},{_I},{_I},{_I},{_I},int32",
        (forward.THREADS, 2),
        forward.SHARED,
    ),
    "fc1": (linear.fc1, f"{_I},{_I},{_F},int32,int32", (256, 2), 0),
    "head": (linear.head, _HEAD, (128, 1), 0),
    "fc1_backward": (
        linear.fc1_backward,
        f"{_I},{_I},{_I},{_F},{_I},{_I},float32,int32,int32",
        (128, 4),
        0,
    ),
    "backward": (
        backward.backward,
        f"{_I},{_I},{_I},{_I},{_I},{_I},{_I},{_I},{_F},int32",
        (backward.THREADS, 1),
        backward.SHARED,
    ),
    "update": (update.update, f"{_F},int32,{_F},int32,{_F},{_UPDATE}", (256, 1), 0),
}
NORMALISED: dict[str, Kernel] = {
    "moments": (moments.moments, f"{_I},{_I},{_I},{_F},int32", (256, 1), 0),
    "forward": (
        norm_forward.forward,
        f"{_I},{_I},{_I},{_F},{_I},{_F},int32,{_F},{_F},{_I},{_I},{_I},{_I},{_I},{_F},"
        "int32",
        (forward.THREADS, 2),
        forward.SHARED,
    ),
    "fc1": (
        norm_forward.fc1,
        f"{_I},{_F},int32,{_F},{_F},{_F},{_I},{_I},{_F},int32,int32",
        (256, 2),
        norm_forward.SHARED_FC1,
    ),
    "head": PLAIN["head"],
    "fc1_backward": (
        norm_backward.fc1_backward,
        f"{_I},{_I},{_I},{_F},{_I},{_I},{_F},{_F},{_I},{_F},float32,int32,int32",
        (128, 4),
        norm_backward.SHARED_FC1,
    ),
    "backward": (
        norm_backward.backward,
        f"{_I},{_I},{_I},{_I},{_F},{_F},{_F},int32,{_I},{_I},{_I},{_I},{_I},{_F},int32",
        (backward.THREADS, 1),
        backward.SHARED,
    ),
    "update": (
        norm_update.update,
        f"{_F},int32,{_F},int32,{_F},{_F},{_UPDATE}",
        (256, 1),
        0,
    ),
}
_compiled: dict[Any, Launch] = {}


def launch_of(name: str, kernel: Kernel) -> Launch:
    """Return a launch of a kernel, which is compiled when it is first asked for."""
    function, types, bounds, shared = kernel
    if function not in _compiled:
        from numba import cuda

        options = {"fastmath": True} if name == "head" else {}
        jit: Any = cuda.jit
        made = jit(f"void({types})", launch_bounds=bounds, **options)(function)
        if shared:
            backend.allow_shared(made, shared)
        _compiled[function] = prepare(made)
    return _compiled[function]
