"""Kernels that other code launches: each is simulated and checked by the sanitizer.

A host function, a PyTorch operator or a training step launches the learner's kernels.
While that code is watched, every launch in this process runs in the simulator under a
trace, even on a machine with a GPU, and is checked for the same hazards as a kernel
that is checked by itself.
"""

import contextlib
import linecache
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from weft.backend import launch_configuration, launching_method
from weft.checking.step_limit import Endless, endless
from weft.checking.verdict import Failed, Verdict
from weft.kernels import hazards
from weft.kernels.hazards import Hazard
from weft.kernels.trial import IDLE, from_fault, too_large
from weft.meaning import simulated_array, simulating, without_hint
from weft.places import Note, frame_place
from weft.simulator import Fault, LaunchError, record
from weft.simulator.host import Launcher
from weft.simulator.limits import configuration
from weft.simulator.trace.trace import Trace

Handler = Callable[[Any, Any, tuple[Any, ...]], None]

_OURS = str(Path(__file__).parents[1])


class Launches:
    """The launches of one check: how many there were, and the hazard to report."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0
        # the stream of each launch, and its line
        self.streams: list[tuple[Any, list[Note]]] = []
        self.hazard: Hazard | None = None

    @contextlib.contextmanager
    def watched(self, when: str) -> Iterator[None]:
        """Simulate launches in a `with` block. when: how a verdict names the data.

        A kernel's fault is raised at the launch. A hazard, such as a race, is kept
        instead, so that the learner's `except` cannot hide it: see `refuse_certain`.
        """

        def handle(kernel: Any, config: Any, args: tuple[Any, ...]) -> None:
            places = launched_at()
            self.streams.append((configuration(config)[2], places))
            trace = traced_launch(kernel, config, args)
            self.saw(trace, when, places)

        with intercepted(handle):
            yield

    def saw(self, trace: Trace, when: str, places: list[Note]) -> None:
        """Check a launch's trace for hazards. places: the line of the launch."""
        self.count += 1
        if self.hazard is not None and not self.hazard.secondary:
            return
        found = hazards.find(trace)
        if found is None or (self.hazard is not None and found.secondary):
            return
        own = [
            (place, ", ".join(filter(None, (note, f"in `{place.function}`"))))
            for place, note in found.verdict.places
        ]
        given = {"name": self.name, "when": when}
        verdict = found.verdict.but(places=[*own, *places], **given)
        self.hazard = Hazard(verdict, found.secondary)

    def refuse_certain(self) -> None:
        """Raise `Failed` for a hazard that explains more than a wrong result would."""
        if self.hazard is not None and not self.hazard.secondary:
            raise Failed(self.hazard.verdict)

    def refuse(self) -> None:
        """Raise `Failed` if any hazard was found."""
        if self.hazard is not None:
            raise Failed(self.hazard.verdict)

    def facts(self) -> list[str]:
        """Return what a passing check reports about the launches."""
        if not self.count:
            return []
        launches = "1 launch" if self.count == 1 else f"{self.count:,} launches"
        return [f"{launches} of kernels: every index in bounds, no race"]


@contextlib.contextmanager
def worded(
    launches: Launches,
    call: str,
    when: str,
    raised_at: Callable[[BaseException], list[Note]],
    explain: Callable[[Exception], Verdict],
) -> Iterator[None]:
    """Turn any exception from a learner's code into a verdict, raised as `Failed`.

    call: how the verdict names the call. raised_at: returns the learner's lines through
    which an error came. explain: returns the verdict on a Python exception.
    """
    name = launches.name
    try:
        yield
    except Endless as stopped:
        raise endless(name, call, stopped, when) from None
    except Fault as fault:
        launches.refuse_certain()
        places = raised_at(fault)
        if fault.kind == "launch":
            message = f"{fault.message}."
            verdict = Verdict(name, "launch", message, fault.why, places, when=when)
        else:
            launched = [(place, "launched here") for place, _ in places]
            verdict = faulted(name, fault, when, launched)
        raise Failed(verdict) from None
    except Failed:
        raise
    except Exception as error:
        launches.refuse_certain()
        raise Failed(explain(error)) from None


def faulted(name: str, fault: Fault, when: str, places: list[Note]) -> Verdict:
    """Return the verdict on a fault in a kernel that was launched at `places`."""
    verdict = from_fault(name, fault, when)
    return verdict.but(places=[*verdict.places, *places])


