"""The fast kernels of chapter 37 compile for an H100, and run in the simulator."""

import math
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from weft import templates
from weft.device import toolkit
from weft.kernels import hazards
from weft.simulator.launch import record

from numba import float32, int32  # isort: skip

ROOT = Path(__file__).parents[1]
cache = import_module("weft.chapters.37_decoding.cache")
fast = import_module("weft.chapters.37_decoding.decode_kernel")
kernels = import_module("weft.chapters.37_decoding.kernels")
WIDE = kernels.WIDE
TWO_LAUNCHES = {"AHEAD": False, "LAST_MERGES": False}
SCRIPT = """
import re, sys, types
package = types.ModuleType("weft")  # the package itself would choose the simulator
package.__path__ = [sys.argv[1] + "/weft"]
sys.modules["weft"] = package
from importlib import import_module
from numba import cuda, float32, int32
from weft import backend
backend.pretend_device((9, 0))
from weft import templates
fast = import_module("weft.chapters.37_decoding.decode_kernel")
kernels = import_module("weft.chapters.37_decoding.kernels")

words, flat, row = int32[:, ::1], int32[::1], float32[:, ::1]
planes, cube = float32[:, :, ::1], float32[:, :, :, ::1]
sizes = {"GROUP": 4, "PAGE": 16}
for kernel, signature in (
    (fast.decode, (*(words,) * 5, flat, int32, float32, row, row, flat, words)),
    (fast.merge, (row, row, words, words)),
    (kernels.wide_group, (*(words,) * 4, flat, float32, planes, planes, cube)),
):
    made = templates._specialised(kernel.py_func, set(), sizes)
    ptx, _ = cuda.compile_ptx(made, signature, cc=(9, 0, "a"))
    found = len(re.findall("mma.sync", ptx)), len(re.findall("nc.v4", ptx))
    print(made.__name__, *found, *(kind in ptx for kind in (".local", ".f64")))
"""


@pytest.mark.skipif(bool(toolkit.find().missing), reason="no CUDA compiler here")
def test_the_kernels_compile_for_hopper():
    environment = {k: v for k, v in os.environ.items() if "CUDASIM" not in k}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(ROOT)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    # 16 products for the scores of 16 keys, 8 for their values; queries take 4 loads,
    # and each of the two places that load a tile 16
    assert done.stdout.splitlines() == [
        "decode 24 36 False False",
        "merge 0 0 False False",
        "wide_group 0 12 False False",
    ]


def words(x):
    return np.ascontiguousarray(x.astype(np.float16)).view(np.int32).reshape(-1, 64)


