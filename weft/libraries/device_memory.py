"""The model's device memory: buffers at separate addresses, each with its extent.

Addresses need more than 32 bits, as on a GPU, and are far apart, so that an address
that is truncated or slightly wrong does not lead to another buffer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from weft.libraries.headers import CudaType

FIRST = 0x7F40_2000_0000
APART = 1 << 24  # the least number of bytes between two buffers

DTYPES = {
    CudaType.R_16F: torch.float16,
    CudaType.R_16BF: torch.bfloat16,
    CudaType.R_32F: torch.float32,
    CudaType.R_64F: torch.float64,
    CudaType.R_8I: torch.int8,
    CudaType.R_32I: torch.int32,
    CudaType.R_8F_E4M3: torch.float8_e4m3fn,
    CudaType.R_8F_E5M2: torch.float8_e5m2,
}


@dataclass(eq=False)
class Buffer:
    """One allocation: its address, its bytes, and its name in verdicts."""

    address: int
    storage: torch.UntypedStorage
    name: str = "a buffer"
    placed: torch.Tensor | None = None  # the tensor that was copied there

    @property
    def nbytes(self) -> int:
        return self.storage.nbytes()

    def tensor(self, dtype: torch.dtype = torch.uint8) -> torch.Tensor:
        """Return all bytes of the buffer as a tensor, without a copy."""
        return torch.empty(0, dtype=dtype).set_(self.storage)


RECIPE = {
    *("shape", "dtype", "ndim", "nbytes"),
    *("stride", "size", "element_size", "numel", "is_contiguous"),
}


@dataclass(eq=False, repr=False)
class DeviceArray:
    """An array on the model's device.

    It has the attributes of a PyTorch tensor that describe its address and layout:
    `data_ptr()`, and those in `RECIPE`. Its values can be read only through `cpu()`.
    """

    buffer: Buffer
    held: torch.Tensor

    def data_ptr(self) -> int:
        offset = int(self.held.storage_offset())
        return self.buffer.address + offset * int(self.held.element_size())

    def t(self) -> "DeviceArray":
        return DeviceArray(self.buffer, self.held.t())

    def __len__(self) -> int:
        return len(self.held)

    def __getitem__(self, index: Any) -> "DeviceArray":
        return DeviceArray(self.buffer, self.held[index])

    def cpu(self) -> torch.Tensor:
        """Copy the array to the host."""
        return self.held.clone()

    def __getattr__(self, name: str) -> Any:
        if name in RECIPE:
            return getattr(self.held, name)
        raise AttributeError(
            f"{name}: this array is on a model of a GPU. It has data_ptr(), shape, "
            "dtype and stride(); the library does the rest"
        )

    def __repr__(self) -> str:
        shape = " × ".join(map(str, self.shape))
        return f"<{shape} {str(self.dtype)[6:]} at {self.data_ptr():#x}>"


def reach(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Return the number of elements that an array spans in memory, with its gaps."""
    if not all(shape):
        return 0
    pairs = zip(shape, strides, strict=True)
    return 1 + sum((size - 1) * step for size, step in pairs)


INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def covered(view: torch.Tensor) -> torch.Tensor:
    """Return a mask of the bytes of a buffer that a view's elements occupy."""
    mask = torch.zeros(view.untyped_storage().nbytes(), dtype=torch.int8)
    dtype = INTEGERS[view.dtype.itemsize]
    whole = torch.empty(0, dtype=dtype).set_(mask.untyped_storage())
    whole.as_strided(view.shape, view.stride(), view.storage_offset()).fill_(-1)
    return mask != 0


class DeviceMemory:
    """All buffers of a model."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self.next = FIRST

    def place(self, tensor: torch.Tensor, name: str = "") -> DeviceArray:
        """Copy a CPU tensor to the device, with all of its storage."""
        held = tensor.detach()
        storage = held.untyped_storage().clone()  # type: ignore[no-untyped-call]
        buffer = Buffer(self.next, storage, name or f"buffer {len(self.buffers) + 1}")
        self.buffers.append(buffer)
        self.next = (self.next + storage.nbytes() + APART + 511) // 512 * 512
        view = torch.empty(0, dtype=held.dtype).set_(
            storage, held.storage_offset(), held.shape, held.stride()
        )
        buffer.placed = view
        return DeviceArray(buffer, view)

    def find(self, address: int) -> tuple[Buffer, int] | None:
        """Return the buffer at or near `address` and the offset into it, or None."""
        for buffer in self.buffers:
            if -APART // 2 <= address - buffer.address < buffer.nbytes + APART // 2:
                return buffer, address - buffer.address
        return None

    def cut_off(self, address: int) -> Buffer | None:
        """Return the buffer that an address lay in before truncation to 32 bits.

        Returns None if there is none.
        """
        for buffer in self.buffers:
            inside = (address - buffer.address) % (1 << 32)
            if abs(address) < 1 << 32 and inside < max(buffer.nbytes, 1):
                return buffer
        return None
