"""A kernel exercise, and the data of its cases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, ClassVar

import numpy as np

from weft import chapters
from weft.checking.cases import SEED, Case, as_tuple, copies
from weft.checking.compare import Array
from weft.checking.exercise import Exercise
from weft.checking.source import seed
from weft.places import Place
from weft.simulator.limits import MOST_CLUSTER
from weft.simulator.memory.arrays import poison
from weft.starters import source_function


@dataclass(frozen=True)
class KernelCase(Case):
    """A test case for a kernel.

    outputs: the output arrays as they are before the launch.
    """

    outputs: tuple[Array, ...] = ()


@dataclass(frozen=True, kw_only=True)
class KernelExercise(Exercise):
    """A kernel, called as `kernel(*inputs, *outputs)`.

    launch: `(*size)` → `(grid, block[, stream[, shared bytes]])`.
    kernel: the kernel that the exercise supplies, if the learner writes the function
        that chooses its launch. Then `launch` is that function.
    full: the size of the run on the GPU; None for no such run.
    out: inputs → the outputs' initial values. By default outputs are poisoned, and the
        kernel must write all of them.
    constants: other values of global names that the kernel and its launch use, as
        dicts. With each dict, the kernel must be right at the last size as well.
    larger: the size of the larger case, far above those listed; None to derive one,
        False for none.
    cluster: how many neighbouring blocks along x form a cluster, as for `weft.prepare`;
        the grid has to be a multiple of this number.
    without: atomic operations that the kernel may not use, such as "cuda.atomic.max",
        or "cuda.atomic.max float32" for arrays of that type alone.
    sized: `(*size)` → how a verdict names a size, by default 'size 16 × 1,024'.
    describe: output → `(*index, got, wanted)` → what a verdict says about a wrong
        element, where numbers alone say little. These outputs are compared first.
    """

    needs: ClassVar[tuple[str, ...]] = ("spec", "inputs", "sizes", "launch")
    can_explore: ClassVar[bool] = True  # a learner can call `weft.explore`
    has_spec: ClassVar[bool] = True  # the right results are known for any inputs

    launch: Any = None
    kernel: Any = None
    full: Any = None
    out: Any = None
    constants: Sequence[Mapping[str, Any]] = ()
    larger: Any = None
    cluster: int = 1
    without: tuple[str, ...] = ()
    sized: Any = None
    describe: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kernel is None or self.kernel is self.written_by_learner:
            object.__setattr__(self, "kernel", self.written_by_learner)
        else:
            object.__setattr__(self, "launch", self.written_by_learner)
        super().__post_init__()
        if type(self.cluster) is not int or not 1 <= self.cluster <= MOST_CLUSTER:
            raise ValueError(
                f"check({self.name}, ...): cluster={self.cluster!r}; a cluster has 1 "
                f"to {MOST_CLUSTER} blocks"
            )

    def function(self) -> FunctionType | None:
        """Return the kernel's Python function, or None if it cannot be read."""
        return source_function(self.kernel)

    @property
    def checks_launch(self) -> bool:
        """Whether the learner wrote the launch, not the kernel."""
        return self.written_by_learner is not self.kernel

    @property
    def number(self) -> int:
        """The seed for the data of the unlisted size."""
        return seed(self.written_by_learner)

    @property
    def first_size(self) -> tuple[Any, ...]:
        """The size that stage 1 runs first."""
        return as_tuple(self.sizes[0])

    def case(self, size: Any, seed: int = SEED) -> KernelCase:
        """Make the data for one size, and the outputs as they are before the launch."""
        made = super().case(size, seed)
        given = made.inputs
        if self.out is None:
            typed = as_tuple(self.spec(*copies(given)))
            outputs = tuple(np.empty_like(np.asarray(t)) for t in typed)
        else:
            outputs = tuple(np.array(o) for o in as_tuple(self.out(*copies(given))))
        told = self.told(made.size)
        return KernelCase(
            *(made.size, given, made.expected, made.listed, made.named, told, outputs)
        )

    def told(self, size: tuple[Any, ...]) -> str:
        """Return how a verdict names a size, or "" for the default."""
        return self.sized(*size) if self.sized else ""

    def written(self, size: Any) -> str:
        """Return a size as a verdict names it, for example 'size 16 × 1,024'."""
        parts = as_tuple(size)
        return Case(parts, (), (), told=self.told(parts)).written

    def elsewhere(self, place: Place) -> str:
        """Return a phrase such as 'in `f`' for a line outside the kernel, or ''."""
        function = self.function()
        if function is None or not place.file:
            return ""
        code = function.__code__
        if place.file != code.co_filename:
            return f"in `{place.function}`, {chapters.origin(place.file)}"
        return "" if place.function == code.co_name else f"in `{place.function}`"

    def noted(self, note: str, place: Place) -> str:
        """Return a line's note, with the line's function if that is not the kernel."""
        return ", ".join(filter(None, (note, self.elsewhere(place))))

    def fresh(self, case: KernelCase) -> tuple[Array, ...]:
        """Return new outputs for a launch, poisoned unless the exercise fills them."""
        outputs = tuple(o.copy() for o in case.outputs)
        if self.out is None:
            for output in outputs:
                poison(output, "global")
        return outputs
