"""Check the gradient: a backward pass is right if it gives the gradient of the spec.

`torch.autograd.gradcheck` comes last, if the kernels can compute in float64.
"""

import contextlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from weft.checking.cases import Case
from weft.checking.compare import close, difference
from weft.checking.differences import Difference
from weft.checking.plain import leaves
from weft.checking.room import Facts
from weft.checking.source import line_with, returns
from weft.checking.verdict import Failed
from weft.torch_ops import pytorch_tests
from weft.torch_ops.calls import Calls, reworded
from weft.torch_ops.derivatives import incoming, wanted
from weft.torch_ops.exercise import TorchExercise, is_array
from weft.torch_ops.gradient_causes import Wrong
from weft.torch_ops.tensors import (
    DENSE,
    STRIDED,
    Tensor,
    array,
    clones,
    differentiable,
    equal,
    has_strides,
    is_tensor,
    share,
    tensors,
    written_shape,
)
from weft.torch_ops.values import result_names
from weft.torch_ops.written import CALLABLE, FUNCTION, OPERATOR, look
from weft.wording import capital, several

# input elements per case, because the spec is differentiated element by element
MOST = 2048


def run(exercise: TorchExercise, calls: Calls) -> Facts:
    """Check a backward pass in each way in which autograd may call it.

    Returns facts; raises `Failed` if a gradient is wrong.
    """
    written = exercise.written
    if written.kind in (OPERATOR, FUNCTION) and written.backward is None:
        raise no_backward(exercise)
    chosen = cases(exercise)
    for number, case in enumerate(chosen):
        first = Pass.begin(exercise, calls, case)
        if first is None:
            return []
        first.alone_or_not()
        if number == 0:
            first.shaped()
            first.twice()
            first.expanded()
            first.strided()
            first.one_input_at_a_time()
            first.kept()
        calls.launches.refuse()
    if chosen:
        pytorch_tests.gradcheck(exercise, calls, chosen[0])
    for other in exercise.also:
        registered_too(exercise, other)
    return [f"the gradient is right on {several(len(chosen), 'size')}"]


def cases(exercise: TorchExercise) -> list[Case]:
    """Return up to three cases: the second smallest, the smallest, and the unseen one.

    Only cases of at most `MOST` input elements count.
    """
    found: list[tuple[int, int, Case]] = []
    for case in exercise.cases(exercise.written.seed):
        sizes = [v.size for v in case.inputs if is_array(v) and v.dtype.kind == "f"]
        if sizes and min(sizes) > 0 and sum(sizes) <= MOST:
            found.append((sum(sizes), len(found), case))
    listed = [case for _, _, case in sorted(found) if case.listed]
    unseen = [case for _, _, case in found if not case.listed]
    return [*listed[1:2], *listed[:1], *unseen]


