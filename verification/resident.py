"""Ask the driver how many blocks of a kernel an SM holds, for many kernels and blocks.

    python -m verification.resident tests/figures/resident.sm_90.json

needs a GPU of any supported capability, and only CUDA's driver: the kernels are PTX,
which the driver compiles. Its function is
`cuOccupancyMaxActiveBlocksPerMultiprocessor`; the same function of the runtime begins
with `cuda`. The kernels differ in the registers of a thread (by how many values they
keep at once, by `.maxnreg` and by launch bounds) and in static shared memory. Each is
asked about with many block sizes, amounts of dynamic shared memory and carve-outs. All
answers are compared with `weft.device.occupancy`, and a random choice of them is kept.
"""

import argparse
import ctypes
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from weft.device import Device, ask_driver, load_driver
from weft.device.occupancy import LIMITS, Limits, occupancy

KEPT = 600
SEED = 9
# bytes; the last is the most that may be static
STATIC = (0, 4, 1000, 4096, 12_345, 32_768, 49_152)
VALUES = (2, 9, 17, 25, 33, 41, 57, 73, 89, 113, 145, 177, 209, 232)  # kept at once
CAPS = (24, 32, 40, 48, 64, 65, 80, 96, 100, 128, 168, 200, 255)  # .maxnreg
BOUNDS = (64, 96, 256, 384, 512, 768, 1024)  # .maxntid
THREADS = (1, 32, 33, 64, 96, 128, 160, 192, 256, 288, 320, 384, 480, 512, 640, 672)
THREADS += (768, 896, 992, 1000, 1024)
CARVEOUTS = (-1, 100)  # the driver's choice; as much shared memory as possible

# `cuda.h`: CU_FUNC_ATTRIBUTE_…, and the most shared memory that a block may opt in to.
MOST_THREADS, SHARED, REGISTERS, MOST_DYNAMIC, CARVEOUT = 0, 1, 4, 8, 9
OPT_IN = 97

