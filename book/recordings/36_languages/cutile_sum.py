"""The sum of float32 numbers in cuTile."""

import cuda.tile as ct
import torch

TILE, BLOCKS, OCCUPANCY, TMA = 2048, 264, 2, True
ZERO = ct.PaddingMode.ZERO


@ct.kernel(occupancy=OCCUPANCY)
def add_up(x, out, TILE: ct.Constant[int]):
    acc = ct.zeros((TILE,), ct.float32)
    tiles = ct.num_tiles(x, axis=0, shape=(TILE,))
    for i in range(ct.bid(0), tiles, ct.num_blocks(0)):
        acc = acc + ct.load(
            x, index=(i,), shape=(TILE,), padding_mode=ZERO, allow_tma=TMA
        )
    ct.atomic_add(out, 0, ct.sum(acc))


def bind(x, out):
    def launch():
        out.zero_()
        stream = torch.cuda.current_stream()
        ct.launch(stream, (BLOCKS,), add_up, (x, out, TILE))

    return launch
