"""The kernels of chapter 22 compile for an H100, and stay in registers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft.device import toolkit

ROOT = Path(__file__).parents[1]
KERNELS = ROOT / "chapters" / "22_hopper_gemm" / "kernels.py"
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

text = open(sys.argv[2], encoding="utf-8").read()
first, last = text.index("BM, BN, DEPTH ="), text.index("def compiled(")
scope = vars(intrinsics) | dict(cuda=cuda, float32=float32, int32=int32)
scope |= dict(uint8=uint8, uint64=uint64)
exec(compile(text[first:last], "cells", "exec"), scope)
flat, words = uint8[::1], int32[:, ::1]
types = flat, flat, flat, words, int32, int32, int32, float32
for name, more in (
    ("one_pipeline", {}),
    ("warp_specialised", {"CLUSTER": 2}),
    ("warp_specialised", {"fp8": True}),
):
    named, shared = scope["sized"](scope[name], 128, 256, **more)
    assert shared <= scope["ROOM"]
    made = templates._specialised(scope[name].py_func, set(), named)
    ptx, _ = cuda.compile_ptx(made, types, cc=(9, 0, "a"))
    what = re.findall(r"wgmma.mma_async\\S+|setmaxnreg.\\w+|multicast", ptx)
    kinds = (kind in ptx for kind in ("sm_90a", ".local", ".f64"))
    print(name, *kinds, *sorted(set(what)))
"""


@pytest.mark.skipif(bool(toolkit.find().missing), reason="no CUDA compiler here")
def test_the_kernels_compile_for_hopper():
    environment = {k: v for k, v in os.environ.items() if "CUDASIM" not in k}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(ROOT), str(KERNELS)],
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
    assert done.stdout.splitlines() == [
        f"one_pipeline True False False {bf16}",
        f"warp_specialised True False False multicast {more} {bf16}",
        f"warp_specialised True False False {more} {e4m3}",
    ]
