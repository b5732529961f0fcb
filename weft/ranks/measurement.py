"""Measurements on several GPUs: one launch of the processes measures many rows.

    def sums(dist, log):
        x = torch.ones(1 << 20, device="cuda")
        log.time("all-reduce, 4 MiB", "NCCL", lambda: dist.all_reduce(x))

    two = measured(sums, ranks=2)
    two.compare("all-reduce, 4 MiB", bytes=x.nbytes)

With fewer GPUs than ranks nothing is launched, and the measurements of the reference
machine are shown.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from weft import device, lesson
from weft.bench import compare, recorded, results
from weft.bench.comparison import Comparison
from weft.bench.table import Table
from weft.ranks.processes import launch
from weft.timing import Sample
from weft.wording import several

CALLS = 10  # between two events, so that starting the first hardly counts
REPEATS = 21
WARM = 3

Measure = Callable[[Any, "Log"], None]


class Log:
    """The measurements of one rank.

    All ranks make the same calls, but only rank 0's log is used.

    times: case → name → ms per call, in each sample. values: case → name → number.
    """

    def __init__(self, dist: Any) -> None:
        self._dist = dist
        self.times: dict[str, dict[str, list[float]]] = {}
        self.values: dict[str, dict[str, float]] = {}

    def time(
        self,
        case: str,
        name: str,
        function: Callable[[], object],
        *,
        calls: int = CALLS,
        repeats: int = REPEATS,
        graph: bool = False,
    ) -> None:
        """Time a function that every rank calls.

        One sample is the mean of `calls` calls, between two events on this rank's GPU;
        all ranks begin the calls together. graph: whether to time a CUDA graph of the
        calls, which leaves out the host's part.
        """
        import torch

        for _ in range(WARM):
            function()
        run = captured(function, calls) if graph else looped(function, calls)
        run()
        event: Any = torch.cuda.Event
        start, end = (event(enable_timing=True) for _ in range(2))
        samples = self.times.setdefault(case, {}).setdefault(name, [])
        for _ in range(repeats):
            torch.cuda.synchronize()
            self._dist.barrier()
            torch.cuda.synchronize()
            start.record()
            run()
            end.record()
            end.synchronize()
            samples.append(start.elapsed_time(end) / calls)

    def value(self, case: str, name: str, value: float) -> None:
        """Record a number that is not a time."""
        self.values.setdefault(case, {})[name] = value


def looped(function: Callable[[], object], calls: int) -> Callable[[], None]:
    """Return a function that calls `function` `calls` times."""

    def run() -> None:
        for _ in range(calls):
            function()

    return run


def captured(function: Callable[[], object], calls: int) -> Callable[[], None]:
    """Return a function that replays a CUDA graph of `calls` calls to `function`."""
    import torch

    side: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # allocates, which cannot be captured
        function()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # NCCL's own thread queries events while this one captures.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        for _ in range(calls):
            function()
    return graph.replay


class Measured:
    """The measurements of a function on several GPUs, made here or recorded."""

    def __init__(self, function: Measure, ranks: int, seconds: float) -> None:
        self.function, self.ranks, self.seconds = function, ranks, seconds
        self._found: Log | None = None

    @property
    def missing(self) -> str:
        """The reason why this machine cannot measure, or "" if it can."""
        if not device.find().usable:
            return "No GPU here"
        import torch

        gpus = torch.cuda.device_count()
        if gpus >= self.ranks:
            return ""
        need = f"This takes {several(self.ranks, 'GPU')}, one for each rank"
        return f"{need}, and here {'is' if gpus == 1 else 'are'} {gpus}"

    def found(self, again: bool = False) -> Log:
        """Return rank 0's log; launch the processes on the first call or if `again`."""
        if self._found is None or again:
            given = [(self.function,)] * self.ranks
            self._found = launch(logged, given, "nccl", self.seconds)[0]
        return self._found

    def compare(
        self,
        case: str,
        *,
        baseline: str | None = None,
        bytes: float | None = None,
        flops: float | None = None,
        guess: Mapping[str, float | None] | None = None,
        unsteady: str = "",
    ) -> Table:
        """Return the table of a case. The arguments are those of `bench.compare`."""
        if self.missing:
            work, unit = (flops, "FLOP") if flops is not None else (bytes, "B")
            unit = unit if work is not None else ""
            asked = Comparison(case, work, unit, baseline or "", guess=guess or {})
            return recorded.instead(asked, None, lesson.current(), self.missing)
        watch = Samples()

        def rows() -> dict[str, Callable[[], list[float]]]:
            log = self.found(again=watch.used)
            return {
                name: partial(list[float], samples)
                for name, samples in log.times[case].items()
            }

        return compare(
            case,
            rows,
            baseline=baseline,
            bytes=bytes,
            flops=flops,
            guess=guess,
            unsteady=unsteady,
            stopwatch=watch,
        )

    def values(self, case: str, unit: str) -> dict[str, float]:
        """Print and return the numbers of a case; record them as the lab's results.

        If this machine cannot measure, the reference machine's numbers are used, and
        nothing is recorded.
        """
        lab = lesson.current()
        if self.missing:
            data = results.reference(lab) if lab is not None else None
            rows = results.of_case(data, case)
            found = {name: float(row["value"]) for name, row in rows.items()}
            known = "these are the reference machine's" if found else "no record yet"
            print(f"{case} ({self.missing}: {known})")
        else:
            print(case)
            found = {
                name: float(f"{value:.3g}")
                for name, value in self.found().values[case].items()
            }
            if lab is not None:
                results.record(
                    lab,
                    [
                        {"case": case, "name": name, "value": value, "unit": unit}
                        for name, value in found.items()
                    ],
                )
        for name, value in found.items():
            print(f"  {name:32}{value:>8,g} {unit}".rstrip())
        return found


class Samples:
    """A stopwatch that returns earlier measurements, one after another."""

    host = False
    whole = True

    def __init__(self) -> None:
        self.used = False
        self._turn: dict[Callable[[], Any], int] = {}

    def once(self, function: Callable[[], Any], host: float) -> Sample:
        """Return the next of the samples that `function` returns, wrapping around."""
        self.used = True
        samples = function()
        turn = self._turn.get(function, 0)
        self._turn[function] = turn + 1
        return Sample(samples[turn % len(samples)], 0.0)


def logged(dist: Any, function: Measure) -> Log:
    """Run `function` in one rank's process; return the log, without `dist`."""
    log = Log(dist)
    function(dist, log)
    log._dist = None
    return log


def measured(function: Measure, ranks: int = 2, seconds: float = 300) -> Measured:
    """Return the measurements of `function(dist, log)` on `ranks` GPUs.

    The processes are launched when a measurement is first needed. seconds: the time
    after which they are terminated.
    """
    return Measured(function, ranks, seconds)
