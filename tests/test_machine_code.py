"""What ptxas makes of kernels for an H100, where it is installed: spills, and moves."""

import os
import re
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest

from weft.device import toolkit

ROOT = Path(__file__).parents[1]
ISA = "8.6"  # of PTX: the kernels need no newer one, and old versions of ptxas know it
SCRIPT = """
import sys, types
package = types.ModuleType("weft")  # the package itself would choose the simulator
package.__path__, package.GPU = [sys.argv[1] + "/weft"], False
sys.modules["weft"] = package
from importlib import import_module
from numba import cuda, float32, int32, uint8
from weft import backend, intrinsics
backend.pretend_device((9, 0))
from weft import templates

def compiled(name, kernel, signature, threads=0, unroll=(), **constants):
    made = templates._specialised(kernel.py_func, set(unroll), constants)
    bounds = {"launch_bounds": (threads, 1)} if threads else {}
    ptx, _ = cuda.compile_ptx(made, signature, cc=(9, 0, "a"), **bounds)
    with open(f"{sys.argv[2]}/{name}.ptx", "w") as file:
        file.write(ptx)

def chapter(name):
    return import_module(f"weft.chapters.{name}")

counts, parts = int32[::1], float32[:, :, ::1]
ATTEND = counts, parts, int32, int32, int32, float32
"""
HOPPER = """
box, rows, flat = uint8[::1], float32[:, ::1], float32[::1]
forward, backward = map(chapter, ("24_attention.forward_kernel",
                                  "24_attention.backward_kernels"))
signature = (box,) * 4 + (rows, *ATTEND)
for causal in (False, True):
    for keys in (128, 160):
        name = f"attend {causal} {keys}"
        sizes = forward.key_sizes(keys)[0] | {"CAUSAL": causal, "CUTS": 4}
        compiled(name, forward.attend, signature, 384, ["step"], **sizes)
for short in (64, 96):  # keys of the last tile
    sizes = forward.key_sizes(160)[0] | {"CUTS": 4, "SHORT": short}
    name = f"attend, {short} keys last"
    compiled(name, forward.attend, signature, 384, ["step"], **sizes)
signature = (box,) * 7 + (flat, flat, int32, int32, float32, float32)
for causal in (False, True):
    name = f"grads_kv {causal}"
    compiled(name, backward.grads_kv, signature, 384, ["step"], CAUSAL=causal)
signature = (box,) * 3 + (int32, int32, float32)
compiled("grads_queries", backward.grads_queries, signature, 384, ["step"], CAUSAL=True)
signature = (box,) * 5 + (rows, rows, int32, float32, float32)
kernel = backward.grads_queries_again
compiled("grads_queries_again", kernel, signature, 384, ["step"], CAUSAL=True)

gemm = chapter("22_hopper_gemm.kernels")
signature = (box,) * 3 + (int32[:, ::1], int32, int32, int32, float32)
cluster = {"CLUSTER": 2, "GROUP": 8, "buffers": 2}
for name, bm, bn, more in (
    ("128 x 256", 128, 256, {}),
    ("cluster", 128, 256, cluster),
    ("192 x 192", 192, 192, cluster | {"buffers": 1}),
):
    named, _ = gemm.sized(gemm.warp_specialised, bm, bn, **more)
    threads = 128 * (bm // 64 + 1)
    compiled(name, gemm.warp_specialised, signature, threads, **named)
"""
ALONE = """
kernel = chapter("21_tensor_cores.kernels").mma_alone
for name in ("mma_f16", "mma_e4m3"):
    chosen = {"mma_f16": getattr(intrinsics, name)}
    compiled(name, kernel, (float32[::1], int32), **chosen)
"""


def of_triton(tool):
    found = util.find_spec("triton")
    if found is None or not found.submodule_search_locations:
        return None
    path = Path(found.submodule_search_locations[0]) / "backends/nvidia/bin" / tool
    return str(path) if path.is_file() else None


PTXAS = shutil.which("ptxas") or of_triton("ptxas")
NVDISASM = shutil.which("nvdisasm") or of_triton("nvdisasm")
needs_ptxas = pytest.mark.skipif(
    bool(toolkit.find().missing) or PTXAS is None, reason="no ptxas here"
)