@dataclass(frozen=True)
class Pass:
    """One forward pass whose graph is kept, and the incoming gradients.

    grads: the incoming gradients, one per result. aims: the right gradient of each
    input, or None if it has none.
    """

    exercise: TorchExercise
    calls: Calls
    case: Case
    when: str
    inputs: list[Any]
    results: list[Tensor]
    grads: list[Tensor]
    aims: list[Any]

    @staticmethod
    def begin(
        exercise: TorchExercise, calls: Calls, case: Case, layout: str = DENSE
    ) -> "Pass | None":
        """Run the forward pass. Returns None if no input requires a gradient.

        Raises `Failed` if the pass fails.
        """
        when = ", ".join(filter(None, (case.label, layout)))
        inputs = tensors(case.inputs, layout=layout, device=calls.device, grad=True)
        if not differentiable(inputs):
            return None
        results = forward(exercise, calls, inputs, when)
        grads = [incoming(r, 1) for r in results]
        aims = wanted(exercise, case.inputs, [array(g) for g in grads])
        return Pass(exercise, calls, case, when, inputs, results, grads, aims)

    def alone_or_not(self) -> None:
        """Check that the gradient survives another call before the backward pass."""
        other = self.exercise.case(self.case.size, seed=7)
        given = tensors(other.inputs, device=self.calls.device, grad=True)
        forward(self.exercise, self.calls, given, self.when)
        got = self.backward(self.grads)
        if not self.wrong(got, self.aims):
            return
        again = Pass.begin(self.exercise, self.calls, self.case)
        if again is not None and not self.wrong(again.backward(self.grads), self.aims):
            raise self.failed(
                "The gradient is wrong when the function was called once more before "
                "its backward.",
                "A network calls a function many times before the first backward. "
                "Where is what this call needs kept, and what does the next call do "
                "to it?",
                "the calls share what they keep",
            )
        self.explain(got)

    def shaped(self) -> None:
        """Check that the operator's backward returns gradients in its inputs' shapes.

        PyTorch sums a gradient that is larger, as if its input had been broadcast, and
        drops leading dimensions of size 1.
        """
        with self.returned() as seen:
            self.backward(self.grads)
        names = self.exercise.names(len(self.inputs))
        for k in differentiable(self.inputs):
            got: Any = seen[k] if k < len(seen) else None
            name, shape = names[k], self.inputs[k].shape
            if not is_tensor(got) or got.shape == shape:
                continue
            why = (
                f"PyTorch accepts this: it sums a gradient that is too large down to "
                f"the shape of {name}. But this sum is part of the derivative, so "
                "the backward should compute it. How many elements of the result does "
                f"one element of {name} change?"
            )
            if got.numel() == shape.numel():
                why = (
                    "PyTorch accepts this, and drops each leading dimension of size 1. "
                    "But a gradient has the shape of its input. Which line makes that "
                    "dimension?"
                )
            raise self.failed(
                f"The backward returns a gradient with the shape "
                f"{written_shape(got.shape)} for {name}, and {name} has "
                f"{written_shape(shape)}.",
                why,
                "right, but a gradient has the wrong shape",
            )

    def twice(self) -> None:
        """Check a second backward pass through the graph, with new output gradients."""
        grads = [incoming(r, 2) for r in self.results]
        aims = wanted(self.exercise, self.case.inputs, [array(g) for g in grads])
        if self.wrong(self.backward(grads), aims):
            raise self.failed(
                "A second backward through the same graph gives another gradient than "
                "the first would have.",
                "With `retain_graph=True` the saved tensors are used again. Which line "
                "writes into one of them?",
                "what was saved has been changed",
            )

    def expanded(self) -> None:
        """Check a backward pass after `result.sum()`.

        The incoming gradient then has strides of zero.
        """
        ones = [
            torch.ones((), dtype=r.dtype, device=r.device).expand(r.shape)
            for r in self.results
        ]
        aims = wanted(self.exercise, self.case.inputs, [array(g) for g in ones])
        headline, why = (
            "not after `.sum()`",
            "After `.sum()` the incoming gradient is one number in memory, with the "
            "shape of the result and strides of zero. What does the backward assume "
            "about its memory?",
        )
        with reworded("exception", kind="gradient", why=why, headline=headline):
            got = self.backward(ones)
        if self.wrong(got, aims):
            raise self.failed("The gradient of `result.sum()` is wrong.", why, headline)

    def strided(self) -> None:
        """Check the gradient, which is right on dense inputs, on strided ones too."""
        if not self.exercise.strided:
            return
        again = Pass.begin(self.exercise, self.calls, self.case, STRIDED)
        if again is None or not has_strides(again.inputs):
            return
        with reworded("exception", kind="strides"):
            got = again.backward(again.grads)
        if found := again.wrong(got, again.aims):
            name, difference = found
            raise again.failed(
                difference.sentence(f"the gradient of {name}"),
                "On the same numbers, contiguous, it is right. Which line of the "
                "backward assumes an order in memory?",
                kind="strides",
            )

    def one_input_at_a_time(self) -> None:
        """Check each input's gradient when no other input requires one.

        This is the case when weights are frozen.
        """
        positions = differentiable(self.inputs)
        if len(positions) < 2 or not all(self.aims[k] is not None for k in positions):
            return
        names = self.exercise.names(len(self.inputs))
        for k in positions:
            inputs = clones(self.inputs)
            inputs[k].requires_grad_(True)
            when = f"{self.when}, with a gradient for {names[k]} only"
            results = forward(self.exercise, self.calls, inputs, when)
            again = replace(self, inputs=inputs, results=results, when=when)
            with self.returned() as seen:
                got = again.backward(self.grads)
            only = [aim if n == k else None for n, aim in enumerate(self.aims)]
            if found := again.wrong(got, only):
                name, wrong = found
                raise self.failed(
                    f"With {name} the only input that requires a gradient, "
                    f"{wrong.sentence(f'the gradient of {name}')}",
                    "With gradients asked for all inputs it is right. What does the "
                    "backward do with the gradients that were not asked for?",
                )
            if self.exercise.frozen:
                self.left_out(seen, k, positions)

    def kept(self) -> None:
        """Check that the backward does not use a tensor that has been changed.

        If a tensor that was saved with `save_for_backward` has been changed, PyTorch
        raises an error. It knows nothing of tensors that are kept elsewhere.
        """
        if self.exercise.changes or self.exercise.written.kind == CALLABLE:
            return
        names = [
            *self.exercise.names(len(self.inputs)),
            *result_names(len(self.results)),
        ]
        for k, name in enumerate(names):
            again = Pass.begin(self.exercise, self.calls, self.case)
            if again is None:
                return
            changed: Any = [*again.inputs, *again.results][k]
            if not is_tensor(changed) or not changed.is_floating_point():
                continue
            attribute = again.attribute(changed)
            with torch.no_grad():
                changed.mul_(2).add_(1)
            try:
                got = again.backward(self.grads)
            except Failed:  # PyTorch refuses, or the changed numbers do not suit
                continue
            if not self.wrong(got, self.aims):
                continue
            written = self.exercise.written
            setup = written.setup or written.forward
            said = (
                f"`ctx.{attribute}` is an attribute that keeps {name}"
                if attribute
                else f"PyTorch does not know that the backward uses {name}"
            )
            stated = rf".*\.{attribute}\b" if attribute else "def "
            raise self.failed(
                f"{said}. The check changes {name} in place between the forward and "
                "the backward. The backward then returns a wrong gradient, and PyTorch "
                "raises no error.",
                "PyTorch notices such a change if the tensor was saved with "
                "`ctx.save_for_backward`, and then refuses to compute a gradient. It "
                "cannot notice it for tensors that are kept anywhere else.",
                "right, but a tensor is not saved",
                places=line_with(setup, stated) or returns(written.backward),
            )

    def attribute(self, tensor: Tensor) -> str:
        """Return the attribute of `ctx` that has a tensor, or a view of it, or ""."""
        for result in self.results:
            for name, value in getattr(result.grad_fn, "__dict__", {}).items():
                parts = (part for _, part in leaves(value) if is_tensor(part))
                if any(share(part, tensor) for part in parts):
                    return str(name)
        return ""

    @contextlib.contextmanager
    def returned(self) -> Iterator[list[Any]]:
        """Within a `with` block, record what the operator's backward pass returns."""
        operator = self.exercise.written.thing
        backward = getattr(operator, "_backward_fn", None)
        seen: list[Any] = []
        if backward is None:
            yield seen
            return

        def noted(ctx: Any, *grads: Any) -> Any:
            found = backward(ctx, *grads)
            seen[:] = found if isinstance(found, tuple) else (found,)
            return found

        operator._backward_fn = noted
        try:
            yield seen
        finally:
            operator._backward_fn = backward

    def left_out(self, seen: list[Any], k: int, positions: list[int]) -> None:
        """Raise `Failed` if a gradient was computed for an input that needs none."""
        names = self.exercise.names(len(self.inputs))
        for n in positions:
            if n == k or n >= len(seen) or seen[n] is None:
                continue
            raise self.failed(
                f"Only {names[k]} requires a gradient, and the backward returns one "
                f"for {names[n]} too.",
                "PyTorch drops it, but it has been computed. A network with a frozen "
                "part would pay for it in every step. What does `ctx` know about "
                "which inputs need a gradient?",
                "right, but it computes gradients that are not needed",
            )

    def backward(self, grads: list[Tensor]) -> list[Any]:
        """Run the backward pass with `grads`; keep the graph.

        Returns a gradient per input, None for inputs that require none. Raises `Failed`
        if the pass fails.
        """
        positions = differentiable(self.inputs)
        asked = [self.inputs[k] for k in positions]
        pairs = [
            (result, grad)
            for result, grad in zip(self.results, grads, strict=True)
            if result.requires_grad
        ]
        sent = [grad for _, grad in pairs]
        before = clones([*sent, *self.inputs])

        def back() -> Any:
            return torch.autograd.grad(
                [result for result, _ in pairs],
                asked,
                sent,
                retain_graph=True,
                allow_unused=True,
            )

        got: list[Any] = [None] * len(self.inputs)
        for k, grad in zip(positions, self.calls.run(back, self.when), strict=True):
            got[k] = grad
        self.calls.launches.refuse_certain()
        self.unchanged(before, [*sent, *self.inputs])
        self.complete(got)
        return got

    def unchanged(self, before: list[Any], now: list[Any]) -> None:
        """Raise `Failed` if the backward pass has changed any of its inputs."""
        names = self.exercise.names(len(self.inputs))
        ours = [f"incoming gradient {k + 1}" for k in range(len(now) - len(names))]
        if len(ours) == 1:
            ours = ["the incoming gradient"]
        for name, one, other in zip([*ours, *names], before, now, strict=True):
            if is_tensor(other) and not equal(one, other.detach()):
                raise self.failed(
                    f"The backward of {self.exercise.name} writes into {name}.",
                    "Other functions of the graph still read it. A gradient needs "
                    "memory of its own.",
                    "the backward changes what it was given",
                    places=[],
                )

    def complete(self, got: list[Any]) -> None:
        """Raise `Failed` if a gradient is missing, or not of its input's shape."""
        names = self.exercise.names(len(self.inputs))
        for k in differentiable(self.inputs):
            if self.aims[k] is None:
                continue
            if got[k] is None and np.any(self.aims[k]):
                raise self.failed(
                    f"Input {names[k]} gets no gradient: None comes back for it.",
                    f"A change of {names[k]} changes the result, so its gradient is "
                    "not zero.",
                    "a gradient is missing",
                )
            if got[k] is not None and got[k].shape != self.inputs[k].shape:
                raise self.failed(
                    f"The gradient of {names[k]} has the shape "
                    f"{written_shape(got[k].shape)}, and {names[k]} has "
                    f"{written_shape(self.inputs[k].shape)}.",
                    "A gradient says how the result changes with each element.",
                    "a gradient of another shape",
                )

    def wrong(self, got: list[Any], aims: list[Any]) -> tuple[str, Difference] | None:
        """Return the name and the difference of the first wrong gradient, or None."""
        names = self.exercise.names(len(self.inputs))
        for name, found, aim in zip(names, got, aims, strict=True):
            if found is None or aim is None:
                continue
            differs = difference(array(found), aim, self.exercise.tolerance)
            if differs is not None:
                return name, differs
        return None

    def explain(self, got: list[Any]) -> None:
        """Raise `Failed` with an explanation of how the gradients are wrong."""
        found = self.wrong(got, self.aims)
        assert found is not None
        name, differs = found
        ones = [np.ones(r.shape) for r in self.results]
        local = wanted(self.exercise, self.case.inputs, ones)
        why = differs.hint
        headline = ""
        if matches(got, local, self.exercise.tolerance):
            headline = "the incoming gradient has no part in it"
            why = (
                "This is the derivative of the function itself. What comes back says "
                "how the loss changes with each element of the result: where does it "
                "enter?"
            )
        elif np.isnan(differs.got):
            why = "That NaN is what the check puts into new memory: follow one element."
        else:
            k = self.exercise.names(len(self.inputs)).index(name)
            wrong = Wrong(self, k, got)
            why = wrong.cause() or why or wrong.by_a_factor()
        raise self.failed(differs.sentence(f"the gradient of {name}"), why, headline)

    def failed(
        self, message: str, why: str = "", headline: str = "", **more: Any
    ) -> Failed:
        """Return the error that ends a check, by default at a `return` line.

        The line is in the learner's backward pass or, if there is none, in the main
        function.
        """
        written = self.exercise.written
        places = returns(written.backward or written.main)
        given = {"kind": "gradient", "places": places, "when": self.when} | more
        text = capital(message)
        return self.exercise.failed(message=text, why=why, headline=headline, **given)


