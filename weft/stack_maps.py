"""Tensor maps of stacks of matrices, for `tma_load_plane` and `tma_store_plane`."""

from typing import Any

from weft import meaning
from weft.errors import LearnerError
from weft.intrinsics.boxes import STEP
from weft.tensor_maps import KINDS, LINE, encoded, memory_of, refused, simulated

L2_256 = 3  # CU_TENSOR_MAP_L2_PROMOTION_L2_256B: a row of a tile is 256 bytes


def stack_map(tensor: Any, box: tuple[int, int]) -> Any:
    """Return the tensor map of a contiguous CUDA tensor (planes, rows, columns).

    In the simulator, `tensor` is a NumPy array or a CPU tensor.

    box: how many rows and columns of a plane one copy moves. In shared memory, the rows
    of a box are permuted by the 128-byte swizzle. Both the tensor and the map must be
    kept alive while the map is in use. Raises LearnerError for a tensor or box that TMA
    does not accept.
    """
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in KINDS:
        raise LearnerError(f"a tensor map of {name} is not known: {', '.join(KINDS)}")
    if meaning.simulating():
        if tensor.ndim != 3 or not memory_of(tensor).flags.c_contiguous:
            raise LearnerError("a stack is a contiguous tensor of three axes")
        return simulated(tensor, box, LINE)
    if not tensor.is_cuda or tensor.ndim != 3 or not tensor.is_contiguous():
        raise LearnerError("a stack is a contiguous CUDA tensor of three axes")
    planes, rows, cols = tensor.shape
    size = tensor.element_size()
    wrong = refused((rows, cols), cols, size, box, LINE)
    if tensor.data_ptr() % STEP:
        wrong = f"the tensor does not begin at a multiple of {STEP} bytes"
    if wrong:
        raise LearnerError(f"no tensor map of {tuple(tensor.shape)}: {wrong}")
    strides = (cols * size, rows * cols * size)
    return encoded(tensor, (cols, rows, planes), strides, box, LINE, L2_256)
