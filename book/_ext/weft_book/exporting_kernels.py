"""What a page needs of an exercise in kernels: its cases, as its check asks for them.

The lab's answer is judged by the stages that a page has, and what these ask of the
exercise is noted: the data of each size, what the spec makes of it, the launches.
"""

import inspect
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from weft import lesson
from weft.checking.cases import SEED, as_tuple, unseen_size
from weft.checking.verdict import Failed
from weft.in_page.kernels import constants_now, key_of
from weft.in_page.values import encoded
from weft.kernels import stages
from weft.kernels.exercise import KernelCase, KernelExercise

Data = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Noted(KernelExercise):
    """An exercise that notes what it is asked for.

    cases: by constants, size, and whether it is listed. launches: by the first two.
    """

    cases: dict[Any, KernelCase] = field(default_factory=dict)
    launches: dict[Any, Any] = field(default_factory=dict)

    def case(self, size: Any, seed: int = SEED) -> KernelCase:
        made: KernelCase = super().case(size, seed)
        return self.cases.setdefault(key_of(self, as_tuple(size), seed), made)


def noted(asked: KernelExercise) -> Noted:
    """The exercise, with what its check has asked for. Raises `Failed`."""
    given = {f.name: getattr(asked, f.name) for f in fields(KernelExercise)}
    exercise = Noted(**given)
    launch = exercise.launch

    def noting(*size: Any) -> Any:
        config = launch(*size)
        exercise.launches[constants_now(exercise), size] = config
        return config

    if not exercise.checks_launch:
        object.__setattr__(exercise, "launch", noting)
    for _ in stages.without_a_compiler(exercise):
        pass
    return exercise


def export(asked: KernelExercise) -> Data:
    """The part of an exercise that is about its kernel. Raises NotAValue."""
    try:
        exercise = noted(asked)
    except Failed as failed:
        raise ValueError(f"the lab's answer fails: {failed.verdict}") from None
    unseen = lesson.unseen(exercise.name) or unseen_size(
        exercise.sizes, exercise.number
    )
    is_unseen = exercise.unseen and unseen is not None
    larger = exercise.larger
    if larger is None and (named := lesson.larger(exercise.name)) is not None:
        larger = named or False
    try:
        parameters = list(inspect.signature(exercise.spec).parameters)
    except (TypeError, ValueError):
        parameters = []
    return {
        "kind": "kernels",
        "kernel": exercise.kernel.__name__ if exercise.checks_launch else None,
        "parameters": parameters,
        "out": exercise.out is not None,
        "sizes": encoded(exercise.sizes),
        "unseen": encoded(as_tuple(unseen) if is_unseen else None),
        "is_unseen": exercise.unseen,
        "seed": str(exercise.number),
        "larger": encoded(larger),
        "tolerance": exercise.tolerance,
        "limits": encoded(dict(exercise.limits)),
        "constants": encoded(list(map(dict, exercise.constants))),
        "without": list(exercise.without),
        **({"cluster": exercise.cluster} if exercise.cluster > 1 else {}),
        "cases": [case(key, made, exercise) for key, made in exercise.cases.items()],
        "launches": [
            [list(constants), encoded(size), encoded(plain(config))]
            for (constants, size), config in exercise.launches.items()
        ],
    }


def plain(config: Any) -> Any:
    """A launch without a stream: there is one in a page."""
    return (*config[:2], 0, *config[3:]) if len(config) > 2 else config


def case(key: Any, made: KernelCase, exercise: KernelExercise) -> Data:
    constants, size, listed = key
    outputs = [
        {"empty": o.dtype.str, "shape": list(o.shape)}
        if exercise.out is None
        else encoded(o)
        for o in made.outputs
    ]
    return {
        "constants": list(constants),
        "size": encoded(size),
        "listed": listed,
        "inputs": encoded(made.inputs),
        "expected": encoded(tuple(map(np.ascontiguousarray, made.expected))),
        "outputs": outputs,
    }
