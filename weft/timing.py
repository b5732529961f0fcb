"""Measurement of a launch's time on the GPU: events, warm-up, median, spread.

One repetition: fill the L2 cache with something else, record an event, call, record an
event. The GPU fills the cache repeatedly, long enough for the host to queue the call
meanwhile. So the time between the events is the GPU's, not Python's. (`WallStopwatch`
times both together, `GraphStopwatch` many launches as one CUDA graph.) Several
functions are timed in turn, so that a drifting clock affects them all alike.

The cache is filled by reading. If it were filled by writing, as in Triton's `do_bench`,
it would hold data that must still be written to memory, and as much of it as L2 holds
could be written during the call. Reading completes earlier writes before the call
begins. Data that the call itself leaves in L2 are not waited for.
`python -m verification.stopwatch` counts the bytes.
"""

import math
import statistics
import time as clock
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from weft import doing
from weft.errors import LearnerError
from weft.tracebacks import undefined
from weft.wording import several

SHORT = 0.05  # ms: below this, launch overhead is a significant part of a kernel's time

LEAST = 20  # repetitions, unless they take longer than LONGEST or exceed a given most
FEW = 5  # repetitions, however long they take; with fewer, a median says little
MOST = 200
ENOUGH = 0.1  # s of one function's time after which LEAST repetitions are enough
LONGEST = 0.5  # s of one function's time
WARM = (0.03, 0.3)  # s of warm-up, least and most: a GPU's clock needs that to rise
STEADY = 0.02  # warm when two repetitions in a row differ by less than this
MARGIN = 0.1  # ms to keep the GPU busy, in addition to twice the time of queueing
COVER = 2.0  # the most ms to keep it busy
EVICT = 3  # how many times the size of L2 to read: it is not strictly LRU
READ_ROW = 8192  # floats that are added up to one
LEAST_READ = 1 << 27  # the least bytes to read, which keep a GPU with a small L2 busy

GRAPH_MS = 1.0  # ms of launches in a graph, so that starting it does not count
GRAPH_LEAST = 20  # the least launches in a graph
GRAPH_MOST = 1000
BURST_MS = 1.5  # ms of launches in a burst
PAUSE = 0.01  # the least s before a burst
PAUSES = 6  # length of the pause, in bursts
ON_STREAM = (
    "A CUDA graph holds what is launched on PyTorch's current stream: write "
    "kernel[grid, block, bench.stream()](...)"
)


class CandidateError(RuntimeError):
    """Raised if a timed function fails; its error is chained as the cause."""


@dataclass(frozen=True)
class Timing:
    """The time that one call takes.

    ms: the median. spread: the interquartile range, in ms. reps: the number of timed
    repetitions. host: the ms that the host takes to queue the call, which is what a
    launch costs in Python. whole: whether `ms` deliberately includes more than the work
    on the GPU.
    """

    ms: float
    spread: float
    reps: int
    host: float = 0.0
    whole: bool = False

    @property
    def short(self) -> bool:
        """Whether launch overhead, a few µs on the GPU, is a visible part of `ms`."""
        return self.ms < SHORT and not self.whole

    @property
    def host_bound(self) -> bool:
        """Whether the GPU waited for the host, so that `ms` includes time in Python."""
        return self.host - COVER > 0.5 * self.ms and not self.whole


@dataclass(frozen=True)
class Sample:
    """One repetition: the GPU's time and the host's, in ms."""

    ms: float
    host: float


class Stopwatch(Protocol):
    """Times one repetition."""

    def once(self, function: Callable[[], object], host: float) -> Sample:
        """Time one repetition, and return the times of one call in it.

        host: the time in ms that it took to queue the function last time.
        """


def _torch() -> Any:
    """Return PyTorch. Raises LearnerError if it is missing or cannot use the GPU."""
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
    return torch


def reader(
    torch: Any, times: float = EVICT, least: int = LEAST_READ
) -> Callable[[], object]:
    """Return a function that queues a read of `times` times the size of L2.

    least: the minimum number of bytes to read. For every 8192 floats that it reads, the
    function writes one: their sum.
    """
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    rows = math.ceil(max(times * l2, least) / (4 * READ_ROW))
    source = torch.zeros((rows, READ_ROW), dtype=torch.float32, device="cuda")
    sums = torch.empty(rows, dtype=torch.float32, device="cuda")
    return lambda: torch.sum(source, dim=1, out=sums)