PTX = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry kernel(.param .u64 where, .param .u32 rounds) {bounds}
{{
    .reg .u64 %p; .reg .u32 %n; .reg .pred %q; .reg .f32 %v<{values}>;
    {shared}
    ld.param.u64 %p, [where];
    ld.param.u32 %n, [rounds];
{loads}
again:
{work}
    sub.u32 %n, %n, 1;
    setp.ne.u32 %q, %n, 0;
    @%q bra again;
{stores}
    {touch}
    ret;
}}
"""


class Kind(NamedTuple):
    """How a kernel is made.

    values: floats that it keeps at once. static: bytes of static shared memory. bounds:
    a PTX directive, or "".
    """

    values: int
    static: int
    bounds: str


class Case(NamedTuple):
    """What was asked, and the number of blocks that the driver answered."""

    registers: int
    static: int
    dynamic: int
    threads: int
    blocks: int


def ptx(kind: Kind) -> str:
    """Return the PTX of a kernel that keeps a number of values at once, in a loop."""
    n = kind.values
    lanes = range(n)
    return PTX.format(
        bounds=kind.bounds,
        values=n,
        shared=f".shared .align 16 .b8 tile[{kind.static}];" if kind.static else "",
        loads="\n".join(
            f"    ld.volatile.global.f32 %v{i}, [%p+{4 * i}];" for i in lanes
        ),
        work="\n".join(
            f"    fma.rn.f32 %v{i}, %v{i}, %v{(i + 1) % n}, %v{(i + n // 2) % n};"
            for i in lanes
        ),
        stores="\n".join(f"    st.global.f32 [%p+{4 * i}], %v{i};" for i in lanes),
        touch="st.volatile.shared.u32 [tile], %n;" if kind.static else "",
    )


def kinds(choose: random.Random) -> list[Kind]:
    """Return kernels of all kinds, each with several amounts of static memory."""
    free = [(values, "") for values in VALUES]
    capped = [(232, f".maxnreg {cap}") for cap in CAPS]
    bounded = [(choose.choice(VALUES), f".maxntid {most}, 1, 1") for most in BOUNDS]
    return [
        Kind(values, static, bounds)
        for values, bounds in free + capped + bounded
        for static in (0, *choose.sample(STATIC[1:], 2))
    ]


def sizes(choose: random.Random, limits: Limits, static: int, most: int) -> set[int]:
    """Return amounts of dynamic shared memory in bytes, at most `most`.

    They are none, those at which a block fewer fits, random ones, and the most.
    """
    wanted = {0, most, *(choose.randrange(most + 1) for _ in range(6))}
    for blocks in (1, 2, 3, 5, 8, 13, 32):
        each = limits.shared // blocks // limits.shared_piece * limits.shared_piece
        last = each - limits.shared_reserved - static
        wanted |= {last, last + 1}
    return {size for size in wanted if 0 <= size <= most}


class Driver:
    """The few calls of the driver that are needed, on the first GPU."""

    def __init__(self) -> None:
        self._cuda = load_driver()
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        room = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(room), OPT_IN, device)
        self.most_shared = room.value

    def call(self, name: str, *args: Any) -> None:
        answer = getattr(self._cuda, name)(*args)
        if answer:
            raise RuntimeError(f"{name} answered {answer}")

    def kernel(self, text: str) -> ctypes.c_void_p:
        module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        image = ctypes.c_char_p(text.encode())
        self.call("cuModuleLoadDataEx", ctypes.byref(module), image, 0, None, None)
        self.call("cuModuleGetFunction", ctypes.byref(kernel), module, b"kernel")
        return kernel

    def get(self, kernel: ctypes.c_void_p, attribute: int) -> int:
        found = ctypes.c_int()
        self.call("cuFuncGetAttribute", ctypes.byref(found), attribute, kernel)
        return found.value

    def set(self, kernel: ctypes.c_void_p, attribute: int, value: int) -> None:
        self.call("cuFuncSetAttribute", kernel, attribute, value)

    def blocks(self, kernel: ctypes.c_void_p, threads: int, dynamic: int) -> int:
        found = ctypes.c_int()
        name = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        self.call(name, ctypes.byref(found), kernel, threads, ctypes.c_size_t(dynamic))
        return found.value


def asked(
    driver: Driver, limits: Limits, choose: random.Random
) -> Iterator[tuple[int, Case]]:
    """Ask about every kernel; yield (carve-out, case)."""
    for kind in kinds(choose):
        kernel = driver.kernel(ptx(kind))
        static = driver.get(kernel, SHARED)
        registers = driver.get(kernel, REGISTERS)
        most_threads = driver.get(kernel, MOST_THREADS)
        most = driver.most_shared - static
        driver.set(kernel, MOST_DYNAMIC, most)
        dynamics = sorted(sizes(choose, limits, static, most))
        for carveout in CARVEOUTS:
            driver.set(kernel, CARVEOUT, carveout)
            for threads in THREADS:
                if kind.bounds.startswith(".maxntid") and threads > most_threads:
                    continue  # the bound forbids it, even if there is room
                for dynamic in dynamics:
                    blocks = driver.blocks(kernel, threads, dynamic)
                    yield carveout, Case(registers, static, dynamic, threads, blocks)


def ours(capability: tuple[int, int], case: Case) -> int:
    shared = case.static + case.dynamic
    return occupancy(capability, case.threads, case.registers, shared).blocks


def kept(cases: list[Case], choose: random.Random) -> list[Case]:
    """Return a choice of cases in which no number of blocks is rare."""
    by_blocks: dict[int, list[Case]] = {}
    for case in sorted(set(cases)):
        by_blocks.setdefault(case.blocks, []).append(case)
    each = KEPT // len(by_blocks)
    some = [choose.sample(of, min(each, len(of))) for of in by_blocks.values()]
    return sorted(case for of in some for case in of)


def written(device: Device, cases: list[Case], count: int, differ: int) -> str:
    major, minor = device.capability
    head = {
        "device": device.name,
        "capability": f"{major}.{minor}",
        "cuda": ".".join(map(str, device.cuda)),
        "date": datetime.now(UTC).date().isoformat(),
        "asked": count,
        "differ": differ,
        "columns": Case._fields,
    }
    lines = [f"  {json.dumps(name)}: {json.dumps(head[name])},\n" for name in head]
    rows = ",\n".join(f"    {json.dumps(case)}" for case in cases)
    return "{\n" + "".join(lines) + f'  "cases": [\n{rows}\n  ]\n}}\n'


def main() -> int:
    parser = argparse.ArgumentParser(description="Ask the driver for resident blocks.")
    parser.add_argument("out", type=Path, help="the table: a file for JSON")
    args = parser.parse_args()
    device = ask_driver()
    if device.capability not in LIMITS:
        print(f"no limits known for this GPU: {device.name or device.why}")
        return 1
    choose = random.Random(SEED)
    both = list(asked(Driver(), LIMITS[device.capability], choose))
    cases = [case for _, case in both]
    wrong = [
        (c, case) for c, case in both if ours(device.capability, case) != case.blocks
    ]
    registers = sorted({case.registers for case in cases})
    print(f"{device.name}: {len(both)} answers, {len(wrong)} differ from ours")
    print(f"registers: {registers}")
    print(f"blocks: {sorted(Counter(case.blocks for case in cases).items())}")
    print(f"differ, by carve-out: {dict(Counter(carveout for carveout, _ in wrong))}")
    for carveout, case in wrong[:40]:
        print(f"  carve-out {carveout}: {case}, we say {ours(device.capability, case)}")
    chosen = kept(cases, choose)
    args.out.write_text(written(device, chosen, len(both), len(wrong)))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
