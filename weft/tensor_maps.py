"""Tensor maps: what TMA needs to know about a matrix, in 128 bytes.

A kernel names a box of a matrix by its first column and row. The tensor map says where
the matrix is, how large it is, and how its boxes are laid out in shared memory. It is
made on the host and passed as an array of bytes.

CUDA Driver API, `cuTensorMapEncodeTiled`.
"""

import ctypes
from typing import Any

import numpy as np

from weft import meaning
from weft.errors import LearnerError
from weft.intrinsics.boxes import STEP, Boxes
from weft.intrinsics.boxes import encoded as simulated_map

SIZE, ALIGNMENT = 128, 64  # bytes
LINE = 128  # bytes of a row that the swizzle permutes
MOST_BOX = 256  # elements of a box along one axis
KINDS = {  # CU_TENSOR_MAP_DATA_TYPE_…
    "uint8": 0,
    "int16": 1,  # its bits are copied, whatever they mean
    "int32": 3,
    "float16": 6,
    "float32": 7,
    "bfloat16": 9,
    "float8_e4m3fn": 0,
    "float8_e5m2": 0,
}
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}  # CU_TENSOR_MAP_SWIZZLE_…
L2_128 = 2  # CU_TENSOR_MAP_L2_PROMOTION_L2_128B: fetches less where rows straddle lines


def refused(
    shape: tuple[int, ...],
    stride: int,
    itemsize: int,
    box: tuple[int, int],
    swizzle: int = LINE,
) -> str:
    """Return the reason why TMA does not accept a matrix, or "" if it does.

    shape: rows and columns. stride: elements from row to row. box: rows and columns of
    a box. swizzle: bytes of a row that are permuted, or 0 for none.

    >>> refused((100, 60), 60, 2, (64, 64))
    'rows are 120 bytes apart, and TMA takes multiples of 16'
    """
    if len(shape) != 2:
        return f"a matrix has two axes, and this tensor has {len(shape)}"
    if stride * itemsize % STEP:
        return (
            f"rows are {stride * itemsize} bytes apart, and TMA takes multiples "
            f"of {STEP}"
        )
    if not all(1 <= edge <= MOST_BOX for edge in box):
        return f"a box has 1 to {MOST_BOX} elements along each axis; got {box}"
    if box[1] * itemsize % STEP:
        return (
            f"a row of the box is {box[1] * itemsize} bytes, and TMA takes multiples "
            f"of {STEP}"
        )
    if swizzle not in SWIZZLES:
        return f"the swizzle is 0, 32, 64 or 128 bytes, not {swizzle}"
    if swizzle and box[1] * itemsize > swizzle:
        return (
            f"a row of the box is {box[1] * itemsize} bytes, and the swizzle takes "
            f"{swizzle} at most"
        )
    return ""


def tensor_map(tensor: Any, box: tuple[int, int], swizzle: int = LINE) -> Any:
    """Return the tensor map of a row-major CUDA tensor: 128 bytes on the same device.

    In the simulator, `tensor` is a NumPy array or a CPU tensor.

    box: how many rows and columns one `tma_load` or `tma_store` moves. swizzle: how
    many bytes of a row are permuted, or 0 for none. Both the tensor and the map must be
    kept alive while the map is in use. Raises LearnerError for a tensor or box that TMA
    does not accept.
    """
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in KINDS:
        raise LearnerError(f"a tensor map of {name} is not known: {', '.join(KINDS)}")
    if meaning.simulating():
        return simulated(tensor, box, swizzle)
    if not tensor.is_cuda or tensor.stride(-1) != 1:
        raise LearnerError("a tensor map is of a row-major tensor on a GPU")
    size = tensor.element_size()
    shape = tuple(tensor.shape)
    wrong = refused(shape, tensor.stride(0), size, box, swizzle)
    if tensor.data_ptr() % STEP:
        wrong = f"the tensor does not begin at a multiple of {STEP} bytes"
    if wrong:
        raise LearnerError(f"no tensor map of {shape}: {wrong}")
    rows, cols = shape
    return encoded(tensor, (cols, rows), (tensor.stride(0) * size,), box, swizzle)


