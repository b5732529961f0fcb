"""Read which resources compiled kernels use: registers, local memory, blocks per SM."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from weft import device, lesson
from weft.bench import results
from weft.device.occupancy import occupancy

UNITS = {  # how results describe a build's numbers, in the order of its fields
    "registers": "",
    "local memory": "B",
    "shared memory": "B",
    "blocks": "",
    "occupancy": "%",
}


class Build(NamedTuple):
    """A kernel's resources as last compiled, for a given number of threads per block.

    registers, local: registers and bytes of local memory per thread; shared: bytes of
    shared memory per block, without the launch's dynamic memory; blocks: how many
    blocks fit on an SM; occupancy: the percentage of an SM's warp slots that those
    blocks fill.
    """

    registers: int
    local: int
    shared: int
    blocks: int
    occupancy: int


def compiled(case: str, kernels: Callable[[], Mapping[str, tuple[Any, int]]]) -> None:
    """Print the resources of compiled kernels, and record them as `compare` does.

    case: what the kernels have in common, used as the key of the results. kernels: a
    function that returns name → (a kernel that has run, threads per block), and is only
    called if there is a GPU. Without a GPU, the reference GPU's numbers are printed.
    """
    lab, gpu = lesson.current(), device.find()
    if gpu.usable:
        made = {
            name: build_of(kernel, threads, gpu.capability)
            for name, (kernel, threads) in kernels().items()
        }
        if lab is not None:
            results.record(lab, rows_of(case, made))
    else:
        data = results.reference(lab) if lab is not None else None
        made = from_rows(case, data["rows"]) if data is not None else {}
        if not made:
            print("There is no GPU here, and the reference GPU has no such numbers.")
            return
        assert data is not None
        print(f"There is no GPU here. On {data['device']['name']}:")
    print("\n".join(lines(made)))


def build_of(kernel: Any, threads: int, capability: tuple[int, int]) -> Build:
    """Return the resources of a Numba kernel that has run.

    Raises ValueError for a kernel that has not been compiled yet.
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
    """Return one row for each number of each build.

    The case of a row is, for example, `"<case>, registers"`.
    """
    return [
        {"case": f"{case}, {what}", "name": name, "value": value, "unit": unit}
        for name, build in builds.items()
        for (what, unit), value in zip(UNITS.items(), build, strict=True)
    ]


def from_rows(case: str, rows: list[dict[str, Any]]) -> dict[str, Build]:
    """Return the builds of a case by name, from rows that `rows_of` made."""
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
    """Return the lines of a table of builds, with a heading."""
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
