"""Find out how optimisers step in one call of a learner's function."""

import linecache
import sys
from contextlib import contextmanager

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils._python_dispatch import _disable_current_modes

from weft.places import Place


class Steps:
    """The steps of optimisers in one call of a function.

    optimisers: those that have made a step. norms: for each step, the norm of all
    gradients that it uses, a tensor. places: the learner's lines that step.
    """

    def __init__(self):
        """Begin with no steps."""
        self.optimisers, self.norms, self.places = [], [], []

    @contextmanager
    def watched(self, function):
        """Record the steps in a `with` block that calls `function`."""
        self.__init__()
        hook = register_optimizer_step_pre_hook(
            lambda optimiser, *_: self.add(optimiser, function)
        )
        try:
            yield
        finally:
            hook.remove()

    def add(self, optimiser, function):
        """Record that an optimiser begins a step."""
        if all(optimiser is not known for known in self.optimisers):
            self.optimisers.append(optimiser)
        if (place := running(function)) and place not in self.places:
            self.places.append(place)
        with _disable_current_modes(), torch.no_grad():
            norms = [p.grad.norm() for p in weights(optimiser) if p.grad is not None]
            self.norms.append(torch.stack(norms).norm() if norms else torch.zeros(()))

    def longest(self):
        """Return the number of the step that uses the longest gradients, and the norm.

        Returns 0, 0 without a step. The number counts from 1.
        """
        norms = [norm.item() for norm in self.norms]
        return max(((x, k) for k, x in enumerate(norms, 1)), default=(0, 0))[::-1]


def weights(optimiser):
    """Return the tensors that an optimiser updates."""
    return [each for group in optimiser.param_groups for each in group["params"]]


def running(function):
    """Return the line of the cell of `function` that is running, or None."""
    code, frame = function.__code__, sys._getframe()
    while frame is not None:
        if frame.f_code.co_filename == code.co_filename:
            text = linecache.getline(code.co_filename, frame.f_lineno).strip()
            return Place(frame.f_code.co_name, frame.f_lineno, text)
        frame = frame.f_back
    return None
