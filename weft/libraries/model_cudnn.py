"""A model of cuDNN: descriptors, workspaces and convolutions of its C interface."""

import struct
from dataclasses import dataclass, replace
from typing import Any

import torch

from weft.libraries.convolutions import (
    CUDA_TYPES,
    DTYPES,
    Convolution,
    Tensor,
    rounded,
    strides_of,
)
from weft.libraries.cudnn_enumerations import (
    ConvolutionMode,
    DataType,
    Descriptor,
    ForwardAlgo,
    MathType,
    Status,
    TensorFormat,
)
from weft.libraries.enumerations import CudaType
from weft.libraries.faults import Fault
from weft.libraries.model import Call, Model
from weft.libraries.products import Matrix
from weft.wording import capital

HANDLE = "handle of cuDNN"
TENSOR, FILTER = "tensor descriptor", "filter descriptor"
CONVOLUTION, DESCRIPTOR = "convolution descriptor", "descriptor of the backend"
SUMS = (DataType.FLOAT, DataType.DOUBLE, DataType.HALF, DataType.INT32)
FORWARD = "cudnnConvolutionForward"
NCHW, NHWC = TensorFormat.NCHW, TensorFormat.NHWC
ANY_LAYOUT = (ForwardAlgo.IMPLICIT_GEMM, ForwardAlgo.IMPLICIT_PRECOMP_GEMM)
TYPES = {  # of the tensors, and of the sums
    (DataType.FLOAT, DataType.FLOAT),
    (DataType.HALF, DataType.FLOAT),
    (DataType.HALF, DataType.HALF),
    (DataType.BFLOAT16, DataType.FLOAT),
    (DataType.DOUBLE, DataType.DOUBLE),
}


@dataclass
class Handle:
    """What a handle keeps between calls."""

    stream: int = 0


@dataclass
class Held:
    """A descriptor of a tensor or a filter; what it describes, once that is set."""

    tensor: Tensor | None = None


@dataclass
class HeldConvolution:
    """A descriptor of a convolution; groups and math have a value from the start."""

    how: Convolution | None = None
    groups: int = 1
    math: int = MathType.DEFAULT_MATH


@dataclass(frozen=True)
class Problem:
    """One convolution, from its four descriptors."""

    x: Tensor
    w: Tensor
    how: Convolution
    y: Tensor

    def invalid(self) -> str | None:
        """Why the descriptors do not fit together, or None."""
        reason: str | None = misfit(self.x, self.w, self.how)
        if reason is not None:
            return reason
        if self.w.shape[0] % self.how.groups:
            return (
                f"{self.w.shape[0]} filters cannot be split into groups of equal size."
            )
        wanted = self.how.output(self.x.shape, self.w.shape)
        if self.y.shape != wanted:
            return (
                f"y is described as {sizes(self.y.shape)}, and the convolution gives "
                f"{sizes(wanted)}."
            )
        return None

    def unsupported(self, algo: int) -> str | None:
        """Why no kernel does this, or None."""
        kinds = {"x": self.x.kind, "w": self.w.kind, "y": self.y.kind}
        if len(set(kinds.values())) > 1:
            each = ", ".join(f"{name} is {kind.name}" for name, kind in kinds.items())
            return f"{each}: they must have the same type."
        if (self.x.kind, self.how.compute) not in TYPES:
            return (
                f"a convolution of {self.x.kind.name} cannot add up in "
                f"{self.how.compute.name}."
            )
        if self.w.order == NHWC and self.x.order == NCHW:
            return "the filters are described as NHWC, and x as NCHW."
        if not self.able(algo):
            known = algo in list(ForwardAlgo)
            name = ForwardAlgo(algo).name if known else f"number {algo}"
            return f"there is no algorithm {name} for this convolution."
        return None

    def able(self, algo: int) -> bool:
        """Whether an algorithm can do this, as cuDNN 9.19 answered on an H200."""
        taps, near = self.w.shape[2:], self.how.dilation == (1, 1)
        one_by_one = self.how.stride == (1, 1)
        if algo in ANY_LAYOUT:
            return True
        if self.x.order == NHWC:
            return False
        if algo == ForwardAlgo.FFT_TILING:
            return near and (one_by_one or min(taps) > 1)
        if algo == ForwardAlgo.WINOGRAD_NONFUSED:
            return near and one_by_one and taps in ((3, 3), (5, 5))
        if algo == ForwardAlgo.FFT:
            return near and one_by_one
        return algo == ForwardAlgo.GEMM

    def workspace(self, algo: int) -> int:
        """How many bytes an algorithm asks for. (The numbers are inventions.)"""
        if algo in (ForwardAlgo.IMPLICIT_GEMM, ForwardAlgo.GEMM):
            return 0
        if algo == ForwardAlgo.IMPLICIT_PRECOMP_GEMM:
            return 16 * sum(self.w.shape[1:])
        unrolled = self.how.columns(self.x.shape, self.w.shape)
        return unrolled * DTYPES[self.x.kind].itemsize


