"""Stage 2: the kernel on the GPU, at full size.

A launch on a GPU can hang, or it can break the CUDA context. Neither can be undone from
here, so the verdict says what to do.
"""

from typing import Any

import numpy as np

from weft import device, doing
from weft.checking.values import judge_on_gpu
from weft.checking.verdict import Failed, Verdict
from weft.checking.waiting import RESTART, wait_for
from weft.kernels.exercise import KernelCase, KernelExercise
from weft.kernels.trial import Trial, configure
from weft.launching import prepare
from weft.meaning import options_of
from weft.wording import sentence


def run(exercise: KernelExercise) -> list[str]:
    """Check a kernel on the GPU. Returns facts; raises `Failed` if the check fails."""
    from numba import cuda as numbas

    cuda: Any = numbas

    if reason := without_clusters(exercise):
        return [f"not run on the GPU: {reason}"]
    case = exercise.case(exercise.full)
    doing.now(f"{exercise.name}: full size, on the GPU")
    trial = configure(exercise, case)
    outputs = trial.fresh()
    try:
        given = [to_device(cuda, v, trial) for v in (*case.inputs, *outputs)]
        launch(trial, given)
        done = cuda.event(timing=False)
        done.record()
        when = f"{case.label}, on the GPU"
        wait_for(done, exercise.name, "The kernel", when, ended_in="the simulator")
        cuda.synchronize()
        results = [on_host(d, trial) for d in given[len(case.inputs) :]]
    except Failed:
        raise
    except Exception as error:
        raise Failed(explain(exercise, case, error)) from None
    why = "It was right in the simulator, on small sizes."
    pairs = zip(results, case.expected, strict=True)
    return [judge_on_gpu(exercise, case.label, pairs, why)]


def launch(trial: Trial, given: list[Any]) -> None:
    kernel, cluster = trial.exercise.kernel, trial.exercise.cluster
    if cluster > 1:
        prepare(kernel, cluster)(trial.grid, trial.block, *given, shared=trial.shared)
    else:
        kernel[trial.config](*given)


def without_clusters(exercise: KernelExercise) -> str:
    """Say why a kernel's clusters cannot be launched here; return '' if they can."""
    if exercise.cluster == 1:
        return ""
    if device.find().capability < (9, 0):
        return "clusters take compute capability 9.0"
    if len(options_of(exercise.kernel).signatures) != 1:
        return "a launch in clusters takes a kernel with one signature"
    return ""


def to_device(cuda: Any, value: Any, trial: Trial) -> Any:
    """Copy an array to the GPU, in the form that the launch accepts.

    Returns any other value unchanged.
    """
    if not isinstance(value, np.ndarray):
        return value
    if trial.exercise.cluster == 1:
        return cuda.to_device(value)
    import torch

    return torch.from_numpy(value).cuda()


def on_host(value: Any, trial: Trial) -> Any:
    """Return a GPU array as a NumPy array."""
    return value.copy_to_host() if trial.exercise.cluster == 1 else value.cpu().numpy()


def explain(exercise: KernelExercise, case: KernelCase, error: Exception) -> Verdict:
    """Return the verdict on an exception from Numba or CUDA."""
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
