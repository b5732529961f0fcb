"""The end of a step with batch normalisation.

`backward` leaves S, the sum of x dz over the first layer's pixels that won, for each
tap and channel, and s, the sum of dz. The missing terms follow from the sums of
`moments`, because the layer is linear. Its output is y = w . x, so with v, the sum of
x, and M, that of products,

    sum of dz y = w . S       sum of x = v       sum of x y = M w

and the gradient of w is that of dy = a (dz - s / m - x^ sum(dz x^) / m).
"""

from typing import Any

from weft.intrinsics import load4

from .layout import B1, B2, CONV, DBETA2, DGAMMA2, GAMMA1, GAMMA2, HEAD, W1
from .moments import CELLS, first_statistics, over_deviation, taps, weighted
from .names import cuda, float32, int32, jit, uint32
from .update import columns, count_step

FILTERS = B2 // 64  # blocks for w2
BLOCKS = FILTERS + HEAD // 64 + 1
FIRST = CONV - W1  # numbers of the first layer: 9 taps and a sum for each channel
QUADS = FIRST // 4
GROUPS = 3  # rows that the last block reads at once
THIRDS = GROUPS * FIRST


@jit
def first_totals(conv: Any, blocks: Any, cells: Any) -> Any:
    """Add all blocks' parts of the first layer: cells[:FIRST]."""
    t = int32(cuda.threadIdx.x)
    group = t // int32(QUADS)
    quad = int32(t - group * int32(QUADS))
    a, b, c, d = float32(0), float32(0), float32(0), float32(0)
    if group < int32(GROUPS):
        for k in range(group, int32(blocks), int32(GROUPS)):
            at = int32(int32(int32(k) * int32(CONV)) + int32(W1) + quad * int32(4))
            e, f, g, h = load4(conv, at)
            a += e
            b += f
            c += g
            d += h
        to = int32(group * int32(FIRST) + quad * int32(4))
        cells[uint32(to)] = a
        cells[uint32(to + int32(1))] = b
        cells[uint32(to + int32(2))] = c
        cells[uint32(to + int32(3))] = d
    cuda.syncthreads()
    for k in range(2):
        at = int32(t + int32(256 * k))
        if at < int32(FIRST):
            total = cells[uint32(at)] + cells[uint32(at + int32(FIRST))]
            cells[uint32(at)] = total + cells[uint32(at + int32(2 * FIRST))]
    cuda.syncthreads()


@jit
def move_first(channel: Any, cells: Any, m: Any, theta: Any, rate: Any) -> Any:
    """Move a filter of the first layer, its gamma and its beta.

    cells: what `first_totals` wrote; m: the sums of `moments`.
    """
    w = cuda.local.array(9, float32)
    taps(theta, channel, w)
    mean, variance = first_statistics(w, m)
    over = over_deviation(variance)
    dbeta = cells[uint32(int32(288) + channel)]
    product = float32(0)
    for k in range(9):
        product += w[k] * cells[uint32(int32(32 * k) + channel)]
    dgamma = (product - mean * dbeta) * over
    gamma = theta[uint32(int32(GAMMA1) + channel)]
    shared, slope = dbeta / m[54], over * dgamma / m[54]
    for k in range(9):
        total = cells[uint32(int32(32 * k) + channel)] - shared * m[45 + k]
        total -= slope * (weighted(w, m, k) - mean * m[45 + k])
        theta[uint32(int32(W1 + 32 * k) + channel)] -= rate * gamma * over * total
    theta[uint32(int32(GAMMA1) + channel)] = gamma - rate * dgamma
    theta[uint32(int32(B1) + channel)] -= rate * dbeta


def update(
    conv: Any,
    blocks: Any,
    parts: Any,
    heads: Any,
    theta: Any,
    state: Any,
    w2: Any,
    counter: Any,
    stats: Any,
    rate: Any,
    steps: Any,
) -> None:
    """Take a step of SGD, as without normalisation; the last block moves the rest."""
    cells = cuda.shared.array(THIRDS, float32)
    m = cuda.shared.array(CELLS, float32)
    t = int32(cuda.threadIdx.x)
    block = int32(cuda.blockIdx.x)
    if block < int32(BLOCKS - 1):
        c = int32(block * int32(64) + (t & int32(63)))
        c = c if block < int32(FILTERS) else int32(c + int32(CONV - B2))
        columns(c, conv, blocks, parts, heads, theta, w2, stats, rate)
        count_step(counter, steps)
    else:
        if t < int32(CELLS):
            m[uint32(t)] = state[uint32(t)]
        first_totals(conv, blocks, cells)
        if t < int32(32):
            move_first(t, cells, m, theta, rate)
        elif int32(64) <= t and t < int32(128):
            at = int32(t - int32(64))
            to = uint32(int32(GAMMA2) + at)
            theta[to] -= rate * state[uint32(int32(DGAMMA2) + at)]
            to = uint32(int32(B2) + at)
            theta[to] -= rate * state[uint32(int32(DBETA2) + at)]
