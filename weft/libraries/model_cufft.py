"""A model of cuFFT: plans, and transforms of what is at the addresses passed."""

import math
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from weft.libraries.enumerations import FftResult, FftType
from weft.libraries.faults import Fault
from weft.libraries.model import Model

PLAN = "plan of cuFFT"
VERSION = 12200
EXECUTE = {
    FftType.C2C: "cufftExecC2C",
    FftType.R2C: "cufftExecR2C",
    FftType.C2R: "cufftExecC2R",
}


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


@dataclass
class Made:
    """A plan's number stands for this: a stream, and what was planned, if anything."""

    plan: Plan | None = None
    stream: int = 0


class CuFFT:
    """The functions of cuFFT, by the names that the binding has for them."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.numbers: list[int] = []  # of a plan → the address of its object

    def create(self, result: int) -> int:
        address = self.model.objects.create(PLAN, Made(), self.model.here())
        self.model.write(result, struct.pack("<i", len(self.numbers) + 1), "plan")
        self.numbers.append(address)
        return FftResult.SUCCESS

    def _made(self, number: int) -> Made | None:
        """What a number stands for; None for one that was never given out."""
        if not 1 <= number <= len(self.numbers):
            return None
        address = self.numbers[number - 1]
        if not self.model.objects.made[address].alive:
            return None  # cuFFT notices this by itself
        made = self.model.objects.get(address, PLAN, "plan")
        assert isinstance(made, Made)
        return made

    def destroy(self, plan: int) -> int:
        if self._made(plan) is None:
            return self._no_plan(plan)
        self.model.objects.destroy(self.numbers[plan - 1], PLAN, self.model.here())
        return FftResult.SUCCESS

    def get_version(self, result: int) -> int:
        self.model.write(result, struct.pack("<i", VERSION), "version")
        return FftResult.SUCCESS

    def set_stream(self, plan: int, stream: int) -> int:
        if (made := self._made(plan)) is None:
            return self._no_plan(plan)
        made.stream = stream
        return FftResult.SUCCESS

    def get_size(self, handle: int, result: int) -> int:
        if self._made(handle) is None:
            return self._no_plan(handle)
        self.model.write(result, struct.pack("<Q", 0), "work_size")
        return FftResult.SUCCESS

    # Plans

    def make_plan1d(
        self, plan: int, nx: int, type: int, batch: int, result: int
    ) -> int:
        return self._make(plan, (nx,), type, batch, (None, 1, 0), (None, 1, 0), result)

    def make_plan_many(
        self,
        plan: int,
        rank: int,
        n: int,
        inembed: int,
        istride: int,
        idist: int,
        onembed: int,
        ostride: int,
        odist: int,
        type: int,
        batch: int,
        result: int,
    ) -> int:
        """Make a plan with strides, in one to three dimensions."""
        if not 1 <= rank <= 3:
            return self._refused(FftResult.INVALID_VALUE, f"rank is {rank}")
        sizes = self._ints(n, rank, "n")
        if sizes is None:
            return self._refused(FftResult.INVALID_VALUE, "n is null")
        given = self._ints(inembed, rank, "inembed"), istride, idist
        wanted = self._ints(onembed, rank, "onembed"), ostride, odist
        if (given[0] is None) != (wanted[0] is None):
            what = "one of inembed and onembed is null, and the other is not"
            return self._refused(FftResult.INVALID_VALUE, what)
        status = self._make(plan, sizes, type, batch, given, wanted, result)
        if status == FftResult.SUCCESS and given[0] is None:
            self._ignores(plan, (istride, idist), (ostride, odist))
        return status

    def _ignores(self, number: int, *asked: tuple[int, int]) -> None:
        """Note strides and distances that a plan without embeds takes no notice of."""
        made = self._made(number)
        assert made is not None
        assert made.plan is not None
        sides = made.plan.source, made.plan.target
        if asked != tuple((side.stride, side.dist) for side in sides):
            self.model.ignored.append(
                "Both embeds are None, so cuFFT has ignored the strides and distances "
                "of the plan, and taken both arrays to be rows without gaps."
            )

    def _make(
        self,
        number: int,
        n: tuple[int, ...],
        kind: int,
        batch: int,
        given: Any,
        wanted: Any,
        result: int,
    ) -> int:
        """Keep what was planned. given, wanted: embed, stride and distance."""
        if (made := self._made(number)) is None:
            return self._no_plan(number)
        if kind not in EXECUTE:
            return self._refused(FftResult.INVALID_TYPE, f"type is {kind:#x}")
        if min(n) < 1 or batch < 1:
            what = f"n is {list(n)} and batch {batch}"
            return self._refused(FftResult.INVALID_SIZE, what)
        made.plan = planned(FftType(kind), n, batch, given, wanted)
        self.model.write(result, struct.pack("<Q", 0), "work_size")
        return FftResult.SUCCESS

    def _ints(self, address: int, count: int, name: str) -> tuple[int, ...] | None:
        """An array of int in the host's memory; None for a null address."""
        if not address:
            return None
        return struct.unpack(f"<{count}i", self.model.read(address, 4 * count, name))

    def _no_plan(self, number: int) -> int:
        gone = 1 <= number <= len(self.numbers)
        what = (
            f"plan {number} has been destroyed"
            if gone
            else (f"{number} is no plan: `create` has not returned it")
        )
        return self._refused(FftResult.INVALID_PLAN, what)

    def _refused(self, status: FftResult, what: str) -> int:
        self.model.refusals.append(f"CUFFT_{status.name}: {what}.")
        self.model.said("cufft", what)
        return status

    # Execution

    def exec_c2c(self, plan: int, idata: int, odata: int, direction: int) -> int:
        if direction not in (-1, 1):
            what = f"direction is {direction}, which is neither -1 nor 1"
            return self._refused(FftResult.INVALID_VALUE, what)
        return self._execute(FftType.C2C, plan, idata, odata, direction)

    def exec_r2c(self, plan: int, idata: int, odata: int) -> int:
        return self._execute(FftType.R2C, plan, idata, odata, -1)

    def exec_c2r(self, plan: int, idata: int, odata: int) -> int:
        return self._execute(FftType.C2R, plan, idata, odata, 1)

    def _execute(
        self, kind: FftType, number: int, idata: int, odata: int, direction: int
    ) -> int:
        """Transform what is at one address into another."""
        made = self._made(number)
        if made is None:
            return self._no_plan(number)
        if made.plan is None:
            what = f"plan {number} was created, but never made"
            return self._refused(FftResult.INVALID_PLAN, what)
        plan, symbol = made.plan, EXECUTE[kind]
        if plan.kind != kind:
            self.model.refuse(other_kind(symbol, kind, plan.kind))
        source, target = plan.dtypes
        read = self._span("idata", idata, plan.source, plan.batch, source)
        write = self._span("odata", odata, plan.target, plan.batch, target)
        found = plan.run(plan.source.view(read, plan.batch).clone(), direction)
        if kind == FftType.C2R and idata != odata:  # it may be used as workspace
            plan.source.view(read, plan.batch).fill_(complex("nan+nanj"))
        plan.target.view(write, plan.batch).copy_(found)
        self.model.computed(symbol, made.stream)
        return FftResult.SUCCESS

    def _span(
        self,
        parameter: str,
        address: int,
        side: Layout,
        batch: int,
        dtype: torch.dtype,
    ) -> torch.Tensor:
        """The storage from an address on, as elements. Refuses what is outside."""
        found = self.model.memory.find(address)
        if found is None:
            self.model.refuse(nowhere(parameter, address))
        assert found is not None
        buffer, offset = found
        size, count = dtype.itemsize, side.elements(batch)
        kind = "complex" if dtype.is_complex else "float"
        if offset % size:
            self.model.refuse(
                Fault(
                    "device-bounds",
                    f"{parameter} begins at byte {offset} of {buffer.name}, which is "
                    f"no multiple of the {size} bytes of a {kind} element.",
                    headline="an address between two elements",
                )
            )
        if offset < 0 or offset + count * size > buffer.nbytes:
            self.model.refuse(outside(parameter, buffer, side, batch, kind, size))
        flat = torch.empty(0, dtype=dtype)
        return flat.set_(buffer.storage, offset // size, (count,), (1,))


def other_kind(symbol: str, kind: FftType, made: FftType) -> Fault:
    return Fault(
        "handle",
        f"{symbol} executes a plan that was made for {made.name}, not {kind.name}.",
        "cuFFT does not compare the two and reports success. What it reads and writes "
        "has the sizes of the plan, and the wrong type.",
        headline="a plan of another type",
    )


def nowhere(parameter: str, address: int) -> Fault:
    shown = "null" if address == 0 else f"{address:#x}"
    return Fault(
        "pointer",
        f"{parameter} is the address {shown}, which is not in device memory.",
        "Arrays are passed by their address on the device: `x.data_ptr()`.",
    )


def outside(
    parameter: str, buffer: Any, side: Layout, batch: int, kind: str, size: int
) -> Fault:
    """A plan that reaches beyond the array it is executed on."""
    verb = "reads" if parameter == "idata" else "writes"
    letter = "i" if parameter == "idata" else "o"
    sizes = " × ".join(map(str, side.sizes))
    last = side.elements(batch) * size
    return Fault(
        "device-bounds",
        f"The plan {verb} {batch} × {sizes} {kind} elements of {size} bytes, with "
        f"{letter}stride {side.stride} and {letter}dist {side.dist}. The last of them "
        f"ends at byte {last:,} of {buffer.name}, which has {buffer.nbytes:,}.",
        f"Transform b begins at element b × {letter}dist, and its element j is "
        f"j × {letter}stride further on. A GPU would read or overwrite what comes "
        "after the array, mostly in silence.",
        headline="a plan that reaches beyond the array",
    )
