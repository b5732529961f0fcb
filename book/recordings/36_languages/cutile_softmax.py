"""The softmax of rows of at most 4096 float32 numbers in cuTile."""

import cuda.tile as ct
import torch

WIDTH, OCCUPANCY, WARPS, TMA = 4096, 4, 4, False
NEG_INF = ct.PaddingMode.NEG_INF


@ct.kernel(occupancy=OCCUPANCY, num_worker_warps=WARPS)
def softmax(x, out, WIDTH: ct.Constant[int]):
    row = ct.bid(0)
    v = ct.load(
        x, index=(row, 0), shape=(1, WIDTH), padding_mode=NEG_INF, allow_tma=TMA
    )
    e = ct.exp(v - ct.max(v))
    ct.store(out, index=(row, 0), tile=e / ct.sum(e), allow_tma=TMA)


def bind(x, out):
    stream, grid = torch.cuda.current_stream, (x.shape[0],)
    return lambda: ct.launch(stream(), grid, softmax, (x, out, WIDTH))