def forward(
    exercise: TorchExercise, calls: Calls, inputs: list[Any], when: str
) -> list[Tensor]:
    """Run the forward pass.

    Raises `Failed` if the pass fails, or if no result requires a gradient.
    """
    results = calls.results(inputs, when)
    calls.launches.refuse_certain()
    if not any(is_tensor(r) and r.requires_grad for r in results):
        raise no_graph(exercise, when)
    return results


def matches(got: list[Any], aims: list[Any], tolerance: float) -> bool:
    """Return whether all gradients in `got`, except for None, match those in `aims`."""
    pairs = [(g, a) for g, a in zip(got, aims, strict=True) if g is not None]
    return all(
        a is not None and bool(close(array(g), a, tolerance).all()) for g, a in pairs
    )


# Verdicts


def no_backward(exercise: TorchExercise) -> Failed:
    written = exercise.written
    if written.kind == FUNCTION:
        message = f"{exercise.name} has no backward."
        why = "`apply` records the call; what is run when a gradient comes back?"
    else:
        message = f"No backward is registered for {exercise.name}."
        why = (
            "PyTorch does not look into an operator, so it cannot derive one. Which "
            "line registers one? If it is in another cell, run that cell again: this "
            "one has made a new operator."
        )
    places = line_with(written.forward, "def ")
    headline = "no backward is registered" if written.kind == OPERATOR else ""
    return exercise.failed("autograd", message, why, places, headline=headline)


