"""An exercise in PyTorch: what is called, on which tensors, and what must be true."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from weft.checking.cases import SEED, Case, as_tuple, copies, widened
from weft.checking.exercise import Exercise
from weft.checking.limits import TORCH, validated
from weft.torch_ops.written import Written, is_module, look


@dataclass(frozen=True, kw_only=True)
class TorchExercise(Exercise):
    """An exercise on an operator, autograd function, module or function of tensors.

    inputs: `(rng, *size)` → NumPy arrays, which become tensors, and plain values.
    spec: a function of the inputs. It gets NumPy arrays in double precision, or tensors
        if it names `torch` or is one of PyTorch's own functions.
    call: `(thing, *inputs)` → results, if that is not `thing(*inputs)`: for a class of
        modules, or a step that needs more than its inputs.
    outputs: names of a call's results, such as "vjp(g)"; by default they are numbered.
    sized: `(*size)` → how a verdict names a size, by default 'size 16 × 1,024'.
    tensors: true for a plain function that is to be checked with tensors.
    mutates: the parameters whose tensors a function may change; those of an operator
        are in its schema. The tensors count as results, after those returned.
    dtype: the results' dtype, such as "float16", if it is not that of the inputs.
    gradient: false if no gradient is required; or `(*grads, *inputs)` → a gradient
        per input, None for inputs that have none. By default the spec's gradient.
    because_gradient: what explains a wrong gradient, worded to follow "if" → a function
        of the inputs, such as a spec with a mistake, that has this gradient.
    because_limits: a limit → a function of the record of a call that exceeds it, which
        returns the cause and the lines to show; see `weft.torch_ops.listening.Record`.
    strided: whether to also use inputs that are not contiguous.
    launches: whether a kernel must be launched.
    stream: whether every launch must be on PyTorch's current stream.
    frozen: whether a backward pass must omit gradients that no input requires.
    also: further operators for which the learner registers the same backward.
    full: the size of the run on the GPU; None for no such run.
    without: modules whose functions must not be called, such as "torch.nn.functional"
        (which also excludes "torch._C._nn", where its C++ functions are).
    lines: how many lines of Python one call may run; see `weft.checking.step_limit`.
    host: positions of the inputs that are in host memory, pinned if there is a GPU;
        the others are on the device.
    """

    call: Any = None
    outputs: tuple[str, ...] = ()
    sized: Any = None
    tensors: bool = False
    mutates: tuple[str, ...] = ()
    dtype: str = ""
    gradient: Any = True
    because_gradient: Mapping[str, Any] = field(default_factory=dict)
    because_limits: Mapping[str, Any] = field(default_factory=dict)
    strided: bool = True
    launches: bool = False
    stream: bool = False
    frozen: bool = False
    also: tuple[Any, ...] = ()
    full: Any = None
    without: tuple[str, ...] = ()
    lines: int | None = None
    host: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        validated(self.name, TORCH, self.because_limits)
        thing = self.written_by_learner
        if isinstance(thing, type) and is_module(thing) and self.call is None:
            raise ValueError(
                f"check({self.name}, ...): a class of modules needs call="
                "lambda cls, *inputs: ..., which makes a module and calls it"
            )

    @staticmethod
    def title(thing: Any) -> str:
        return look(thing).name

    @cached_property
    def written(self) -> Written:
        """The analysis of what the learner wrote."""
        return look(self.written_by_learner)

    @cached_property
    def changes(self) -> tuple[str, ...]:
        """The parameters whose tensors a call may change."""
        return self.written.mutates or self.mutates

    def case(self, size: Any, seed: int = SEED) -> Case:
        made = super().case(size, seed)
        return replace(made, told=self.sized(*made.size)) if self.sized else made

    def results(self, *inputs: Any) -> Any:
        """Call what the learner wrote; return its results."""
        if self.call is not None:
            return self.call(self.written_by_learner, *inputs)
        return self.written.call(*inputs)

    def changed(self, inputs: list[Any]) -> list[Any]:
        """Return the inputs that a call is meant to change, which count as results."""
        pairs = zip(self.names(len(inputs)), inputs, strict=True)
        return [value for name, value in pairs if name in self.changes]

    def expected(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        wide = tuple(widened(x) for x in copies(given))
        if not of_torch(self.spec):
            return tuple(map(np.asarray, as_tuple(self.spec(*wide))))
        import torch

        tensors = [torch.from_numpy(x) if is_array(x) else x for x in wide]
        return tuple(x.detach().numpy() for x in as_tuple(self.spec(*tensors)))

    def names(self, count: int) -> tuple[str, ...]:
        """Return names for `count` inputs: the parameters', or "input 1" and so on.

        If there is a `call`, its parameters are meant, without the first.
        """
        known = self.written.parameters if self.call is None else named(self.call)[1:]
        return tuple(
            known[k] if k < len(known) else f"input {k + 1}" for k in range(count)
        )


def named(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's parameters, without `*args` and `**kwargs`."""
    found = inspect.signature(function).parameters.values()
    return tuple(p.name for p in found if p.kind is p.POSITIONAL_OR_KEYWORD)


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def of_torch(spec: Any) -> bool:
    """Return whether a spec is written with PyTorch."""
    code = getattr(spec, "__code__", None)
    if code is None:
        return _is_torchs(spec) or _is_torchs(getattr(spec, "__self__", None))
    seen = [spec, *map(spec.__globals__.get, code.co_names)]
    seen += [cell.cell_contents for cell in spec.__closure__ or ()]
    return any(map(_is_torchs, seen))


def _is_torchs(value: Any) -> bool:
    """Return whether a value is PyTorch, one of its modules, or defined in one."""
    names = (getattr(value, "__module__", ""), getattr(value, "__name__", ""))
    return any(str(name).partition(".")[0] == "torch" for name in names)
