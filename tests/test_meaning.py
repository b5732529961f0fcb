"""What the names of a kernel stand for, whichever package its file imports."""

import numpy as np

import weft  # noqa: F401  before Numba

from numba import cuda, float32, njit, types  # isort: skip
from weft import meaning


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = float32(2) * x[i]


@cuda.jit(device=True, fastmath=True)
def square(x):
    return x * x


def test_kernels_are_told_from_other_functions() -> None:
    assert meaning.python_function(double).__name__ == "double"
    assert meaning.is_kernel(double)
    assert not meaning.is_device_function(double)
    assert not meaning.uses_fastmath(double)
    assert meaning.is_device_function(square)
    assert meaning.uses_fastmath(square)
    assert not meaning.is_kernel(njit(lambda x: x))
    assert meaning.python_function(len) is None


def test_types_and_names() -> None:
    assert meaning.is_number_type(float32)
    assert not meaning.is_number_type(np.float32)
    assert meaning.is_type(float32)
    assert meaning.as_dtype(types.int16) == meaning.as_dtype(np.int16) == np.int16
    assert meaning.cuda_name(cuda.to_device) == "to_device"
    assert meaning.cuda_name(double) == meaning.stub_name(len) == ""
    assert meaning.is_cuda(cuda)
    assert meaning.public_module(cuda.__name__) == "numba.cuda"


def test_arguments_with_a_hint() -> None:
    x = np.arange(3, dtype=np.float32)
    assert meaning.without_hint(cuda.In(x)) is meaning.without_hint(x) is x
    assert meaning.simulated_array(x) is None
    assert meaning.simulated_array(cuda.to_device(x)).tolist() == [0, 1, 2]
