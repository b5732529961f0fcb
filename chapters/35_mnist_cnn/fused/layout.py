"""Where things are: parameters in one vector, tiles in shared memory.

Numba makes a 64-bit integer of the sum of two 32-bit ones. What is divided, shifted to
the right or used as an index is cast back, which the compiler needs to see: in the
backward kernel that halved the instructions.
"""

from typing import Any

import numpy as np

from .names import int32, jit

MEAN, STD = 0.1307, 0.3081  # of MNIST's pixels, from 0 to 1
SCALE = np.float32(1 / (255 * STD))
SHIFT = np.float32(-MEAN / STD)

# the parameters of all layers but fc1's weights, one after the other
W2, B2, W1, B1 = 0, 18432, 18496, 18784
W4, B4, B3 = 18816, 20096, 20106
LOSS, RIGHT = 20234, 20235  # the sums that are counted besides: loss, right answers
SIZE = 20236
CONV = 18816  # numbers of the convolutions
HEAD = 1472  # what is left, in full columns of 64

# with batch normalisation, beta is where the bias was, and gamma comes at the end
GAMMA1, GAMMA2 = 20236, 20268
NORM_SIZE = 20332
EPS, MOMENTUM = np.float32(1e-5), np.float32(0.1)  # PyTorch's

# what the kernels of a normalised step leave for each other: the sums of `moments`, the
# second layer's mean and 1 / deviation, and the gradients of its gamma and beta
MOMENTS, MEAN2, OVER2, DGAMMA2, DBETA2 = 0, 64, 128, 192, 256
STATE = 320
RUN_MEAN1, RUN_VAR1, RUN_MEAN2, RUN_VAR2 = 0, 32, 64, 128  # averages over the steps
RUNNING = 192

PITCH = 148  # words of a filter of w2 in shared memory, 144 and 4 against conflicts


@jit
def over14(q: Any) -> Any:
    """Return q // 14 for q up to 223."""
    return int32(int32(q * int32(4682)) >> int32(16))


@jit
def over7(q: Any) -> Any:
    """Return q // 7 for q up to 223."""
    return int32(int32(q * int32(9363)) >> int32(16))


@jit
def tile_at(row: Any, piece: Any) -> Any:
    """Return the word of a piece of 16 bytes in a swizzled tile, 32 words per row."""
    return int32(row * int32(32) + ((piece ^ (row & int32(7))) << int32(2)))


@jit
def place_x1(y: Any, x: Any) -> Any:
    """Return the word of a padded pixel's first piece in x1's tile, backwards.

    16 words per pixel. Piece c is at this word XOR 4 * c: within eight neighbours along
    the pixels, no two pieces with one number share their banks.
    """
    s = int32((x & int32(8)) | ((x - int32(2) * y) & int32(7)))
    twist = int32(((s >> int32(1)) & int32(3)) << int32(2))
    return int32((int32(y * int32(16) + s) << int32(4)) + twist)


@jit
def place_dy(y: Any, x: Any) -> Any:
    """Return the same for dy's tile, 32 words per pixel."""
    twist = int32(((x - int32(2) * y) & int32(7)) << int32(2))
    return int32((int32(y * int32(16) + x) << int32(5)) + twist)


@jit
def place_window(y: Any, u: Any, odd: Any) -> Any:
    """Return the same for x1's tile in the forward pass; the column is 2 * u + odd.

    Eight neighbours along the windows do not collide.
    """
    s = int32((u - (y >> int32(1))) & int32(7))
    twist = int32(((s >> int32(1)) & int32(3)) << int32(2))
    return int32((int32(y * int32(16) + odd * int32(8) + s) << int32(4)) + twist)
