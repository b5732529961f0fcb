"""Kernels of the learner's in the step: what each replaces, and what it is given.

    Fused(..., kernels={"head": head, "update": update, "conv_pool": conv_pool})

`head` and `update` replace the kernels of these names. `conv_pool`, which does the
second layer, replaces `forward`, together with `first_layer` before it and `packed`
after it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from weft.errors import LearnerError
from weft.intrinsics import bf16_low, bf16_pair
from weft.meaning import python_function

from ..kernels import to_words
from .kernels import launch_of
from .layout import B1, B2, B3, B4, CONV, HEAD, LOSS, SCALE, SHIFT, W1, W4
from .names import Function, cuda, float32, int32, uint32

Calls = list[Callable[[], None]]
NAMES = {"head": "head", "update": "update", "conv_pool": "forward"}
WIDTH = 128  # threads of a block of the kernels below

_I, _F, _MATRIX = "int32[::1]", "float32[::1]", "float32[:, ::1]"
_FOUR = "[:, :, :, ::1]"
TYPES = {
    "head": f"float32[:, :, ::1],{_F},{_MATRIX},{_F},uint8[::1],{_I},{_I},{_MATRIX},"
    f"{_MATRIX}",
    "to_words": f"{_F},{_I}",
    "update": f"{_MATRIX},{_MATRIX},float32,int32,{_F},int16[::1],{_I}",
    "first_layer": f"{_I},{_I},{_I},{_F},{_I},{_I},int32",
    "conv_pool": f"int32{_FOUR},int32[:, :, ::1],{_F},float32{_FOUR},uint8{_FOUR}",
    "packed": f"{_F},uint8[::1],{_I},{_I}",
}


def first_layer(
    data: Any, order: Any, counter: Any, theta: Any, x1: Any, won: Any, count: Any
) -> None:
    """Convolve, pool and write what `forward` does of the first layer.

    One thread does eight channels of a window. Pixels and filters are rounded to
    bfloat16, as in `forward`.
    """
    at = int32(cuda.grid(1))
    if at >= int32(count) * int32(784):
        return
    channel = int32((at & int32(3)) * int32(8))
    window = int32(at >> int32(2))
    n = int32(window // int32(196))
    i = int32(int32(window // int32(14)) % int32(14))
    j = int32(window % int32(14))
    image = int32(order[uint32(int32(counter[0] * int32(count)) + n)] * int32(196))

    pixels = cuda.local.array((4, 4), float32)
    totals = cuda.local.array(4, float32)
    words = cuda.local.array(4, int32)
    for row in range(4):
        for col in range(4):
            y = int32(int32(2) * i + int32(row - 1))
            x = int32(int32(2) * j + int32(col - 1))
            value = float32(0)
            if int32(0) <= y and y < int32(28) and int32(0) <= x and x < int32(28):
                word = data[uint32(image + y * int32(7) + (x >> int32(2)))]
                byte = int32((word >> (int32(8) * (x & int32(3)))) & int32(255))
                value = float32(byte) * SCALE + SHIFT
            pixels[row, col] = bf16_low(bf16_pair(value, value))

    winners = int32(0)
    for k in range(8):
        for pixel in range(4):
            totals[pixel] = theta[uint32(int32(B1) + channel + int32(k))]
        for tap in range(9):
            weight = theta[uint32(int32(W1 + 32 * tap + k) + channel)]
            weight = bf16_low(bf16_pair(weight, weight))
            for pixel in range(4):
                row, col = pixel // 2 + tap // 3, pixel % 2 + tap % 3
                totals[pixel] += pixels[row, col] * weight
        best, winner = float32(0), int32(4)
        for pixel in range(4):
            if totals[pixel] > best:
                best, winner = totals[pixel], int32(pixel)
        winners = int32(winners | (winner << int32(4 * k)))
        if k % 2 == 0:
            words[k // 2] = bf16_pair(best, float32(0))
        else:
            words[k // 2] = bf16_pair(bf16_low(words[k // 2]), best)
    for k in range(4):
        x1[uint32(at * int32(4) + int32(k))] = words[k]
    won[uint32(at)] = winners


def packed(y: Any, won: Any, words: Any, winners: Any) -> None:
    """Round y to bfloat16 words, and put eight winners into a word."""
    at = int32(cuda.grid(1))
    if at < winners.size:
        found = int32(0)
        for k in range(8):
            winner = int32(won[uint32(at * int32(8) + int32(k))])
            found = int32(found | (winner << int32(4 * k)))
        winners[uint32(at)] = found
        for k in range(4):
            pair = uint32(at * int32(8) + int32(2 * k))
            words[uint32(at * int32(4) + int32(k))] = bf16_pair(y[pair], y[pair + 1])


def refuse(kernels: Mapping[str, Any], norm: bool) -> None:
    """Raise LearnerError for kernels that have no place in the step."""
    for name in kernels:
        if name not in NAMES:
            raise LearnerError(f"no kernel {name!r}: there are {', '.join(NAMES)}")
        if norm and name != "head":
            raise LearnerError(f"with batch normalisation, {name} is another kernel")


def function_of(kernel: Any) -> Function:
    """Return the Python function of a kernel, to be compiled for the step's types."""
    found = python_function(kernel)
    if found is None:
        raise LearnerError(f"{kernel!r} is no kernel")
    return found