def registered_too(exercise: TorchExercise, other: Any) -> None:
    """Raise `Failed` unless `other` has the backward that the exercise registers."""
    mine = exercise.written.backward
    theirs = look(other)
    found = inspect.unwrap(theirs.backward) if theirs.backward else None
    if found is mine or (
        found is not None
        and getattr(found, "__code__", None) is not None
        and found.__code__.co_filename == inspect.unwrap(mine).__code__.co_filename
    ):
        return
    raise exercise.failed(
        "autograd",
        f"No backward of this cell is registered for {theirs.name}.",
        f"The gradients of {exercise.name} are right. But {theirs.name} is another "
        "operator, and no gradient passes through it without its own backward. For "
        "which operators does this cell register one?",
        line_with(mine, "def "),
        headline=f"right, but {theirs.name} has no backward of yours",
    )


def no_graph(exercise: TorchExercise, when: str) -> Failed:
    """Return the error for results that autograd does not track."""
    main = exercise.written.main
    message = f"The result of {exercise.name} requires no gradient"
    if direct := line_with(main, r".*\.forward\("):
        message += ": `forward` is called directly"
        why = (
            "Called like that it is an ordinary function, and autograd does not hear "
            "of it. Which method of an autograd function records the call?"
        )
    else:
        why = (
            "Autograd knows operations that it has recorded: not a kernel's, nor what "
            "goes through `detach`, NumPy or `torch.no_grad`."
        )
    places = direct or returns(main)
    return exercise.failed("autograd", f"{message}.", why, places, when=when)
