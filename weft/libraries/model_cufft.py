"""A model of cuFFT: plans, and transforms of the arrays at the addresses passed."""

import math
import struct
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, ClassVar

import numpy as np
import torch

from weft.libraries.faults import Fault, Refusal
from weft.libraries.headers import cufft
from weft.libraries.model import Kind, Library, Model

Result, Type = cufft.Result, cufft.Type
VERSION = 12200
IN_DOUBLE = (0x69, 0x6A, 0x6C)  # Z2Z, D2Z and Z2D
DTYPES = {  # (of the input, of the output)
    Type.C2C: (torch.complex64, torch.complex64),
    Type.R2C: (torch.float32, torch.complex64),
    Type.C2R: (torch.complex64, torch.float32),
}


@dataclass(frozen=True)
class Layout:
    """One side of a plan: the sizes and strides of its array.

    Element (b, x, y) is at b * dist + (x * embed[1] + y) * stride. sizes: the number of
    elements per dimension of a transform on this side. embed: the sizes of the
    enclosing array; the first is never used. usual: whether the plan gives no embeds,
    so that there are no gaps.
    """

    sizes: tuple[int, ...]
    embed: tuple[int, ...]
    stride: int
    dist: int
    usual: bool = False

    def in_place(self, last: int) -> "Layout":
        """Return this layout with padded rows, as for an in-place transform of reals.

        A layout of complex numbers, or one with embeds, is returned unchanged.
        last: the number of complex numbers in a row.
        """
        if not self.usual or self.sizes[-1] == last:
            return self
        embed = (*self.sizes[:-1], 2 * last)
        return replace(self, embed=embed, dist=math.prod(embed))

    @property
    def steps(self) -> tuple[int, ...]:
        """The distance, in elements, between neighbours along each dimension."""
        rank = len(self.sizes)
        return tuple(self.stride * math.prod(self.embed[d + 1 :]) for d in range(rank))


@dataclass(frozen=True)
class Plan:
    """A plan as `make_plan_many` describes it."""

    kind: IntEnum
    n: tuple[int, ...]
    batch: int
    source: Layout
    target: Layout

    def run(self, read: torch.Tensor, direction: int) -> torch.Tensor:
        """Transform the elements `read`, (batch, *sizes), without a factor of 1 / n."""
        x = read.numpy()
        axes = tuple(range(1, len(self.n) + 1))
        if self.kind == Type.R2C:
            got: Any = np.fft.rfftn(x, axes=axes)
        elif self.kind == Type.C2R:
            got = np.fft.irfftn(x, self.n, axes=axes) * math.prod(self.n)
        elif direction < 0:
            got = np.fft.fftn(x, axes=axes)
        else:
            got = np.fft.ifftn(x, axes=axes) * math.prod(self.n)
        return torch.from_numpy(np.ascontiguousarray(got)).to(DTYPES[self.kind][1])


@dataclass
class Made:
    """The object that a plan number identifies: a stream and, once made, a plan."""

    plan: Plan | None = None
    stream: int = 0