class EventStopwatch:
    """Times the GPU's part of a call with CUDA events on PyTorch's current stream.

    By default, this is Numba's default stream too. Raises LearnerError if PyTorch
    cannot use the GPU.
    """

    host = False

    def __init__(self, evict: Callable[[], object] | None = None) -> None:
        """Prepare the events, and time how long it takes to empty the cache.

        evict: empties the cache; by default it is the function that `reader` returns.
        """
        torch = _torch()
        self._start, self._end = (torch.cuda.Event(enable_timing=True) for _ in "se")
        self._evict = evict or reader(torch)
        self._evict()  # loads the kernel
        cycles = []
        # at least 5 times, or a pause of the host would count as the GPU's
        for _ in range(5):
            for _ in range(4):  # a backlog, so that the next time is the GPU's alone
                self._evict()
            cycles.append(self._between(self._evict).ms)
        self._cycle = max(min(cycles), 1e-3)

    def once(self, function: Callable[[], object], host: float) -> Sample:
        """Time one call. Any error that it causes is raised immediately."""
        wanted = min(MARGIN + 2 * host, COVER)
        for _ in range(math.ceil(wanted / self._cycle)):
            self._evict()
        return self._between(function)

    def _between(self, function: Callable[[], object]) -> Sample:
        """Call the function between two events and wait for the second."""
        self._start.record()
        begun = clock.perf_counter()
        function()
        host = clock.perf_counter() - begun
        self._end.record()
        self._end.synchronize()
        return Sample(self._start.elapsed_time(self._end), host * 1e3)


class WallStopwatch:
    """A stopwatch that times calls in a loop, including the host's part.

    The cache is in the state that the previous call left. Raises LearnerError if
    PyTorch cannot use the GPU.
    """

    host = True
    whole = True

    def __init__(self) -> None:
        self._wait = _torch().cuda.synchronize
        self._last: dict[Callable[[], object], float] = {}  # ms of one call

    def once(self, function: Callable[[], object], host: float) -> Sample:
        """Time about 2 ms of calls, at most 50, and return the mean times of one."""
        last = self._last.get(function, math.inf)
        count = max(1, min(50, math.ceil(2 / last))) if last else 50
        self._wait()
        begun = clock.perf_counter()
        for _ in range(count):
            function()
        queued = clock.perf_counter() - begun
        self._wait()
        ms = (clock.perf_counter() - begun) / count * 1e3
        self._last[function] = ms
        return Sample(ms, queued / count * 1e3)


class GraphStopwatch:
    """Times the launches of a CUDA graph: the mean of many, one after another.

    It suits kernels so short that their launch would take most of the time between two
    events: a graph queues the next launch while one is running. The cache is in the
    state that the previous call left. A function must launch on PyTorch's current
    stream; for Numba's kernels that is `weft.bench.stream()`. Raises LearnerError if
    PyTorch cannot use the GPU.
    """

    host = False
    whole = True

    def __init__(self) -> None:
        self._torch = _torch()
        cuda = self._torch.cuda
        self._start, self._end = (cuda.Event(enable_timing=True) for _ in "se")
        self._graphs: dict[Callable[[], object], tuple[Any, int]] = {}
        self._busy: dict[Callable[[], object], float] = {}  # ms of a replay

    def once(self, function: Callable[[], object], host: float) -> Sample:
        """Replay the function's graph once and return the mean time of a call."""
        if function not in self._graphs:
            count = GRAPH_LEAST
            few = self._capture(function, count)
            self._replay(few)
            ms = max(self._replay(few) / count, 1e-5)
            count = max(GRAPH_LEAST, min(GRAPH_MOST, math.ceil(GRAPH_MS / ms)))
            self._graphs[function] = self._capture(function, count), count
        graph, count = self._graphs[function]
        return Sample(self._replay(graph) / count, 0.0)

    def _replay(self, graph: Any) -> float:
        """Replay a graph once; return the time in ms."""
        self._start.record()
        graph.replay()
        self._end.record()
        self._end.synchronize()
        return float(self._start.elapsed_time(self._end))

    def _capture(self, function: Callable[[], object], count: int) -> Any:
        """Capture `count` calls as a graph. Raises RuntimeError if that fails."""
        cuda = self._torch.cuda
        side = cuda.Stream()
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):  # compiles and allocates, which cannot be captured
            function()
            function()
        cuda.current_stream().wait_stream(side)
        cuda.synchronize()

        graph = cuda.CUDAGraph()
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="The CUDA Graph is empty")
            try:
                with cuda.graph(graph):
                    for _ in range(count):
                        function()
            except UserWarning:
                raise RuntimeError(f"nothing was captured. {ON_STREAM}") from None
            except Exception as error:
                raise RuntimeError(f"{error}. {ON_STREAM}") from error
        return graph


