"""The measurements of chapter 37. Each function times, and returns a table.

A row is a CUDA graph of one decoding step: the attention of a few layers, each with its
own cache, so that no layer finds its keys in L2. Without a GPU, the tables show what
the reference GPU measured.
"""

import numpy as np

import weft
from weft import bench

from .kernels import WIDE
from .libraries import available, graphed, of_any_length, uniform
from .serving import KV_HEADS, Decoder, Layer, apart, one_by_one, shared, wide

if weft.GPU:
    import torch

LONGEST = 8192  # keys of a ragged sequence


def cache_bytes(lengths, layers):
    """Return the bytes of the keys and values of all layers."""
    return layers * sum(lengths) * 2 * KV_HEADS * WIDE * 2


def make_layers(lengths, count):
    """Return so many layers, with the same random numbers in every run."""
    torch.manual_seed(37)
    torch.cuda.empty_cache()
    return [Layer(lengths) for _ in range(count)]


def wanted(layer):
    """Return the output of the first and the last sequence, in float64."""
    found = []
    for seq in (0, -1):
        n, heads = layer.lengths[seq], (layer.kv_heads, -1, WIDE)
        k, v = (x[seq, :, :n].double() for x in (layer.k, layer.v))
        s = layer.q[seq].double().view(heads) @ k.mT * WIDE**-0.5
        found.append((torch.softmax(s, dim=-1) @ v).view(layer.heads, WIDE))
    return torch.stack(found)


def read(lengths, layers):
    """Return a sum over as many bytes as the caches have."""
    numbers = torch.ones(cache_bytes(lengths, layers) // 4, device="cuda")
    return lambda: numbers.sum()


def rows_of(layers, right, **steps):
    """Return the graphs of our kernels. steps: a function of a layer for each row."""
    return {
        name.replace("_", " "): graphed([make(layer) for layer in layers], right)
        for name, make in steps.items()
    }


def ladder(one_query, split_keys, merge_slices, paged_group, guess=None):
    """Time the learner's kernels, the fast ones and PyTorch's, for one sequence."""
    lengths, count = [32768], 4

    def rungs():
        layers = make_layers(lengths, count)
        right = wanted(layers[0])
        alone = one_by_one(layers, one_query)
        ours = rows_of(
            layers,
            right,
            split=lambda x: apart(x, split_keys, merge_slices),
            shared=lambda x: shared(x, x.whole(), paged_group, merge_slices),
            paged=lambda x: shared(x, x.in_pages, paged_group, merge_slices),
            wide_loads=lambda x: wide(x, x.in_pages, merge_slices),
            tensor_cores=lambda x: Decoder(x, x.in_pages, False, False).run,
            loads_ahead=lambda x: Decoder(x, x.in_pages, True, False).run,
            one_launch=lambda x: Decoder(x, x.in_pages).run,
        )
        first = {"read": read(lengths, count)}
        first["one warp per head"] = graphed([alone], right[:1].expand(2, -1, -1))
        return first | ours | available(uniform(layers), right)

    return bench.compare(
        "one sequence of 32768 keys",
        rungs,
        baseline="flash",
        bytes=cache_bytes(lengths, count),
        ceiling="read",
        guess=guess,
    )


def slices(split_keys, merge_slices, guess=None):
    """Time exercises 3 and 4 with more and more slices."""
    lengths, count = [32768], 4

    def numbers():
        layers = make_layers(lengths, count)
        right = wanted(layers[0])
        return {
            f"{n} slices": graphed(
                [apart(x, split_keys, merge_slices, n) for x in layers], right
            )
            for n in (8, 16, 32, 64, 128, 256, 512, 1024)
        }

    return bench.compare(
        "slices of 32768 keys",
        numbers,
        baseline="8 slices",
        bytes=cache_bytes(lengths, count),
        guess=guess,
    )


def batch_of(seqs, keys, count, paged_group, merge_slices):
    """Compare kernels for sequences of one length."""
    lengths = [keys] * seqs

    def candidates():
        layers = make_layers(lengths, count)
        right = wanted(layers[0])
        ours = rows_of(
            layers,
            right,
            yours=lambda x: shared(x, x.in_pages, paged_group, merge_slices),
            contiguous=lambda x: Decoder(x, x.whole()).run,
            paged=lambda x: Decoder(x, x.in_pages).run,
        )
        first = {"read": read(lengths, count)}
        return first | ours | available(uniform(layers), right)

    return bench.compare(
        f"{seqs} x {keys} keys",
        candidates,
        baseline="flash",
        bytes=cache_bytes(lengths, count),
        ceiling="read",
    )


def batches(paged_group, merge_slices):
    """Compare kernels for several batches; return a table for each."""
    return {
        (seqs, keys): batch_of(seqs, keys, count, paged_group, merge_slices)
        for seqs, keys, count in ((1, 4096, 32), (8, 4096, 4), (64, 4096, 1))
    }


def ragged_lengths():
    """Return the lengths of 64 sequences, from 128 to 8192 keys."""
    rng = np.random.default_rng(37)
    return [int(n) for n in np.exp2(rng.uniform(7, 13, 63))] + [LONGEST]


def ragged(paged_group, merge_slices, guess=None):
    """Compare kernels for sequences of different lengths."""
    lengths, count = ragged_lengths(), 2

    def candidates():
        layers = make_layers(lengths, count)
        right = wanted(layers[0])
        ours = rows_of(
            layers,
            right,
            yours=lambda x: shared(x, x.in_pages, paged_group, merge_slices),
            paged=lambda x: Decoder(x, x.in_pages).run,
        )
        first = {"read": read(lengths, count)}
        return first | ours | available(of_any_length(layers), right)

    return bench.compare(
        "64 ragged sequences",
        candidates,
        baseline="padded, masked",
        bytes=cache_bytes(lengths, count),
        ceiling="read",
        guess=guess,
    )
