"""The properties a GPU must have to run a lab from its first cell to its last."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass

from weft import chapters, units
from weft.device.gpu import Device
from weft.wording import several

Capability = tuple[int, int]


@dataclass(frozen=True)
class GpuNeeds:
    """The table `gpu` of a lesson.

    capability: the lowest compute capability; below: the first on which the lab no
    longer runs; memory: in GB (10⁹ bytes); count: the number of GPUs; sms: the number
    of multiprocessors needed on a GPU whose capability is `sms_from` or higher, for
    kernels whose blocks wait for each other and must all fit.
    """

    capability: Capability = (0, 0)
    below: Capability = (99, 0)
    memory: int = 0
    count: int = 1
    sms: int = 0
    sms_from: Capability = (0, 0)

    def too_few_sms(self, gpu: Device) -> bool:
        """Return whether blocks that wait for each other would deadlock on this GPU."""
        return gpu.capability >= self.sms_from and gpu.sms < self.sms

    def unmet(self, gpu: Device) -> str:
        """Return why the lab cannot run on this GPU; "" if it can."""
        the = f"the {gpu.name} has"
        if not self.capability <= gpu.capability < self.below:
            end = "or higher"
            if self.below != ANY_GPU.below:
                end = f"to below {_dotted(self.below)}"
            needs = f"compute capability {_dotted(self.capability)} {end}"
            return f"it needs {needs}; {the} {_dotted(gpu.capability)}"
        if gpu.memory < self.memory * 10**9:
            return (
                f"it needs {self.memory} GB of memory; {the} {units.size(gpu.memory)}"
            )
        if gpu.count < self.count:
            return f"it needs {self.count} GPUs; this machine has {gpu.count}"
        if self.too_few_sms(gpu):
            return f"it needs {several(self.sms, 'multiprocessor')}; {the} {gpu.sms}"
        return ""


ANY_GPU = GpuNeeds()


def of_lab(lab: str) -> GpuNeeds:
    """Return a lab's GPU needs, from its lesson.toml; only `syllabus` checks them."""
    text = (chapters.folder() / lab / "lesson.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text).get("gpu", {})
    pairs = {k: tuple(v) for k, v in table.items() if isinstance(v, list)}
    return GpuNeeds(**(table | pairs))


def unmet(labs: Iterable[str], gpu: Device) -> dict[str, list[str]]:
    """Return the labs that cannot run on this GPU, grouped by reason."""
    found: dict[str, list[str]] = {}
    for lab in labs:
        if reason := of_lab(lab).unmet(gpu):
            found.setdefault(reason, []).append(lab)
    return found


def _dotted(capability: Capability) -> str:
    return f"{capability[0]}.{capability[1]}"
