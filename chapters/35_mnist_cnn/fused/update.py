"""The end of a step: add the parts of the gradients, and move the parameters."""

from typing import Any

from weft.intrinsics import bf16_pair

from .layout import B2, CONV, HEAD, LOSS
from .names import cuda, float32, int16, int32, jit, uint32

BLOCKS = (CONV + HEAD) // 64


@jit
def columns(
    c: Any,
    conv: Any,
    blocks: Any,
    parts: Any,
    heads: Any,
    theta: Any,
    w2: Any,
    stats: Any,
    rate: Any,
) -> Any:
    """Add the parts of column c of the gradients, four threads for each; move theta."""
    cells = cuda.shared.array((4, 64), float32)
    t = int32(cuda.threadIdx.x)
    col, group = int32(t & int32(63)), int32(t >> int32(6))
    total = float32(0)
    if c < int32(CONV):
        for k in range(group, int32(blocks), int32(4)):
            total += conv[uint32(int32(k) * int32(CONV) + c)]
    else:
        for k in range(group, int32(heads), int32(4)):
            total += parts[uint32(int32(k) * int32(HEAD) + c - int32(CONV))]
    cells[group, col] = total
    cuda.syncthreads()

    if group == int32(0):
        total = cells[0, col] + cells[1, col] + cells[2, col] + cells[3, col]
        if c < int32(LOSS):
            value = theta[c] - rate * total
            theta[c] = value
            if c < int32(B2):
                w2[c] = int16(bf16_pair(value, float32(0)) & int32(0xFFFF))
        elif c < int32(LOSS + 2):
            stats[c - int32(LOSS)] += total


@jit
def count_step(counter: Any, steps: Any) -> Any:
    """Go on to the next step, from the last one to the first."""
    if cuda.grid(1) == 0:
        now = int32(counter[0] + int32(1))
        counter[0] = now if now < int32(steps) else int32(0)


def update(
    conv: Any,
    blocks: Any,
    parts: Any,
    heads: Any,
    theta: Any,
    w2: Any,
    counter: Any,
    stats: Any,
    rate: Any,
    steps: Any,
) -> None:
    """Take a step of SGD, 64 parameters a block of 256 threads.

    conv (blocks, CONV) and parts (heads, HEAD): what `backward` and `head` wrote. w2: a
    copy in bfloat16. stats: gets the losses and the right answers added. counter: the
    number of the step, from 0 to steps - 1.
    """
    col = int32(cuda.threadIdx.x) & int32(63)
    c = int32(int32(cuda.blockIdx.x) * int32(64) + col)
    columns(c, conv, blocks, parts, heads, theta, w2, stats, rate)
    count_step(counter, steps)
