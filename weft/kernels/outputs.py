"""What a launch has written: all of the output, and the right values."""

from weft.checking.compare import difference
from weft.checking.source import begin
from weft.checking.verdict import Failed
from weft.kernels import rounding
from weft.kernels.exercise import Trial
from weft.kernels.left_out import unwritten
from weft.kernels.traced import Done
from weft.kernels.wrong_value import wrong_value
from weft.starters import has_stub


def judge(trial: Trial, done: Done) -> None:
    """Look at what the kernel left behind. Raises `Failed`."""
    exercise, launch = trial.exercise, done.launch
    idle = not any(marks.any() for marks in launch.written.values())
    if idle and has_stub(exercise.written_by_learner):
        raise Failed(begin(trial.name))
    outputs = zip(
        launch.written.items(), done.outputs, trial.case.expected, strict=True
    )
    for (name, marks), got, wanted in sorted(
        outputs, key=lambda output: output[0][0] not in exercise.describe
    ):
        if got.shape != wanted.shape:
            raise ValueError(
                f"out() gives {name} the shape {got.shape}, the spec {wanted.shape}"
            )
        if exercise.out is None and not marks.all():
            raise Failed(unwritten(trial, done.trace, name, marks))
        wrong = difference(got, wanted, exercise.tolerance)
        if wrong:
            raise Failed(wrong_value(trial, done, name, wrong, got, wanted))
    if small := rounding.mistaken(trial, done.outputs):
        number, wrong = small
        name, got = list(launch.written)[number], done.outputs[number]
        wanted = trial.case.expected[number]
        raise Failed(wrong_value(trial, done, name, wrong, got, wanted))
