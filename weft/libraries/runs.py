"""Runs of a learner's function: on the model of a library, and on a GPU."""

from types import FunctionType
from typing import Any

import torch

from weft.checking.cases import Case
from weft.checking.room import Facts
from weft.checking.source import begin, no_parameter
from weft.checking.step_limit import counted
from weft.checking.verdict import Failed
from weft.libraries import words
from weft.libraries.arguments import Bench, on_gpu
from weft.libraries.convolutions import Tensor
from weft.libraries.cudnn_enumerations import TensorFormat
from weft.libraries.enumerations import Status
from weft.libraries.exercise import LibraryExercise, wide
from weft.libraries.loading import on_model
from weft.libraries.model import Model
from weft.starters import has_stub, source

NCHW = TensorFormat.NCHW


class Run:
    """One call of the learner's function on the model."""

    def __init__(self, exercise: LibraryExercise, case: Case, fails: str = "") -> None:
        """Call the function, and keep what it leaves. Raises `Failed`.

        fails: a function of C that returns an error this time.
        """
        self.exercise, self.case, self.fails = exercise, case, fails
        self.function: FunctionType = exercise.written_by_learner
        lines = source(self.function).splitlines()
        self.model = Model(code=self.function.__code__, lines=lines)
        self.error: Exception | None = None
        with on_model(self.model):
            bench = Bench(exercise.library, self.model.place)
            arrays = bench.arrays(case.inputs)
            self.args = tuple(exercise.given(bench, *arrays))
            self.arrays = [found_in(arrays, arg) for arg in self.args]
            self._name_buffers()
            if fails:
                self.model.fail_next[fails] = Status.EXECUTION_FAILED
            self.before = [b.tensor().clone() for b in self.model.memory.buffers]
            try:
                counted(self.function, self.args, exercise.lines)
            except Exception as error:
                self.error = error
        self._untouched()

    @property
    def name(self) -> str:
        return self.exercise.name

    @property
    def when(self) -> str:
        return self.case.label

    @property
    def out(self) -> Any:
        """The array that holds the result."""
        names = self.function.__code__.co_varnames
        if self.exercise.result not in names[: len(self.args)]:
            raise Failed(no_parameter(self.name, self.exercise.result))
        return self.arrays[names.index(self.exercise.result)]

    def _name_buffers(self) -> None:
        """Let verdicts call buffers as the function's parameters are called."""
        for parameter, array in zip(
            self.function.__code__.co_varnames, self.arrays, strict=False
        ):
            if array is not None:
                array.buffer.name = parameter

    def _untouched(self) -> None:
        """Refuse a starter that has not been worked on."""
        if has_stub(self.function) and not self.model.calls and not self.model.faults:
            raise Failed(begin(self.name))

    def judge(self) -> None:
        """Look at what the call did, and at what it left. Raises `Failed`."""
        model = self.model
        if model.faults:
            raise Failed(words.fault(self.name, model.faults[0], self.when))
        if self.error is not None:
            raise Failed(words.raised(self))
        if not model.calls:
            raise Failed(words.no_call(self))
        for place, (buffer, before) in enumerate(
            zip(model.memory.buffers, self.before, strict=False)
        ):
            self._unchanged(place, buffer, before)
        for call in model.calls:
            if model.stream and call.stream != model.stream:
                raise Failed(words.other_stream(self, call))
        words.compare(self)
        if left := model.objects.left():
            raise Failed(words.left_over(self, left))

    def _unchanged(self, place: int, buffer: Any, before: torch.Tensor) -> None:
        """Refuse a write to an input, or between the rows of the result."""
        now = buffer.tensor()
        changed = now != before
        if buffer is self.out.buffer:
            mine = torch.zeros_like(now)
            held = self.out.held
            mask = torch.empty(0, dtype=held.dtype).set_(mine.untyped_storage())
            view = mask.as_strided(held.shape, held.stride(), held.storage_offset())
            view.view(integers(held.dtype)).fill_(-1)
            changed &= mine == 0
        elif buffer.name == "workspace":
            return
        if changed.any():
            raise Failed(words.overwritten(self, buffer, int(changed.nonzero()[0])))


def found_in(arrays: list[Any], arg: Any) -> Any:
    """The array that an argument is, or is the address of; None if it is none."""
    if hasattr(arg, "data_ptr"):
        return arg
    plain = isinstance(arg, int) and not isinstance(arg, bool) and arg != 0
    same = [
        x for x in arrays if plain and hasattr(x, "data_ptr") and x.data_ptr() == arg
    ]
    return same[0] if same else None


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


def in_order(tensor: Tensor, order: TensorFormat) -> bool:
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
