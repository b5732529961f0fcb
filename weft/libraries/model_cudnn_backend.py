"""The model's graphs of cuDNN: descriptors with attributes, plans, and their execution.

Everything is one kind of object, which is created, given attributes, and finalized.
"""

import struct
from dataclasses import dataclass, field
from typing import Any

import torch

from weft.libraries.convolutions import (
    CUDA_TYPES,
    DTYPES,
    Convolution,
    Tensor,
    rounded,
)
from weft.libraries.cudnn_enumerations import (
    Attribute,
    AttributeType,
    ConvolutionMode,
    DataType,
    Descriptor,
    Pointwise,
    Status,
)
from weft.libraries.enumerations import CudaType
from weft.libraries.faults import Fault
from weft.libraries.model import Call, Model
from weft.libraries.products import Matrix
from weft.wording import capital

DESCRIPTOR = "descriptor of the backend"
A, T, D = Attribute, AttributeType, Descriptor
BYTES = {T.BOOLEAN: 1, T.INT64: 8, T.DOUBLE: 8, T.VOID_PTR: 8, T.HANDLE: 8}
BYTES |= {T.BACKEND_DESCRIPTOR: 8}
CONV, POINT = "OPERATION_CONVOLUTION_FORWARD_", "OPERATION_POINTWISE_"
ONE, MANY = 1, 0  # how many elements an attribute has
# What each kind of descriptor can be told: attribute → type and number of elements.
SETTABLE: dict[Descriptor, dict[Attribute, tuple[AttributeType, int]]] = {
    D.TENSOR: {
        A.TENSOR_UNIQUE_ID: (T.INT64, ONE),
        A.TENSOR_DATA_TYPE: (T.DATA_TYPE, ONE),
        A.TENSOR_DIMENSIONS: (T.INT64, MANY),
        A.TENSOR_STRIDES: (T.INT64, MANY),
        A.TENSOR_BYTE_ALIGNMENT: (T.INT64, ONE),
        A.TENSOR_IS_VIRTUAL: (T.BOOLEAN, ONE),
    },
    D.CONVOLUTION: {
        A.CONVOLUTION_SPATIAL_DIMS: (T.INT64, ONE),
        A.CONVOLUTION_COMP_TYPE: (T.DATA_TYPE, ONE),
        A.CONVOLUTION_CONV_MODE: (T.CONVOLUTION_MODE, ONE),
        A.CONVOLUTION_PRE_PADDINGS: (T.INT64, MANY),
        A.CONVOLUTION_POST_PADDINGS: (T.INT64, MANY),
        A.CONVOLUTION_FILTER_STRIDES: (T.INT64, MANY),
        A.CONVOLUTION_DILATIONS: (T.INT64, MANY),
    },
    D.OPERATION_CONVOLUTION_FORWARD: {
        **{A[f"{CONV}{x}"]: (T.BACKEND_DESCRIPTOR, ONE) for x in "XWY"},
        A.OPERATION_CONVOLUTION_FORWARD_CONV_DESC: (T.BACKEND_DESCRIPTOR, ONE),
        A.OPERATION_CONVOLUTION_FORWARD_ALPHA: (T.FLOAT, ONE),
        A.OPERATION_CONVOLUTION_FORWARD_BETA: (T.FLOAT, ONE),
    },
    D.POINTWISE: {
        A.POINTWISE_MODE: (T.POINTWISE_MODE, ONE),
        A.POINTWISE_MATH_PREC: (T.DATA_TYPE, ONE),
    },
    D.OPERATION_POINTWISE: {
        **{A[f"{POINT}{x}DESC"]: (T.BACKEND_DESCRIPTOR, ONE) for x in "XBY"},
        A.OPERATION_POINTWISE_PW_DESCRIPTOR: (T.BACKEND_DESCRIPTOR, ONE),
    },
    D.OPERATIONGRAPH: {
        A.OPERATIONGRAPH_HANDLE: (T.HANDLE, ONE),
        A.OPERATIONGRAPH_OPS: (T.BACKEND_DESCRIPTOR, MANY),
    },
    D.ENGINEHEUR: {
        A.ENGINEHEUR_OPERATION_GRAPH: (T.BACKEND_DESCRIPTOR, ONE),
        A.ENGINEHEUR_MODE: (T.HEUR_MODE, ONE),
    },
    D.ENGINECFG: {A.ENGINECFG_ENGINE: (T.BACKEND_DESCRIPTOR, ONE)},
    D.ENGINE: {},
    D.EXECUTION_PLAN: {
        A.EXECUTION_PLAN_HANDLE: (T.HANDLE, ONE),
        A.EXECUTION_PLAN_ENGINE_CONFIG: (T.BACKEND_DESCRIPTOR, ONE),
    },
    D.VARIANT_PACK: {
        A.VARIANT_PACK_UNIQUE_IDS: (T.INT64, MANY),
        A.VARIANT_PACK_DATA_POINTERS: (T.VOID_PTR, MANY),
        A.VARIANT_PACK_WORKSPACE: (T.VOID_PTR, ONE),
    },
}
BINARY: dict[Pointwise, Any] = {Pointwise.ADD: torch.add, Pointwise.MUL: torch.mul}
UNARY: dict[Pointwise, Any] = {
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
WORKSPACE = 1024  # bytes, that the model's plans pretend to need


@dataclass(eq=False)
class Part:
    """A descriptor of the backend: its kind, and its attributes by their names."""

    kind: Descriptor
    values: dict[Attribute, tuple[Any, ...]] = field(default_factory=dict)
    final: bool = False

    def get(self, name: Attribute, otherwise: Any = None) -> Any:
        """The first element of an attribute."""
        return self.values.get(name, (otherwise,))[0]

    def all(self, name: Attribute) -> tuple[Any, ...]:
        return self.values.get(name, ())

    @property
    def uid(self) -> int:
        return int(self.get(A.TENSOR_UNIQUE_ID, 0))

    @property
    def virtual(self) -> bool:
        return bool(self.get(A.TENSOR_IS_VIRTUAL, False))

    @property
    def tensor(self) -> Tensor:
        """What the descriptor of a tensor says."""
        return Tensor(
            DataType(self.get(A.TENSOR_DATA_TYPE, 0)),
            self.all(A.TENSOR_DIMENSIONS),
            self.all(A.TENSOR_STRIDES),
        )

    @property
    def convolution(self) -> Convolution:
        """What the descriptor of a convolution says, in two dimensions."""
        pad, stride, dilation = (
            self.all(A[f"CONVOLUTION_{name}"])
            for name in ("PRE_PADDINGS", "FILTER_STRIDES", "DILATIONS")
        )
        mode = ConvolutionMode(self.get(A.CONVOLUTION_CONV_MODE, 0))
        return Convolution(
            (pad[0], pad[1]),
            (stride[0], stride[1]),
            (dilation[0], dilation[1]),
            mode,
        )

    def parts(self) -> dict[str, "Part"]:
        """The tensors of an operation, by their letters."""
        prefix, suffix = (
            (CONV, "")
            if self.kind == D.OPERATION_CONVOLUTION_FORWARD
            else (POINT, "DESC")
        )
        letters = "XWY" if prefix == CONV else "XBY"
        found = {c: self.get(A[f"{prefix}{c}{suffix}"]) for c in letters}
        return {c: part for c, part in found.items() if part is not None}


class Backend:
    """The functions of the graph interface, and what all of the model's cuDNN needs."""

    def __init__(self, model: Model) -> None:
        self.model = model

    # Objects and refusals

    def _made(self, what: str, state: Any, result: int) -> int:
        address = self.model.objects.create(what, state, self.model.here())
        self.model.write(result, address.to_bytes(8, "little"), what)
        return Status.SUCCESS

    def _ended(self, what: str, address: int) -> int:
        self.model.objects.destroy(address, what, self.model.here())
        return Status.SUCCESS

    def _refused(self, status: Status, reason: str) -> int:
        self.model.refusals.append(reason)
        self.model.said("cudnn", reason)
        return status

    def look(self, name: str, address: int, tensor: Tensor) -> torch.Tensor:
        """The elements that a descriptor finds from an address on, not copied.

        Refuses what is not wholly inside one buffer of the device.
        """
        cuda = CUDA_TYPES[tensor.kind]
        found = self.model.memory.find(address)
        if found is None:
            self.model.span(Matrix(name, address, cuda, 1, 1, 1))
        assert found is not None
        buffer, offset = found
        if offset < 0 or offset + tensor.nbytes > buffer.nbytes:
            size = DTYPES[tensor.kind].itemsize
            begins = f" (the address is {offset:,} bytes on)" if offset else ""
            self.model.refuse(
                Fault(
                    "device-bounds",
                    f"{name}, at the address of {buffer.name}, is described as "
                    f"{tensor}. The last of them ends at byte "
                    f"{offset + tensor.nbytes:,}, and {buffer.name} has "
                    f"{buffer.nbytes:,} bytes{begins}.",
                    f"An element of {tensor.kind.name} has {size} bytes. A GPU would "
                    "read or overwrite what comes after the array, mostly in silence.",
                    headline="a descriptor that reaches beyond the array",
                )
            )
        self.model.view(Matrix(name, address, cuda, 1, 1, 1))  # between two elements?
        dtype = DTYPES[tensor.kind]
        return torch.empty(0, dtype=dtype).set_(
            buffer.storage, offset // dtype.itemsize, tensor.shape, tensor.strides
        )

    def room(self, what: str, address: int, nbytes: int, needed: int) -> None:
        """Refuse a workspace of so many bytes that is not all in device memory."""
        found = self.model.memory.find(address)
        if found is None:
            self.model.refuse(
                Fault(
                    "pointer",
                    f"{capital(what)} needs {needed:,} bytes of workspace, and the "
                    f"address that is passed, {address:#x}, is not in device memory.",
                    "The library does not allocate it: the caller does, on the device.",
                )
            )
        assert found is not None
        buffer, offset = found
        if offset < 0 or offset + nbytes > buffer.nbytes:
            self.model.refuse(
                Fault(
                    "device-bounds",
                    f"{capital(what)} works in {nbytes:,} bytes from the address that "
                    f"is passed on, and {buffer.name} ends after "
                    f"{buffer.nbytes - offset:,}.",
                    "The library believes what it is told. It would overwrite what "
                    "comes after the workspace.",
                    headline="a workspace that is too small",
                )
            )

    # Descriptors

    def backend_create_descriptor(self, descriptor_type: int, result: int) -> int:
        if descriptor_type not in list(Descriptor):
            reason = f"{descriptor_type} is no type of descriptor."
            return self._refused(Status.INTERNAL_ERROR_HOST_ALLOCATION_FAILED, reason)
        return self._made(DESCRIPTOR, Part(Descriptor(descriptor_type)), result)

    def backend_destroy_descriptor(self, descriptor: int) -> int:
        return self._ended(DESCRIPTOR, descriptor)

    def _part(self, address: int, name: str) -> Part | None:
        found: Part | None = self.model.objects.get(address, DESCRIPTOR, name)
        return found

    def backend_set_attribute(
        self, descriptor: int, attribute_name: int, attribute_type: int,
        element_count: int, array_of_elements: int,
    ) -> int:  # fmt: skip
        """Keep an attribute's elements, if it is one of this descriptor."""
        part = self._part(descriptor, "descriptor")
        if part is None:
            return self._refused(Status.BAD_PARAM_NULL_POINTER, "descriptor is null.")
        what = part.kind.name
        if part.final:
            reason = f"a descriptor {what} has been finalized, and cannot change."
            return self._refused(Status.BAD_PARAM, reason)
        known = SETTABLE[part.kind]
        if attribute_name not in known:
            reason = f"a descriptor {what} has no attribute {attribute_name}."
            return self._refused(Status.BAD_PARAM, reason)
        name = Attribute(attribute_name)
        kind, count = known[name]
        if attribute_type != kind:
            reason = f"{name.name} has the type {kind.name}, not {attribute_type}."
            return self._refused(Status.BAD_PARAM_ATTRIBUTE_TYPE, reason)
        if count and element_count != count:
            reason = f"{name.name} has {count} element, and {element_count} are passed."
            return self._refused(Status.BAD_PARAM, reason)
        values = self._elements(array_of_elements, kind, element_count)
        if isinstance(values, int):
            return values
        part.values[name] = values
        return Status.SUCCESS

    def _elements(
        self, address: int, kind: AttributeType, count: int
    ) -> tuple[Any, ...] | int:
        """Elements in the host's memory; the status where one of them is nothing."""
        size = BYTES.get(kind, 4)
        data = self.model.read(address, size * count, "array_of_elements")
        letter = {1: "?", 4: "i", 8: "q"}[size]
        letter = {T.FLOAT: "f", T.DOUBLE: "d"}.get(kind, letter)
        values = struct.unpack(f"<{count}{letter}", data)
        if kind == T.HANDLE:
            if not values[0]:
                return self._refused(Status.BAD_PARAM_NULL_POINTER, "handle is null.")
            self.model.objects.get(values[0], "handle of cuDNN", "handle")
        if kind != T.BACKEND_DESCRIPTOR:
            return values
        found = tuple(self._part(each, "the element") for each in values)
        if None in found:
            reason = "a descriptor among the elements is null."
            return self._refused(Status.BAD_PARAM_NULL_POINTER, reason)
        return found

    def backend_finalize(self, descriptor: int) -> int:
        part = self._part(descriptor, "descriptor")
        if part is None:
            return self._refused(Status.BAD_PARAM_NULL_POINTER, "descriptor is null.")
        if part.final:
            reason = f"a descriptor {part.kind.name} is finalized twice."
            return self._refused(Status.BAD_PARAM, reason)
        if (wrong := unfinished(part)) is not None:
            return self._refused(*wrong)
        part.final = True
        return Status.SUCCESS

    def backend_get_attribute(
        self, descriptor: int, attribute_name: int, attribute_type: int,
        requested_element_count: int, element_count: int, array_of_elements: int,
    ) -> int:  # fmt: skip
        """Write what a finalized descriptor has found."""
        part = self._part(descriptor, "descriptor")
        if part is None:
            return self._refused(Status.BAD_PARAM_NULL_POINTER, "descriptor is null.")
        if not part.final:
            reason = f"a descriptor {part.kind.name} is read before it is finalized."
            return self._refused(Status.BAD_PARAM_NOT_FINALIZED, reason)
        most = requested_element_count
        if attribute_name == A.ENGINEHEUR_RESULTS:
            count = self._results(part, most, array_of_elements)
        elif attribute_name == A.ENGINECFG_ENGINE:
            (engine,) = self._listed(array_of_elements, 1)
            engine.values, engine.final = dict(part.values), True
            count = 1
        else:
            data = found_in(part, attribute_name)
            if data is None:
                reason = f"a descriptor {part.kind.name} has no {attribute_name}."
                return self._refused(Status.BAD_PARAM, reason)
            if data and most:
                self.model.write(array_of_elements, data, "array_of_elements")
            count = 1 if data else 0
        if element_count:
            data = struct.pack("<q", count)
            self.model.write(element_count, data, "element_count")
        return Status.SUCCESS

    def _listed(self, address: int, count: int) -> list[Part]:
        """The descriptors whose addresses are in the host's memory."""
        data = self.model.read(address, 8 * count, "array_of_elements")
        found = [self._part(a, "element") for a in struct.unpack(f"<{count}q", data)]
        return [part for part in found if part is not None]

    def _results(self, heuristic: Part, most: int, address: int) -> int:
        """Fill in engines with their settings, of which the model has two."""
        graph = heuristic.get(A.ENGINEHEUR_OPERATION_GRAPH)
        found = [1, 0] if most > 1 else [1]
        for number, part in zip(
            found, self._listed(address, min(most, 2)), strict=False
        ):
            part.values = {
                A.ENGINEHEUR_OPERATION_GRAPH: (graph,),
                A.ENGINE_GLOBAL_INDEX: (number,),
            }
            part.final = True
        return len(found)

    # Execution

    def backend_execute(
        self, handle: int, execution_plan: int, variant_pack: int
    ) -> int:
        """Run the operations of a plan's graph on the addresses of a pack."""
        held = self.model.objects.get(handle, "handle of cuDNN", "handle")
        plan = self._part(execution_plan, "execution_plan")
        pack = self._part(variant_pack, "variant_pack")
        if held is None or plan is None or pack is None:
            reason = "the handle, the plan or the pack is null."
            return self._refused(Status.BAD_PARAM_NULL_POINTER, reason)
        for part, name in ((plan, "plan"), (pack, "variant pack")):
            if not part.final:
                reason = f"the {name} has not been finalized."
                return self._refused(Status.BAD_PARAM_NOT_FINALIZED, reason)
        config = plan.get(A.EXECUTION_PLAN_ENGINE_CONFIG)
        operations = config.get(A.ENGINEHEUR_OPERATION_GRAPH).all(A.OPERATIONGRAPH_OPS)
        ids = pack.all(A.VARIANT_PACK_UNIQUE_IDS)
        addresses = dict(zip(ids, pack.all(A.VARIANT_PACK_DATA_POINTERS), strict=True))
        if (wrong := self._packed(operations, addresses)) is not None:
            return wrong
        nbytes = workspace_of(plan)
        if nbytes:
            at = pack.get(A.VARIANT_PACK_WORKSPACE, 0)
            self.room("this plan", at, nbytes, nbytes)
        self._run(operations, addresses, held.stream)
        return Status.SUCCESS

    def _packed(
        self, operations: tuple[Part, ...], addresses: dict[int, int]
    ) -> int | None:
        """The status where an address is missing or null, or None."""
        for part in tensors(operations):
            if part.virtual:
                continue
            if part.uid not in addresses:
                reason = (
                    f"tensor {part.uid} is not virtual, and the variant pack has no "
                    f"address for it. It has {sorted(addresses)}."
                )
                return self._refused(Status.BAD_PARAM_NULL_POINTER, reason)
            at, alignment = addresses[part.uid], part.get(A.TENSOR_BYTE_ALIGNMENT)
            if not at:
                reason = f"the address of tensor {part.uid} is null."
                return self._refused(Status.BAD_PARAM_NULL_POINTER, reason)
            if at % alignment:
                reason = f"tensor {part.uid} is not aligned to {alignment} bytes."
                return self._refused(Status.BAD_PARAM_MISALIGNED_POINTER, reason)
        known = {part.uid: part.virtual for part in tensors(operations)}
        for uid in addresses:
            if known.get(uid, True):
                what = "virtual" if uid in known else "not in the graph"
                reason = f"tensor {uid} is {what}, and the pack has an address for it."
                return self._refused(Status.INTERNAL_ERROR, reason)
        return None

    def _run(
        self, operations: tuple[Part, ...], addresses: dict[int, int], stream: int
    ) -> None:
        """Compute one operation after the other."""
        named = [
            (f"tensor {part.uid}", addresses[part.uid], part.tensor)
            for part in tensors(operations)
            if not part.virtual
        ]
        self.model.calls.append(
            Call(
                "cudnnBackendExecute", (1.0, 0.0), (b"", b""), CudaType.R_32F, stream,
                self.model.here(), tensors=tuple(named),
                matrices=tuple(
                    Matrix(name, at, CUDA_TYPES[t.kind], 1, 1, 1)
                    for name, at, t in named
                ),
            )
        )  # fmt: skip
        views = {at: self.look(name, at, tensor) for name, at, tensor in named}
        values: dict[int, torch.Tensor] = {}

        def value(part: Part) -> torch.Tensor:
            if part.uid in values:
                return values[part.uid]
            return views[addresses[part.uid]].to(torch.float64)

        for operation in ordered(operations):
            parts = operation.parts()
            out = parts["Y"]
            self._broadcast(parts)
            total = computed(operation, {c: value(parts[c]) for c in parts if c != "Y"})
            stored = rounded(total.expand(out.tensor.shape), out.tensor.kind)
            values[out.uid] = stored.to(torch.float64)
            if not out.virtual:
                views[addresses[out.uid]].copy_(stored)

    def _broadcast(self, parts: dict[str, Part]) -> None:
        """Refuse a second input that cannot be repeated to the size of the first."""
        if "B" not in parts:
            return
        x, b = parts["X"], parts["B"]
        whole = x.tensor.shape
        if b.tensor.shape in (whole, (1, whole[1], 1, 1), (1, 1, 1, 1)):
            return
        large, small = (" × ".join(map(str, p.tensor.shape)) for p in (x, b))
        self.model.refuse(
            Fault(
                "shape",
                f"Tensor {b.uid} is {small}, and it is applied to {large}. What can be "
                "repeated is one number, or one per channel: 1 × c × 1 × 1.",
                "cuDNN 9.19 does not refuse such a graph. It returns wrong numbers.",
            )
        )


def tensors(operations: tuple[Part, ...]) -> list[Part]:
    """All tensors of a graph, each once."""
    found: dict[int, Part] = {}
    for operation in operations:
        for part in operation.parts().values():
            found.setdefault(id(part), part)
    return list(found.values())


def ordered(operations: tuple[Part, ...]) -> list[Part]:
    """Operations, each after those whose results it reads."""
    left, done = list(operations), []
    while left:
        unmade = {id(each.parts()["Y"]) for each in left}
        ready = [
            each
            for each in left
            if not unmade & {id(p) for c, p in each.parts().items() if c != "Y"}
        ]
        done += ready
        left = [each for each in left if each not in ready]
        if not ready:
            break
    return done


def computed(operation: Part, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """The result of one operation in double precision."""
    if operation.kind == D.OPERATION_CONVOLUTION_FORWARD:
        how = operation.get(A.OPERATION_CONVOLUTION_FORWARD_CONV_DESC)
        found: torch.Tensor = how.convolution.run(inputs["X"], inputs["W"])
        return found
    how = operation.get(A.OPERATION_POINTWISE_PW_DESCRIPTOR)
    mode = Pointwise(how.get(A.POINTWISE_MODE, 0))
    if mode in BINARY:
        found = BINARY[mode](inputs["X"], inputs["B"])
    else:
        found = UNARY[mode](inputs["X"])
    return found


def workspace_of(plan: Part) -> int:
    """How many bytes a plan of the model pretends to need."""
    config = plan.get(A.EXECUTION_PLAN_ENGINE_CONFIG)
    return WORKSPACE * int(config.get(A.ENGINE_GLOBAL_INDEX))


def found_in(part: Part, name: int) -> bytes | None:
    """What a descriptor tells about itself, as C has it; b"" for an empty list."""
    if part.kind == D.EXECUTION_PLAN and name == A.EXECUTION_PLAN_WORKSPACE_SIZE:
        return struct.pack("<q", workspace_of(part))
    if part.kind == D.ENGINE and name == A.ENGINE_GLOBAL_INDEX:
        return struct.pack("<q", part.get(A.ENGINE_GLOBAL_INDEX))
    if part.kind == D.ENGINE and name == A.ENGINE_BEHAVIOR_NOTE:
        return struct.pack("<i", 0)  # RUNTIME_COMPILATION
    return None


Wrong = tuple[Status, str]


def unfinished(part: Part) -> Wrong | None:
    """Why a descriptor cannot be finalized, or None."""
    check = {
        D.TENSOR: tensor_wrong,
        D.OPERATION_CONVOLUTION_FORWARD: convolution_wrong,
        D.OPERATION_POINTWISE: pointwise_wrong,
        D.OPERATIONGRAPH: graph_wrong,
        D.VARIANT_PACK: pack_wrong,
    }.get(part.kind)
    if (wrong := check(part) if check else None) is not None:
        return wrong
    needed = set(SETTABLE[part.kind]) - set(part.values) - OPTIONAL
    if needed:
        name = min(needed).name
        reason = f"the descriptor {part.kind.name} has no {name}."
        return Status.BAD_PARAM, reason
    return None


OPTIONAL = {
    A.TENSOR_UNIQUE_ID,
    A.TENSOR_IS_VIRTUAL,
    A.OPERATION_POINTWISE_BDESC,
    A.VARIANT_PACK_WORKSPACE,
    A.EXECUTION_PLAN_HANDLE,
}


def tensor_wrong(part: Part) -> Wrong | None:
    shape, steps = part.all(A.TENSOR_DIMENSIONS), part.all(A.TENSOR_STRIDES)
    if not shape:
        return Status.BAD_PARAM, "a tensor without TENSOR_DIMENSIONS."
    if len(shape) != len(steps):
        reason = f"tensor {part.uid} has {len(shape)} sizes and {len(steps)} strides."
        return Status.BAD_PARAM, reason
    size = DTYPES[part.tensor.kind].itemsize
    alignment = part.get(A.TENSOR_BYTE_ALIGNMENT, 0)
    if alignment <= 0 or alignment % size:
        return Status.BAD_PARAM, (
            f"tensor {part.uid} is aligned to {alignment} bytes, which is no multiple "
            f"of the {size} bytes of an element."
        )
    return None


def convolution_wrong(part: Part) -> Wrong | None:
    """Why an operation's tensors do not fit together, or None."""
    parts = part.parts()
    if (wrong := not_final(parts)) is not None or len(parts) < 3:
        return wrong or (Status.BAD_PARAM, "a convolution without one of x, w and y.")
    x, w, y = (parts[c].tensor.shape for c in "XWY")
    how = part.get(A.OPERATION_CONVOLUTION_FORWARD_CONV_DESC)
    if how is None:
        return Status.BAD_PARAM, "a convolution that has no CONV_DESC."
    if x[1] % w[1]:
        reason = f"x has {x[1]} channels, and the filters have {w[1]}."
        return Status.BAD_PARAM, reason
    wanted = how.convolution.output(x, w)
    if wanted != y:
        given, right = (" × ".join(map(str, s)) for s in (y, wanted))
        reason = f"y is described as {given}, and the convolution gives {right}."
        return Status.BAD_PARAM, reason
    return None


def pointwise_wrong(part: Part) -> Wrong | None:
    parts = part.parts()
    if (wrong := not_final(parts)) is not None or not {"X", "Y"} <= parts.keys():
        return wrong or (Status.BAD_PARAM, "a pointwise operation without x or y.")
    how = part.get(A.OPERATION_POINTWISE_PW_DESCRIPTOR)
    if how is None:
        return Status.BAD_PARAM, "a pointwise operation without a PW_DESCRIPTOR."
    mode = Pointwise(how.get(A.POINTWISE_MODE, 0))
    if mode in BINARY and "B" not in parts:
        return Status.BAD_PARAM, f"{mode.name} has two inputs, and b is missing."
    axes = {c: len(each.tensor.shape) for c, each in parts.items()}
    if len(set(axes.values())) > 1:
        each = ", ".join(f"{c.lower()} has {count}" for c, count in axes.items())
        reason = f"the tensors of {mode.name} differ in their number of axes: {each}."
        return Status.BAD_PARAM, reason
    return None


def not_final(parts: dict[str, Part]) -> Wrong | None:
    for letter, part in parts.items():
        if not part.final:
            reason = f"the tensor for {letter.lower()} has not been finalized."
            return Status.BAD_PARAM, reason
    return None


def graph_wrong(part: Part) -> Wrong | None:
    """Why operations are no graph, or None."""
    operations = part.all(A.OPERATIONGRAPH_OPS)
    if not operations:
        return Status.BAD_PARAM, "a graph without operations."
    seen: dict[int, Part] = {}
    for each in tensors(operations):
        other = seen.setdefault(each.uid, each)
        if other is not each:
            reason = f"two tensors of the graph have the number {each.uid}."
            stored = not (each.virtual or other.virtual)
            return Status.INTERNAL_ERROR if stored else Status.BAD_PARAM, reason
    return None


def pack_wrong(part: Part) -> Wrong | None:
    ids = part.all(A.VARIANT_PACK_UNIQUE_IDS)
    at = part.all(A.VARIANT_PACK_DATA_POINTERS)
    if len(ids) != len(at):
        reason = f"a variant pack with {len(ids)} numbers and {len(at)} addresses."
        return Status.BAD_PARAM, reason
    return None
