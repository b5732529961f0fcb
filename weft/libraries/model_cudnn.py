"""A model of cuDNN's C interface: its descriptors, workspaces and convolutions."""

import math
import struct
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn

import numpy as np
import torch

from weft.libraries.convolutions import DTYPES, Convolution, Tensor, strides_of
from weft.libraries.faults import Refusal
from weft.libraries.headers import CudaType, cudnn
from weft.libraries.model import Kind, Library
from weft.libraries.products import rounded

ConvolutionMode, DataType = cudnn.ConvolutionMode, cudnn.DataType
ForwardAlgo, MathType, Status = cudnn.ForwardAlgo, cudnn.MathType, cudnn.Status
AttributeType = cudnn.AttributeType
NCHW, NHWC = cudnn.TensorFormat.NCHW, cudnn.TensorFormat.NHWC
VECTORS = 2  # the format NCHW_VECT_C
DESCRIPTOR = "descriptor of the backend"
SUMS = (DataType.FLOAT, DataType.DOUBLE, DataType.HALF, DataType.INT32)
BEYOND = 99  # from here on, no number is a data type; most below exist
ANY_LAYOUT = (ForwardAlgo.IMPLICIT_GEMM, ForwardAlgo.IMPLICIT_PRECOMP_GEMM)
TYPES = {  # (of the tensors, of the sums)
    (DataType.FLOAT, DataType.FLOAT),
    (DataType.HALF, DataType.FLOAT),
    (DataType.HALF, DataType.HALF),
    (DataType.BFLOAT16, DataType.FLOAT),
    (DataType.DOUBLE, DataType.DOUBLE),
}
# NumPy types of attribute elements; others are enumerations, of 4 bytes
ELEMENTS: dict[int, Any] = {
    AttributeType.HANDLE: np.uint64,
    AttributeType.BOOLEAN: np.bool_,
    AttributeType.INT64: np.int64,
    AttributeType.FLOAT: np.float32,
    AttributeType.DOUBLE: np.float64,
    AttributeType.VOID_PTR: np.uint64,
    AttributeType.BACKEND_DESCRIPTOR: np.uint64,
}


@dataclass
class Held:
    """The state of an object between calls: a stream, or a descriptor's content.

    groups, math: a convolution's settings that have defaults.
    """

    stream: int = 0
    described: Any = None
    groups: int = 1
    math: int = MathType.DEFAULT_MATH


def bad(reason: str, status: int = Status.BAD_PARAM) -> NoReturn:
    """Raise a `Refusal` with a reason and a status."""
    raise Refusal(status, reason)


@dataclass(frozen=True)
class Problem:
    """One convolution, as its four descriptors describe it."""

    x: Tensor
    w: Tensor
    how: Convolution
    y: Tensor

    def judge(self, algo: int) -> None:
        """Refuse mismatched descriptors and convolutions that `algo` cannot compute."""
        fits(self.x, self.w, self.how)
        if self.w.shape[0] % self.how.groups:
            count = self.w.shape[0]
            bad(f"{count} filters cannot be split into groups of equal size.")
        right = self.how.output(self.x.shape, self.w.shape)
        if self.y.shape != right:
            bad(misdescribed(self.y.shape, right))
        if (reason := self.unsupported(algo)) is not None:
            bad(reason, Status.NOT_SUPPORTED)

    def unsupported(self, algo: int) -> str | None:
        """Return why `algo` does not support this convolution, or None if it does."""
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
        """Return whether `algo` supports this convolution in cuDNN 9.19 on an H200."""
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
        return bool(algo == ForwardAlgo.GEMM)

    def workspace(self, algo: int) -> int:
        """Return the size of an algorithm's workspace in bytes.

        The sizes are invented.
        """
        if algo in (ForwardAlgo.IMPLICIT_GEMM, ForwardAlgo.GEMM):
            return 0
        if algo == ForwardAlgo.IMPLICIT_PRECOMP_GEMM:
            return 16 * sum(self.w.shape[1:])
        return 9 * math.prod(self.y.shape)


