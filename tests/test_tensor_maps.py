"""Tensor maps: what TMA does not take, said before the driver does."""

import gc

import numpy as np
import pytest

from weft.intrinsics.boxes import decoded
from weft.tensor_maps import refused, tensor_map


@pytest.mark.parametrize(
    ("shape", "stride", "size", "box", "says"),
    [
        ((100, 64), 64, 2, (64, 64), ""),
        ((100, 60), 64, 2, (64, 64), ""),
        ((100, 60), 60, 2, (64, 64), "rows are 120 bytes apart"),
        ((100, 64, 2), 64, 2, (64, 64), "this tensor has 3"),
        ((100, 64), 64, 2, (257, 64), "1 to 256 elements"),
        ((100, 64), 64, 2, (64, 0), "1 to 256 elements"),
        ((100, 64), 64, 2, (64, 4), "a row of the box is 8 bytes"),
        ((100, 128), 128, 2, (64, 128), "the swizzle takes 128"),
        ((100, 128), 128, 1, (64, 128), ""),
    ],
)
def test_what_is_refused(shape, stride, size, box, says):
    found = refused(shape, stride, size, box)
    assert says in found
    assert bool(found) == bool(says)


def test_other_swizzles_are_named():
    assert refused((8, 8), 8, 4, (8, 8), 100) == (
        "the swizzle is 0, 32, 64 or 128 bytes, not 100"
    )
    assert refused((8, 256), 256, 4, (8, 256), 0) == ""


def test_a_map_is_of_a_row_major_matrix():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="row-major matrix"):
        tensor_map(torch.zeros(64, 8).T, (8, 32))
    with pytest.raises(ValueError, match="row-major matrix"):
        tensor_map(np.zeros((64, 8), "f4").T, (8, 32))
    with pytest.raises(ValueError, match="float64 is not known"):
        tensor_map(torch.zeros(8, 64, dtype=torch.float64), (8, 32))


@pytest.mark.parametrize(
    ("shape", "box", "swizzle", "says"),
    [
        ((8, 60), (8, 64), 128, "rows are 120 bytes apart"),
        ((8, 64), (300, 64), 128, "1 to 256 elements"),
        ((8, 64), (8, 128), 128, "the swizzle takes 128 at most"),
        ((8, 64), (8, 32), 128, "the simulator knows the swizzle of 128 bytes only"),
        ((8, 64), (8, 4), 0, "a row of the box is 8 bytes"),
    ],
)
def test_what_the_simulator_does_not_take(shape, box, swizzle, says):
    with pytest.raises(ValueError, match=says):
        tensor_map(np.zeros(shape, np.int16), box, swizzle)


def test_a_map_begins_on_a_boundary():
    x = np.zeros((8, 128), np.int16)
    assert tensor_map(x[:, 8:], (8, 64)).size == 128
    torch = pytest.importorskip("torch")
    for wrong in (x[:, 4:], torch.from_numpy(x)[:, 4:]):
        with pytest.raises(ValueError, match="at a multiple of 16 bytes"):
            tensor_map(wrong, (8, 64))


def test_a_simulated_map_is_128_bytes_that_can_be_copied():
    x = np.arange(512, dtype=np.int16).reshape(8, 64)
    held = tensor_map(x, (8, 64))
    assert (held.dtype, held.shape) == (np.uint8, (128,))
    copied = held.copy()
    assert decoded(copied).data is x
    assert decoded(x) is None
    other = held.copy()
    other[20] ^= 1
    assert decoded(other) is None
    del held
    gc.collect()
    assert decoded(copied) is None  # as on a GPU, the map has to live


def test_a_tensor_that_numpy_lacks_is_taken_by_its_bits():
    torch = pytest.importorskip("torch")
    x = torch.ones(8, 64, dtype=torch.bfloat16)
    held = tensor_map(x, (8, 64))
    assert isinstance(held, torch.Tensor)
    assert (decoded(held.numpy()).data == 0x3F80).all()
