"""How far the family's results are from NumPy's.

The kernels for long rows get short rows here: in the simulator, a row of 262,144 would
take a minute.
"""

import numpy as np
from numba import cuda

import weft

from .backward_kernels import many_backward
from .checks import scores, shares
from .family import backward, launch_many, launch_teams, softmax
from .long_rows import many_kernel


def pairs_of_bf16(x):
    """Return float32 rounded towards 0 to bfloat16, two to an int32."""
    upper = np.ascontiguousarray(x).view(np.uint32) >> 16
    return (upper[:, ::2] | upper[:, 1::2] << 16).view(np.int32)


def from_pairs(words):
    """Return bfloat16 pairs as float32."""
    words = words.view(np.uint32)
    low, high = words << 16, words & np.uint32(0xFFFF0000)
    both = np.stack([low, high], axis=-1).reshape(len(words), -1)
    return both.view(np.float32)


def largest_error(rows, cols, half, how):
    """Return how far forward and backward are from what they should be.

    how: of the kernels of long rows; None lets the family choose. Four
    numbers are for teams, forward.
    """

    def both(x, y, dy, dx):
        if how is None:
            softmax(x, y)
            backward(y, dy, dx)
        elif len(how) == 4:
            launch_teams(how, 8, x, y)
            backward(y, dy, dx)
        else:
            launch_many(many_kernel, how, False, False, x, y)
            launch_many(many_backward, how, False, False, y, dy, dx)

    rng = np.random.default_rng(16)
    x = scores(rng, rows, cols) / np.float32(8)
    dy = rng.normal(0, 1, x.shape).astype(np.float32)
    if half:
        x, dy = (from_pairs(pairs_of_bf16(a)) for a in (x, dy))
    wanted = shares(x.astype(np.float64))

    pack = pairs_of_bf16 if half else lambda a: a
    unpack = from_pairs if half else lambda a: a
    d_x, d_dy = (cuda.to_device(pack(a)) for a in (x, dy))
    d_y, d_dx = (cuda.to_device(np.zeros_like(pack(x))) for _ in "yx")
    both(d_x, d_y, d_dy, d_dx)
    y, dx = unpack(d_y.copy_to_host()), unpack(d_dx.copy_to_host())
    both(d_x, d_y, d_dy, d_dx)  # blocks meet in words of the launch before
    assert np.array_equal(unpack(d_y.copy_to_host()), y, equal_nan=True)
    assert np.array_equal(unpack(d_dx.copy_to_host()), dx, equal_nan=True)
    there = y.astype(np.float64)
    exact = there * (dy - (there * dy).sum(axis=1, keepdims=True))

    worst = 0
    for got, aim in ((y, wanted), (dx, exact)):
        assert np.array_equal(np.isnan(got), np.isnan(aim))
        off = np.abs(np.nan_to_num(got) - np.nan_to_num(aim)).max()
        worst = max(worst, off / np.abs(np.nan_to_num(aim)).max())
    return worst


def report():
    """Compare each kind of kernel with NumPy, guards and -inf included."""
    small = 1, 1, 32, 64, 4  # long rows' kernels, with 1 KB to a block
    team = 2, 64, 64, 4  # 2 KB
    if weft.GPU:
        sizes = [(5, 40, None), (3, 1040, None), (5, 2000, small), (2, 3000, small)]
        sizes += [(5, 2048, team), (5, 33_104, None)]
    else:  # the simulator takes time for every thread
        sizes = [(3, 40, None), (3, 1040, None), (3, 1200, small), (2, 1040, small)]
        sizes += [(5, 1024, team)]
    for rows, cols, how in sizes:
        full = largest_error(rows, cols, False, how)
        half = largest_error(rows, cols, True, how)
        print(f"{rows} x {cols:6}: float32 {full:.0e}, bfloat16 {half:.0e}")
        assert full < 1e-4
        assert half < 1e-2