class CuDNN(Library):
    """The functions of cuDNN, named as in the binding."""

    name = "cudnn"
    kinds: ClassVar = {
        f"create{end}": Kind(what, lambda _: Held(), Status.BAD_PARAM)
        for end, what in {
            "": "handle of cuDNN",
            "_tensor_descriptor": "tensor descriptor",
            "_filter_descriptor": "filter descriptor",
            "_convolution_descriptor": "convolution descriptor",
        }.items()
    } | {
        "backend_create_descriptor": Kind(
            DESCRIPTOR, lambda _: DESCRIPTOR, Status.BAD_PARAM_NULL_POINTER
        )
    }
    sets: ClassVar = {"set_stream": "stream"}
    gets: ClassVar = {"get_stream": "stream"}
    ends_null = True

    def look(self, name: str, address: int, tensor: Tensor) -> torch.Tensor:
        """Return the elements of `tensor` at a device address, as a view."""
        dtype = DTYPES[tensor.kind]
        return self.model.array(
            name,
            address,
            dtype,
            tensor.shape,
            tensor.strides,
            f"is described as {tensor}",
            f"An element of {tensor.kind.name} has {dtype.itemsize} bytes.",
            "a descriptor that reaches beyond the array",
        )

    # Descriptors

    def set_tensor4d_descriptor(self, a: Any) -> None:
        shape = (a.n, a.c, a.h, a.w)
        self._set(a, "tensor", shape, self._in_format(a.format, shape))

    def set_tensor4d_descriptor_ex(self, a: Any) -> None:
        steps = (a.n_stride, a.c_stride, a.h_stride, a.w_stride)
        self._set(a, "tensor", (a.n, a.c, a.h, a.w), steps)

    def set_filter4d_descriptor(self, a: Any) -> None:
        shape = (a.k, a.c, a.h, a.w)
        self._set(a, "filter", shape, self._in_format(a.format, shape))

    def _in_format(self, order: int, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return a shape's strides in a tensor format. Accepts only NCHW and NHWC."""
        if not 0 <= order <= VECTORS:
            bad(f"{order} is no tensor format.")
        if order == VECTORS:
            self.model.lacks("the format NCHW_VECT_C (2), for vectors of int8")
        return strides_of(order, shape)

    def _set(
        self, a: Any, what: str, shape: tuple[int, ...], steps: tuple[int, ...]
    ) -> None:
        """Set a descriptor's shape, strides and type, refusing impossible values."""
        parameter, maker = f"{what}_desc", f"create_{what}_descriptor"
        held = self.held(getattr(a, parameter), parameter, maker)
        if not 0 <= a.data_type < BEYOND:
            bad(f"{a.data_type} is no data type.")
        kind = self.model.known("data type", DataType, a.data_type)
        if min(shape) < 1:
            bad(f"a {what} descriptor of {sizes(shape)}: no size may be below 1.")
        if any(n > 1 and s == 0 for n, s in zip(shape, steps, strict=True)):
            bad(f"a {what} descriptor of {sizes(shape)} with a stride of 0.")
        held.described = Tensor(kind, shape, steps)

    def _how(self, address: int) -> Held:
        found: Held = self.held(address, "conv_desc", "create_convolution_descriptor")
        return found

    def set_convolution2d_descriptor(self, a: Any) -> None:
        """Set how a convolution's filter moves; refuse impossible settings."""
        held = self._how(a.conv_desc)
        pad, stride = (a.pad_h, a.pad_w), (a.u, a.v)
        dilation = (a.dilation_h, a.dilation_w)
        if min(pad) < 0:
            bad(f"a padding of {sizes(pad)}.")
        for text, values in (("stride", stride), ("dilation", dilation)):
            if min(values) < 1:
                bad(f"a {text} of {sizes(values)}.")
        if a.mode not in list(ConvolutionMode):
            bad(f"{a.mode} is no convolution mode.")
        if a.compute_type == DataType.BFLOAT16 or a.compute_type >= BEYOND:
            bad(f"{a.compute_type} is no type in which products are added up.")
        if a.compute_type not in SUMS:
            self.model.lacks(f"sums in data type {a.compute_type}")
        types = ConvolutionMode(a.mode), DataType(a.compute_type)
        held.described = Convolution(pad, stride, dilation, *types)

    def set_convolution_group_count(self, a: Any) -> None:
        if a.group_count < 1:
            bad(f"a convolution with {a.group_count} groups.")
        self._how(a.conv_desc).groups = a.group_count

    def set_convolution_math_type(self, a: Any) -> None:
        if a.math_type not in list(MathType):
            bad(f"{a.math_type} is no math type.")
        self._how(a.conv_desc).math = a.math_type

    # Convolutions

    def get_convolution2d_forward_output_dim(self, a: Any) -> None:
        x, filters, how = self._parts(a.input_tensor_desc, a.filter_desc, a.conv_desc)
        fits(x, filters, how)
        for name, size in zip("nchw", how.output(x.shape, filters.shape), strict=True):
            self.model.write(getattr(a, name), struct.pack("<i", size), name)

    def get_convolution_forward_workspace_size(self, a: Any) -> int:
        return self._problem(a, a.algo).workspace(a.algo)

    def get_convolution_forward_algorithm_v7(self, a: Any) -> None:
        """Write up to the requested number of records, supported algorithms first."""
        found = self._problem(a, ForwardAlgo.IMPLICIT_GEMM)
        if a.requested_algo_count < 0:
            bad("fewer than no algorithms.")
        rows: list[tuple[bool, bytes]] = []
        for algo in (1, 4, 0, 2, 5, 7, 6, 3):
            fails = found.unsupported(algo) is not None
            status = Status.NOT_SUPPORTED if fails else 0
            memory = 0 if fails else found.workspace(algo)
            row = algo, status, -1.0, 0, memory, 1, 0  # -1: nothing is measured
            rows.append((fails, struct.pack("<iifiQii4i", *row, 0, 0, 0, 0)))
        rows.sort(key=lambda row: row[0])
        kept = [data for _, data in rows[: a.requested_algo_count]]
        if kept:
            self.model.write(a.perf_results, b"".join(kept), "perf_results")
        count = struct.pack("<i", len(kept))
        self.model.write(a.returned_algo_count, count, "returned_algo_count")

    def convolution_forward(self, a: Any) -> None:
        """Check the arguments as the library does, and compute the convolution."""
        found, algo = self._problem(a, a.algo), a.algo
        needed, size = found.workspace(algo), a.work_space_size_in_bytes
        if algo == ForwardAlgo.IMPLICIT_PRECOMP_GEMM and not (a.work_space and size):
            needed = 0  # it runs without one, as cuDNN 9.19 does
        if algo != ForwardAlgo.IMPLICIT_PRECOMP_GEMM and (
            size < needed or (needed and not a.work_space)
        ):
            passed = f"{size:,} are passed" if size < needed else "the address is null"
            bad(f"algorithm {algo} needs {needed:,} bytes of workspace, and {passed}.")
        if needed:
            self.model.room(f"algorithm {algo}", a.work_space, size, needed)
        kind = CudaType.R_64F if found.x.kind == DataType.DOUBLE else CudaType.R_32F
        stream = self.held(a.handle).stream
        named = (("x", a.x, found.x), ("w", a.w, found.w), ("y", a.y, found.y))
        alpha, beta = self.model.scaled(a, kind, 0, stream, tensors=named)
        x, w, y = (self.look(*each) for each in named)
        self.model.apart("y", y, x=x, w=w)
        total = alpha * found.how.run(x, w)
        if beta:  # with beta = 0, y is not read
            total = total + beta * y.to(torch.float64)
        y.copy_(rounded(total, y.dtype))

    def _described(self, address: int, parameter: str, kind: str) -> Any:
        """Return the tensor or convolution at `address`; refuse an unset descriptor."""
        held = self.held(address, parameter, f"create_{kind}_descriptor")
        if held.described is None:
            bad(f"{parameter} has been created, and never been set.")
        return held.described

    def _parts(self, x: int, w: int, how: int) -> tuple[Tensor, Tensor, Convolution]:
        """Return a convolution's input, filters and settings from their descriptors."""
        image = self._described(x, "x_desc", "tensor")
        filters = self._described(w, "w_desc", "filter")
        moves = self._described(how, "conv_desc", "convolution")
        return image, filters, replace(moves, groups=self._how(how).groups)

    def _problem(self, a: Any, algo: int) -> Problem:
        """Build a convolution from its descriptors; refuse an impossible one."""
        self.held(a.handle)
        parts = self._parts(a.x_desc, a.w_desc, a.conv_desc)
        found = Problem(*parts, self._described(a.y_desc, "y_desc", "tensor"))
        if {found.x.kind, found.w.kind, found.y.kind} & {DataType.INT8, DataType.INT32}:
            self.model.lacks("convolutions of integers")
        found.judge(algo)
        return found

    # Graphs: `model_graphs` is the model of those that `graphs.Graph` makes

    def backend_create_descriptor(self, a: Any) -> int:
        if a.descriptor_type != cudnn.Descriptor.TENSOR:
            number = a.descriptor_type
            self.model.lacks(f"the backend's descriptor {number}", USE_GRAPH)
        return self.make("backend_create_descriptor", a)

    def backend_set_attribute(self, a: Any) -> None:
        size = np.dtype(ELEMENTS.get(a.attribute_type, np.int32)).itemsize
        nbytes = a.element_count * size
        self.model.read(a.array_of_elements, nbytes, "array_of_elements")
        self.backend_finalize(a)

    def backend_finalize(self, a: Any) -> None:
        self.held(a.descriptor, "descriptor", "backend_create_descriptor")

    def backend_get_attribute(self, a: Any) -> None:
        self.model.lacks("this function of the backend", USE_GRAPH)

    backend_execute = backend_get_attribute


USE_GRAPH = "It has tensors; `Graph` makes and executes the rest."


def misdescribed(found: tuple[int, ...], right: tuple[int, ...]) -> str:
    """Describe how a result's declared sizes, `found`, differ from the right ones."""
    sides = f"as {sizes(found)}, and the convolution gives {sizes(right)}"
    return f"y is described {sides}."


def fits(x: Tensor, w: Tensor, how: Convolution) -> None:
    """Refuse filters that cannot be applied to a tensor."""
    if x.shape[1] != how.groups * w.shape[1]:
        per = f"in each of {how.groups} groups" if how.groups > 1 else "for each output"
        bad(f"x has {x.shape[1]} channels, and the filters have {w.shape[1]} {per}.")
    if min(how.output(x.shape, w.shape)) < 1:
        bad(
            f"filters of {sizes(w.shape[2:])}, dilated by {sizes(how.dilation)}, do "
            f"not fit into {sizes(x.shape[2:])} pixels with a padding of "
            f"{sizes(how.pad)}."
        )


def sizes(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))
