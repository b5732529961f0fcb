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
        semicolon. inputs: as for kernels, arrays and NumPy's numbers.
    launch: `(*size)` → the blocks and the threads of each.
    call: `(*inputs, *outputs)` → what the kernel is called with, in the order of
        the prototype: these arrays and numbers, and lengths such as
        `np.int32(x.size)`.
    out: `(*inputs)` → the outputs as they are before the launch, for a kernel that
        updates them in place. None: float32, of the shape of the spec's, full of NaN.
    full: a size that is run where there is a GPU.
    host: the declaration of a function in the same cell that launches the kernel and
        returns a new `at::Tensor`, for an exercise that asks for one. Its parameters
        are `inputs`, in their order: arrays as tensors, Python's numbers as double and
        int64_t. Its tensors may be of any strides.
    refused: `(*inputs)` → what the function must not take, by its description: inputs
        that do not fit together. Inputs in the host's memory and those of another type
        than float32 are tried in any case.
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
        """The outputs of a case before the launch."""
        if self.out is not None:
            return as_tuple(self.out(*copies(case.inputs)))
        return tuple(np.full(e.shape, np.nan, np.float32) for e in case.expected)