def traced_launch(kernel: Any, config: Any, args: tuple[Any, ...]) -> Trace:
    """Run one launch in the simulator, and copy the results back to arrays on a GPU.

    Raises `Fault` if the kernel does something wrong, and LaunchError for a launch that
    no GPU accepts or that is far too large to simulate.
    """
    grid, block, _, shared = configuration(config)
    back: list[Callable[[], Any]] = []
    given = tuple(on_host(arg, back) for arg in args)
    shapes = [a.shape for a in given if hasattr(a, "shape")]
    elements = max((int(np.prod(shape)) for shape in shapes), default=0)
    if message := too_large(grid, block, elements):
        raise LaunchError(message, IDLE)
    try:
        trace, _ = record(kernel, (grid, block, 0, shared), given)
    except Fault as fault:
        raise fault.with_traceback(None) from None
    finally:
        for copy_back in back:
            copy_back()
    return trace


def on_host(arg: Any, back: list[Callable[[], Any]]) -> Any:
    """Return `arg` in host memory, copied there if necessary.

    For each copy, appends to `back` a function that copies it back.
    """
    if isinstance(arg, tuple):
        return tuple(on_host(part, back) for part in arg)
    arg = without_hint(arg)
    if isinstance(arg, np.ndarray) or simulated_array(arg) is not None:
        return arg
    if type(arg).__module__.partition(".")[0] == "torch" and hasattr(arg, "numpy"):
        return _tensor(arg, back)
    if hasattr(arg, "__cuda_array_interface__"):
        cuda: Any = import_module("numba.cuda")
        device = cuda.as_cuda_array(arg)
        host = device.copy_to_host()
        back.append(lambda: device.copy_to_device(host))
        return host
    return arg


def _tensor(arg: Any, back: list[Callable[[], Any]]) -> Any:
    """Return a host copy of a tensor on the GPU; return any other tensor itself.

    A tensor that requires a gradient is not copied, because launches refuse it. back:
    gets a function that copies changes back to the GPU. Raises `Fault` if a kernel on a
    GPU would get a host address.
    """
    if not arg.is_cuda and not simulating():
        raise Fault(
            "type",
            "a kernel on the GPU gets a tensor that is on the CPU",
            "Numba passes its address as it is, and a GPU cannot read there. On which "
            "device are the tensors that the caller passes, and those made here?",
        )
    if not arg.is_cuda or arg.requires_grad:
        return arg
    host = arg.cpu()
    before = host.clone()

    def copy_back() -> None:
        same = (host == before) | ((host != host) & (before != before))
        if not same.all():  # an expanded tensor could not be written to as a whole
            # Through `data`, because a launch changes a tensor without autograd
            # noticing.
            arg.data.copy_(host)

    back.append(copy_back)
    return host


@contextlib.contextmanager
def intercepted(handler: Handler) -> Iterator[None]:
    """Call `handler(kernel, config, args)` for every launch within a `with` block.

    On a GPU this replaces a method of Numba's dispatcher; in the simulator, a method of
    our `Launcher`.
    """
    owner, name, call = _launching(handler)
    before = getattr(owner, name)
    setattr(owner, name, call)
    try:
        yield
    finally:
        setattr(owner, name, before)


def _launching(handler: Handler) -> tuple[Any, str, Callable[..., None]]:
    """Return the class and name of the method that launches, and its replacement."""
    if simulating():

        def simulated(launcher: Any, *args: Any) -> None:
            handler(launcher._kernel, launcher._config, args)

        return Launcher, "__call__", simulated

    def launched(kernel: Any, args: Any, *config: Any) -> None:
        handler(kernel, launch_configuration(config), tuple(args))

    return *launching_method(), launched


def launched_at() -> list[Note]:
    """Return the learner's line that is launching a kernel."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_tool(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return []
    lines = linecache.getlines(frame.f_code.co_filename)
    numbered = dict(enumerate((text.rstrip() for text in lines), 1))
    return [(frame_place(frame, numbered), "launched here")]


def _is_tool(filename: str) -> bool:
    """Return whether a file belongs to weft or Numba rather than to the learner."""
    return filename.startswith(_OURS) or "numba" in Path(filename).parts
