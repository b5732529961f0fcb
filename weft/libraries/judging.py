"""What is looked at after a run on the model, and a run on a GPU."""

from typing import Any

import torch

from weft.checking.room import Facts
from weft.checking.verdict import Failed
from weft.libraries import words
from weft.libraries.arguments import Bench, on_gpu
from weft.libraries.convolutions import Tensor
from weft.libraries.device_memory import Buffer
from weft.libraries.exercise import LibraryExercise, wide
from weft.libraries.headers import cudnn
from weft.libraries.run import Run, found_in

NCHW = cudnn.TensorFormat.NCHW


def judge(run: Run) -> None:
    """Look at what the call did, and at what it left. Raises `Failed`."""
    model = run.model
    if model.faults:
        raise Failed(words.fault(run.name, model.faults[0], run.when))
    if run.error is not None:
        raise Failed(words.raised(run, run.error))
    if not model.calls:
        raise Failed(words.no_call(run))
    for buffer, before in zip(model.memory.buffers, run.before, strict=False):
        unchanged(run, buffer, before)
    for call in model.calls:
        if model.stream and call.stream != model.stream:
            raise Failed(words.other_stream(run, call))
    words.compare(run)
    if left := model.objects.left():
        raise Failed(words.left_over(run, left))


def unchanged(run: Run, buffer: Buffer, before: torch.Tensor) -> None:
    """Refuse a write to an input, or between the rows of the result."""
    now = buffer.tensor()
    changed = now != before
    if buffer is run.out.buffer:
        mine = torch.zeros_like(now)
        held = run.out.held
        mask = torch.empty(0, dtype=held.dtype).set_(mine.untyped_storage())
        view = mask.as_strided(held.shape, held.stride(), held.storage_offset())
        view.view(integers(held.dtype)).fill_(-1)
        changed &= mine == 0
    elif buffer.name == "workspace":
        return
    if changed.any():
        raise Failed(words.overwritten(run, buffer, int(changed.nonzero()[0])))


def integers(dtype: torch.dtype) -> torch.dtype:
    """The integers that are as wide as another type."""
    return {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[
        dtype.itemsize
    ]


def failing(exercise: LibraryExercise) -> Facts:
    """One run in which the library reports an error: it has to be raised."""
    run = Run(exercise, exercise.case(exercise.sizes[0]), exercise.refuses)
    if run.model.faults:
        raise Failed(words.fault(run.name, run.model.faults[0], run.when))
    if run.error is None:
        raise Failed(words.unnoticed(run))
    return ["an error of the library is raised"]


def held(exercise: LibraryExercise, run: Run) -> Facts:
    """Hold the last run against the exercise's limits. Raises `Failed`."""
    most = exercise.limits.get("calls")
    count = len(run.model.calls)
    if most is not None and count > most:
        raise Failed(words.too_many(run, most))
    most = exercise.limits.get("conversions")
    if most is not None:
        for call in run.model.calls:
            turned = [each for each in call.tensors if in_order(each[2], NCHW)]
            if len(turned) > most:
                raise Failed(words.converted(run, call, turned[0][0]))
    return [words.calls_made(run.model)]


def in_order(tensor: Tensor, order: int) -> bool:
    """Whether a descriptor of four axes is of this format and of no other."""
    return len(tensor.shape) == 4 and tensor.order == order and tensor.shape[1] > 1


def real(exercise: LibraryExercise) -> Facts:
    """Run it on the GPU with NVIDIA's library. Raises `Failed`."""
    size = exercise.full or exercise.sizes[-1]
    case = exercise.case(size)
    cuda: Any = torch.cuda
    stream = cuda.Stream()
    when = f"{case.label}, on the GPU"
    with cuda.stream(stream):
        bench = Bench(exercise.library, on_gpu)
        arrays = bench.arrays(case.inputs)
        args = tuple(exercise.given(bench, *arrays))
        cuda.synchronize()
        try:
            exercise.written_by_learner(*args)
            cuda.synchronize()
        except Exception as error:
            raise Failed(words.on_gpu(exercise, error, when)) from None
        finally:
            bench.close()
    names = exercise.written_by_learner.__code__.co_varnames
    out = found_in(arrays, args[names.index(exercise.result)])
    got = wide(out).cpu().numpy()
    words.right_on_gpu(exercise, got, case, when)
    return [f"right on the GPU: {case.label}"]