def encoded(
    tensor: Any,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    box: tuple[int, int],
    swizzle: int,
    fetched: int = L2_128,
) -> Any:
    """Return the tensor map of a CUDA tensor, 128 bytes on the same device.

    sizes: elements along each axis, the innermost first. strides: bytes between
    neighbours along each axis but the innermost. fetched: how much the L2 cache
    fetches, as a `CU_TENSOR_MAP_L2_PROMOTION`. Raises RuntimeError if CUDA refuses.
    """
    import torch

    held = ctypes.create_string_buffer(SIZE + ALIGNMENT)
    at = -(-ctypes.addressof(held) // ALIGNMENT) * ALIGNMENT
    rank, long, word = len(sizes), ctypes.c_uint64, ctypes.c_uint32
    status = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled(
        ctypes.c_void_p(at),
        KINDS[str(tensor.dtype).removeprefix("torch.")],
        word(rank),
        ctypes.c_void_p(tensor.data_ptr()),
        (long * rank)(*sizes),
        (long * (rank - 1))(*strides),
        (word * rank)(box[1], box[0], *[1] * (rank - 2)),
        (word * rank)(*[1] * rank),
        0,  # no interleaving
        SWIZZLES[swizzle],
        fetched,
        0,  # outside the tensor, zeros are read
    )
    if status:
        raise RuntimeError(f"cuTensorMapEncodeTiled failed with CUDA error {status}")
    raw = bytearray(ctypes.string_at(at, SIZE))
    return torch.frombuffer(raw, dtype=torch.uint8).to(tensor.device)


def simulated(tensor: Any, box: tuple[int, ...], swizzle: int) -> Any:
    """Return a tensor map of an array or a CPU tensor, for the simulator.

    box: the number of elements along each of the last two axes, 1 along any others.
    Raises LearnerError for a matrix or box that the TMA does not accept.
    """
    data = memory_of(tensor)
    if data.strides[-1] != data.itemsize:
        raise LearnerError("a tensor map is of a row-major matrix")
    rows = data.strides[-2] // data.itemsize if data.ndim > 1 else 0
    shape = data.shape if data.ndim < 3 else data.shape[-2:]
    wrong = refused(shape, rows, data.itemsize, (box[0], box[1]), swizzle)
    if not wrong and offset_of(tensor, data) % STEP:
        wrong = f"it does not begin at a multiple of {STEP} bytes"
    if not wrong and swizzle and box[1] * data.itemsize != swizzle:
        wrong = (
            f"a row of the box is {box[1] * data.itemsize} bytes, and the simulator "
            f"knows the swizzle of {swizzle} bytes only for rows as long"
        )
    if wrong:
        raise LearnerError(f"no tensor map of {data.shape}: {wrong}")
    whole = (1,) * (data.ndim - 2) + tuple(box)
    held = simulated_map(Boxes(data, whole, swizzle))
    if hasattr(tensor, "data_ptr"):
        import torch

        return torch.from_numpy(held)
    return held


def offset_of(tensor: Any, data: np.ndarray[Any, Any]) -> int:
    """Return the byte offset at which a tensor, or an array, begins in its memory."""
    if hasattr(tensor, "storage_offset"):
        return int(tensor.storage_offset()) * data.itemsize
    root = data
    while isinstance(root.base, np.ndarray):
        root = root.base
    first, start = (x.__array_interface__["data"][0] for x in (root, data))
    return int(start - first)


def memory_of(tensor: Any) -> np.ndarray[Any, Any]:
    """Return the memory of a tensor or an array as a NumPy array.

    A CPU tensor's elements become integers of the same size. Raises LearnerError for a
    tensor on a GPU.
    """
    found = meaning.simulated_array(tensor)
    if found is not None:
        return found
    if isinstance(tensor, np.ndarray):
        return tensor
    if tensor.is_cuda:
        raise LearnerError("the simulator cannot use a tensor on a GPU")
    import torch

    bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[tensor.element_size()]
    memory: np.ndarray[Any, Any] = tensor.detach().view(bits).numpy()
    return memory
