"""The kernels of chapter 24 compile for an H100, and run in the simulator."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from weft import templates
from weft.device import toolkit
from weft.errors import LearnerError
from weft.kernels import hazards
from weft.simulator.launch import record

from numba import cuda, int32  # isort: skip

ROOT = Path(__file__).parents[1]
SCRIPT = """
import re, sys, types
package = types.ModuleType("weft")  # the package itself would choose the simulator
package.__path__ = [sys.argv[1] + "/weft"]
sys.modules["weft"] = package
from importlib import import_module
from numba import cuda, float32, int32, uint8
from weft import backend
backend.pretend_device((9, 0))
from weft import templates
backward = import_module("weft.chapters.24_attention.backward_kernels")
forward = import_module("weft.chapters.24_attention.forward_kernel")

box, rows, flat = uint8[::1], float32[:, ::1], float32[::1]
counts, parts = int32[::1], float32[:, :, ::1]
ATTEND = counts, parts, int32, int32, int32, float32
kernels = {
    "attend": (box,) * 4 + (rows, *ATTEND),
    "grads_kv": ((box,) * 7 + (flat, flat, int32, int32, float32, float32)),
    "grads_queries": ((box,) * 3 + (int32, int32, float32)),
    "grads_queries_again": ((box,) * 5 + (rows, rows, int32, float32, float32)),
}
for name, signature in kernels.items():
    kernel = getattr(forward if name == "attend" else backward, name).py_func
    made = templates._specialised(kernel, {"step"}, {"CAUSAL": True})
    ptx, _ = cuda.compile_ptx(made, signature, cc=(9, 0, "a"))
    products = len(re.findall("wgmma.mma_async", ptx))
    fences = len(re.findall("fence.proxy.tensormap::generic.acquire.sys", ptx))
    kinds = (kind in ptx for kind in ("sm_90a", ".local", ".f64"))
    print(name, products, fences, *kinds)
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
    # 8 per 128 x 128 x 128, and half of them for S.T, P.T @ g and dS.T @ q of 64 rows,
    # or for 64 keys; a fence per tensor map
    assert done.stdout.splitlines() == [
        "attend 32 4 True False False",
        "grads_kv 24 7 True False False",
        "grads_queries 8 3 True False False",
        "grads_queries_again 24 5 True False False",
    ]


def test_a_stack_of_matrices_is_contiguous():
    torch = pytest.importorskip("torch")
    from weft.stack_maps import stack_map

    whole = torch.zeros(2, 64, 128, dtype=torch.bfloat16)
    for x in (whole[0], whole[:, :, :64]):
        with pytest.raises(LearnerError, match="contiguous tensor of three axes"):
            stack_map(x, (64, 64))
    with pytest.raises(LearnerError, match="float64 is not known"):
        stack_map(torch.zeros(2, 64, 64, dtype=torch.float64), (64, 64))


