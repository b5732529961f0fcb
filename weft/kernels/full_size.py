"""Stage 2: the kernel on the GPU, at full size.

A launch there can hang or break the CUDA context. Both are said, with what to do;
neither can be undone from here.
"""

from typing import Any

import numpy as np

from weft import doing
from weft.checking.values import judge_on_gpu
from weft.checking.verdict import Failed, Verdict
from weft.checking.waiting import RESTART, wait_for
from weft.kernels.exercise import KernelCase, KernelExercise
from weft.kernels.trial import Trial, configure
from weft.wording import sentence


def run(exercise: KernelExercise) -> list[str]:
    """Launch on the GPU and compare. Gives facts; raises `Failed`."""
    from numba import cuda as numbas

    cuda: Any = numbas

    case = exercise.case(exercise.full)
    doing.now(f"{exercise.name}: full size, on the GPU")
    trial = configure(exercise, case)
    outputs = trial.fresh()
    try:
        given = [to_device(cuda, value) for value in (*case.inputs, *outputs)]
        launch(trial, given)
        done = cuda.event(timing=False)
        done.record()
        when = f"{case.label}, on the GPU"
        wait_for(done, exercise.name, "The kernel", when, ended_in="the simulator")
        cuda.synchronize()
        results = [d.copy_to_host() for d in given[len(case.inputs) :]]
    except Failed:
        raise
    except Exception as error:
        raise Failed(explain(exercise, case, error)) from None
    why = "It was right in the simulator, on small sizes."
    pairs = zip(results, case.expected, strict=True)
    return [judge_on_gpu(exercise, case.label, pairs, why)]


def launch(trial: Trial, given: list[Any]) -> None:
    trial.exercise.kernel[trial.config](*given)


def to_device(cuda: Any, value: Any) -> Any:
    return cuda.to_device(value) if isinstance(value, np.ndarray) else value


def explain(exercise: KernelExercise, case: KernelCase, error: Exception) -> Verdict:
    """Word what Numba or CUDA raised."""
    text = str(error).strip().splitlines()
    when = f"{case.label}, on the GPU"
    code = next((line for line in text if "CUDA_ERROR" in line or "ERROR_" in line), "")
    if "TypingError" in type(error).__name__ or "LoweringError" in type(error).__name__:
        telling = [t.strip() for t in text if t.strip() and "numba" not in t.lower()]
        return exercise.verdict(
            "type",
            "Numba cannot compile this kernel for the GPU.",
            sentence(" ".join(telling[:3])),
            when=when,
        )
    if code and any(
        word in code for word in ("ILLEGAL", "LAUNCH_FAILED", "MISALIGNED", "ASSERT")
    ):
        return exercise.verdict(
            "context",
            f"The launch ended with {code.split()[-1].strip('.')}: after this error, "
            f"CUDA rejects every further call from this process.",
            RESTART,
            when=when,
        )
    return exercise.verdict(
        "exception",
        f"{type(error).__name__}: {text[0] if text else ''}",
        when=when,
    )
