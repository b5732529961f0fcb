"""Decoding on a GPU: a cache, the fast kernel, and the learner's."""

import functools
import math

import numpy as np
from numba import cuda, float32

import weft
from weft import bench
from weft.templates import specialise

from .cache import plan
from .decode_kernel import decode, merge
from .kernels import TILE, WARPS, WIDE, wide_group

if weft.GPU:
    import torch

HEADS, KV_HEADS = 32, 8
SCALE2 = math.log2(math.e) * WIDE**-0.5  # scores to base 2
FULL_SM = 32  # blocks of one warp that an SM can run
LEARNERS_ROWS = 8  # threads per column of `merge_slices`


def sms():
    """Return the number of SMs of the GPU."""
    return torch.cuda.get_device_properties(0).multi_processor_count


def words(tensor):
    """Return rows of `WIDE` float16 as words, for a kernel."""
    return cuda.as_cuda_array(tensor.view(torch.int32).view(-1, WIDE // 2))


class Layer:
    """The queries and the cache of one layer.

    q: (seqs, heads, WIDE); k, v: (seqs, kv_heads, longest, WIDE), float16. What is
    beyond a sequence's length is there, and does not count.
    """

    def __init__(self, lengths, heads=HEADS, kv_heads=KV_HEADS):
        self.lengths, longest = lengths, max(lengths)
        shape = len(lengths), kv_heads, longest, WIDE
        options = {"device": "cuda", "dtype": torch.float16}
        self.q = torch.randn(len(lengths), heads, WIDE, **options)
        self.k, self.v = (torch.randn(shape, **options) for _ in "kv")
        self.heads, self.kv_heads, self.longest = heads, kv_heads, longest
        self.used = torch.tensor(lengths, device="cuda", dtype=torch.int32)

    def whole(self):
        """Return k and v as they are, and a table with one long page per sequence."""
        table = torch.arange(len(self.lengths), device="cuda", dtype=torch.int32)
        return self.k, self.v, table[:, None].contiguous(), self.longest

    @functools.cached_property
    def in_pages(self):
        """k and v in pages of 16 keys, in random order, and the table."""
        return *paged(self, TILE), TILE


def paged(layer, size, keys_first=False):
    """Return k and v in pages of `size` keys, and the table, int32 (seqs, pages).

    Pages are (kv_heads, size, WIDE), with `keys_first` (size, kv_heads, WIDE).
    """
    counts = [-(-n // size) for n in layer.lengths]
    order = np.random.default_rng(37).permutation(sum(counts))
    table = np.zeros((len(counts), max(counts)), np.int32)
    ends = np.cumsum(counts)
    pools = []
    for x in (layer.k, layer.v):
        shape = (size, layer.kv_heads) if keys_first else (layer.kv_heads, size)
        pool = x.new_zeros(len(order), *shape, WIDE)
        for seq, (end, count) in enumerate(zip(ends, counts, strict=True)):
            mine = order[end - count : end]
            table[seq, :count] = mine
            padded = x.new_zeros(layer.kv_heads, count * size, WIDE)
            kept = min(count * size, layer.longest)
            padded[:, :kept] = x[seq, :, :kept]
            pages = padded.view(layer.kv_heads, count, size, WIDE)
            axes = (1, 2, 0, 3) if keys_first else (1, 0, 2, 3)
            pool[torch.from_numpy(mine).cuda()] = pages.permute(axes)
        pools.append(pool)
    return *pools, torch.from_numpy(table).cuda()


@functools.cache
def compiled(kernel, launch_bounds=None, **constants):
    """Return a kernel with these constants, the same one every time."""
    return specialise(kernel, launch_bounds=launch_bounds, **constants)


def rows_of_128(kernel, **constants):
    """Return an exercise's kernel for rows of `WIDE` numbers."""
    scale = float32(WIDE**-0.5)
    return compiled(kernel, D=WIDE, COLS=WIDE // 32, SCALE=scale, **constants)


class Decoder:
    """`decode` for one layer: the plan, the memory that it needs, and the launch."""

    def __init__(self, layer, cache, ahead=True, last_merges=True, blocks=None):
        """cache: k, v, table and keys per page. blocks: by default one per SM."""
        self.layer = layer
        k, v, table, page = cache
        group = layer.heads // layer.kv_heads
        self.blocks, self.last_merges = blocks or sms(), last_merges
        self.warps = WARPS if group <= 4 else WARPS * 2 // 3  # 48 KB hold 8 queries'
        self.plan = plan(layer.lengths, layer.kv_heads, self.blocks)
        rows = max(self.plan.parts, 1) * group
        self.out = torch.empty_like(layer.q)
        parts = torch.empty(rows, WIDE, device="cuda")
        tops = torch.empty(rows, 2, device="cuda")
        arrived = torch.zeros(len(self.plan.heads), device="cuda", dtype=torch.int32)
        self.kept = k, v, table, parts, tops, arrived
        array = cuda.as_cuda_array
        pieces, first, heads = (
            cuda.to_device(x)
            for x in (self.plan.pieces, self.plan.first, self.plan.heads)
        )
        shared = array(parts), array(tops)
        self.arguments = (
            *(words(layer.q), words(k), words(v), array(table), pieces, first),
            *(np.int32(layer.kv_heads), float32(SCALE2)),
            *(*shared, array(arrived), words(self.out)),
        )
        self.to_merge = *shared, heads, words(self.out)
        bounds, sizes = (32 * self.warps, 1), {"GROUP": group, "WARPS": self.warps}
        flags = {"AHEAD": ahead, "LAST_MERGES": last_merges}
        self.kernel = compiled(decode, bounds, PAGE=page, **sizes, **flags)
        self.merge = compiled(merge, bounds, **sizes)

    def run(self):
        """Attend, and return the output (seqs, heads, WIDE)."""
        threads, stream = 32 * self.warps, bench.stream()
        self.kernel[self.blocks, threads, stream](*self.arguments)
        if not self.last_merges:
            self.merge[len(self.plan.heads), threads, stream](*self.to_merge)
        return self.out


class Learners:
    """The kernels of the exercises for one layer, in rows of 128 float16.

    slices: of each sequence, by default as many as fill the GPU with one warp each.
    """

    def __init__(self, layer, per_head, merge_slices, slices=None):
        """per_head: heads for which a block of its own reads the keys."""
        seqs = len(layer.lengths)
        self.slices = slices or max(1, sms() * FULL_SM // (per_head * seqs))
        self.layer, self.seqs, self.per_head = layer, seqs, per_head
        shape = seqs, layer.heads, self.slices
        self.tops, self.weights = (torch.empty(shape, device="cuda") for _ in "tw")
        self.totals = torch.empty(*shape, WIDE, device="cuda")
        self.q, self.out = layer.q.float(), torch.empty_like(layer.q, dtype=torch.float)
        array = cuda.as_cuda_array
        self.results = tuple(map(array, (self.tops, self.weights, self.totals)))
        self.to_merge = *self.results, array(self.out)
        self.merge = compiled(merge_slices, D=WIDE, ROWS=LEARNERS_ROWS)

    def launch(self, kernel, *arguments):
        """Run a kernel that attends to slices, merge, and return the output."""
        stream = bench.stream()
        kernel[(self.slices, self.per_head, self.seqs), 32, stream](
            *arguments, *self.results
        )
        grid, block = (self.layer.heads, self.seqs), (WIDE, LEARNERS_ROWS)
        self.merge[grid, block, stream](*self.to_merge)
        return self.out


def one_by_one(layers, one_query):
    """Return exercise 2 for layers of one sequence, each head with its own keys."""
    kernel, array, group = rows_of_128(one_query), cuda.as_cuda_array, HEADS // KV_HEADS
    k, v = (x[0].repeat_interleave(group, 0) for x in (layers[0].k, layers[0].v))
    q, out = layers[0].q[0].float(), torch.empty(HEADS, WIDE, device="cuda")
    arguments = array(q), array(k), array(v), array(out)

    def run():
        for _ in layers:
            kernel[HEADS, 32, bench.stream()](*arguments)
        return out

    return run


def apart(layer, split_keys, merge_slices, slices=None):
    """Return exercises 3 and 4 for one sequence; each query head reads its keys.

    For the kernel, the queries of a group are those of other sequences, with the same
    keys.
    """
    group = layer.heads // layer.kv_heads
    others = Layer.__new__(Layer)
    others.lengths, others.heads = layer.lengths * group, layer.kv_heads
    others.q = layer.q.view(layer.kv_heads, group, WIDE).transpose(0, 1).contiguous()
    mine = Learners(others, layer.kv_heads, merge_slices, slices)
    kernel, array = rows_of_128(split_keys), cuda.as_cuda_array
    k, v = (x.expand(group, -1, -1, -1) for x in (layer.k, layer.v))
    used = layer.used.expand(group).contiguous()
    arguments = array(mine.q), array(k), array(v), array(used), mine.slices

    def run():
        out = mine.launch(kernel, *arguments)
        return out.transpose(0, 1).reshape(1, layer.heads, WIDE)

    return run


def shared(layer, cache, paged_group, merge_slices):
    """Return exercises 5 and 4 for one layer. cache: as for `Decoder`."""
    k, v, table, page = cache
    group = layer.heads // layer.kv_heads
    mine = Learners(layer, layer.kv_heads, merge_slices)
    kernel, array = rows_of_128(paged_group, GROUP=group, PAGE=page), cuda.as_cuda_array
    paged_kv = (array(x.view(-1, layer.kv_heads, page, WIDE)) for x in (k, v))
    rest = array(table), array(layer.used), mine.slices
    arguments = array(mine.q), *paged_kv, *rest
    return lambda: mine.launch(kernel, *arguments)


def wide(layer, cache, merge_slices):
    """Return `wide_group` and exercise 4 for one layer."""
    k, v, table, page = cache
    mine = Learners(layer, layer.kv_heads, merge_slices)
    group, array = layer.heads // layer.kv_heads, cuda.as_cuda_array
    kernel = compiled(wide_group, GROUP=group, PAGE=page)
    kept = words(layer.q), words(k), words(v), array(table), array(layer.used)
    arguments = *kept, float32(SCALE2)
    return lambda: mine.launch(kernel, *arguments)