class CuDNN:
    """The functions of cuDNN, by the names that the binding has for them."""

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

    def refused(self, status: Status, reason: str) -> int:
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

    # Handles

    def create(self, result: int) -> int:
        return self._made(HANDLE, Handle(), result)

    def destroy(self, handle: int) -> int:
        return self._ended(HANDLE, handle)

    def set_stream(self, handle: int, stream_id: int) -> int:
        held: Handle | None = self.model.objects.get(handle, HANDLE, "handle")
        if held is None:
            return self.refused(Status.BAD_PARAM, "handle is null.")
        held.stream = stream_id
        return Status.SUCCESS

    def get_stream(self, handle: int, result: int) -> int:
        held: Handle | None = self.model.objects.get(handle, HANDLE, "handle")
        if held is None:
            return self.refused(Status.BAD_PARAM, "handle is null.")
        self.model.write(result, struct.pack("<Q", held.stream), "stream_id")
        return Status.SUCCESS

    # Tensors and filters

    def create_tensor_descriptor(self, result: int) -> int:
        return self._made(TENSOR, Held(), result)

    def destroy_tensor_descriptor(self, tensor_desc: int) -> int:
        return self._ended(TENSOR, tensor_desc)

    def create_filter_descriptor(self, result: int) -> int:
        return self._made(FILTER, Held(), result)

    def destroy_filter_descriptor(self, filter_desc: int) -> int:
        return self._ended(FILTER, filter_desc)

    def set_tensor4d_descriptor(
        self, tensor_desc: int, format: int, data_type: int,
        n: int, c: int, h: int, w: int,
    ) -> int:  # fmt: skip
        shape = (n, c, h, w)
        if (wrong := self._format(format, shape)) is not None:
            return wrong
        steps = strides_of(format, shape)
        return self._set(TENSOR, tensor_desc, data_type, shape, steps)

    def set_tensor4d_descriptor_ex(
        self, tensor_desc: int, data_type: int, n: int, c: int, h: int, w: int,
        n_stride: int, c_stride: int, h_stride: int, w_stride: int,
    ) -> int:  # fmt: skip
        steps = (n_stride, c_stride, h_stride, w_stride)
        shape = (n, c, h, w)
        return self._set(TENSOR, tensor_desc, data_type, shape, steps)

    def set_filter4d_descriptor(
        self, filter_desc: int, data_type: int, format: int,
        k: int, c: int, h: int, w: int,
    ) -> int:  # fmt: skip
        shape = (k, c, h, w)
        if (wrong := self._format(format, shape)) is not None:
            return wrong
        steps = strides_of(format, shape)
        return self._set(FILTER, filter_desc, data_type, shape, steps)

    def _format(self, order: int, shape: tuple[int, ...]) -> int | None:
        """The status for what is no format, or None."""
        if order in list(TensorFormat):
            return None
        return self.refused(Status.BAD_PARAM, f"{order} is no tensor format.")

    def _set(
        self,
        what: str,
        address: int,
        kind: int,
        shape: tuple[int, ...],
        steps: tuple[int, ...],
    ) -> int:
        """Keep what a descriptor describes, if it can be."""
        held: Held | None = self.model.objects.get(address, what, what)
        if held is None:
            return self.refused(Status.BAD_PARAM, f"the {what} is null.")
        if kind not in list(DataType):
            return self.refused(Status.BAD_PARAM, f"{kind} is no data type.")
        if min(shape) < 1:
            reason = f"a {what} of {sizes(shape)}: no size may be below 1."
            return self.refused(Status.BAD_PARAM, reason)
        if any(n > 1 and s == 0 for n, s in zip(shape, steps, strict=True)):
            reason = f"a {what} of {sizes(shape)} with a stride of 0."
            return self.refused(Status.BAD_PARAM, reason)
        held.tensor = Tensor(DataType(kind), shape, steps)
        return Status.SUCCESS

    # How the filter moves

    def create_convolution_descriptor(self, result: int) -> int:
        return self._made(CONVOLUTION, HeldConvolution(), result)

    def destroy_convolution_descriptor(self, conv_desc: int) -> int:
        return self._ended(CONVOLUTION, conv_desc)

    def set_convolution2d_descriptor(
        self, conv_desc: int, pad_h: int, pad_w: int, u: int, v: int,
        dilation_h: int, dilation_w: int, mode: int, compute_type: int,
    ) -> int:  # fmt: skip
        """Keep how the filter moves, if it can."""
        held = self._how(conv_desc)
        if held is None:
            return self.refused(Status.BAD_PARAM, "the descriptor is null.")
        for low, text, values in (
            (0, "padding", (pad_h, pad_w)),
            (1, "stride", (u, v)),
            (1, "dilation", (dilation_h, dilation_w)),
        ):
            if min(values) < low:
                reason = f"a {text} of {values[0]} × {values[1]}."
                return self.refused(Status.BAD_PARAM, reason)
        if mode not in list(ConvolutionMode):
            return self.refused(Status.BAD_PARAM, f"{mode} is no convolution mode.")
        if compute_type not in SUMS:
            reason = f"{compute_type} is no type in which products are added up."
            return self.refused(Status.BAD_PARAM, reason)
        held.how = Convolution(
            (pad_h, pad_w), (u, v), (dilation_h, dilation_w),
            ConvolutionMode(mode), DataType(compute_type),
        )  # fmt: skip
        return Status.SUCCESS

    def set_convolution_group_count(self, conv_desc: int, group_count: int) -> int:
        held = self._how(conv_desc)
        if held is None or group_count < 1:
            reason = f"a convolution with {group_count} groups."
            return self.refused(Status.BAD_PARAM, reason)
        held.groups = group_count
        return Status.SUCCESS

    def set_convolution_math_type(self, conv_desc: int, math_type: int) -> int:
        held = self._how(conv_desc)
        if held is None or math_type not in list(MathType):
            return self.refused(Status.BAD_PARAM, f"{math_type} is no math type.")
        held.math = math_type
        return Status.SUCCESS

    def _how(self, address: int) -> HeldConvolution | None:
        found: HeldConvolution | None = self.model.objects.get(
            address, CONVOLUTION, "conv_desc"
        )
        return found

    # Convolutions

    def get_convolution2d_forward_output_dim(
        self, conv_desc: int, input_tensor_desc: int, filter_desc: int,
        n: int, c: int, h: int, w: int,
    ) -> int:  # fmt: skip
        found = self._parts(input_tensor_desc, filter_desc, conv_desc)
        if isinstance(found, int):
            return found
        x, filters, how = found
        if (reason := misfit(x, filters, how)) is not None:
            return self.refused(Status.BAD_PARAM, reason)
        shape = how.output(x.shape, filters.shape)
        for name, address, size in zip("nchw", (n, c, h, w), shape, strict=True):
            self.model.write(address, struct.pack("<i", size), name)
        return Status.SUCCESS

    def get_convolution_forward_workspace_size(
        self, handle: int, x_desc: int, w_desc: int, conv_desc: int, y_desc: int,
        algo: int, result: int,
    ) -> int:  # fmt: skip
        found = self._problem(handle, (x_desc, w_desc, conv_desc, y_desc), algo)
        if isinstance(found, int):
            return found
        self.model.write(result, struct.pack("<Q", found.workspace(algo)), "size")
        return Status.SUCCESS

    def get_convolution_forward_algorithm_v7(
        self, handle: int, x_desc: int, w_desc: int, conv_desc: int, y_desc: int,
        requested_algo_count: int, returned_algo_count: int, perf_results: int,
    ) -> int:  # fmt: skip
        """Write what is expected of every algorithm, those that work first."""
        found = self._problem(handle, (x_desc, w_desc, conv_desc, y_desc))
        if isinstance(found, int):
            return found
        if requested_algo_count < 0:
            return self.refused(Status.BAD_PARAM, "fewer than no algorithms.")
        rows: list[tuple[bool, bytes]] = []
        for algo in (1, 4, 0, 2, 5, 7, 6, 3):
            fails = found.unsupported(algo) is not None
            status = Status.NOT_SUPPORTED if fails else 0
            memory = 0 if fails else found.workspace(algo)
            row = algo, status, -1.0, 0, memory, 1, 0  # -1: nothing is measured
            rows.append((fails, struct.pack("<iifiQii4i", *row, 0, 0, 0, 0)))
        rows.sort(key=lambda row: row[0])
        kept = [data for _, data in rows[:requested_algo_count]]
        for place, data in enumerate(kept):
            self.model.write(perf_results + place * len(data), data, "perf_results")
        count = struct.pack("<i", len(kept))
        self.model.write(returned_algo_count, count, "returned_algo_count")
        return Status.SUCCESS

    def convolution_forward(
        self, handle: int, alpha: int, x_desc: int, x: int, w_desc: int, w: int,
        conv_desc: int, algo: int, work_space: int, work_space_size_in_bytes: int,
        beta: int, y_desc: int, y: int,
    ) -> int:  # fmt: skip
        """Judge the arguments as the library does, and compute."""
        found = self._problem(handle, (x_desc, w_desc, conv_desc, y_desc), algo)
        if isinstance(found, int):
            return found
        if (status := self.model.fail_next.pop(FORWARD, 0)) != 0:
            return status
        needed, size = found.workspace(algo), work_space_size_in_bytes
        if algo == ForwardAlgo.IMPLICIT_PRECOMP_GEMM and not (work_space and size):
            needed = 0  # it does without, as cuDNN 9.19 does
        if algo != ForwardAlgo.IMPLICIT_PRECOMP_GEMM and (
            size < needed or (needed and not work_space)
        ):
            passed = f"{size:,} are passed" if size < needed else "the address is null"
            return self.refused(
                Status.BAD_PARAM,
                f"algorithm {algo} needs {needed:,} bytes of workspace, and {passed}.",
            )
        if needed:
            self.room(f"algorithm {algo}", work_space, size, needed)
        kind = CudaType.R_64F if found.x.kind == DataType.DOUBLE else CudaType.R_32F
        scalars = (
            self.model.scalar(alpha, kind, 0, "alpha"),
            self.model.scalar(beta, kind, 0, "beta"),
        )
        seen = (self.model.around(alpha, 0), self.model.around(beta, 0))
        named = (("x", x, found.x), ("w", w, found.w), ("y", y, found.y))
        held: Handle = self.model.objects.get(handle, HANDLE, "handle")
        self.model.calls.append(
            Call(
                FORWARD, scalars, seen, kind, held.stream, self.model.here(),
                matrices=tuple(
                    Matrix(name, at, CUDA_TYPES[t.kind], 1, 1, 1)
                    for name, at, t in named
                ),
                tensors=named,
            )
        )  # fmt: skip
        views = [self.look(*each) for each in named]
        self._compute(found, views, scalars)
        return Status.SUCCESS

    def _compute(
        self,
        found: Problem,
        views: list[torch.Tensor],
        scalars: tuple[float, float],
    ) -> None:
        """y = alpha conv(x, w) + beta y. With beta = 0, y is not read."""
        x, w, y = views
        alpha, beta = scalars
        total = alpha * found.how.run(x, w)
        if beta:
            total = total + beta * y.to(torch.float64)
        y.copy_(rounded(total, found.y.kind))

    def _parts(
        self, x: int, w: int, how: int
    ) -> tuple[Tensor, Tensor, Convolution] | int:
        """What descriptors describe; the status where one of them is not set."""
        get = self.model.objects.get
        held_x, held_w = get(x, TENSOR, "x_desc"), get(w, FILTER, "w_desc")
        held = self._how(how)
        for each, name in ((held_x, "x_desc"), (held_w, "w_desc"), (held, "conv_desc")):
            if each is None:
                return self.refused(Status.BAD_PARAM, f"{name} is null.")
        if held is None or held.how is None:
            reason = "conv_desc has been created, and never set."
            return self.refused(Status.BAD_PARAM, reason)
        if held_x.tensor is None or held_w.tensor is None:
            name = "x_desc" if held_x.tensor is None else "w_desc"
            reason = f"{name} has been created, and never set."
            return self.refused(Status.BAD_PARAM, reason)
        return held_x.tensor, held_w.tensor, replace(held.how, groups=held.groups)

    def _problem(
        self, handle: int, descs: tuple[int, int, int, int], algo: int = 0
    ) -> Problem | int:
        """A convolution from its descriptors; the status where it cannot be done."""
        if self.model.objects.get(handle, HANDLE, "handle") is None:
            return self.refused(Status.BAD_PARAM, "handle is null.")
        x, w, how, y = descs
        found = self._parts(x, w, how)
        if isinstance(found, int):
            return found
        held: Held | None = self.model.objects.get(y, TENSOR, "y_desc")
        if held is None or held.tensor is None:
            reason = "y_desc is null, or has never been set."
            return self.refused(Status.BAD_PARAM, reason)
        problem = Problem(found[0], found[1], found[2], held.tensor)
        if (wrong := problem.invalid()) is not None:
            return self.refused(Status.BAD_PARAM, wrong)
        if (wrong := problem.unsupported(algo)) is not None:
            return self.refused(Status.NOT_SUPPORTED, wrong)
        return problem

    # Graphs: `model_graphs` has the model of those that `graphs.Graph` makes

    def backend_create_descriptor(self, descriptor_type: int, result: int) -> int:
        if descriptor_type not in list(Descriptor):
            reason = f"{descriptor_type} is no type of descriptor."
            return self.refused(Status.INTERNAL_ERROR_HOST_ALLOCATION_FAILED, reason)
        if descriptor_type != Descriptor.TENSOR:
            return self._lacking()
        return self._made(DESCRIPTOR, DESCRIPTOR, result)

    def backend_destroy_descriptor(self, descriptor: int) -> int:
        return self._ended(DESCRIPTOR, descriptor)

    def backend_set_attribute(
        self, descriptor: int, attribute_name: int, attribute_type: int,
        element_count: int, array_of_elements: int,
    ) -> int:  # fmt: skip
        self.model.read(array_of_elements, element_count, "array_of_elements")
        return self.backend_finalize(descriptor)

    def backend_finalize(self, descriptor: int) -> int:
        if self.model.objects.get(descriptor, DESCRIPTOR, "descriptor") is None:
            return self.refused(Status.BAD_PARAM_NULL_POINTER, "descriptor is null.")
        return Status.SUCCESS

    def _lacking(self, *_: int) -> int:
        self.model.refuse(
            Fault(
                "handle",
                "Of the backend's descriptors, the model has only those of tensors.",
                "Without a GPU, use `Graph`, which makes the others.",
                headline="a descriptor that the model lacks",
            )
        )
        return Status.NOT_SUPPORTED

    backend_get_attribute = backend_execute = _lacking


def misfit(x: Tensor, w: Tensor, how: Convolution) -> str | None:
    """Why a filter cannot be applied to a tensor, or None."""
    if x.shape[1] != how.groups * w.shape[1]:
        per = f"in each of {how.groups} groups" if how.groups > 1 else "for each output"
        return f"x has {x.shape[1]} channels, and the filters have {w.shape[1]} {per}."
    if min(how.output(x.shape, w.shape)) < 1:
        return (
            f"filters of {sizes(w.shape[2:])}, dilated by {sizes(how.dilation)}, do "
            f"not fit into {sizes(x.shape[2:])} pixels with a padding of "
            f"{sizes(how.pad)}."
        )
    return None


def sizes(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))
