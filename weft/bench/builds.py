"""What the compiler made of kernels: registers, local memory, blocks on an SM."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from weft.device.occupancy import occupancy

UNITS = {"local memory": "B", "shared memory": "B", "occupancy": "%"}


class Build(NamedTuple):
    """A kernel as it was compiled last, for blocks of so many threads.

    registers, local: of a thread, local in bytes; shared: bytes of a block, without
    what is given at the launch; blocks: how many an SM holds; share: of its warps.
    """

    registers: int
    local: int
    shared: int
    blocks: int
    share: float


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
    return Build(registers, local, shared, fits.blocks, fits.share)


def rows_of(case: str, builds: Mapping[str, Build]) -> list[dict[str, Any]]:
    """Return results' rows: a case for each number, `"<case>, registers"` and so on."""
    return [
        {
            "case": f"{case}, {what}",
            "name": name,
            "value": value,
            "unit": UNITS.get(what, ""),
        }
        for name, build in builds.items()
        for what, value in (
            ("registers", build.registers),
            ("local memory", build.local),
            ("shared memory", build.shared),
            ("blocks", build.blocks),
            ("occupancy", round(100 * build.share)),
        )
    ]


def from_rows(case: str, rows: list[dict[str, Any]]) -> dict[str, Build]:
    """Return the builds that `rows_of` wrote, by name."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        start, _, what = row["case"].rpartition(", ")
        if start == case:
            found.setdefault(row["name"], {})[what] = row["value"]
    return {
        name: Build(
            int(values["registers"]),
            int(values["local memory"]),
            int(values["shared memory"]),
            int(values["blocks"]),
            values["occupancy"] / 100,
        )
        for name, values in found.items()
        if len(values) == 5
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
            f"{build.share:.0%}",
        )
        table.append(name.ljust(width) + "".join(map(str.rjust, cells, wide)))
    return table
