"""c = a @ w.T in cuTile, a tile of c in each block."""

import cuda.tile as ct
import torch

TM, TN, TK, GROUP, WARPS = 128, 256, 64, 8, 8
ZERO = ct.PaddingMode.ZERO


@ct.kernel(num_worker_warps=WARPS)
def matmul(a, w, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    down, across = ct.cdiv(c.shape[0], TM), ct.cdiv(c.shape[1], TN)
    first = ct.bid(0) // (GROUP * across) * GROUP
    height = min(down - first, GROUP)
    inside = ct.bid(0) % (GROUP * across)
    i, j = first + inside % height, inside // height

    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        left = ct.load(a, index=(i, k), shape=(TM, TK), padding_mode=ZERO)
        right = ct.load(w, index=(k, j), shape=(TK, TN), order="F", padding_mode=ZERO)
        acc = ct.mma(left, right, acc)
    ct.store(c, index=(i, j), tile=acc.astype(c.dtype))


def bind(a, w, c):
    grid = (ct.cdiv(c.shape[0], TM) * ct.cdiv(c.shape[1], TN),)
    stream, given = torch.cuda.current_stream, (a, w, c, TM, TN, TK)
    return lambda: ct.launch(stream(), grid, matmul, given)
