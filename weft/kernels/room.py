"""Checks of kernels: which objects are checked, and in which stages."""

from collections.abc import Iterator, Mapping
from typing import Any

from weft import compiling, device
from weft.checking.limits import KERNEL
from weft.checking.room import Facts
from weft.checking.verdict import Failed
from weft.kernels import compiled, full_size, stages
from weft.kernels.exercise import KernelExercise
from weft.meaning import clustered, is_device_function, is_kernel


class Kernels:
    """Checks of `@cuda.jit` kernels, and of functions that choose a kernel's launch."""

    what = KERNEL
    exercise = KernelExercise

    def takes(self, thing: Any, asked: Mapping[str, Any]) -> bool:
        kernel = is_kernel(thing) and not is_device_function(thing)
        return kernel or "launch" in asked or "kernel" in asked

    def stages(self, exercise: KernelExercise) -> Iterator[Facts]:
        """Simulate, compile, run on the GPU, count the cost, and vary the constants."""
        with clustered(exercise.cluster):
            yield from self._stages(exercise)

    def _stages(self, exercise: KernelExercise) -> Iterator[Facts]:
        stages.refuse_other(exercise)
        if not exercise.checks_launch:
            compiling.warm_up()
        trace = yield from stages.simulate(exercise)
        facts, leak = compiled.run(exercise)
        yield facts
        if exercise.full is not None and on_gpu():
            yield full_size.run(exercise)
        yield from stages.count(exercise, trace)
        if leak is not None:
            raise Failed(leak)


ROOM = Kernels()


def on_gpu() -> bool:
    """Return whether kernels run on a GPU here."""
    return device.find().usable