@pytest.mark.long
@pytest.mark.parametrize("keys", [128, 160])
@pytest.mark.parametrize("how", ["whole", "causal", "cut"])
def test_the_forward_kernel_runs_in_the_simulator(how, keys):
    """Two heads of 200 rows, in one block: right, and with no hazard.

    Or of 400 rows, in three: the last two of eight tiles are cut in two.
    """
    torch = pytest.importorskip("torch")
    from weft.stack_maps import stack_map

    forward = import_module("weft.chapters.24_attention.forward_kernel")
    random = torch.Generator().manual_seed(1)
    causal, cut = how == "causal", how == "cut"
    seq, blocks, left = (400, 3, 2) if cut else (200, 1, 0)
    tiles = 2 * -(-seq // 128)
    q, k, v = (torch.randn(2, seq, 128, generator=random).bfloat16() for _ in "qkv")
    out, lse = torch.zeros_like(q), torch.zeros(2, 64 * tiles)
    parts = torch.zeros(2 * max(left, 1), forward.PART, 256)
    k[:, 190:200] *= 20  # the maximum grows by more than it may be too small
    boxes = (128, 64), (keys, 64), (keys, 64), (64, 64)
    maps = list(map(stack_map, (q, k, v, out), boxes))
    sizes, shared = forward.key_sizes(keys)
    kernel = forward.attend
    sizes |= {"CAUSAL": causal, "CUTS": 1 + cut}
    sizes["SHORT"] = forward.short_keys(seq, keys, causal)
    made = templates.specialise(kernel, unroll=("step",), **sizes)
    counter, scale = torch.zeros(2, dtype=torch.int32), 128**-0.5
    numbers = seq, 2, tiles - left
    args = *maps, lse, counter, parts, *numbers, scale * forward.LOG2E
    templates.large_shared(made, shared, *args)
    trace, _ = record(made, (blocks, 384, 0, shared), args)
    assert hazards.find(trace) is None
    if cut:
        join = templates.specialise(forward.join_parts, **sizes)
        rest = parts, out.view(torch.int32), lse, *numbers
        trace, _ = record(join, ((left, 16), 256), rest)
        assert hazards.find(trace) is None
    scores = q.float() @ k.float().transpose(1, 2) * scale
    if causal:
        later = torch.triu(torch.ones(seq, seq, dtype=torch.bool), 1)
        scores = scores.masked_fill(later, -torch.inf)
    wanted = torch.softmax(scores, -1) @ v.float()
    assert torch.allclose(out.float(), wanted, atol=0.02)
    assert torch.allclose(lse[:, :seq], torch.logsumexp(scores, -1), atol=1e-4)
    assert not counter.any()  # ready for the next launch


@pytest.mark.long
@pytest.mark.parametrize("causal", [False, True])
def test_the_backward_kernels_run_in_the_simulator(causal):
    """A head of 200 rows: right, and with no hazard, even if dS begins as NaN."""
    torch = pytest.importorskip("torch")
    from weft.stack_maps import stack_map

    backward = import_module("weft.chapters.24_attention.backward_kernels")
    random = torch.Generator().manual_seed(1)
    seq, padded, scale = 200, 256, 128**-0.5
    q, k, v, g = (torch.randn(1, seq, 128, generator=random).bfloat16() for _ in "qkvg")
    leaves = [x.float().requires_grad_() for x in (q, k, v)]
    scores = leaves[0] @ leaves[1].mT * scale
    if causal:
        later = torch.triu(torch.ones(seq, seq, dtype=torch.bool), 1)
        scores = scores.masked_fill(later, -torch.inf)
    out = torch.softmax(scores, -1) @ leaves[2]
    wanted = torch.autograd.grad(out, leaves, g.float())

    # rows past the end have a very large log-sum-exp
    lse, lse2 = torch.full((1, padded), 1e30), torch.zeros(1, padded)
    lse[:, :seq] = torch.logsumexp(scores, -1).detach()
    words = [x.view(torch.int32) for x in (out.detach().bfloat16(), g)]
    delta = torch.zeros(1, padded)
    backward.row_sums[(padded // 16, 1), 256](*words, lse, delta, lse2, seq)
    ds = torch.full((1, 4 * padded, 64), torch.nan).bfloat16()
    dq, dk, dv = (torch.zeros_like(q) for _ in "qkv")

    def hazard(kernel, blocks, shared, *args):
        made = templates.specialise(kernel, unroll=("step",), CAUSAL=causal)
        templates.large_shared(made, shared, *args)
        grid = 1, blocks  # a head at a time
        return hazards.find(record(made, (grid, 384, 0, shared), args)[0])

    near = [stack_map(x, (64, 64)) for x in (q, g, dk, dv, ds)]
    maps = near[0], *(stack_map(x, (128, 64)) for x in (k, v)), *near[1:]
    rows = lse2.view(-1), delta.view(-1), seq, padded, scale * backward.LOG2E, scale
    shared = backward.KV_SHARED
    assert hazard(backward.grads_kv, 2, shared, *maps, *rows) is None
    maps = near[4], stack_map(k, (64, 64)), stack_map(dq, (64, 64))
    shared = backward.Q_SHARED
    assert hazard(backward.grads_queries, 1, shared, *maps, seq, padded, scale) is None
    again = torch.zeros_like(q)
    maps = *(stack_map(x, (128, 64)) for x in (q, k, v, g)), stack_map(again, (64, 64))
    kernel, shared = backward.grads_queries_again, backward.AGAIN_SHARED
    rows = lse2, delta, seq, scale * backward.LOG2E, scale
    assert hazard(kernel, 2, shared, *maps, *rows) is None
    wanted = wanted[0], *wanted
    for got, right in zip((again, dq, dk, dv), wanted, strict=True):
        assert (got.float() - right).norm() < 4e-3 * right.norm()


kernels = import_module("weft.chapters.24_attention.kernels")
copy_words = kernels.copy_words
TILE, HW, PITCH = 16, 16, 20


@cuda.jit
def copied(x, out):
    """Copy a tile of 16 rows, and write it out."""
    tile = cuda.shared.array((TILE, PITCH), int32, alignment=16)
    block, t = int32(cuda.blockIdx.x), int32(cuda.threadIdx.x)
    copy_words(tile, x, 1, block * int32(TILE))
    cuda.syncthreads()
    for i in range(t, TILE * HW, 32):
        out[block, i // HW, i % HW] = tile[i // HW, i % HW]


def test_copies_with_all_loads_first_fill_the_same_tile():
    sizes = {"TILE": TILE, "HW": HW, "WARPS": 1, "EACH": 2, "PITCH": PITCH}
    x = np.arange(2 * 21 * 16, dtype=np.int32).reshape(2, 21, 16)

    def tile_by(copy):
        out = np.zeros((2, TILE, HW), np.int32)
        templates.specialise(copied, copy_words=copy, **sizes)[2, 32](x, out)
        return out

    ready = tile_by(kernels.copy_words)
    assert np.array_equal(tile_by(kernels.copy_words_first), ready)
    assert ready[1, 4].any()
    assert not ready[1, 5:].any()
