"""The kernels of chapter 22 compile for an H100, and run in the simulator."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import weft  # before Numba
from weft import meaning, templates
from weft.chapters import Chapter
from weft.device import toolkit
from weft.intrinsics import griddep_launch, griddep_wait
from weft.kernels import hazards
from weft.simulator.launch import record
from weft.tensor_maps import tensor_map

from numba import cuda  # isort: skip

ROOT = Path(__file__).parents[1]
CHAPTER = ROOT / "chapters" / "22_hopper_gemm"
SCRIPT = """
import re, sys, types
package = types.ModuleType("weft")  # the package itself would choose the simulator
package.__path__ = [sys.argv[1] + "/weft"]
sys.modules["weft"] = package
import numpy as np
from numba import cuda, float32, int32, uint8, uint64
from weft import backend
backend.pretend_device((9, 0))
from weft import intrinsics, templates

text = open(sys.argv[2] + "/kernels.py", encoding="utf-8").read()
first, last = text.index("BM, BN, DEPTH ="), text.index("def compiled(")
scope = vars(intrinsics) | dict(cuda=cuda, float32=float32, int32=int32)
scope |= dict(uint8=uint8, uint64=uint64)
exec(compile(text[first:last], "kernels", "exec"), scope)
text = open(sys.argv[2] + "/paired.py", encoding="utf-8").read()
first, last = text.index("BM, BN, DEPTH,"), text.index("def paired_gemm(")
paired = dict(scope)
exec(compile(text[first:last], "paired", "exec"), paired)
scope["paired"] = paired["paired"]
two = {"CLUSTER": 2, "buffers": 1}
turned = {"TURNED": 1, "BESIDE": 1, "TAIL": 1, "piece": 6144, "PIECE": 6144}
flat, words = uint8[::1], int32[:, ::1]
types = flat, flat, flat, words, int32, int32, int32, float32
for name, more, *size in (
    ("one_pipeline", {}),
    ("warp_specialised", {"CLUSTER": 2}),
    ("warp_specialised", {"fp8": True}),
    ("warp_specialised", {"EARLY": 1}),
    ("paired", two, 192, 200),
    ("paired", two | turned, 256, 136),
):
    named, shared = scope["sized"](scope[name], *(size or (128, 256)), **more)
    assert shared <= scope["ROOM"]
    made = templates._specialised(scope[name].py_func, set(), named)
    ptx, _ = cuda.compile_ptx(made, types, cc=(9, 0, "a"))
    sought = r"wgmma.mma_async\\S+|setmaxnreg.\\w+|multicast|griddepcontrol.\\w+"
    what = re.findall(sought, ptx)
    fences = len(re.findall("fence.proxy.tensormap::generic.acquire.sys", ptx))
    kinds = (kind in ptx for kind in ("sm_90a", ".local", ".f64"))
    print(name, fences, *kinds, *sorted(set(what)))
"""


@pytest.mark.skipif(bool(toolkit.find().missing), reason="no CUDA compiler here")
def test_the_kernels_compile_for_hopper():
    environment = {k: v for k, v in os.environ.items() if "CUDASIM" not in k}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(ROOT), str(CHAPTER)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    bf16, e4m3 = (
        f"wgmma.mma_async.sync.aligned.m64n256k{k}.f32.{kind}.{kind}"
        for k, kind in ((16, "bf16"), (32, "e4m3"))
    )
    more = "setmaxnreg.dec setmaxnreg.inc"
    early = "griddepcontrol.launch_dependents griddepcontrol.wait"
    assert done.stdout.splitlines() == [
        f"one_pipeline 2 True False False {bf16}",
        f"warp_specialised 3 True False False multicast {more} {bf16}",
        f"warp_specialised 3 True False False {more} {e4m3}",
        f"warp_specialised 3 True False False {early} {more} {bf16}",
        f"paired 3 True False False multicast {more} {bf16.replace('256', '200', 1)}",
        f"paired 3 True False False multicast {more} {bf16.replace('256', '136', 1)}",
    ]


@pytest.fixture(scope="module")
def chapter():
    return Chapter("22_hopper_gemm")


@pytest.mark.parametrize(
    ("name", "sizes", "more"),
    [
        ("one_pipeline", (100, 72, 136), {}),
        ("warp_specialised", (136, 72, 136), {"STORE_BY_TMA": 0}),
        ("warp_specialised", (136, 72, 136), {}),
        ("warp_specialised", (136, 72, 256), {"fp8": True}),
        ("warp_specialised", (136, 72, 136), {"EARLY": 1}),
        ("warp_specialised", (136, 72, 136), {"CLUSTER": 2}),
        ("warp_specialised", (200, 136, 72), {"CLUSTER": 4, "GROUP": 2}),
        ("paired", (136, 176, 72), {"bn": 72}),
        ("paired", (136, 176, 72), {"bn": 72, "BESIDE": 1, "TAIL": 1}),
        ("paired", (136, 176, 200), {"bn": 72, "TURNED": 1, "EARLY": 1}),
        ("paired", (100, 264, 72), {"bn": 88, "TURNED": 1, "TAIL": 1}),
        ("paired", (136, 176, 40), {"bn": 72, "TURNED": 1, "TAIL": 3, "BESIDE": 1}),
    ],
)
def test_the_kernels_run_in_the_simulator(chapter, name, sizes, more):
    """Ragged tiles, two stages: right, and with no hazard."""
    torch = pytest.importorskip("torch")
    pairs, turned = name == "paired", more.get("TURNED")
    kernel = getattr(chapter.paired if pairs else chapter.kernels, name)
    more = ({"CLUSTER": 2, "buffers": 1} if pairs else {}) | more
    if turned:
        groups = 2048 * chapter.paired.BOXES
        more |= {"piece": groups, "PIECE": groups}
    bn = more.pop("bn", 64)
    named, shared = chapter.kernels.sized(kernel, 64, bn, depth=2, **more)
    made = templates.specialise(kernel, **named)
    templates.large_shared(made, shared)
    m, n, k = sizes
    random = torch.Generator().manual_seed(0)
    a = torch.randint(-4, 5, (m, k), generator=random).float()
    w = torch.randint(-4, 5, (n, k), generator=random).float()
    kind = torch.float8_e4m3fn if more.get("fp8") else torch.bfloat16
    held, c = (a.to(kind), w.to(kind)), torch.full((m, n), torch.nan).bfloat16()
    cluster, line = more.get("CLUSTER", 1), named["LINE"]
    boxes = (32 if pairs else 64, line), (bn // cluster, line)
    if turned:
        held, (m, n) = held[::-1], (n, m)
    maps = [tensor_map(x, box) for x, box in zip(held, boxes, strict=True)]
    maps.append(tensor_map(c, (8 if turned else 64, 64)))
    several = name != "one_pipeline"
    grid, block = (2 * cluster, 256) if several else (-(-m // 64) * -(-n // 64), 128)
    args = *maps, c.view(torch.int32), m, n, k, 1.0
    with meaning.clustered(cluster):
        trace, _ = record(made, (grid, block, 0, shared), args)
    assert hazards.find(trace) is None
    assert torch.equal(c, (a @ w.T).bfloat16())


def test_a_launch_in_the_simulator_is_never_early():
    torch = pytest.importorskip("torch")

    @cuda.jit("void(int32[::1], int32)")
    def double(x, times):
        griddep_launch()
        griddep_wait()
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= times

    x = torch.arange(5, dtype=torch.int32)
    launch = weft.prepare(double, early=True)
    for times in (2, 3):
        launch(1, 32, x, times)
    assert x.tolist() == [0, 6, 12, 18, 24]
