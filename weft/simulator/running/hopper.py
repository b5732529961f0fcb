"""Simulate Hopper: the TMA, matrix products by warpgroups, clusters, and fences."""

from weft.simulator.running.clusters import Clusters
from weft.simulator.running.phases import Phases
from weft.simulator.running.protocol import Launched
from weft.simulator.running.tensor_copies import TensorCopies
from weft.simulator.running.threads import Thread
from weft.simulator.running.warpgroups import Warpgroups


class Hopper:
    """The parts of a launch that operations of `Effect.HOPPER` receive."""

    def __init__(self, run: Launched, phases: Phases) -> None:
        self._run, self._phases = run, phases
        self.clusters = Clusters(run, phases)
        self.tensors = TensorCopies(run, phases, self.clusters)
        self.groups = Warpgroups(run)

    def fence_async(self) -> None:
        """Make the current thread's stores visible to the TMA and wgmma.

        PTX ISA, "membar/fence", `fence.proxy.async`; "Async proxy".
        """
        self._phases.fence()
        self._run.beside.fence()

    def ended(self, thread: Thread) -> None:
        """Record a thread's end. Raises `Fault` if its TMA stores still read memory."""
        self.tensors.ended(thread)
        self._run.beside.ended(thread)

    def deliver(self) -> bool:
        """Let one operation in flight complete; return whether there was one."""
        return self._phases.deliver() or self.tensors.deliver()