class CuFFT(Library):
    """The functions of cuFFT. A plan is identified by a number, not by an address."""

    name = "cufft"
    kinds: ClassVar = {
        "create": Kind("plan of cuFFT", lambda _: Made(), Result.INVALID_PLAN)
    }
    sets: ClassVar = {"set_stream": "stream"}

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.numbers: list[int] = []  # plan number → the address of its object

    def create(self, a: Any) -> int:
        self.numbers.append(self.make("create", a))
        return len(self.numbers)

    def held(self, address: int, parameter: str = "plan", maker: str = "") -> Any:
        """Return the plan numbered `address`. Raises `Refusal` if there is none."""
        if not 1 <= address <= len(self.numbers):
            never = f"{address} is no plan: `create` has not returned it"
            raise Refusal(Result.INVALID_PLAN, never)
        made = self.numbers[address - 1]
        if not self.model.objects.made[made].alive:
            gone = f"plan {address} has been destroyed"
            raise Refusal(Result.INVALID_PLAN, gone)
        return super().held(made, parameter, maker)

    def refused(self, refusal: Refusal) -> int:
        status = super().refused(refusal)
        if refusal.reason:
            said = f"CUFFT_{Result(status).name}: {refusal.reason}."
            self.model.refusals[-1] = said
        return status

    def destroy(self, a: Any) -> None:
        self.held(a.plan)
        number, here = self.numbers[a.plan - 1], self.model.here()
        self.model.objects.destroy(number, self.kinds["create"].what, here)

    def get_version(self, a: Any) -> int:
        return VERSION

    # Plans

    def make_plan1d(self, a: Any) -> int:
        return self._make(a, (a.nx,), (None, 1, 0), (None, 1, 0))

    def make_plan_many(self, a: Any) -> int:
        """Make a plan with strides, in one to three dimensions."""
        if not 1 <= a.rank <= 3:
            raise Refusal(Result.INVALID_VALUE, f"rank is {a.rank}")
        n, inembed, onembed = (
            self._ints(getattr(a, name), a.rank, name)
            for name in ("n", "inembed", "onembed")
        )
        if n is None:
            raise Refusal(Result.INVALID_VALUE, "n is null")
        if (inembed is None) != (onembed is None):
            what = "one of inembed and onembed is null, and the other is not"
            raise Refusal(Result.INVALID_VALUE, what)
        given, wanted = (inembed, a.istride, a.idist), (onembed, a.ostride, a.odist)
        size = self._make(a, n, given, wanted)
        plan = self.held(a.plan).plan
        made = [(each.stride, each.dist) for each in (plan.source, plan.target)]
        if inembed is None and made != [given[1:], wanted[1:]]:
            self.model.ignored.append(
                "Both embeds are None, so cuFFT has ignored the strides and distances "
                "of the plan, and taken both arrays to be rows without gaps."
            )
        return size

    def _make(self, a: Any, n: tuple[int, ...], given: Any, wanted: Any) -> int:
        """Store a plan for sizes `n`, and return its workspace size in bytes, always 0.

        given, wanted: embed, stride and distance of the input and of the output.
        """
        made: Made = self.held(a.plan)
        if a.type in IN_DOUBLE:
            self.model.lacks(f"the type {a.type:#x}, in double precision")
        if a.type not in DTYPES:
            raise Refusal(Result.INVALID_TYPE, f"type is {a.type:#x}")
        if min(n) < 1 or a.batch < 1:
            what = f"n is {list(n)} and batch {a.batch}"
            raise Refusal(Result.INVALID_SIZE, what)
        kind, half = Type(a.type), (*n[:-1], n[-1] // 2 + 1)
        sizes = {Type.C2C: (n, n), Type.R2C: (n, half), Type.C2R: (half, n)}[kind]
        sides = [
            # Without embeds, cuFFT ignores strides and distances.
            Layout(each, each, 1, math.prod(each), usual=True)
            if embed is None
            else Layout(each, embed, stride, dist)
            for each, (embed, stride, dist) in zip(sizes, (given, wanted), strict=True)
        ]
        made.plan = Plan(kind, n, a.batch, *sides)
        return 0

    def _ints(self, address: int, count: int, name: str) -> tuple[int, ...] | None:
        """Read an array of int from host memory; return None for a null address."""
        if not address:
            return None
        return struct.unpack(f"<{count}i", self.model.read(address, 4 * count, name))

    # Execution

    def exec_c2c(self, a: Any) -> None:
        if a.direction not in (-1, 1):
            what = f"direction is {a.direction}, which is neither -1 nor 1"
            raise Refusal(Result.INVALID_VALUE, what)
        self._execute(a, Type.C2C, a.direction)

    def exec_r2c(self, a: Any) -> None:
        self._execute(a, Type.R2C, -1)

    def exec_c2r(self, a: Any) -> None:
        self._execute(a, Type.C2R, 1)

    def _execute(self, a: Any, kind: int, direction: int) -> None:
        """Transform the input at `a.idata` into the output at `a.odata`."""
        made: Made = self.held(a.plan)
        if (plan := made.plan) is None:
            what = f"plan {a.plan} was created, but never made"
            raise Refusal(Result.INVALID_PLAN, what)
        if plan.kind != kind:
            self.model.refuse(other_kind(a.symbol, Type(kind), plan.kind))
        source, target = plan.source, plan.target
        if a.idata == a.odata and kind != Type.C2C:
            last = plan.n[-1] // 2 + 1
            source, target = source.in_place(last), target.in_place(last)
        read = self._side("idata", a.idata, plan, source)
        write = self._side("odata", a.odata, plan, target)
        found = plan.run(read.clone(), direction)
        # then the input may be used as workspace
        if kind == Type.C2R and a.idata != a.odata:
            read.fill_(complex("nan+nanj"))
        write.copy_(found)
        self.model.computed(a.symbol, made.stream)

    def _side(
        self, parameter: str, address: int, plan: Plan, side: Layout
    ) -> torch.Tensor:
        """Return one side of a plan, input or output, as a (batch, *sizes) view."""
        dtype = DTYPES[plan.kind][parameter == "odata"]
        letter, kind = parameter[0], "complex" if dtype.is_complex else "float"
        verb = "read" if letter == "i" else "written"
        shape, steps = (plan.batch, *side.sizes), (side.dist, *side.steps)
        return self.model.array(
            parameter,
            address,
            dtype,
            shape,
            steps,
            f"is {verb} by the plan as {' × '.join(map(str, shape))} {kind} elements "
            f"of {dtype.itemsize} bytes, with {letter}stride {side.stride} and "
            f"{letter}dist {side.dist}",
            f"Transform b begins at element b × {letter}dist, and its element j is "
            f"j × {letter}stride further on.",
            "a plan that reaches beyond the array",
        )


def other_kind(symbol: str, kind: IntEnum, made: IntEnum) -> Fault:
    return Fault(
        "handle",
        f"{symbol} executes a plan that was made for {made.name}, not {kind.name}.",
        "cuFFT does not compare the two and reports success. What it reads and writes "
        "has the sizes of the plan, and the wrong type.",
        headline="a plan of another type",
    )
