"""A learner's kernel compiled by NVRTC, and run on a GPU at full size."""

import re
from typing import Any, cast

import numpy as np

from weft import device, doing
from weft.c import words
from weft.c.compiler import Complaint
from weft.c.source import Source
from weft.checking.values import judge_on_gpu
from weft.checking.verdict import Failed, Verdict
from weft.checking.waiting import wait_for
from weft.cuda_cpp import compiler, running
from weft.cuda_cpp.exercise import CudaCppExercise
from weft.device import toolkit

OLDEST = "sm_75"  # the oldest that the course supports, used without a GPU

_complaint = re.compile(
    r"^(?P<file>[^\n(]+)\((?P<line>\d+)\): "
    r"(?:catastrophic )?error: (?P<text>.*)$",
    re.MULTILINE,
)


def _core() -> Any:
    """Return NVIDIA's `cuda.core`, or its older form `cuda.core.experimental`."""
    import cuda.core as core

    if not hasattr(core, "Program"):
        import cuda.core.experimental as core

    return core


def has_nvrtc() -> bool:
    """Return whether NVRTC and `cuda.core`, which calls it, are installed."""
    if toolkit.find().nvrtc is None:
        return False
    try:
        _core()
    except ImportError:
        return False
    return True


def arch() -> str:
    """Return the architecture to compile for on this machine, such as `sm_90`."""
    gpu = device.find()
    return gpu.sm if gpu.usable else OLDEST


def compiled(source: Source) -> Any:
    """Compile with NVRTC; return the machine code. Raises `Failed` if NVRTC refuses."""
    core = _core()
    options = core.ProgramOptions(arch=arch(), name=source.file)
    try:
        program = core.Program(source.text, code_type="c++", options=options)
        return program.compile("cubin", name_expressions=(source.name,))
    except Exception as error:
        raise Failed(_refused(source, str(error))) from None


def _refused(source: Source, said: str) -> Verdict:
    """Return the verdict on a cell that NVRTC refuses."""
    found = [
        Complaint(each["file"].strip(), int(each["line"]), True, each["text"])
        for each in _complaint.finditer(said)
    ]
    return words.refused(source, found, said, compiler.table, "NVRTC")


def full_size(exercise: CudaCppExercise, code: Any) -> list[str]:
    """Launch the kernel at full size on the GPU, compare the results and return facts.

    code: the result of `compiled`. Raises `Failed` if the launch fails or a result is
    wrong.
    """
    from numba import cuda as numbas

    core, cuda = _core(), cast(Any, numbas)
    case = exercise.case(exercise.full)
    when = f"{case.label}, on the GPU"
    doing.now(f"{exercise.name}: full size, on the GPU")
    outputs = exercise.outputs(case)
    values = exercise.call(*case.inputs, *outputs)
    arrays = {id(v): cuda.to_device(v) for v in values if isinstance(v, np.ndarray)}
    passed = [
        arrays[id(v)].device_ctypes_pointer.value if id(v) in arrays else v
        for v in values
    ]
    launch = running.configured(exercise.launch(*case.size))

    gpu = core.Device()
    gpu.set_current()
    kernel = code.get_kernel(exercise.name)
    config = core.LaunchConfig(grid=launch.grid, block=launch.block)
    try:
        core.launch(gpu.default_stream, config, kernel, *passed)
        done = cuda.event(timing=False)
        done.record()
        wait_for(done, exercise.name, "The kernel", when, ended_in="the run on the CPU")
        cuda.synchronize()
        results = [arrays[id(out)].copy_to_host() for out in outputs]
    except Failed:
        raise
    except Exception as error:
        text = str(error).strip().splitlines()
        kind = "context" if "ILLEGAL" in str(error) else "exception"
        message = f"{type(error).__name__}: {text[0] if text else ''}"
        raise exercise.failed(kind, message, when=when) from None
    why = "It was right on the CPU, on small sizes, one thread after another."
    pairs = zip(results, case.expected, strict=True)
    return [judge_on_gpu(exercise, case.label, pairs, why)]
