"""Convolutions that are ready to be timed, on PyTorch's current stream.

They are written with the binding, as the exercises of the lab are.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.chapters import Chapter
from weft.libraries import cudnn
from weft.libraries.arguments import room, stream
from weft.libraries.cudnn import (
    ConvolutionMode,
    DataType,
    ForwardAlgo,
    HeurMode,
    MathType,
    Pointwise,
    TensorFormat,
)
from weft.libraries.graphs import TYPES, Graph, Plan

ready = Chapter("25_cublas").ready
ONE, ZERO = ready.ONE, ready.ZERO


class Forward:
    """y = conv(x, w) by the legacy interface, with descriptors that are made once.

    x, w, y: tensors of four axes, in either memory format. found: what the library
    expects of each algorithm, best guess first.
    """

    def __init__(
        self,
        x: Any,
        w: Any,
        y: Any,
        pad: Sequence[int],
        math: MathType = MathType.DEFAULT_MATH,
    ) -> None:
        """Make the descriptors."""
        self.handle = cudnn.create()
        self.x, self.w, self.y = x, w, y
        kind = TYPES[x.dtype]
        self.descs = [cudnn.create_tensor_descriptor() for _ in "xy"]
        for desc, each in zip(self.descs, (x, y), strict=True):
            sizes, steps = each.shape, each.stride()
            cudnn.set_tensor4d_descriptor_ex(desc, kind, *sizes, *steps)
        self.filters = cudnn.create_filter_descriptor()
        cudnn.set_filter4d_descriptor(self.filters, kind, order_of(w), *w.shape)
        self.how = cudnn.create_convolution_descriptor()
        cudnn.set_convolution2d_descriptor(
            self.how,
            *pad,
            1,
            1,
            1,
            1,
            ConvolutionMode.CROSS_CORRELATION,
            DataType.FLOAT,
        )
        cudnn.set_convolution_math_type(self.how, math)
        self.rooms: dict[int, Any] = {}

    @property
    def _problem(self) -> tuple[int, int, int, int]:
        return self.descs[0], self.filters, self.how, self.descs[1]

    def workspace(self, algo: ForwardAlgo) -> int:
        """How many bytes an algorithm needs. Raises cuDNNError if it cannot do it."""
        nbytes: int = cudnn.get_convolution_forward_workspace_size(
            self.handle, *self._problem, algo
        )
        return nbytes

    def able(self) -> list[ForwardAlgo]:
        """The algorithms that can do this convolution."""
        found = []
        for algo in ForwardAlgo:
            try:
                self.workspace(algo)
            except cudnn.cuDNNError:
                continue
            found.append(algo)
        return found

    def ranked(self) -> Any:
        """What the library expects of each algorithm, best guess first."""
        found = np.zeros(len(ForwardAlgo), cudnn.convolution_fwd_algo_perf_dtype)
        count = ctypes.c_int()
        cudnn.get_convolution_forward_algorithm_v7(
            *(self.handle, *self._problem, len(found)),
            *(ctypes.addressof(count), found.ctypes.data),
        )
        return found[: count.value]

    def __call__(self, algo: ForwardAlgo = ForwardAlgo.IMPLICIT_PRECOMP_GEMM) -> None:
        """Queue the convolution with one of the algorithms."""
        if algo not in self.rooms:
            self.rooms[algo] = room(self.workspace(algo))
        work = self.rooms[algo]
        x_desc, w_desc, how, y_desc = self._problem
        cudnn.set_stream(self.handle, stream())
        cudnn.convolution_forward(
            *(self.handle, ONE, x_desc, self.x.data_ptr(), w_desc, self.w.data_ptr()),
            *(how, algo, work.data_ptr(), work.nbytes),
            *(ZERO, y_desc, self.y.data_ptr()),
        )


def convolve(
    handle: int,
    x_desc: int,
    x: Any,
    w_desc: int,
    w: Any,
    y_desc: int,
    y: Any,
    pad: Sequence[int],
) -> None:
    """Queue y = conv(x, w) with descriptors that exist; x, w and y are arrays."""
    how = cudnn.create_convolution_descriptor()
    mode, algo = ConvolutionMode.CROSS_CORRELATION, ForwardAlgo.IMPLICIT_PRECOMP_GEMM
    cudnn.set_convolution2d_descriptor(how, *pad, 1, 1, 1, 1, mode, DataType.FLOAT)
    cudnn.set_convolution_math_type(how, MathType.TENSOR_OP_MATH)
    problem = x_desc, w_desc, how, y_desc
    nbytes = cudnn.get_convolution_forward_workspace_size(handle, *problem, algo)
    work = room(nbytes)
    cudnn.convolution_forward(
        *(handle, ONE, x_desc, x.data_ptr(), w_desc, w.data_ptr(), how),
        *(algo, work.data_ptr(), nbytes, ZERO, y_desc, y.data_ptr()),
    )
    cudnn.destroy_convolution_descriptor(how)


class Fused:
    """y = relu(conv(x, w) + bias) as a graph. plans: best guess first."""

    def __init__(
        self,
        x: Any,
        w: Any,
        bias: Any,
        y: Any,
        pad: Sequence[int],
        most: int = 100,
        mode: HeurMode = HeurMode.A,
    ) -> None:
        """Make the graph, and build up to so many plans."""
        self.handle = cudnn.create()
        self.graph = graph = Graph(self.handle)
        made = [graph.tensor(1, x), graph.tensor(2, w)]
        shift = graph.tensor(3, bias, (1, bias.shape[0], 1, 1))
        out = graph.tensor(4, y)
        sums, shifted = graph.virtual(5, y), graph.virtual(6, y)
        graph.convolution(*made, y=sums, padding=pad)
        graph.pointwise(Pointwise.ADD, sums, shift, y=shifted)
        graph.pointwise(Pointwise.RELU_FWD, shifted, y=out)
        self.plans: list[Plan] = graph.plans(mode, most)
        self.arrays = dict(enumerate((x, w, bias, y), 1))
        self.packs: dict[int, tuple[int, Any]] = {}

    def __call__(self, number: int = 0) -> None:
        """Queue the layer by one of its plans."""
        plan = self.plans[number]
        if number not in self.packs:
            work = room(plan.workspace)
            addresses = {i: each.data_ptr() for i, each in self.arrays.items()}
            self.packs[number] = self.graph.pack(addresses, work.data_ptr()), work
        cudnn.set_stream(self.handle, stream())
        self.graph.execute(plan, self.packs[number][0])


def order_of(w: Any) -> TensorFormat:
    """The format that filters are stored in, by their strides."""
    one_after_another = w.stride(1) == 1 and w.shape[1] > 1
    return TensorFormat.NHWC if one_after_another else TensorFormat.NCHW
