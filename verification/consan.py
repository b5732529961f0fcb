"""Compare the simulator's verdicts on missing waits with ConSan, on a Hopper GPU.

    python -m verification.consan --compile       # here: for sm_90, no GPU
    python -m verification.consan verification    # on an H100 or H200

ConSan is a pass of Triton's compiler, turned on by
`TRITON_INSTRUMENTATION_MODE=consan`. The kernel then tracks the copies and products
that are in flight, and asserts at each access that it is not too early. The same
mistakes are made twice: in Numba (`hopper_kernels.py`) for the simulator, and in Gluon
(`consan_kernels.py`) for ConSan.

Each kernel runs in its own process, since a failed assertion ends the CUDA context. A
line of JSON for each kernel has what ConSan reported. `consan.<gpu>.json`, beside this
file, keeps the lines, and `tests/test_consan.py` compares them with the simulator's
verdicts. Triton and PyTorch are needed; Numba and `weft` are not.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
STEPS = 4  # tiles of 64 columns, whose products are added
SECONDS = 100  # seconds, compilation included, after which a kernel counts as hanging
MODE = "TRITON_INSTRUMENTATION_MODE"
WRITES = "Buffer being accessed has outstanding writes."
READS = "Accessing buffer with pending access. Pending access type: "


@dataclass(frozen=True)
class Rule:
    """A kernel of `consan_kernels`, and the same mistake in `hopper_rules.RULES`.

    consan: the assertion that should fail, or "". simulator: the kind of our verdict,
    or "". differs: why ConSan reports nothing although we do.
    """

    kernel: str
    constants: dict[str, bool]
    ours: str
    consan: str = ""
    simulator: str = ""
    differs: str = ""


RULES = {
    "load": Rule("load_box", {"WAIT": True}, "load, swizzle 128, from (0, 0)"),
    "load, read before it has landed": Rule(
        "load_box", {"WAIT": False}, "load without a wait", WRITES, "uninitialised"
    ),
    "store": Rule("store_box", {"FENCE": True, "WAIT": True}, "store"),
    "store without a proxy fence": Rule(
        "store_box",
        {"FENCE": False, "WAIT": True},
        "store without fence_async",
        simulator="race",
        differs="Triton's compiler puts in the fence that the kernel leaves out",
    ),
    "store, overwritten before it is read": Rule(
        "store_box",
        {"FENCE": True, "WAIT": False},
        "store, overwritten before it is read",
        READS + "async_copy_shared_to_global",
        "race",
    ),
    "product": Rule("product", {"FULL": True, "DONE": True}, "product"),
    "product of tiles that have not landed": Rule(
        "product",
        {"FULL": False, "DONE": True},
        "product, no wait for the tile",
        WRITES,
        "uninitialised",
    ),
    "product, tiles replaced before they are read": Rule(
        "product",
        {"FULL": True, "DONE": False},
        "product, released before it is done",
        READS + "warpgroup_mma operand read",
        "race",
    ),
}


def _tensors(kernel: str, device: str) -> tuple[list[Any], Any]:
    """Return a kernel's arguments, and the tensor that gets its result."""
    import torch
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    layout = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)

    def described(x: Any) -> Any:
        return TensorDescriptor.from_tensor(x, [64, 64], layout)

    torch.manual_seed(5)
    a, b = (
        torch.randint(-4, 5, (64, 64 * STEPS), device=device).to(torch.bfloat16)
        for _ in "ab"
    )
    x = a[:, :64].contiguous()
    if kernel == "product":
        c = torch.zeros(64, 64, device=device)
        return [described(a), described(b), c], c
    y = torch.zeros_like(x)
    return ([described(x), y] if kernel == "load_box" else [x, described(y)]), y


def _constants(rule: Rule) -> dict[str, Any]:
    steps = {"STEPS": STEPS} if rule.kernel == "product" else {}
    return steps | rule.constants