class BurstStopwatch(GraphStopwatch):
    """Times a few launches of a CUDA graph after a pause.

    It suits kernels that draw so much power that a GPU lowers its clock after a few
    milliseconds, such as a matrix product on tensor cores. Each repetition waits for
    at least PAUSES times as long as it works, then replays the graph twice, first
    untimed, then timed.

    most: the largest number of repetitions per function, which limits the time spent on
    pauses. If it is given, warm-up has no minimum duration.
    """

    def __init__(self, most: int | None = None) -> None:
        """Prepare the events. most: the largest number of repetitions per function."""
        super().__init__()
        self.most = MOST if most is None else most
        self.warm = WARM if most is None else (0.0, WARM[1])

    def once(self, function: Callable[[], object], host: float) -> Sample:
        """Pause, replay twice, and return a call's mean time in the second replay."""
        if function not in self._graphs:
            ms = max(self._replay(self._capture(function, 1)), 1e-3)
            count = max(1, math.ceil(BURST_MS / ms))
            self._graphs[function] = self._capture(function, count), count
            self._busy[function] = count * ms
        graph, count = self._graphs[function]
        clock.sleep(max(PAUSE, PAUSES * 2 * self._busy[function] / 1e3))
        graph.replay()
        return Sample(self._replay(graph) / count, 0.0)


class _Run:
    """The repetitions of one function so far."""

    def __init__(self, name: str, function: Callable[[], object], most: int) -> None:
        self.name = name
        self.function = function
        self.most = most
        self.samples: list[Sample] = []
        self.seconds = 0.0
        self.host = 0.0

    def once(self, stopwatch: Stopwatch) -> Sample:
        try:
            sample = stopwatch.once(self.function, self.host)
        except Exception as error:
            raise CandidateError(
                f'"{self.name}" failed while it was timed: '
                f"{type(error).__name__}: {error}\n{undefined(error)}".rstrip()
            ) from error
        self.host = sample.host
        return sample

    def warm(self, stopwatch: Stopwatch) -> None:
        """Call the function until its time is steady, within the stopwatch's bounds."""
        least, most = getattr(stopwatch, "warm", WARM)
        last = self.once(stopwatch).ms  # compiles; its time says nothing
        spent = 0.0
        while spent < most:
            ms = self.once(stopwatch).ms
            spent += ms / 1e3 + 1e-4  # 0.1 ms: emptying L2
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
        if count >= min(LEAST, self.most):
            return self.seconds >= ENOUGH or count >= self.most
        return count >= FEW and self.seconds >= LONGEST

    def timing(self, whole: bool) -> Timing:
        times = [s.ms for s in self.samples]
        low, _, high = statistics.quantiles(times, n=4, method="inclusive")
        return Timing(
            statistics.median(times),
            high - low,
            len(times),
            statistics.median(s.host for s in self.samples),
            whole,
        )


def measure(
    functions: Mapping[str, Callable[[], object]], stopwatch: Stopwatch
) -> dict[str, Timing]:
    """Time several functions in turn and return a Timing for each.

    After a warm-up, there are 20 to 200 repetitions of each, or fewer (at least 5) if
    one takes over 25 ms. An attribute `most` of the stopwatch replaces the limit of
    200. Raises CandidateError, which names the function that failed.
    """
    most = getattr(stopwatch, "most", MOST)
    runs = [_Run(name, function, most) for name, function in functions.items()]
    for number, run in enumerate(runs, 1):
        if len(runs) == 1:
            doing.again("measurement")
        else:
            doing.now(f"warming up {run.name}, {number} of {len(runs)}")
        run.warm(stopwatch)
    doing.now(f"timing {several(len(runs), 'function')} in turns")
    turn = 0
    while left := [r for r in runs if not r.done]:
        shift = turn % len(left)
        # rotated, so that none is always first
        for run in (*left[shift:], *left[:shift]):
            run.add(stopwatch)
        turn += 1
    whole = getattr(stopwatch, "whole", False)
    return {run.name: run.timing(whole) for run in runs}
