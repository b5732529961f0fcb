"""The arguments that a check passes to a function: handles, streams, arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from weft.libraries import cublas, cublaslt, cudnn
from weft.libraries.loading import library, model_in_use
from weft.libraries.model import Model

STREAM = 0x5EA_0000_1000  # the model's stream, where it is not the default stream


def stream() -> int:
    """Return the address of PyTorch's current stream, or 0 if calls go to a model."""
    if model_in_use() is not None:
        return 0
    return int(torch.cuda.current_stream().cuda_stream)


class Bench:
    """Makes a function's arguments, with arrays on a GPU or on the model's device.

    `place` copies a tensor to that device. `close` destroys the handles that were made.
    `asked_for` is the GPU stream that was passed as an argument, or None.
    """

    def __init__(self, name: str, place: Callable[[torch.Tensor], Any]) -> None:
        self.name, self.place = name, place
        self.asked_for: Any = None
        self.ends: list[tuple[Callable[[int], Any], int]] = []

    def _made(self, handle: int, destroy: Callable[[int], Any]) -> int:
        self.ends.append((destroy, handle))
        model = model_in_use()
        if model is not None:
            model.objects.made[handle].given = True
        return handle

    @property
    def handle(self) -> int:
        """A new cuDNN handle if the library is cuDNN, or else a new cuBLAS handle."""
        if self.name == "cudnn":
            made = self._made(cudnn.create(), cudnn.destroy)
            cudnn.set_stream(made, stream())
            return made
        return self._made(cublas.create(), cublas.destroy)

    @property
    def light_handle(self) -> int:
        """A new cuBLASLt handle."""
        return self._made(cublaslt.create(), cublaslt.destroy)

    @property
    def library(self) -> Any:
        """The library's C functions, in the form of a `ctypes.CDLL`."""
        return library(self.name)

    @property
    def stream(self) -> int:
        """The stream that the function should work on, not the default stream."""
        model = model_in_use()
        if model is not None:
            model.stream = STREAM
            return STREAM
        cuda: Any = torch.cuda
        self.asked_for = cuda.Stream()
        return int(self.asked_for.cuda_stream)

    def workspace(self, nbytes: int) -> Any:
        """Return device memory that a library may use while it works."""
        return self.place(torch.zeros(nbytes, dtype=torch.uint8))

    def arrays(self, values: tuple[Any, ...]) -> list[Any]:
        """Return the inputs of a case, with every array on the device."""
        return [self.place(as_tensor(v)) if is_array(v) else v for v in values]

    def close(self) -> None:
        """Destroy the handles that this object made."""
        model: Model | None = model_in_use()
        for destroy, handle in self.ends:
            if model is not None:
                model.objects.made[handle].given = False
            destroy(handle)


def is_array(value: Any) -> bool:
    return isinstance(value, torch.Tensor | np.ndarray)


def as_tensor(value: Any) -> torch.Tensor:
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def on_gpu(tensor: torch.Tensor) -> torch.Tensor:
    """Copy a tensor to the GPU with all of its storage, and so with its strides."""
    whole = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    moved = whole.cuda()
    return moved.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def on_device(tensor: Any) -> Any:
    """See `weft.libraries.on_device`."""
    model = model_in_use()
    tensor = as_tensor(tensor)
    return on_gpu(tensor) if model is None else model.place(tensor)


def room(nbytes: int) -> Any:
    """Return `nbytes` of device memory that a library may use while it works."""
    if model_in_use() is not None:
        return on_device(torch.zeros(nbytes, dtype=torch.uint8))
    return torch.empty(nbytes, dtype=torch.uint8, device="cuda")
