"""How long a launch takes on the GPU: events, warm-up, median, spread.

One repetition: fill the L2 cache with something else, record an event, call, record an
event. The host queues the call while the GPU is still filling the cache, which is
repeated for as long as that takes: so the time between the events is the GPU's, not
Python's. Several functions are timed in turns: a clock that drifts then hits them all
alike.
"""

import math
import statistics
import time as clock
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from weft.errors import LearnerError

SHORT = 0.05  # ms: below this, starting a kernel is a visible part of its time

LEAST = 20  # repetitions, unless they take longer than LONGEST
MOST = 200
ENOUGH = 0.1  # s of one function's time after which LEAST repetitions are enough
LONGEST = 0.5  # s of one function's time
WARM = (0.03, 0.3)  # s of warm-up at least (a GPU's clock needs that to rise), at most
STEADY = 0.02  # warm when two repetitions in a row differ by less than this
COVER = 1.0  # ms of queueing that the GPU is kept busy for, at most


class CandidateError(RuntimeError):
    """A function that was to be timed raised an error; its cause is chained."""


@dataclass(frozen=True)
class Timing:
    """How long one call takes.

    ms: the median; spread: the interquartile range, in ms; reps: how many were timed.
    host: ms that the host needs to queue the call: what a launch costs in Python.
    """

    ms: float
    spread: float
    reps: int
    host: float = 0.0

    @property
    def short(self) -> bool:
        """Whether starting a kernel, a few µs on the GPU, is a visible part of ms."""
        return self.ms < SHORT

    @property
    def host_bound(self) -> bool:
        """Whether the GPU waited for the host: then ms is Python's time as well."""
        return self.host - COVER > 0.5 * self.ms


@dataclass(frozen=True)
class Sample:
    """One repetition: the GPU's time and the host's, in ms."""

    ms: float
    host: float


class Stopwatch(Protocol):
    """Times one repetition. A later one may replay a CUDA graph of many."""

    def once(self, function: Callable[[], object], host: float) -> Sample:
        """Call the function once, cold cache, and return its times.

        host: ms that it took to queue the function the last time.
        """


class EventStopwatch:
    """Times with CUDA events on PyTorch's current stream.

    Numba's default stream is the same legacy stream. Raises LearnerError where
    PyTorch cannot use the GPU.
    """

    def __init__(self) -> None:
        try:
            import torch
        except ImportError:
            raise LearnerError(
                "timing needs PyTorch, which is not installed: `make lab` installs it, "
                "or see https://pytorch.org/get-started"
            ) from None
        if not torch.cuda.is_available():
            raise LearnerError(
                f"timing needs a PyTorch that can use the GPU; {torch.__version__} "
                "cannot. Install one with CUDA: https://pytorch.org/get-started"
            )
        self._cuda: Any = torch.cuda
        l2 = torch.cuda.get_device_properties(0).L2_cache_size
        # Twice L2 evicts it; at least 128 MiB keep the GPU busy while a launch queues.
        self._evict = torch.empty(max(2 * l2, 1 << 27), dtype=torch.int8, device="cuda")
        for _ in range(3):  # the first one loads the kernel
            self._cycle = self._between(self._evict.zero_).ms

    def once(self, function: Callable[[], object], host: float) -> Sample:
        """Time one call. Any error of the call is raised here, at once."""
        wanted = min(1.5 * host, COVER)
        for _ in range(max(math.ceil(wanted / self._cycle), 1)):
            self._evict.zero_()
        return self._between(function)

    def _between(self, function: Callable[[], object]) -> Sample:
        """Call the function between two events and wait for the second."""
        start = self._cuda.Event(enable_timing=True)
        end = self._cuda.Event(enable_timing=True)
        start.record()
        begun = clock.perf_counter()
        function()
        host = clock.perf_counter() - begun
        end.record()
        end.synchronize()
        return Sample(start.elapsed_time(end), host * 1e3)


class _Run:
    """The repetitions of one function so far."""

    def __init__(self, name: str, function: Callable[[], object]) -> None:
        self.name = name
        self.function = function
        self.samples: list[Sample] = []
        self.seconds = 0.0
        self.host = 0.0

    def once(self, stopwatch: Stopwatch) -> Sample:
        try:
            sample = stopwatch.once(self.function, self.host)
        except Exception as error:
            raise CandidateError(
                f'"{self.name}" failed while it was timed: '
                f"{type(error).__name__}: {error}"
            ) from error
        self.host = sample.host
        return sample

    def warm(self, stopwatch: Stopwatch) -> None:
        """Call until the time no longer changes, within the bounds of WARM."""
        least, most = WARM
        last = self.once(stopwatch).ms  # compiles; its time says nothing
        spent = 0.0
        while spent < most:
            ms = self.once(stopwatch).ms
            spent += ms / 1e3 + 1e-4  # 0.1 ms: the eviction of L2
            if spent >= least and abs(ms - last) <= STEADY * ms:
                return
            last = ms

    def add(self, stopwatch: Stopwatch) -> None:
        sample = self.once(stopwatch)
        self.samples.append(sample)
        self.seconds += sample.ms / 1e3

    @property
    def done(self) -> bool:
        count = len(self.samples)
        if count >= LEAST:
            return self.seconds >= ENOUGH or count >= MOST
        return count >= 3 and self.seconds >= LONGEST

    def timing(self) -> Timing:
        times = [s.ms for s in self.samples]
        low, _, high = statistics.quantiles(times, n=4, method="inclusive")
        return Timing(
            statistics.median(times),
            high - low,
            len(times),
            statistics.median(s.host for s in self.samples),
        )


def measure(
    functions: Mapping[str, Callable[[], object]], stopwatch: Stopwatch
) -> dict[str, Timing]:
    """Time several functions in turns and return a Timing for each.

    20 to 200 repetitions each, fewer (3 at least) for one that takes over 25 ms, after
    a warm-up. Raises CandidateError, which names the function that failed.
    """
    runs = [_Run(name, function) for name, function in functions.items()]
    for run in runs:
        run.warm(stopwatch)
    turn = 0
    while left := [r for r in runs if not r.done]:
        shift = turn % len(left)
        for run in (*left[shift:], *left[:shift]):  # nobody is always first
            run.add(stopwatch)
        turn += 1
    return {run.name: run.timing() for run in runs}