def replaced(net: Any, name: str, kernel: Any) -> Callable[[], None]:
    """Return the launches that `kernel` and what it needs are in the step."""
    calls = {"head": _head, "update": _update, "conv_pool": _conv_pool}[name](
        net, function_of(kernel)
    )

    def launch() -> None:
        for call in calls:
            call()

    return launch


def _call(
    name: str, function: Function, grid: Any, block: int, *given: Any
) -> Callable[[], None]:
    launch = launch_of(name, (function, TYPES[name], (block, 1), 0))
    return lambda: launch(grid, block, *given)


def _threads(count: int) -> tuple[int, int]:
    return -(-count // WIDTH), WIDTH


def _head(net: Any, function: Function) -> Calls:
    """One warp per image: see `head` in the lab."""
    n, theta = net.count, net.theta
    dh = net.numbers_of("dh", n * 128)
    given = (
        net.part.view(net.slices, n, 128),
        theta[B3:LOSS],
        theta[W4:B4].view(10, 128),
        theta[B4:B3],
        *(net.labels, net.order, net.counter, dh.view(n, 128)),
        net.parts.view(n, HEAD),
    )
    words = *_threads(n * 64), dh, net.dh
    return [
        _call("head", function, n, 32, *given),
        _call("to_words", function_of(to_words), *words),
    ]


def _update(net: Any, function: Function) -> Calls:
    """One thread per parameter: see `update` in the lab."""
    given = (
        net.conv.view(net.blocks, CONV),
        net.parts.view(net.heads, HEAD),
        *(net.rate, net.steps, net.theta[:LOSS]),
        *(net.w2.view(net.torch.int16), net.counter),
    )
    return [_call("update", function, *_threads(LOSS), *given)]


def _conv_pool(net: Any, function: Function) -> Calls:
    """One warp per eight windows and eight filters: see `conv_pool` in the lab."""
    n, torch = net.count, net.torch
    y = net.numbers_of("y", n * 3136)
    won = net.numbers_of("won", n * 3136, torch.uint8)
    batch = net.images, net.order, net.counter, net.theta
    first = *_threads(n * 784), *batch, net.x1, net.win1, n
    given = (
        net.x1.view(n, 14, 14, 16),
        net.w2.view(torch.int32).view(64, 9, 16),
        *(net.theta[B2:W1], y.view(n, 7, 7, 64), won.view(n, 7, 7, 64)),
    )
    last = *_threads(n * 392), y, won, net.x2, net.win2
    return [
        _call("first_layer", first_layer, *first),
        _call("conv_pool", function, (-(-n * 49 // 8), 8), 32, *given),
        _call("packed", packed, *last),
    ]
