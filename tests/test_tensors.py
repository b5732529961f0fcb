"""PyTorch's tensors as arguments of a simulated kernel."""

from typing import Any

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from numba import cuda, float32  # isort: skip
from weft.simulator import Fault, simulate

torch: Any = pytest.importorskip("torch")


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = float32(2) * x[i]


def fault_of(x: Any) -> Fault:
    with pytest.raises(Fault) as caught:
        double[1, 32](x, np.zeros(4, np.float32))
    assert caught.value.kind == "type"
    return caught.value


def test_a_tensor_shares_its_memory() -> None:
    x, out = torch.ones(4), torch.zeros(4)
    simulate(double, (1, 32), (x, out))
    assert out.tolist() == [2, 2, 2, 2]


def test_a_type_that_numpy_lacks() -> None:
    fault = fault_of(torch.ones(4, dtype=torch.bfloat16))
    assert fault.message == "the tensor x holds bfloat16, which NumPy does not have"
    assert "float32" in fault.why


def test_a_tensor_that_records_its_gradient() -> None:
    fault = fault_of(torch.ones(4, requires_grad=True))
    assert fault.message == "the tensor x requires a gradient"
    assert "x.detach()" in fault.why


def test_a_tensor_without_memory_of_its_own() -> None:
    fault = fault_of(torch.ones(4).to_sparse())
    assert fault.message == "the tensor x has no memory that a kernel could use"
    assert "sparse" in fault.why.lower()


def test_what_is_asked_about_such_tensors() -> None:
    assert cuda.is_cuda_array(torch.ones(4))
    assert not cuda.is_cuda_array(torch.ones(4, requires_grad=True))
    assert not cuda.is_cuda_array(3)
    with pytest.raises(Fault, match="the array holds bfloat16"):
        cuda.as_cuda_array(torch.ones(4, dtype=torch.bfloat16))
