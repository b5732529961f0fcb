"""What a plan of cuFFT says: sizes, batch, and where every element is in memory."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from weft.libraries.enumerations import FftType


@dataclass(frozen=True)
class Layout:
    """One side of a plan: element (b, x, y) is number b * dist + (x * ny + y) * stride.

    sizes: how many elements a transform has per dimension on this side. embed: the
    sizes of the array that it is part of, of which the first is never used.
    """

    sizes: tuple[int, ...]
    embed: tuple[int, ...]
    stride: int
    dist: int

    @property
    def steps(self) -> tuple[int, ...]:
        """How far apart neighbours are, per dimension."""
        rank = len(self.sizes)
        return tuple(self.stride * math.prod(self.embed[d + 1 :]) for d in range(rank))

    def elements(self, batch: int) -> int:
        """From the first element of the batch to the last, both included."""
        far = sum(
            (n - 1) * step for n, step in zip(self.sizes, self.steps, strict=True)
        )
        return (batch - 1) * self.dist + far + 1

    def view(self, flat: torch.Tensor, batch: int) -> torch.Tensor:
        """All elements of the batch, (batch, *sizes), in a storage of them."""
        return flat.as_strided((batch, *self.sizes), (self.dist, *self.steps))


@dataclass(frozen=True)
class Plan:
    """A plan as `make_plan_many` describes it."""

    kind: FftType
    n: tuple[int, ...]
    batch: int
    source: Layout
    target: Layout

    @property
    def dtypes(self) -> tuple[torch.dtype, torch.dtype]:
        """The types of what is read and what is written."""
        return {
            FftType.C2C: (torch.complex64, torch.complex64),
            FftType.R2C: (torch.float32, torch.complex64),
            FftType.C2R: (torch.complex64, torch.float32),
        }[self.kind]

    def run(self, read: torch.Tensor, direction: int) -> torch.Tensor:
        """Transform what was read, (batch, *sizes), without a factor of 1 / n."""
        x = read.numpy()
        axes = tuple(range(1, len(self.n) + 1))
        if self.kind == FftType.R2C:
            got: Any = np.fft.rfftn(x, axes=axes)
        elif self.kind == FftType.C2R:
            got = np.fft.irfftn(x, self.n, axes=axes) * math.prod(self.n)
        elif direction < 0:
            got = np.fft.fftn(x, axes=axes)
        else:
            got = np.fft.ifftn(x, axes=axes) * math.prod(self.n)
        return torch.from_numpy(np.ascontiguousarray(got)).to(self.dtypes[1])


def planned(
    kind: FftType,
    n: tuple[int, ...],
    batch: int,
    given: tuple[tuple[int, ...] | None, int, int],
    wanted: tuple[tuple[int, ...] | None, int, int],
) -> Plan:
    """A plan, from (embed, stride, dist) of each side.

    Where the embeds are missing, cuFFT ignores strides and dists: the arrays are then
    without gaps. (It refuses a plan that has only one of them.)
    """
    half = (*n[:-1], n[-1] // 2 + 1)
    sizes = {FftType.C2C: (n, n), FftType.R2C: (n, half), FftType.C2R: (half, n)}[kind]
    sides = [
        Layout(each, each, 1, math.prod(each))
        if embed is None
        else Layout(each, embed, stride, dist)
        for each, (embed, stride, dist) in zip(sizes, (given, wanted), strict=True)
    ]
    return Plan(kind, n, batch, sides[0], sides[1])
