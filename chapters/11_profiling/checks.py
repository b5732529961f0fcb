"""A toy GPU, and specifications, for the checks of lab 11."""

import itertools
import statistics

from .kernels import DT


class ToyGPU:
    """A queue with two clocks, in ms: the host's, and when the GPU is done."""

    def __init__(self, *kernel_ms):
        self.times = itertools.cycle(kernel_ms)
        self.median = statistics.median(kernel_ms)
        self.compiling = 300.0  # the first launch waits for the compiler
        self.host = self.done = 0.0

    def launch(self):
        """Queue the kernel: the host goes on, the GPU starts when free."""
        self.host += self.compiling + 0.02
        self.compiling = 0.0
        self.done = max(self.done, self.host) + next(self.times)

    def event(self):
        """Make an event."""
        return ToyEvent(self)

    def __repr__(self):
        return f"a toy GPU, {self.median} ms"


class ToyEvent:
    """A mark in the queue of a ToyGPU."""

    def __init__(self, gpu):
        self.gpu, self.at = gpu, None

    def record(self):
        """Queue the mark: the GPU records the time when it gets there."""
        self.at = max(self.gpu.done, self.gpu.host)

    def synchronize(self):
        """Make the host wait until the GPU has reached the mark."""
        self.gpu.host = max(self.gpu.host, self.at)

    def elapsed_time(self, end):
        """Return the ms from this mark to `end`."""
        if self.at is None or end.at is None:
            raise RuntimeError("an event was not recorded")
        if self.gpu.host < end.at:
            raise RuntimeError("the GPU has not come to an event yet")
        return end.at - self.at


def toys(rng):
    """Return toy GPUs: one whose launches all take the same time, and others."""
    return [
        (ToyGPU(3.0),),
        (ToyGPU(2.0, 1.6, 2.0, 9.0, 2.0),),
        (ToyGPU(*[2.0] * 11, *[3.0] * 9),),  # one more slow one tips it over
        (ToyGPU(2.0, 2.0, *[3.0] * 9, *[2.0] * 9),),  # the slow ones early
    ]


def step_by_step(x, v, steps):
    """Return position and speed after some steps, in NumPy."""
    for _step in range(steps):
        v = v - DT * x
        x = x + DT * v
    return x, v
