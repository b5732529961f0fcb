"""Time functions on the GPU, or show what the reference GPU made of them."""

from collections.abc import Callable, Mapping
from typing import Any

from weft import device, lesson, timing
from weft.bench import recorded, results
from weft.bench.comparison import Candidate, Comparison, check_candidates
from weft.bench.rows import Rows, as_results
from weft.bench.table import Measurements, Table
from weft.errors import LearnerError
from weft.timing import Timing

Candidates = Mapping[str, Candidate]


def time(
    function: Candidate,
    *,
    host: bool = False,
    graph: bool = False,
    stopwatch: timing.Stopwatch | None = None,
) -> Timing:
    """Time one function on the GPU: cold cache, median of 20 calls or more.

    host, graph: time the host's part too, or a CUDA graph of many calls, both with a
    warm cache, as `compare` does.
    Raises LearnerError without a GPU or PyTorch, or for what is not a function,
    CandidateError if the function fails.
    """
    check_candidates({"the function": function})
    if stopwatch is None:
        gpu = device.find()
        if not gpu.usable:
            raise LearnerError(
                f"there is no GPU to time on: {gpu.why}. `bench.compare` "
                "shows the reference GPU's times instead"
            )
        stopwatch = _stopwatch(host, graph)
    return timing.measure({"the function": function}, stopwatch)["the function"]


def compare(
    case: str,
    candidates: Candidates | Callable[[], Candidates],
    *,
    baseline: str | None = None,
    bytes: float | None = None,
    flops: float | None = None,
    ceiling: str | float | None = None,
    guess: Mapping[str, float | None] | None = None,
    host: bool = False,
    graph: bool = False,
    lab: str | None = None,
    stopwatch: timing.Stopwatch | None = None,
) -> Table:
    """Time several functions in turns and return them as a table.

    case: what is timed, shape and type; with a row's name the key of a result.
    candidates: name → function without arguments that queues the work, as in
    `{"mine": lambda: kernel[grid, block](x, out)}`; or a function that returns such a
    dict, called only where there is a GPU, so that it can allocate GPU memory.
    baseline: the name whose time the ratios refer to. bytes, flops: what one
    call moves or computes, for the rate; at most one of them. ceiling: a name, or a
    rate in bytes/s or flop/s. guess: name → predicted ratio, shown beside the measured
    one; None for "not guessed yet". host: time what a program waits for, calls in
    a loop with the host's part and a warm cache, rather than the GPU's part alone: for
    training steps and launch costs. graph: time a CUDA graph of many launches, with a
    warm cache: for kernels of a few µs. lab: whose results, by default those of the
    current one. stopwatch: another way to time, of which `host` says whether the
    host's time is part of it (it is, where it does not say).

    On a GPU, writes the rows to results where `WEFT_RESULTS` is set. Without one,
    shows the reference GPU's rows and calls nothing. The functions are kept, so that
    a claim can have them measured again.
    Raises LearnerError for a call that cannot work, CandidateError for a function
    that fails.
    """
    if bytes is not None and flops is not None:
        raise LearnerError("give bytes= or flops=, not both: a rate is of one")
    if host and graph:
        raise LearnerError("give host= or graph=, not both: a graph has no host part")
    work, unit = (flops, "FLOP") if flops is not None else (bytes, "B")
    asked = Comparison(
        case,
        work,
        unit if work is not None else "",
        baseline or "",
        ceiling,
        dict(guess or {}),
    )
    lab = lab or lesson.current()
    on_gpu = stopwatch is not None or device.find().usable
    built, names = _built(candidates, on_gpu)
    if built is not None:
        check_candidates(built)
    if names is not None:
        asked.check(names)
    if isinstance(ceiling, int | float) and not asked.unit:
        raise LearnerError("a ceiling in bytes/s or flop/s needs bytes= or flops= too")

    if not on_gpu:
        return recorded.instead(asked, names, lab)
    assert built is not None
    watch = stopwatch or _stopwatch(host, graph)
    rows = asked.rows(timing.measure(built, watch))

    def again() -> Rows:
        anew = candidates() if callable(candidates) else candidates
        return asked.rows(timing.measure(anew, stopwatch or _stopwatch(host, graph)))

    by_host = host or getattr(watch, "host", True)
    table = Table(
        case,
        rows,
        asked.unit,
        asked.baseline,
        asked.ceiling_name,
        _source(host, graph),
        True,
        asked.notes(rows),
        Measurements(lab, by_host, again),
    )
    if lab is not None:
        results.record(lab, as_results(case, rows, asked.unit, asked.baseline))
    return table


def stream() -> Any:
    """Return PyTorch's current stream for a launch: `kernel[grid, block, stream()]`.

    What is timed with `graph=True` must be launched there. 0, the default stream,
    without a GPU.
    """
    if not device.find().usable:
        return 0
    import torch
    from numba import cuda

    return cuda.external_stream(torch.cuda.current_stream().cuda_stream)


def _built(
    candidates: Candidates | Callable[[], Candidates], on_gpu: bool
) -> tuple[Candidates | None, list[str] | None]:
    """Return the candidates and their names; None for what is not known here."""
    if not callable(candidates):
        return candidates, list(candidates)
    if not on_gpu:
        return None, None
    built = candidates()
    return built, list(built)


def _stopwatch(host: bool, graph: bool) -> timing.Stopwatch:
    if graph:
        return timing.GraphStopwatch()
    return timing.WallStopwatch() if host else timing.EventStopwatch()


def _source(host: bool, graph: bool) -> str:
    """Return where a table's times come from, a sentence."""
    how = ", the host included" if host else ", as CUDA graphs" if graph else ""
    return f"Measured here, on {device.find().name or 'this machine'}{how}."
