"""What the compiler made of kernels: registers, local memory, blocks on an SM."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from weft.device.occupancy import occupancy

UNITS = {  # of what results say of a build, in the order of its fields
    "registers": "",
    "local memory": "B",
    "shared memory": "B",
    "blocks": "",
    "occupancy": "%",
}


class Build(NamedTuple):
    """A kernel as it was compiled last, for blocks of so many threads.

    registers, local: of a thread, local in bytes; shared: bytes of a block, without
    what is given at the launch; blocks: how many an SM holds; occupancy: which part of
    its warps those are, in %.
    """

    registers: int
    local: int
    shared: int
    blocks: int
    occupancy: int


def build_of(kernel: Any, threads: int, capability: tuple[int, int]) -> Build:
    """Return what a Numba kernel that has run was compiled to.

    Raises ValueError for a kernel that was not compiled yet.
    """
    counts = [
        list(ask().values())
        for ask in (
            kernel.get_regs_per_thread,
            kernel.get_local_mem_per_thread,
            kernel.get_shared_mem_per_block,
        )
    ]
    if not all(counts):
        raise ValueError("the kernel has not been compiled: launch it first")
    registers, local, shared = (values[-1] for values in counts)
    fits = occupancy(capability, threads, registers, shared)
    return Build(registers, local, shared, fits.blocks, round(100 * fits.share))


def rows_of(case: str, builds: Mapping[str, Build]) -> list[dict[str, Any]]:
    """Return results' rows: a case for each number, `"<case>, registers"` and so on."""
    return [
        {"case": f"{case}, {what}", "name": name, "value": value, "unit": unit}
        for name, build in builds.items()
        for (what, unit), value in zip(UNITS.items(), build, strict=True)
    ]


def from_rows(case: str, rows: list[dict[str, Any]]) -> dict[str, Build]:
    """Return the builds that `rows_of` wrote, by name."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        start, _, what = row["case"].rpartition(", ")
        if start == case and what in UNITS:
            found.setdefault(row["name"], {})[what] = row["value"]
    return {
        name: Build(*(int(values[what]) for what in UNITS))
        for name, values in found.items()
        if values.keys() == UNITS.keys()
    }


def lines(builds: Mapping[str, Build]) -> list[str]:
    """Return a table of builds, with its heading, line by line."""
    width = max(len(name) for name in builds)
    heads = ("registers", "local memory", "shared memory", "blocks an SM", "occupancy")
    wide = [len(head) + 2 for head in heads]
    table = ["".ljust(width) + "".join(map(str.rjust, heads, wide))]
    for name, build in builds.items():
        cells = (
            str(build.registers),
            f"{build.local} B",
            f"{build.shared} B",
            str(build.blocks),
            f"{build.occupancy}%",
        )
        table.append(name.ljust(width) + "".join(map(str.rjust, cells, wide)))
    return table
