"""Stage 2: the kernel on the GPU, at full size.

A launch there can hang or break the CUDA context. Both are said, with what to do;
neither can be undone from here.
"""

from typing import Any

import numpy as np

from weft import doing
from weft.checking.compare import difference
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
    worst = 0.0
    for got, wanted in zip(results, case.expected, strict=True):
        wrong = difference(got, wanted, exercise.tolerance)
        if wrong:
            raise Failed(
                Verdict(
                    exercise.name,
                    "wrong-value",
                    wrong.sentence("the output"),
                    wrong.hint or "It was right in the simulator, on small sizes.",
                    when=f"{case.label}, on the GPU",
                )
            )
        worst = max(worst, relative_error(got, wanted))
    return [f"right on the GPU: {case.label}, relative error {worst:.1e}"]


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
        return Verdict(
            exercise.name,
            "type",
            "Numba cannot compile this kernel for the GPU.",
            sentence(" ".join(telling[:3])),
            when=when,
        )
    if code and any(
        word in code for word in ("ILLEGAL", "LAUNCH_FAILED", "MISALIGNED", "ASSERT")
    ):
        return Verdict(
            exercise.name,
            "context",
            f"The launch ended with {code.split()[-1].strip('.')}: after this error, "
            f"CUDA rejects every further call from this process.",
            RESTART,
            when=when,
        )
    return Verdict(
        exercise.name,
        "exception",
        f"{type(error).__name__}: {text[0] if text else ''}",
        when=when,
    )


def relative_error(got: Any, wanted: Any) -> float:
    """‖got − wanted‖ / ‖wanted‖."""
    if got.dtype.kind not in "fc":
        return 0.0
    norm = float(np.linalg.norm(wanted.ravel()))
    gap = float(np.linalg.norm((got.astype(wanted.dtype) - wanted).ravel()))
    return gap / norm if norm else gap
