"""Choose the library for a call: a model in a check or without a GPU, else NVIDIA's."""

import contextlib
import ctypes
from collections.abc import Iterator
from functools import cache
from typing import Any

from weft import device
from weft.errors import LearnerError
from weft.libraries.headers import Prototype

_models: list[Any] = []  # the models of checks in progress, the innermost last


@contextlib.contextmanager
def on_model(model: Any) -> Iterator[None]:
    """Send every library call to `model` within a `with` block."""
    _models.append(model)
    try:
        yield
    finally:
        _models.remove(model)


def library(name: str) -> Any:
    """Return the library `name`, such as "cublas", in the form of a `ctypes.CDLL`.

    Without a GPU, or in a check that uses a model, this is the library of a model.
    Raises LearnerError if there is a GPU but the library is missing.
    """
    if _models:
        return modelled(_models[-1], name)
    if device.find().usable:
        return real(name)
    return modelled(_standing(), name)


def modelled(model: Any, name: str) -> Any:
    """Return a model's library `name`; every call returns the same object."""
    from weft.libraries.model_cublas import CuBLAS
    from weft.libraries.model_cublaslt import CuBLASLt
    from weft.libraries.model_cudnn import CuDNN
    from weft.libraries.model_cufft import CuFFT
    from weft.libraries.model_curand import CuRAND

    if name not in model.libraries:
        kinds: Any = CuBLAS, CuBLASLt, CuFFT, CuRAND, CuDNN
        next(each for each in kinds if each.name == name)(model)
    return model.libraries[name].shown


@cache
def _real_function(name: str, prototype: Prototype) -> Any:
    return _prepared(real(name, "binding"), prototype)


def _prepared(loaded: Any, prototype: Prototype) -> Any:
    found = getattr(loaded, prototype.symbol)
    found.argtypes, found.restype = prototype.argtypes, ctypes.c_int
    return found


def function(name: str, prototype: Prototype) -> Any:
    """Return a C function of the library in use, NVIDIA's or a model's."""
    if not _models and device.find().usable:
        return _real_function(name, prototype)
    return _prepared(library(name), prototype)


def said(name: str) -> str:
    """Return the library's message about the last failed call, or "".

    Of NVIDIA's libraries, only cuDNN has such a message. A model's message is its
    reason for refusing the call.
    """
    model = model_in_use()
    if model is not None:
        return str(modelled(model, name).said)
    return _last_error() if name == "cudnn" else ""


def _last_error() -> str:
    """Return the first line of cuDNN's message about this thread's last failed call."""
    text = ctypes.create_string_buffer(1024)
    found = real("cudnn", "binding").cudnnGetLastErrorString
    found.argtypes, found.restype = [ctypes.c_char_p, ctypes.c_size_t], None
    found(text, len(text))
    return text.value.decode(errors="replace").partition("\n")[0]


def model_in_use() -> Any:
    """Return the model that calls go to now, or None if they go to a GPU."""
    if _models:
        return _models[-1]
    return None if device.find().usable else _standing()


@cache
def _standing() -> Any:
    """Return the model for all calls outside checks, used if there is no GPU."""
    from weft.libraries.model import Model

    return Model()


@cache
def real(name: str, user: str = "learner") -> Any:
    """Return NVIDIA's library `name`, as installed with PyTorch.

    user: who calls the library; each user has separate functions with separate
    `argtypes`. Raises LearnerError if the library cannot be loaded.
    """
    import torch  # loads the libraries that it was built with

    major = int(str(torch.version.cuda or "13").partition(".")[0])
    number = {"cufft": major - 1, "curand": 10, "cudnn": 9}.get(name, major)
    for file in (f"lib{name}.so.{number}", f"lib{name}.so"):
        with contextlib.suppress(OSError):
            return ctypes.CDLL(file)
    raise LearnerError(
        f"lib{name}.so.{number} cannot be loaded. PyTorch's CUDA wheels bring "
        "it: `make lab` installs the one for this machine's driver. "
        "`weft.doctor()` shows what is there."
    )
