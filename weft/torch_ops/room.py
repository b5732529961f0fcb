"""Checks of PyTorch operators: what they accept, and their stages."""

from collections.abc import Iterator, Mapping
from typing import Any

from weft.checking.limits import TORCH
from weft.checking.room import Facts
from weft.checking.source import begin
from weft.checking.verdict import Failed
from weft.torch_ops.exercise import TorchExercise
from weft.torch_ops.written import (
    FUNCTION,
    OPERATOR,
    is_autograd_function,
    is_module,
    is_operator,
    look,
    refuse_replaced,
)


class TorchOps:
    """Checks operators, autograd functions, modules and functions of tensors."""

    what = TORCH
    exercise = TorchExercise

    def takes(self, thing: Any, asked: Mapping[str, Any]) -> bool:
        if is_operator(thing) or is_module(thing) or asked.get("tensors"):
            return True
        return is_autograd_function(thing) or look(thing).kind == FUNCTION

    def stages(self, exercise: TorchExercise) -> Iterator[Facts]:
        """Yield the facts of each stage that the code passes.

        Raises `Failed` at the first stage that it fails. For an unfinished starter, the
        verdict then only asks the learner to begin.
        """
        try:
            yield from judged(exercise)
        except Failed:
            if exercise.written.has_stub:
                raise Failed(begin(exercise.name)) from None
            raise


ROOM = TorchOps()


def judged(exercise: TorchExercise) -> Iterator[Facts]:
    """Yield the facts of each stage that applies. PyTorch is imported only here."""
    from weft.torch_ops import (
        costs,
        fakes,
        full_size,
        gradients,
        graphs,
        pytorch_tests,
        values,
    )
    from weft.torch_ops.calls import Calls, on_another_stream, on_gpu

    is_op = exercise.written.kind == OPERATOR
    if is_op:
        refuse_replaced(exercise.written)
    calls = Calls(exercise)
    yield values.run(exercise, calls)
    if is_op:
        yield fakes.run(exercise, calls)
    if exercise.gradient is not False:
        yield gradients.run(exercise, calls)
    if is_op:
        yield pytorch_tests.opcheck(exercise, calls)
    if costs.HELD.keys() & exercise.limits.keys():
        yield costs.run(exercise, calls)
    if exercise.stream:
        yield on_another_stream(exercise, calls)
    if "graph_breaks" in exercise.limits:
        yield graphs.run(exercise, calls)
    if exercise.full is not None and on_gpu():
        yield full_size.run(exercise, calls)
    yield calls.launches.facts()