def made(lengths, kv_heads, group, page):
    """Return q, k and v as words, the table, and the output in float64.

    Behind the last key of each sequence is NaN, in a page that is used.
    """
    rng = np.random.default_rng(1)
    counts = [-(-n // page) for n in lengths]
    pages = rng.permutation(sum(counts))
    table = np.full((len(lengths), max(counts)), 10**6, np.int32)
    k, v = rng.normal(0, 1, (2, len(pages), kv_heads, page, WIDE)).astype(np.float16)
    q = rng.normal(0, 2, (len(lengths), kv_heads, group, WIDE)).astype(np.float16)
    out = np.empty(q.shape)
    for seq, (n, end) in enumerate(zip(lengths, np.cumsum(counts), strict=True)):
        mine = pages[end - counts[seq] : end]
        table[seq, : counts[seq]] = mine
        for x in (k, v):
            x[mine[-1], :, n - (counts[seq] - 1) * page :] = np.nan
        for head in range(kv_heads):
            keys, values = (
                x[mine, head].reshape(-1, WIDE)[:n].astype("f8") for x in (k, v)
            )
            p = np.exp(q[seq, head].astype("f8") @ keys.T / math.sqrt(WIDE))
            out[seq, head] = p / p.sum(axis=1, keepdims=True) @ values
    return words(q), words(k), words(v), table, out.reshape(-1, WIDE)


@pytest.mark.parametrize(
    ("lengths", "group", "page", "blocks", "flags"),
    [
        ([70, 17, 1], 4, 16, 3, {}),
        pytest.param([70, 33], 2, 32, 5, TWO_LAUNCHES, marks=pytest.mark.long),
        pytest.param([40], 8, 64, 1, {}, marks=pytest.mark.long),
    ],
)
def test_decode_is_right_and_has_no_hazard(lengths, group, page, blocks, flags):
    kv_heads, warps = 1, 2
    q, k, v, table, right = made(lengths, kv_heads, group, page)
    plan = cache.plan(lengths, kv_heads, blocks)
    rows = max(plan.parts, 1) * group
    parts, tops = np.full((rows, WIDE), np.nan, "f4"), np.full((rows, 2), np.nan, "f4")
    arrived = np.zeros(len(plan.heads), "i4")
    out = np.full((len(right), WIDE // 2), 0x7E007E00, "i4")
    sizes = {"GROUP": group, "WARPS": warps}
    kernel = templates.specialise(fast.decode, PAGE=page, **sizes, **flags)
    scale = float32(math.log2(math.e) / math.sqrt(WIDE))
    cached = q, k, v, table, plan.pieces, plan.first, int32(kv_heads), scale
    launch = blocks, 32 * warps
    trace, _ = record(kernel, launch, (*cached, parts, tops, arrived, out))
    assert hazards.find(trace) is None
    if flags:
        merge = templates.specialise(fast.merge, **sizes)
        merge[len(plan.heads), 32 * warps](parts, tops, plan.heads, out)
    assert not arrived.any()
    assert np.allclose(out.view(np.float16), right, atol=2e-3)


def test_wide_group_leaves_what_exercise_4_merges():
    lengths, kv_heads, group, slices = [37, 5], 1, 4, 3
    q, k, v, table, right = made(lengths, kv_heads, group, 16)
    shape = len(lengths), kv_heads * group, slices
    tops, weights = np.full((2, *shape), np.nan, "f4")
    totals = np.full((*shape, WIDE), np.nan, "f4")
    kernel = templates.specialise(kernels.wide_group, GROUP=group, PAGE=16)
    scale = float32(math.log2(math.e) / math.sqrt(WIDE))
    args = q, k, v, table, np.array(lengths, "i4"), scale, tops, weights, totals
    trace, _ = record(kernel, ((slices, kv_heads, len(lengths)), 32), args)
    assert hazards.find(trace) is None
    factor = np.exp(tops - tops.max(axis=2, keepdims=True))
    out = (factor[..., None] * totals).sum(axis=2)
    out /= (factor * weights).sum(axis=2)[..., None]
    assert np.allclose(out.reshape(-1, WIDE), right, atol=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_a_plan_has_every_key_once_and_equal_shares(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 300, rng.integers(1, 9))
    kv_heads, blocks = int(rng.integers(1, 4)), int(rng.integers(1, 40))
    plan = cache.plan(lengths, kv_heads, blocks)
    keys = [np.zeros((kv_heads, n), int) for n in lengths]
    parts = np.zeros(plan.parts, int)
    for seq, head, start, stop, base, part, count in plan.pieces:
        assert start % kernels.TILE == 0
        keys[seq][head, start:stop] += 1
        assert list(plan.heads[seq * kv_heads + head]) == [base, count]
        if count > 1:
            parts[base + part] += 1
    assert all((each == 1).all() for each in keys)
    assert (parts == 1).all()
    tiles = -(-(plan.pieces[:, 3] - plan.pieces[:, 2]) // kernels.TILE)
    assert len(plan.first) == blocks + 1
    ends = zip(plan.first[:-1], plan.first[1:], strict=True)
    shares = [tiles[a:b].sum() for a, b in ends]
    assert sum(shares) == tiles.sum()
    assert max(shares) - min(shares) <= 1
