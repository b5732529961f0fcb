"""A model of cuDNN graphs: what `graphs.Graph` does if there is no GPU.

A call that cuDNN's graph interface would refuse is refused in the same step, with the
same status. For each tensor, operation, plan and pack, as many descriptors are recorded
as cuDNN would make.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NoReturn

import numpy as np
import torch

from weft.libraries.binding import error_of
from weft.libraries.convolutions import DTYPES, Convolution, Tensor
from weft.libraries.faults import Fault, Refusal
from weft.libraries.headers import cudnn
from weft.libraries.model import Model
from weft.libraries.model_cudnn import DESCRIPTOR, misdescribed, sizes
from weft.libraries.products import rounded

Pointwise, Status = cudnn.Pointwise, cudnn.Status
BINARY: dict[int, Any] = {Pointwise.ADD: torch.add, Pointwise.MUL: torch.mul}
UNARY: dict[int, Any] = {
    Pointwise.IDENTITY: lambda x: x,
    Pointwise.RELU_FWD: torch.relu,
    Pointwise.TANH_FWD: torch.tanh,
    Pointwise.SIGMOID_FWD: torch.sigmoid,
    Pointwise.GELU_FWD: torch.nn.functional.gelu,
    Pointwise.SWISH_FWD: torch.nn.functional.silu,
    Pointwise.GELU_APPROX_TANH_FWD: lambda x: torch.nn.functional.gelu(
        x, approximate="tanh"
    ),
}
TYPES = {dtype: kind for kind, dtype in DTYPES.items() if dtype.is_floating_point}
ALIGNMENT = 16  # bytes to which addresses are declared to be aligned
WORKSPACE = 1024  # bytes that the first of the model's two plans claims to need


@dataclass(frozen=True)
class Plan:
    """A plan: one way to compute a graph.

    descriptor: the address of the plan's descriptor. workspace: the bytes of workspace
    that the plan needs. engine: the number of the engine that it uses.
    """

    descriptor: int
    workspace: int
    engine: int
    compiled: bool  # whether the engine compiles its kernel when the plan is built


@dataclass(eq=False)
class Described:
    """A tensor of a graph."""

    uid: int
    tensor: Tensor
    virtual: bool


@dataclass(eq=False)
class Operation:
    """An operation y = compute(*inputs). The inputs are (x, w), (x,) or (x, b)."""

    inputs: tuple[Described, ...]
    y: Described
    compute: Callable[..., torch.Tensor]
    pointwise: bool


@dataclass(eq=False)
class Pack:
    """The addresses of tensors, by tensor number, and of a workspace."""

    addresses: dict[int, int]
    workspace: int


class Tensors:
    """The common part of `Graph` and its model: tensors described by example arrays.

    described: returns a tensor's descriptor, given its number, sizes, strides and type.
    """

    described: Callable[..., int]

    def tensor(self, uid: int, like: Any, shape: Sequence[int] | None = None) -> int:
        """Describe tensor `uid`, which is stored in memory with the layout of `like`.

        shape: four sizes for an array of fewer axes, such as (1, k, 1, 1) for a bias.
        """
        steps = tuple(like.stride()) if shape is None else packed(shape)
        shape = tuple(like.shape) if shape is None else tuple(shape)
        return self.described(uid, shape, steps, like.dtype, virtual=False)

    def virtual(self, uid: int, like: Any, dtype: torch.dtype = torch.float32) -> int:
        """Describe a tensor that is passed between two operations and never stored."""
        shape, steps = tuple(like.shape), tuple(like.stride())
        return self.described(uid, shape, steps, dtype, virtual=True)


class ModelGraph(Tensors):
    """A model of `weft.libraries.graphs.Graph`, with the same methods."""

    def __init__(self, handle: int, model: Model) -> None:
        self.handle, self.model = handle, model
        self.cudnn: Any = model.libraries["cudnn"]
        self.made: list[int] = []
        self.operations: list[Operation] = []
        self.complete = False

    def _keep(self, state: Any, descriptors: int = 1) -> int:
        """Create descriptors that hold `state`; return the address of the last."""
        for _ in range(descriptors):
            here = self.model.here()
            self.made.append(self.model.objects.create(DESCRIPTOR, state, here))
        return self.made[-1]

    def _refuse(
        self, reason: str, status: int = Status.BAD_PARAM, function: str = "Finalize"
    ) -> NoReturn:
        self.cudnn.refused(Refusal(status, reason))
        raise error_of("cudnn")(status, f"cudnnBackend{function}", reason)

    def _find(self, *addresses: int) -> tuple[Described, ...]:
        """Return the tensors at `addresses`; refuse the address of anything else."""
        get = self.model.objects.get
        found = tuple(get(each, DESCRIPTOR, "the element") for each in addresses)
        if not all(isinstance(each, Described) for each in found):
            null, other = Status.BAD_PARAM_NULL_POINTER, Status.BAD_PARAM
            what, status = ("null", null) if None in found else ("no tensor", other)
            reason = f"a descriptor among the elements is {what}."
            self._refuse(reason, status, "SetAttribute")
        return found

    # Tensors

    def described(
        self,
        uid: int,
        shape: Sequence[int],
        steps: Sequence[int],
        dtype: torch.dtype,
        *,
        virtual: bool,
    ) -> int:
        if not shape:
            self._refuse("a tensor without TENSOR_DIMENSIONS.")
        if dtype not in TYPES:
            self.model.lacks(f"graphs with tensors of {str(dtype)[6:]}")
        tensor = Tensor(TYPES[dtype], tuple(whole(shape)), tuple(whole(steps)))
        return self._keep(Described(whole([uid])[0], tensor, virtual))

    # Operations

    def convolution(
        self,
        x: int,
        w: int,
        *,
        y: int,
        padding: Sequence[int] = (0, 0),
        stride: Sequence[int] = (1, 1),
        dilation: Sequence[int] = (1, 1),
        mode: IntEnum = cudnn.ConvolutionMode.CROSS_CORRELATION,
    ) -> None:
        """Add the operation y = x * w. Refuses sizes that do not match."""
        pads, steps, gaps = map(whole, (padding, stride, dilation))
        how = Convolution(
            (pads[0], pads[1]), (steps[0], steps[1]), (gaps[0], gaps[1]), mode
        )
        *inputs, out = self._find(x, w, y)
        image, taps = (each.tensor.shape for each in inputs)
        if image[1] % taps[1]:
            self._refuse(f"x has {image[1]} channels, and the filters have {taps[1]}.")
        right = how.output(image, taps)
        if right != out.tensor.shape:
            self._refuse(misdescribed(out.tensor.shape, right))
        self._operation(Operation(tuple(inputs), out, how.run, False))

    def pointwise(self, mode: IntEnum, x: int, b: int = 0, *, y: int) -> None:
        """Add the operation mode(x) or mode(x, b). Refuses unequal numbers of axes."""
        mode = self.model.known("pointwise mode", Pointwise, mode)
        parts = self._find(x, y, *[b] * bool(b))
        if mode in BINARY and not b:
            self._refuse(f"{mode.name} has two inputs, and b is missing.")
        axes = dict(zip("xyb", [len(p.tensor.shape) for p in parts], strict=False))
        if len(set(axes.values())) > 1:
            each = ", ".join(f"{c} has {axes[c]}" for c in "xby" if c in axes)
            reason = f"the tensors of {mode.name} differ in their number of axes"
            self._refuse(f"{reason}: {each}.")
        inputs = (parts[0], parts[2]) if mode in BINARY else (parts[0],)
        function = BINARY.get(mode) or UNARY[mode]
        self._operation(Operation(inputs, parts[1], function, True))

    def _operation(self, operation: Operation) -> None:
        self.operations.append(operation)
        self._keep(operation, 2)

    # Plans

    def plans(self, mode: int = cudnn.HeurMode.A, most: int = 100) -> list[Plan]:
        """Return up to `most` of the model's two plans; the first needs a workspace."""
        if not self.complete:
            self._complete()
            self._keep(self.operations)
            self.complete = True
        self._keep(mode)
        engines = [1, 0][:most]
        self._keep(engines, most)
        return [
            Plan(self._keep(self.operations, 2), WORKSPACE * n, n, True)
            for n in engines
        ]

    def _complete(self) -> None:
        """Refuse operations that do not form a graph."""
        if not self.handle:
            null = Status.BAD_PARAM_NULL_POINTER
            self._refuse("handle is null.", null, "SetAttribute")
        self.cudnn.held(self.handle)
        if not self.operations:
            self._refuse("a graph without operations.")
        seen: dict[int, Described] = {}
        for each in tensors(self.operations):
            other = seen.setdefault(each.uid, each)
            if other is not each:
                stored = not (each.virtual or other.virtual)
                self._refuse(
                    f"two tensors of the graph have the number {each.uid}.",
                    Status.INTERNAL_ERROR if stored else Status.BAD_PARAM,
                )
        results = [each.y for each in self.operations]
        if len(set(results)) < len(results):
            self.model.lacks("graphs in which two operations have the same result")
        if len(ordered(self.operations)) < len(results):
            self.model.lacks("graphs with a cycle")
        if all(each.virtual for each in results):
            self.model.lacks("graphs whose results are all virtual")

    # Execution

    def pack(self, addresses: Mapping[int, int], workspace: int = 0) -> int:
        at = np.array(list(addresses.values()), np.uint64).tolist()
        room = int(np.array(workspace, np.uint64))
        return self._keep(
            Pack(dict(zip(whole(list(addresses)), at, strict=True)), room)
        )

    def execute(self, plan: Plan, pack: int) -> None:
        """Compute the graph's operations on the arrays whose addresses `pack` holds."""
        get = self.model.objects.get
        held = get(self.handle, self.cudnn.kinds["create"].what, "handle")
        operations = get(plan.descriptor, DESCRIPTOR, "execution_plan")
        found = get(pack, DESCRIPTOR, "variant_pack")
        if held is None or operations is None or not isinstance(found, Pack):
            reason = "the handle, the plan or the pack is null."
            self._refuse(reason, Status.BAD_PARAM_NULL_POINTER, "Execute")
        self._addressed(operations, found.addresses)
        if plan.workspace:
            room = found.workspace, plan.workspace, plan.workspace
            self.model.room("this plan", *room)
        self._run(operations, found.addresses, held.stream)

    def _addressed(
        self, operations: list[Operation], addresses: dict[int, int]
    ) -> None:
        """Refuse an address that is missing, null, misaligned or superfluous."""
        null = Status.BAD_PARAM_NULL_POINTER
        parts = tensors(operations)
        for part in [each for each in parts if not each.virtual]:
            name, at = f"tensor {part.uid}", addresses.get(part.uid)
            if at is None:
                lacks = "is not virtual, and the variant pack has no address for it."
                reason = f"{name} {lacks} It has {sorted(addresses)}."
                self._refuse(reason, null, "Execute")
            if not at:
                self._refuse(f"the address of {name} is null.", null, "Execute")
            if at % ALIGNMENT:
                reason = f"{name} is not aligned to {ALIGNMENT} bytes."
                misaligned = Status.BAD_PARAM_MISALIGNED_POINTER
                self._refuse(reason, misaligned, "Execute")
        known = {part.uid: part.virtual for part in parts}
        for uid in addresses:
            if known.get(uid, True):
                what = "virtual" if uid in known else "not in the graph"
                reason = f"tensor {uid} is {what}, and the pack has an address for it."
                self._refuse(reason, Status.INTERNAL_ERROR, "Execute")

    def _run(
        self, operations: list[Operation], addresses: dict[int, int], stream: int
    ) -> None:
        """Compute the operations, each after those whose results it reads."""
        stored = [part for part in tensors(operations) if not part.virtual]
        named = tuple(
            (f"tensor {part.uid}", addresses[part.uid], part.tensor) for part in stored
        )
        self.model.computed("cudnnBackendExecute", stream, named)
        views = {at: self.cudnn.look(name, at, tensor) for name, at, tensor in named}
        values: dict[int, torch.Tensor] = {}
        for operation in ordered(operations):
            self._broadcast(operation)
            inputs = [
                values[part.uid]
                if part.uid in values
                else views[addresses[part.uid]].to(torch.float64)
                for part in operation.inputs
            ]
            out = operation.y
            total = operation.compute(*inputs).expand(out.tensor.shape)
            result = rounded(total, DTYPES[out.tensor.kind])
            values[out.uid] = result.to(torch.float64)
            if not out.virtual:
                views[addresses[out.uid]].copy_(result)

    def _broadcast(self, operation: Operation) -> None:
        """Refuse a second input that cannot be repeated to the size of the first."""
        if not operation.pointwise or len(operation.inputs) < 2:
            return
        x, b = operation.inputs
        whole = x.tensor.shape
        if b.tensor.shape in (whole, (1, whole[1], 1, 1), (1, 1, 1, 1)):
            return
        self.model.refuse(
            Fault(
                "shape",
                f"Tensor {b.uid} is {sizes(b.tensor.shape)}, and it is applied to "
                f"{sizes(whole)}. What can be repeated is one number, or one per "
                "channel: 1 × c × 1 × 1.",
                "cuDNN 9.19 does not refuse such a graph. It returns wrong numbers.",
            )
        )

    def destroy(self) -> None:
        here = self.model.here()
        while self.made:
            self.model.objects.destroy(self.made.pop(), DESCRIPTOR, here)
        self.operations, self.complete = [], False


def whole(numbers: Sequence[int]) -> list[int]:
    """Convert numbers to 64-bit integers, as in C."""
    found: list[int] = np.array(numbers, np.int64).tolist()
    return found


def packed(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a contiguous row-major array."""
    steps = [1]
    for size in reversed(shape[1:]):
        steps.insert(0, steps[0] * size)
    return tuple(steps)


def tensors(operations: list[Operation]) -> list[Described]:
    """Return all tensors of a graph, each once."""
    parts = [part for each in operations for part in (*each.inputs, each.y)]
    return list(dict.fromkeys(parts))


def ordered(operations: list[Operation]) -> list[Operation]:
    """Sort operations, placing each after those whose results it reads.

    Operations that are in a cycle, or depend on one, are omitted.
    """
    left, done = list(operations), []
    while left:
        unmade = {each.y for each in left}
        ready = [each for each in left if not unmade & set(each.inputs)]
        done += ready
        left = [each for each in left if each not in ready]
        if not ready:
            break
    return done
