"""Stage 3: the program on the GPU, at full size.

Around each array is a zone to which nothing may be written. It reveals stray stores
that small sizes do not. A launch can still hang or break the CUDA context.
"""

from typing import Any

import numpy as np

from weft.checking.values import judge_on_gpu
from weft.checking.verdict import Failed, Verdict
from weft.checking.waiting import RESTART, wait_for
from weft.programs.exercise import ProgramExercise
from weft.programs.launching import chosen, parameters, positional
from weft.programs.memory import span_of
from weft.programs.program import Meta
from weft.triton_programs.compiled import compilable
from weft.triton_programs.programs import OPTIONS

DEVICE = "cuda"
ZONE = 1 << 20  # bytes before and after each array
MARK = 0xA5


class Guarded:
    """An array on the GPU between two zones that nothing may write to."""

    def __init__(self, data: np.ndarray[Any, Any]) -> None:
        import torch

        span = span_of(data)
        self._bytes = torch.full(
            (2 * ZONE + span,), MARK, dtype=torch.uint8, device=DEVICE
        )
        host = torch.from_numpy(data)
        strides = [s // data.itemsize for s in data.strides]
        inner = self._bytes[ZONE : ZONE + span].view(host.dtype)
        self.tensor = torch.as_strided(inner, data.shape, strides)
        self.tensor.copy_(host)

    @property
    def intact(self) -> bool:
        zones = self._bytes[:ZONE], self._bytes[-ZONE:]
        return all(bool((zone == MARK).all()) for zone in zones)


def full_size(exercise: ProgramExercise) -> list[str]:
    """Run the program at full size on the GPU, and compare the results.

    Returns facts; raises `Failed` if the check fails.
    """
    import torch

    if compilable(exercise.kernel) is None:
        return ["not run on the GPU: TRITON_INTERPRET was set"]
    if not torch.cuda.is_available():
        return ["not run on the GPU: this build of PyTorch has no CUDA"]
    case = exercise.case(exercise.full)
    when = f"{case.label}, on the GPU"
    values = (*case.inputs, *exercise.fresh(case))
    held = [Guarded(v) if isinstance(v, np.ndarray) else v for v in values]
    given = [h.tensor if isinstance(h, Guarded) else h for h in held]
    grid, meta = chosen(exercise, case)
    arguments = positional(exercise, case, given)
    config = exercise.program.configs[0]
    # refuses parameters that cannot fit
    parameters(exercise, case, arguments, {**meta, **config})
    try:
        start(exercise.kernel, grid, arguments, meta)
        wait(exercise, when)
        results = [h.tensor.cpu().numpy() for h in held[len(case.inputs) :]]
    except Failed:
        raise
    except Exception as error:
        raise Failed(explained(exercise, when, error)) from None
    names = exercise.array_names(len(case.inputs), len(case.outputs))
    for name, array in zip(names, held, strict=True):
        if isinstance(array, Guarded) and not array.intact:
            message = f"Bytes before or after {name} have been written to."
            why = "It stayed in bounds on small sizes. What is different here?"
            raise exercise.failed("out-of-bounds", message, why, when=when)
    why = "It was right on small sizes in the interpreter."
    pairs = zip(results, case.expected, strict=True)
    return [
        judge_on_gpu(exercise, case.label, pairs, why),
        *tuned(exercise.kernel),
    ]


def start(program: Any, grid: Any, arguments: tuple[Any, ...], meta: Meta) -> None:
    program[grid](*arguments, **meta)


def tuned(program: Any) -> list[str]:
    """Return the configuration that autotuning chose, as facts; [] if there is none."""
    best = getattr(program, "best_config", None)
    if best is None:
        return []
    chosen = {**best.kwargs, **{k: v for k, v in vars(best).items() if k in OPTIONS}}
    said = ", ".join(f"{k}={v}" for k, v in chosen.items() if v is not None)
    return [f"autotuning chose {said}"]


def wait(exercise: ProgramExercise, when: str) -> None:
    """Wait for the launch.

    Raises `Failed` if the launch takes too long, and CUDA's error if it fails.
    """
    import torch

    cuda: Any = torch.cuda
    done = cuda.Event()
    done.record()
    wait_for(done, exercise.name, "The program", when, ended_in="the interpreter")
    cuda.synchronize()


def explained(exercise: ProgramExercise, when: str, error: Exception) -> Verdict:
    """Return the verdict on an exception from Triton or CUDA."""
    text = (str(error).strip().splitlines() or [""])[0]
    if "OutOfResources" in type(error).__name__:
        why = "Smaller blocks, or fewer stages, need less of it."
        return exercise.verdict("launch", f"{text}.", why, when=when)
    if "CUDA error" in text or "CUDA_ERROR" in text:
        message = f"The launch ended with an error: {text}."
        return exercise.verdict("context", message, RESTART, when=when)
    message = f"{type(error).__name__}: {text}"
    return exercise.verdict("exception", message, when=when)
