"""Tensor maps: what TMA does not take, said before the driver does."""

import pytest

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


def test_a_map_is_of_a_tensor_on_a_gpu():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="row-major tensor on a GPU"):
        tensor_map(torch.zeros(8, 64), (8, 32))
    with pytest.raises(ValueError, match="float64 is not known"):
        tensor_map(torch.zeros(8, 64, dtype=torch.float64), (8, 32))
