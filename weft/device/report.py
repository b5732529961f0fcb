"""The doctor's report: what this machine has, what it lacks, and what to do."""

import html
import platform
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from weft import chapters, markup, store, units
from weft import versions as installed
from weft.device import for_triton, needs, rates, toolkit, tools
from weft.device.gpu import Device, driver_version, find
from weft.errors import LearnerError
from weft.wording import Words, joined, sentence, several

ROOM = 5e9  # bytes of free disk space below which an installation is likely to fail

PACKAGES = (
    "numba", "numba-cuda", "numpy", "torch", "triton", "jupyterlab",
)  # fmt: skip


words = Words(__file__)


@dataclass(frozen=True)
class Item:
    """One line of the report.

    state: "ok", "info", or "missing", in which case `note` says what to do.
    """

    what: str
    found: str
    note: str = ""
    state: str = "ok"


def _lacking(what: str, found: str, row: str, **told: str) -> Item:
    """Return the line for something missing or wrong, with the note in `row`."""
    return Item(what, found, **words(row, **told))


@dataclass(frozen=True, repr=False)
class Report:
    """The findings of `doctor`, shown as HTML in a notebook and as text elsewhere."""

    device: Device
    items: tuple[Item, ...]

    @property
    def missing(self) -> list[Item]:
        """The lines that require action."""
        return [i for i in self.items if i.state == "missing"]

    @property
    def summary(self) -> str:
        where = (
            f"Kernels run on the {self.device.name}."
            if self.device.usable
            else "Kernels run in the simulator: checks and counters are real, times "
            "are the reference GPU's."
        )
        count = len(self.missing)
        if not count:
            return f"{where} Nothing is missing."
        return f"{where} {several(count, 'thing')} to look at, marked ✗."

    def __repr__(self) -> str:
        width = max(len(i.what) for i in self.items)
        lines = [self.summary, ""]
        for i in self.items:
            lines.append(f"{_marks[i.state]} {i.what:<{width}}  {i.found}".rstrip())
            if i.note:
                lines.append(f"{'':<{width + 4}}{markup.plain(i.note)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = []
        for i in self.items:
            text = markup.inline(i.found)
            if i.note:
                text += f'<div style="{markup.MUTED}">{markup.inline(i.note)}</div>'
            mark = f'<span title="{i.state}">{_marks[i.state]}</span>'
            rows.append((f"{mark}&nbsp;{html.escape(i.what)}", text))
        return markup.block(
            [
                '<p style="margin:.3em 0;font-weight:600">'
                f"{markup.inline(self.summary)}</p>",
                markup.table(("what", "found"), rows),
            ],
            label="Doctor: what this machine has",
        )


_marks = {"ok": "✓", "missing": "✗", "info": "·"}


def examine(
    measure: bool = True,
    *,
    gpu: Device | None = None,
    pieces: toolkit.Toolkit | None = None,
    versions: Mapping[str, str] | None = None,
    which: tools.Which = shutil.which,
) -> Report:
    """Return a report on this machine.

    measure: whether to measure its speed. The keyword arguments replace what would be
    found on this machine.
    """
    gpu = gpu or find()
    found = {p: installed.of(p) for p in PACKAGES} if versions is None else versions
    items = [
        Item("Warp & Weft", installed.__version__),
        _kernels(gpu),
        _driver(gpu),
        _compilers(gpu, pieces or toolkit.find()),
        *_capabilities(gpu),
        *_labs(gpu),
        _python(),
        *_packages(gpu, found),
        *_tools(gpu, which),
        _disk(),
    ]
    if measure:
        items.append(_measured())
    return Report(gpu, tuple(items))


def _kernels(gpu: Device) -> Item:
    if gpu.usable:
        room = f"{units.size(gpu.memory)} of memory, {gpu.l2 >> 20} MiB of L2"
        return Item("kernels run on", f"{gpu.line}, {room}")
    return Item(
        "kernels run on",
        f"the simulator: {gpu.why}",
        gpu.advice,
        "info" if gpu.unasked or gpu.no_driver else "missing",
    )


def _driver(gpu: Device) -> Item:
    if gpu.cuda == (0, 0):
        found = "not asked" if gpu.unasked else "none"
        return Item("driver", found, "", "info")
    version = driver_version() or "of unknown version"
    return Item("driver", f"{version}, supports CUDA {gpu.cuda[0]}.{gpu.cuda[1]}")


def _compilers(gpu: Device, pieces: toolkit.Toolkit) -> Item:
    name = "CUDA compilers"
    if pieces.missing:
        wanted = gpu.cuda != (0, 0)
        found = f"no {', '.join(pieces.missing)}"
        if wanted:
            return Item(name, found, state="missing")
        return _lacking(name, found, "no-need", advice=toolkit.INSTALL)
    version = f"CUDA {pieces.major}" if pieces.major else "found"
    folder = pieces.nvrtc.parent if pieces.nvrtc is not None else ""
    return Item(name, f"{version}, {folder}")


def permits(capability: tuple[int, int]) -> tuple[list[str], list[str]]:
    """Return the features that a compute capability permits, and those that it lacks.

    The sources are NVIDIA's CUDA C++ Programming Guide, "Compute Capabilities", and the
    support statements of Triton and CUTLASS. The whole list is on the book's page on
    GPU support.
    """
    features = [
        ("Numba, CUDA C++ and CuPy", capability >= (7, 5)),
        ("fp16 tensor cores", capability >= (7, 5)),
        ("bf16 and TF32 tensor cores, `cp.async`", capability >= (8, 0)),
        ("Triton (29_triton)", capability >= for_triton.OLDEST),
        ("CuTe DSL (20_layouts, 22_hopper_gemm)", capability >= (8, 0)),
        ("fp8 tensor cores", capability >= (8, 9)),
        ("TMA and clusters (22_hopper_gemm)", capability >= (9, 0)),
        ("`wgmma` (22_hopper_gemm; Hopper alone has it)", capability[0] == 9),
    ]
    return [f for f, has in features if has], [f for f, has in features if not has]


def _capabilities(gpu: Device) -> list[Item]:
    if gpu.capability == (0, 0):
        return []
    can, cannot = permits(gpu.capability)
    items = [Item(f"{gpu.sm} can run", "; ".join(can) or "none of the labs")]
    if cannot:
        items.append(_lacking(f"{gpu.sm} cannot", "; ".join(cannot), "cannot"))
    return items


def _labs(gpu: Device) -> list[Item]:
    """Return a list with one line about the labs that this GPU cannot run, or []."""
    if not gpu.usable:
        return []
    found = needs.unmet(chapters.names(), gpu)
    if not found:
        return []
    reasons = [
        f"{joined(lab.split('_')[0] for lab in labs)}: {reason}"
        for reason, labs in found.items()
    ]
    return [_lacking("labs it cannot run", "; ".join(reasons), "labs")]


def _python() -> Item:
    version = platform.python_version()
    if (3, 11) <= sys.version_info[:2] <= (3, 14):
        return Item("Python", version)
    return _lacking("Python", version, "python")


def _packages(gpu: Device, versions: Mapping[str, str]) -> list[Item]:
    """Return a line for each package, with what to do about an unsuitable one."""
    items = []
    for package in PACKAGES:
        version = versions.get(package, "")
        item = Item(package, version) if version else _absent(package, gpu)
        if package == "numpy" and _numbers(version) >= (2, 5):
            item = _lacking(package, version, "new-numpy")
        if package == "torch" and gpu.usable and version.endswith("+cpu"):
            item = _lacking(package, version, "cpu-torch")
        items.append(item)
    return items


def _numbers(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version: "2.4.6" → (2, 4)."""
    return tuple(int(n) for n in re.findall(r"\d+", version)[:2])


def _absent(package: str, gpu: Device) -> Item:
    """Return the line for a package that is not installed."""
    if package == "triton":
        item = _lacking(package, "not installed", package, advice=for_triton.advice())
        needed = gpu.usable and gpu.capability >= for_triton.OLDEST
        return replace(item, state="missing") if needed else item
    simulated = not gpu.usable and gpu.cuda == (0, 0)
    row = "without-numba-cuda" if package == "numba-cuda" and simulated else package
    return _lacking(package, "not installed", row)


def _tools(gpu: Device, which: tools.Which) -> list[Item]:
    """Return a line for each tool that is missing here, with the labs that need it."""
    return [
        Item(
            one.tool.name,
            "not found",
            sentence(str(one)),
            "missing" if one.tool.stops and gpu.usable else "info",
        )
        for one in tools.missing(chapters.names(), gpu.usable, which)
    ]


def _disk() -> Item:
    folder = store.root() or Path.home()
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return Item("free disk", "unknown", "", "info")
    if free >= ROOM:
        return Item("free disk", units.size(free))
    return _lacking("free disk", units.size(free), "little-room")


def _measured() -> Item:
    try:
        limits = rates.of_this_machine()
    except LearnerError as error:
        return Item("measured", "nothing", str(error), "missing")
    except RuntimeError as error:  # such as a GPU that is out of memory
        return Item("measured", "nothing", str(error).splitlines()[0], "missing")
    note = "" if limits.on_gpu else f"of the processor, with NumPy ({limits.name})"
    return Item("measured", str(limits), note)