def run(name: str) -> dict[str, Any]:
    """Run one rule's kernel on this GPU; return whether its result is right.

    A failed assertion of ConSan's ends the process.
    """
    import torch
    import triton

    from verification import consan_kernels

    rule = RULES[name]
    triton.set_allocator(  # ConSan keeps its state in global memory
        lambda size, alignment, stream: torch.empty(
            size, device="cuda", dtype=torch.int8
        )
    )
    given, out = _tensors(rule.kernel, "cuda")
    getattr(consan_kernels, rule.kernel)[(1,)](*given, **_constants(rule), num_warps=4)
    torch.cuda.synchronize()
    first, second = (getattr(each, "base", each) for each in given[:2])
    wanted = first.float() @ second.float().T if rule.kernel == "product" else first
    return {"right": torch.equal(out, wanted)}


def _apart(name: str) -> dict[str, Any]:
    """Return what ConSan reports on a rule's kernel, run in its own process."""
    command = [sys.executable, "-m", "verification.consan", "--run", name]
    with tempfile.TemporaryDirectory() as cache:
        settings = {MODE: "consan", "CUDA_LAUNCH_BLOCKING": "1"}
        settings["TRITON_CACHE_DIR"] = cache
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, cwd=ROOT, timeout=SECONDS,
                env=os.environ | settings,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return {"consan": "", "error": "it does not end"}
    said = done.stdout + done.stderr
    found = re.findall(r"Assertion [`\"'](.+?)[`\"'] failed", said)
    found = found or re.findall(rf"(?:{re.escape(WRITES)}|{READS})[^\n\"'`]*", said)
    answer: dict[str, Any] = {"consan": found[0].strip() if found else ""}
    if done.returncode == 0:
        return answer | json.loads(done.stdout.splitlines()[-1])
    if not found:
        answer["error"] = said.strip()[-600:]
    return answer


def judged(rule: Rule, found: dict[str, Any]) -> bool:
    """Return whether ConSan reported what the rule expects.

    If that is nothing, the result must be right, too.
    """
    if rule.consan:
        return bool(found["consan"].startswith(rule.consan))
    return found["consan"] == "" and bool(found.get("right"))


def on_gpu(folder: Path) -> bool:
    """Run every rule; print and write the reports. Return whether all are expected."""
    import torch
    import triton

    gpu, results = torch.cuda.get_device_name(), {}
    with ThreadPoolExecutor(len(RULES)) as processes:
        for name, found in zip(RULES, processes.map(_apart, RULES), strict=True):
            results[name] = found
            as_expected = judged(RULES[name], found)
            line = {"kernel": name, **found, "as expected": as_expected}
            print(json.dumps(line), flush=True)
    label = re.sub(r"[^A-Za-z0-9]+", "-", gpu).strip("-").lower()
    record = {"gpu": gpu, "triton": triton.__version__, "rules": results}
    path = folder / f"consan.{label}.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return all(judged(RULES[name], found) for name, found in results.items())


def compiled(name: str) -> Any:
    """Compile a rule's kernel with ConSan for sm_90, without a GPU."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.experimental.gluon._runtime import GluonASTSource
    from triton.runtime.jit import mangle_type

    from verification import consan_kernels

    rule = RULES[name]
    kernel = getattr(consan_kernels, rule.kernel)
    given, _ = _tensors(rule.kernel, "cpu")
    names, constants = [each.name for each in kernel.params], _constants(rule)
    signature = dict(zip(names, map(mangle_type, given), strict=False))
    signature |= dict.fromkeys(constants, "constexpr")
    values = {(names.index(each),): value for each, value in constants.items()}
    source = GluonASTSource(kernel, signature, values)
    before = triton.knobs.compilation.instrumentation_mode
    triton.knobs.compilation.instrumentation_mode = "consan"
    options = {"num_warps": 4, "instrumentation_mode": "consan"}
    try:
        return triton.compile(source, GPUTarget("cuda", 90, 32), options)
    finally:
        triton.knobs.compilation.instrumentation_mode = before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--run", metavar="RULE")
    given = parser.parse_args()
    if given.compile:
        for name, rule in RULES.items():
            asserts = rule.consan in compiled(name).asm["llir"]
            print(json.dumps({"kernel": name, "asserts": asserts}), flush=True)
    elif given.run:
        print(json.dumps(run(given.run)))
    elif given.folder:
        sys.exit(not on_gpu(given.folder))
    else:
        parser.error("a folder for the results, or --compile")


if __name__ == "__main__":
    main()
