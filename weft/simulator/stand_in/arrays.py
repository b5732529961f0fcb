"""Device arrays of the stand-in, which wrap NumPy arrays."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from weft import meaning
from weft.simulator import host


class DeviceArray:
    """An array in the memory of the simulated GPU."""

    def __init__(self, memory: Any, stream: Any = 0) -> None:
        self._ary, self.stream = memory, stream

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._ary, name)

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> Any:
        """Copy this array into `ary`, or into a new array, and return the copy."""
        if ary is None:
            return self._ary.copy()
        _alike(self._ary, ary)
        ary[...] = self._ary
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Copy `ary`, a host array or another device array, into this array."""
        given = getattr(ary, "_ary", ary)
        _alike(self._ary, given)
        self._ary[...] = given

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Copy the array to the host when NumPy asks for it."""
        return self._ary.astype(dtype or self._ary.dtype)

    def __getitem__(self, index: Any) -> Any:
        found = self._ary[index]
        return DeviceArray(found, self.stream) if getattr(found, "ndim", 0) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        self._ary[index] = getattr(value, "_ary", value)

    def __len__(self) -> int:
        return len(self._ary)

    def __repr__(self) -> str:
        return f"DeviceArray({self._ary!r})"

    @property
    def alloc_size(self) -> int:
        return int(self._ary.nbytes)

    @property
    def T(self) -> "DeviceArray":
        return DeviceArray(self._ary.T, self.stream)

    def reshape(self, *shape: Any, **named: Any) -> "DeviceArray":
        return DeviceArray(self._ary.reshape(*shape, **named), self.stream)

    def ravel(self, *given: Any, **named: Any) -> "DeviceArray":
        return DeviceArray(self._ary.ravel(*given, **named), self.stream)

    def view(self, *given: Any, **named: Any) -> "DeviceArray":
        return DeviceArray(self._ary.view(*given, **named), self.stream)

    def split(self, section: int, stream: Any = 0) -> list["DeviceArray"]:
        """Split the array into views of `section` elements; the last may be shorter."""
        starts = range(0, len(self), section)
        parts = (self._ary[at : at + section] for at in starts)
        return [DeviceArray(part, stream or self.stream) for part in parts]

    def is_c_contiguous(self) -> bool:
        return bool(self._ary.flags.c_contiguous)

    def is_f_contiguous(self) -> bool:
        return bool(self._ary.flags.f_contiguous)

    def bind(self, stream: Any = 0) -> "DeviceArray":
        return DeviceArray(self._ary, stream)


def _alike(one: Any, other: Any) -> None:
    """Raise TypeError for arrays of different types, ValueError for different shapes.

    Axes of length 1 are ignored.
    """
    if one.dtype != other.dtype:
        raise TypeError(f"incompatible dtype: {one.dtype} vs. {other.dtype}")
    if one.squeeze().shape != other.squeeze().shape:
        raise ValueError(f"incompatible shape: {one.shape} vs. {other.shape}")


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> Any:
    """Copy `obj`, as an array, to the device: into `to` if given, or into a new array.

    copy: whether to copy; otherwise `to` is not changed, and a new array has undefined
    contents.
    """
    if to is not None:
        if copy:
            to.copy_to_device(obj, stream)
        return to
    if not copy:
        return device_array_like(obj, stream)
    import numpy as np

    return DeviceArray(np.array(getattr(obj, "_ary", obj), order="K"), stream)


def host_array(
    shape: Any, dtype: Any = "float64", strides: Any = None, order: Any = "C", **_: Any
) -> Any:
    """Allocate a host array with undefined contents."""
    import numpy as np

    return np.ndarray(shape, meaning.as_dtype(dtype), strides=strides, order=order)


def device_array(*given: Any, stream: Any = 0, **named: Any) -> DeviceArray:
    """Allocate a device array with undefined contents. given: as for `host_array`."""
    return DeviceArray(host_array(*given, **named), stream)


def host_array_like(ary: Any, **_: Any) -> Any:
    import numpy as np

    return np.empty_like(getattr(ary, "_ary", ary))


def device_array_like(ary: Any, stream: Any = 0) -> DeviceArray:
    """Allocate a device array with the shape and type of `ary`."""
    return DeviceArray(host_array_like(ary), stream)


def as_cuda_array(data: Any, sync: bool = True) -> DeviceArray:
    """Return a device array over the memory of a NumPy array or a CPU tensor."""
    return DeviceArray(host.array_of(data))


@contextlib.contextmanager
def pinned(*arrays: Any) -> Iterator[None]:
    """Do nothing: the simulated device can always copy from host arrays directly."""
    yield


class In:
    """An argument that is copied to the device before a launch, but not back."""

    copies_back = False

    def __init__(self, value: Any) -> None:
        self.value = value

    def to_device(self, back: list[Callable[[], Any]]) -> Any:
        if isinstance(self.value, DeviceArray):
            return self.value
        there = to_device(self.value)
        if self.copies_back:
            back.append(lambda: there.copy_to_host(self.value))
        return there


class InOut(In):
    """An argument that is copied to the device, and back after the launch."""

    copies_back = True


class Out(InOut):
    """An argument that is copied back after the launch; see `host.emptied`."""
