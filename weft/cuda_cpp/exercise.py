"""An exercise that asks for a kernel in CUDA C++."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from weft.checking.cases import Case, as_tuple, copies
from weft.checking.exercise import Exercise


@dataclass(frozen=True, kw_only=True)
class CudaCppExercise(Exercise):
    """A kernel in CUDA C++, in a cell `%%c name.cu`.

    prototype: the kernel's declaration, `void name(...)`, without `__global__` and the
        semicolon. inputs: arrays and NumPy numbers, as for kernels.
    launch: `(*size)` → the number of blocks, and of threads per block.
    call: `(*inputs, *outputs)` → the kernel's arguments in the order of the prototype:
        these arrays and numbers, and lengths such as `np.int32(x.size)`.
    out: `(*inputs)` → the outputs as they are before the launch, for a kernel that
        updates them in place. None: float32, with the shape of the spec's outputs, full
        of NaN.
    full: a size at which the kernel also runs if there is a GPU. Even without a GPU,
        the function `host` is called with this size, and its launch must be possible.
    host: the declaration of a function in the same cell that launches the kernel and
        returns a new `at::Tensor`, if the exercise asks for one. Its parameters are
        `inputs`, in order: arrays as tensors, Python's numbers as double and int64_t.
        Its tensors may have any strides.
    refused: `(*inputs)` → a dict from descriptions to inputs that do not fit together,
        which the function must refuse. Inputs in host memory, in float64 and on another
        GPU are always tried.
    """

    needs: ClassVar[tuple[str, ...]] = (
        *Exercise.needs,
        *("prototype", "launch", "call"),
    )
    unused: ClassVar[tuple[str, ...]] = ("because", "limits")

    prototype: str = ""
    launch: Any = None
    call: Any = None
    out: Any = None
    full: Any = None
    host: str = ""
    refused: Any = None

    def outputs(self, case: Case) -> tuple[Any, ...]:
        """Return the outputs of a case as they are before the launch."""
        if self.out is not None:
            return as_tuple(self.out(*copies(case.inputs)))
        return tuple(np.full(e.shape, np.nan, np.float32) for e in case.expected)