def assembled(kernels, folder):
    """Compile what a script names: a name → its cubin, and what ptxas reports."""
    environment = {k: v for k, v in os.environ.items() if "SIM" not in k}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT + kernels, str(ROOT), str(folder)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = {}
    for path in folder.glob("*.ptx"):
        text = re.sub(r"(?m)^\.version .*", f".version {ISA}", path.read_text())
        path.write_text(text)
        cubin = path.with_suffix(".cubin")
        command = [PTXAS, "-arch=sm_90a", "-v", str(path), "-o", str(cubin)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        found[path.stem] = cubin, done.stderr
    return found


@pytest.mark.long
@needs_ptxas
def test_registers_suffice_within_the_loops(tmp_path):
    """A few values that the loops over tiles do not use may wait in local memory."""
    reports = {n: text for n, (_, text) in assembled(HOPPER, tmp_path).items()}
    local = {
        name: int(re.search(r"(\d+) bytes stack frame", report)[1])
        for name, report in reports.items()
    }
    assert {name for name, size in local.items() if size} <= {"192 x 192"}
    assert max(local.values()) <= 24
    assert len(local) == 13
    # products that wait for each other: C7510 and its neighbours
    assert not [name for name, report in reports.items() if "serialized" in report]


WAITS = """
box, rows = uint8[::1], float32[:, ::1]
kernel = chapter("24_attention.forward_kernel").attend
signature = (box,) * 4 + (rows, *ATTEND)
for before in (0, 1):
    compiled(f"{before}", kernel, signature, 384, ["step"], BEFORE_WAIT=before)
"""


@pytest.mark.long
@needs_ptxas
@pytest.mark.skipif(NVDISASM is None, reason="no nvdisasm here")
def test_a_branch_keeps_the_weights_of_attention_before_a_wait(tmp_path):
    """Without it, ptxas moves the second wait of a tile to before the exponentials."""
    between = {}
    for name, (cubin, _) in assembled(WAITS, tmp_path).items():
        command = [NVDISASM, "-c", str(cubin)]
        code = subprocess.run(command, capture_output=True, text=True, check=True)
        scores = code.stdout.split("WARPGROUP.DEPBAR.LE gsb0, 0x1")
        assert len(scores) == 2  # one wait leaves a group in flight: that in the loop
        between[name] = scores[1].split("WARPGROUP.DEPBAR")[0].count("MUFU.EX2")
    assert between == {"0": 0, "1": 66}


@pytest.mark.long
@needs_ptxas
@pytest.mark.skipif(NVDISASM is None, reason="no nvdisasm here")
def test_the_instruction_alone_is_alone(tmp_path):
    """Five rounds are written out: 40 products, 80 if one takes two instructions."""
    products = {"mma_f16": 40, "mma_e4m3": 80}
    for name, (cubin, _) in assembled(ALONE, tmp_path).items():
        command = [NVDISASM, "-c", str(cubin)]
        code = subprocess.run(command, capture_output=True, text=True, check=True)
        names = re.findall(r"\*/ +(?:@!?U?P\d+ )?([A-Z]\w+(?:\.MOV)?)", code.stdout)
        assert names.count("HMMA") == products[name]
        assert names.count("MOV") + names.count("IMAD.MOV") <= products[name] / 2


CLUSTER = """
from weft.intrinsics import (
    cluster_arrive, cluster_arrive_relaxed, cluster_atomic_add,
    cluster_atomic_add_int32, cluster_load, cluster_rank, cluster_size, cluster_store,
    cluster_wait,
)

@cuda.jit
def halves(x, out):
    part = cuda.shared.array(64, float32)
    bins = cuda.shared.array(64, int32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    other = (cluster_rank() + int32(1)) % cluster_size()
    part[t], bins[t] = 0, 0
    cluster_arrive()
    mine = x[i]
    cluster_wait()
    cluster_store(part, t, other, mine)
    cluster_store(part, t, other, 0)
    old = cluster_atomic_add(part, t, other, mine)
    count = cluster_atomic_add_int32(bins, t, other, t)
    cluster_arrive_relaxed()
    out[i] = old + float32(count)
    cluster_wait()
    out[i] += cluster_load(part, t, other)

compiled("halves", halves, (float32[::1], float32[::1]))
"""


@needs_ptxas
@pytest.mark.skipif(NVDISASM is None, reason="no nvdisasm here")
def test_halves_of_a_barrier_are_two_instructions(tmp_path):
    """ptxas takes each intrinsic for sm_90a, in the order in which it is written."""
    ((cubin, _),) = assembled(CLUSTER, tmp_path).values()
    ptx = cubin.with_suffix(".ptx").read_text()
    written = re.findall(
        r"barrier\.cluster[.\w]+|(?:st|ld|atom)[.\w]*\.shared::cluster[.\w]*", ptx
    )
    assert written == [
        "barrier.cluster.arrive.release.aligned",
        "barrier.cluster.wait.acquire.aligned",
        "st.shared::cluster.f32",
        "st.shared::cluster.f32",
        "atom.relaxed.cluster.shared::cluster.add.f32",
        "atom.relaxed.cluster.shared::cluster.add.s32",
        "barrier.cluster.arrive.relaxed.aligned",
        "barrier.cluster.wait.acquire.aligned",
        "ld.shared::cluster.f32",
    ]
    command = [NVDISASM, "-c", str(cubin)]
    code = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"UCGABAR_(ARV|WAIT)", code) == ["ARV", "WAIT"] * 2
