"""Attention on a GPU: encodes the tensor maps and launches the fast kernels."""

import math

from numba import cuda

import weft
from weft import bench
from weft.templates import large_shared, specialise

from .backward_kernels import (
    AGAIN_SHARED,
    KV_SHARED,
    Q_SHARED,
    grads_kv,
    grads_queries,
    grads_queries_again,
    row_sums,
)
from .forward_kernel import LOG2E, PART, attend, join_parts, key_sizes, short_keys

if weft.GPU:
    import torch

    from weft.stack_maps import stack_map

WIDTH = 128
SCALE128 = WIDTH**-0.5
compiled = {}


def launcher(kernel, causal, shared, arguments, **constants):
    """Return a compiled kernel, with or without a causal mask."""
    key = kernel, causal, *constants.items()
    if key not in compiled:
        made = specialise(
            kernel,
            unroll=("step",),
            launch_bounds=(384, 1),
            CAUSAL=causal,
            **constants,
        )
        compiled[key] = large_shared(made, shared, *arguments)
    return compiled[key]


def best_keys(seq, causal):
    """Return the keys per tile of the forward pass, chosen by times on an H200."""
    if causal:
        return 160 if seq >= 16384 else 128
    return 128 if 512 < seq < 2048 and seq % 128 == 0 else 160


def best_cuts(seq, causal, idle):
    """Return into how many parts to cut each tile of the last round.

    Chosen by times on an H200. idle: the share of the blocks that would have no tile in
    this round.
    """
    return 4 if seq >= 4096 and not causal and idle > 0.4 else 1


def heads_together(seq, causal):
    """Return how many heads' tiles are sorted by length together.

    Unless a single head has more, their keys and values have at most 16,384 rows each:
    8 MB, which fit into the L2 cache.
    """
    return max(1, 16384 // seq) if causal else 1


class Attention:
    """Attention of bfloat16 tensors (heads, seq, 128) on a GPU.

    It keeps everything that the kernels need for one set of tensors. keys: in a tile of
    the forward pass. cuts: see `best_cuts`. constants: other values for constants of
    `attend`.
    """

    def __init__(self, q, k, v, causal, keys=None, cuts=None, **constants):
        self.q, self.k, self.v, self.causal = q, k, v, causal
        planes, self.seq, _ = q.shape
        self.blocks = -(-self.seq // 128)
        self.planes, self.padded = planes, self.blocks * 128
        self.out = torch.empty_like(q)
        self.lse = q.new_empty(planes, self.padded, dtype=torch.float32)
        self.counter = q.new_zeros(2, dtype=torch.int32)
        keys = keys or best_keys(self.seq, causal)
        self.maps = [stack_map(q, (128, 64))]
        self.maps += [stack_map(x, (keys, 64)) for x in (k, v)]
        self.maps.append(stack_map(self.out, (64, 64)))
        sms = torch.cuda.get_device_properties(0).multi_processor_count
        tiles = self.blocks * planes
        self.grid = min(sms, tiles)
        idle = -tiles % self.grid / self.grid
        cuts = cuts or best_cuts(self.seq, causal, idle)
        cuts = min(cuts, -(-self.seq // keys))  # a part has at least one tile of keys
        self.left = tiles % self.grid if cuts > 1 else 0  # tiles that are cut
        self.parts = q.new_empty(
            max(self.left * cuts, 1), PART, 256, dtype=torch.float32
        )
        tensors = *self.maps, self.lse, self.counter, self.parts
        numbers = self.seq, planes, tiles - self.left
        array = cuda.as_cuda_array
        self.arguments = *map(array, tensors), *numbers, SCALE128 * LOG2E
        sizes, self.shared = key_sizes(keys)
        together = heads_together(self.seq, causal)
        short = short_keys(self.seq, keys, causal)
        sizes |= {"CUTS": cuts, "TOGETHER": together, "SHORT": short} | constants
        self.kernel = launcher(attend, causal, self.shared, self.arguments, **sizes)
        self.join = specialise(join_parts, CAUSAL=causal, **sizes)
        words = array(self.out.view(torch.int32))
        self.of_parts = array(self.parts), words, array(self.lse), *numbers

    def forward(self):
        """Write the output and the log-sum-exp."""
        launch = self.grid, 384, bench.stream(), self.shared
        self.kernel[launch](*self.arguments)
        if self.left:
            self.join[(self.left, 16), 256, bench.stream()](*self.of_parts)
        return self.out

    def prepare(self, g, stored=True, together=None):
        """Make room for the gradients, given that of the output.

        stored: whether dS goes through memory, seq * seq bfloat16 for each head, rather
        than being computed twice. together: see `heads_together`. If it does not divide
        the number of heads, the greatest common divisor is used.
        """
        self.g, self.stored = g, stored
        together = together or heads_together(self.seq, self.causal)
        self.together = math.gcd(together, self.planes)
        self.dq, self.dk, self.dv = (torch.empty_like(g) for _ in "qkv")
        self.delta, self.lse2 = (torch.empty_like(self.lse) for _ in "dl")
        # dS.T: for each tile of 64 queries, all keys
        tiles = -(-self.seq // 64) if stored else 1
        self.ds = g.new_empty(self.planes, tiles * self.padded, 64)
        whole = [stack_map(x, (128, 64)) for x in (self.q, self.k, self.v, g)]
        tensors = self.q, self.k, g, self.dq, self.dk, self.dv, self.ds
        half = [stack_map(x, (64, 64)) for x in tensors]
        self.maps += [*whole, *half]  # a map lives as long as this

        array = cuda.as_cuda_array
        words = [array(x.view(torch.int32)) for x in (self.out, g)]
        rows = self.lse, self.delta, self.lse2
        self.of_rows = *words, *map(array, rows), self.seq
        q, k, v, g = map(array, whole)
        half_q, half_k, half_g, dq, dk, dv, ds = map(array, half)
        scale, sizes = SCALE128 * LOG2E, (self.seq, self.padded)
        near = half_q, k, v, half_g, dk, dv, ds
        flat = array(self.lse2.view(-1)), array(self.delta.view(-1))
        self.of_kv = *near, *flat, *sizes, scale, SCALE128
        causal = self.causal
        self.kv = launcher(grads_kv, causal, KV_SHARED, self.of_kv, STORED=stored)
        if stored:
            kernel, self.q_shared, self.q_rows = grads_queries, Q_SHARED, 256
            self.of_q = ds, half_k, dq, *sizes, SCALE128
        else:
            kernel, self.q_shared, self.q_rows = grads_queries_again, AGAIN_SHARED, 128
            both = array(self.lse2), array(self.delta)
            self.of_q = q, k, v, g, dq, *both, self.seq, scale, SCALE128
        self.dq_kernel = launcher(kernel, causal, self.q_shared, self.of_q)

    def backward(self):
        """Write dq, dk and dv; `prepare` and `forward` come before."""
        stream, planes = bench.stream(), self.planes
        row_sums[(self.padded // 16, planes), 256, stream](*self.of_rows)
        heads = self.together
        grid = heads, self.blocks, planes // heads
        self.kv[grid, 384, stream, KV_SHARED](*self.of_kv)
        grid = heads, -(-self.seq // self.q_rows), planes // heads
        self.dq_kernel[grid, 384, stream, self.q_shared](*self.of_q)
        return self.dq, self.dk, self.dv
