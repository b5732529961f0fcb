"""A softmax, with its backward pass, for float32, bfloat16 and rows of any length.

Which kernel is used? For a row of up to 2 KB, it is a warp per row. For up to 32,768
elements, it is a block per row, with the numbers of threads and pieces that were
fastest when we tried them. For longer rows, it is as many blocks as needed, of 256
threads with 19 fours each (float32) or 16 (bfloat16), which is up to 76 or 64 KB per
block. With 64 registers per thread, four such blocks share an SM. If this took fewer
than five waves (`FEW`), and the row consists of whole pieces of 16 KB, teams are used
instead, in blocks of 128 threads with 8 fours each. GPUs before Ampere have no
`copy4_async`: there, a block keeps its piece in registers alone, and there are no
teams.
"""

import functools

import numpy as np
from numba import cuda

import weft
from weft import bench

from .backward_kernels import block_backward, many_backward, warp_backward
from .kernels import softmax_online
from .long_rows import cut, many_kernel, team_kernel
from .short_rows import block_kernel, warp_kernel

FORWARD = {  # words of 4 bytes per row -> pieces and threads
    False: {512: (4, 32), 1024: (4, 64), 4096: (8, 128), 8192: (2, 1024)}
    | {16384: (8, 512), 32768: (8, 1024)},
    True: {512: (4, 32), 2048: (4, 128), 4096: (2, 512), 8192: (4, 512)}
    | {16384: (4, 1024)},
}
BACKWARD = {
    False: {1024: (8, 32), 4096: (4, 256), 8192: (4, 512), 16384: (4, 1024)},
    True: {512: (4, 32), 2048: (2, 256), 4096: (2, 512), 8192: (4, 512)},
}
# beyond: fours held and kept, threads, registers, blocks on an SM
LONG = {False: (8, 11, 256, 64, 4), True: (8, 8, 256, 64, 4)}
LONG_BACKWARD = dict.fromkeys((False, True), (4, 5, 256, 64, 4))
if weft.GPU and weft.device.find().capability < (8, 0):
    LONG[False] = 14, 0, 256, 80, 3
    LONG_BACKWARD[False] = 7, 0, 256, 80, 3
TEAM = 8, 128, 128, 4  # fours, threads, registers, blocks on an SM
FEW = 5  # rounds
SMS = weft.device.find().sms or 1


def plan(table, words, half):
    """Return how to compute rows of that many words: kind, pieces, threads."""
    for span, (pieces, threads) in table[half].items():
        if words <= span:
            if threads == 32:
                return "warp", -(-words // 128), 32
            return "block", pieces, threads
    return "many", None, None


@functools.cache
def kernel_for(make, *how):
    """Return a kernel, made once."""
    return make(*how)


@functools.cache
def meeting_place(rows, pieces, *whose):
    """Return the words and counters through which blocks meet, all 0.

    A kernel has its own for each way to cut: others' words would mislead it.
    """
    words = cuda.to_device(np.zeros((rows, pieces), np.uint64))
    return words, cuda.to_device(np.zeros(3, np.uint32))


def launch_many(make, how, in_step, ticket, *arrays):
    """Launch a kernel for rows that several blocks hold."""
    rows, words = arrays[0].shape
    half = arrays[0].dtype == np.int32
    held, kept, threads, registers, layers = how
    span = 4 * (held + kept) * threads
    # Rows in step: as if there were always room for all of them.
    places = rows * words if in_step else layers * SMS
    cuts = cut(rows, words, span, places, layers)
    *_, block, row, pieces = cuts
    place = meeting_place(rows, max(cuts[2::3]), make, half, how, cuts, ticket)
    kernel = kernel_for(make, half, held, kept, threads, registers, ticket)
    grid = block + (rows - row) * pieces
    kernel[grid, threads, bench.stream()](*arrays, *place, cuts)


def launch_teams(how, places, x, out):
    """Launch a persistent kernel, with as many blocks as there are places."""
    rows, words = x.shape
    half = x.dtype == np.int32
    fours, threads, registers, _ = how
    size = words // (4 * fours * threads)
    number = min(rows, places // size)
    place = meeting_place(rows, size, team_kernel, half, how, number)
    kernel = kernel_for(team_kernel, half, fours, threads, registers)
    kernel[size * number, threads, bench.stream()](x, out, *place, number)


def suits_teams(x):
    """Whether rows that several blocks hold are few, and fill their pieces."""
    rows, words = x.shape
    held, kept, threads, _, layers = LONG[x.dtype == np.int32]
    rounds = rows * words / (4 * (held + kept) * threads * layers * SMS)
    piece, places = 4 * TEAM[0] * TEAM[1], SMS * TEAM[3]
    fits = words % piece == 0 and words // piece <= places
    return kept > 0 and fits and rounds < FEW


def launch(makers, table, long, ticket, *arrays):
    """Launch the kernel that the table names for rows of this length."""
    rows, words = arrays[0].shape
    half = arrays[0].dtype == np.int32
    if words % 4:
        raise ValueError(f"rows of {4 * words} bytes; a multiple of 16, please")
    kind, pieces, threads = plan(table, words, half)
    if kind == "many":
        launch_many(makers[kind], long[half], False, ticket, *arrays)
        return
    whole = words % (4 * pieces * threads) == 0
    kernel = kernel_for(makers[kind], half, pieces, threads, whole)
    if kind == "block":
        kernel[rows, threads, bench.stream()](*arrays)
    else:
        kernel[-(-rows // 4), (32, 4), bench.stream()](*arrays)


def softmax(x, out, ticket=False):
    """Write the softmax of each row of x into out.

    x, out: float32, or int32 that hold two bfloat16 each; on the GPU.
    """
    if x.shape[1] % 4 and x.dtype == np.float32:
        softmax_online[x.shape[0], 256](x, out)  # rows begin anywhere
        return
    kind, *_ = plan(FORWARD, x.shape[1], x.dtype == np.int32)
    if kind == "many" and not ticket and suits_teams(x):
        launch_teams(TEAM, SMS * TEAM[3], x, out)
        return
    makers = {"warp": warp_kernel, "block": block_kernel, "many": many_kernel}
    launch(makers, FORWARD, LONG, ticket, x, out)


def backward(y, dy, dx, ticket=False):
    """Write the gradient of the softmax's input into dx; see softmax."""
    makers = {"warp": warp_backward, "block": block_backward}
    makers |= {"many": many_backward}
    launch(makers, BACKWARD, LONG_BACKWARD, ticket, y, dy, dx)


def long_kernels():
    """Return the kernels for long rows that have run, and their threads."""
    found = {}
    for half, kind in ((False, "float32"), (True, "bfloat16")):
        for back, (make, how) in {
            "forward": (many_kernel, LONG),
            "backward": (many_backward, LONG_BACKWARD),
        }.items():
            *parts, _ = how[half]
            kernel = kernel_for(make, half, *parts, False)
            found[f"{kind}, {back}"] = kernel, parts[2]
        kernel = kernel_for(team_kernel, half, *TEAM[:3])
        found[f"{kind}, teams"] = kernel, TEAM[1]
    return found
