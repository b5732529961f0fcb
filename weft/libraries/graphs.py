"""Graphs of cuDNN: operations on tensors, which become plans that can be executed.

A thin layer over the backend's six functions: create a descriptor, set its attributes,
finalize it, read what it has found, execute, destroy.
"""

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from weft.libraries import cudnn
from weft.libraries.headers import cudnn as header
from weft.libraries.loading import library, model_in_use
from weft.libraries.model_graphs import ALIGNMENT, TYPES, ModelGraph, Plan, packed

Attribute, AttributeType = header.Attribute, header.AttributeType
BehaviorNote, ConvolutionMode = header.BehaviorNote, header.ConvolutionMode
DataType, Descriptor, HeurMode = header.DataType, header.Descriptor, header.HeurMode
__all__ = ["TYPES", "Graph", "Plan"]

KINDS: dict[int, Any] = {  # what an element is in the host's memory
    AttributeType.HANDLE: np.uint64,
    AttributeType.BOOLEAN: np.bool_,
    AttributeType.INT64: np.int64,
    AttributeType.FLOAT: np.float32,
    AttributeType.DOUBLE: np.float64,
    AttributeType.VOID_PTR: np.uint64,
    AttributeType.BACKEND_DESCRIPTOR: np.uint64,
}


class Graph:
    """Operations on tensors, all of whose descriptors `destroy` frees.

    handle: of cuDNN. Tensors are numbers of descriptors, as in C. Without a GPU, and
    while a check runs, a `ModelGraph` takes its place.
    """

    def __new__(cls, handle: int) -> Any:
        model = model_in_use()
        if model is None:
            return super().__new__(cls)
        library("cudnn")  # so that the model has it
        return ModelGraph(handle, model)

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.made: list[int] = []
        self.operations: list[int] = []
        self.graph = 0

    # Descriptors

    def create(self, kind: int) -> int:
        """A descriptor that has no attributes yet."""
        made: int = cudnn.backend_create_descriptor(kind)
        self.made.append(made)
        return made

    def put(self, made: int, name: int, kind: int, *values: Any) -> None:
        """Set one attribute of a descriptor to one element, or to several."""
        held = np.array(values, KINDS.get(kind, np.int32))
        cudnn.backend_set_attribute(made, name, kind, len(values), held.ctypes.data)

    def get(self, made: int, name: int, kind: int, most: int = 1) -> list[Any]:
        """Read up to so many elements of an attribute."""
        held = np.zeros(max(most, 1), KINDS.get(kind, np.int32))
        count = ctypes.c_int64()
        at = ctypes.addressof(count)
        cudnn.backend_get_attribute(made, name, kind, most, at, held.ctypes.data)
        found: list[Any] = held[: min(count.value, most)].tolist()
        return found

    def finalize(self, made: int) -> int:
        cudnn.backend_finalize(made)
        return made

    # Tensors

    def tensor(self, uid: int, like: Any, shape: Sequence[int] | None = None) -> int:
        """A tensor that will be in memory: its number, and an array that is like it.

        shape: four sizes for an array of fewer axes, such as (1, k, 1, 1) for a bias.
        """
        sizes, steps = tuple(like.shape), tuple(like.stride())
        if shape is not None:
            sizes, steps = tuple(shape), packed(shape)
        return self.described(uid, sizes, steps, TYPES[like.dtype], virtual=False)

    def virtual(self, uid: int, like: Any, dtype: torch.dtype = torch.float32) -> int:
        """A tensor between two operations, of which nothing is stored."""
        sizes, steps = tuple(like.shape), tuple(like.stride())
        return self.described(uid, sizes, steps, TYPES[dtype], virtual=True)

    def described(
        self,
        uid: int,
        shape: Sequence[int],
        strides: Sequence[int],
        dtype: int,
        *,
        virtual: bool,
    ) -> int:
        """The descriptor of a tensor."""
        made, put = self.create(Descriptor.TENSOR), self.put
        put(made, Attribute.TENSOR_UNIQUE_ID, AttributeType.INT64, uid)
        put(made, Attribute.TENSOR_DATA_TYPE, AttributeType.DATA_TYPE, dtype)
        put(made, Attribute.TENSOR_DIMENSIONS, AttributeType.INT64, *shape)
        put(made, Attribute.TENSOR_STRIDES, AttributeType.INT64, *strides)
        put(made, Attribute.TENSOR_BYTE_ALIGNMENT, AttributeType.INT64, ALIGNMENT)
        put(made, Attribute.TENSOR_IS_VIRTUAL, AttributeType.BOOLEAN, virtual)
        return self.finalize(made)

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
        mode: int = ConvolutionMode.CROSS_CORRELATION,
    ) -> None:
        """Add the operation y = x * w."""
        name, put, kind = Attribute, self.put, AttributeType.INT64
        how = self.create(Descriptor.CONVOLUTION)
        put(how, name.CONVOLUTION_SPATIAL_DIMS, kind, 2)
        put(how, name.CONVOLUTION_COMP_TYPE, AttributeType.DATA_TYPE, DataType.FLOAT)
        put(how, name.CONVOLUTION_CONV_MODE, AttributeType.CONVOLUTION_MODE, mode)
        put(how, name.CONVOLUTION_PRE_PADDINGS, kind, *padding)
        put(how, name.CONVOLUTION_POST_PADDINGS, kind, *padding)
        put(how, name.CONVOLUTION_FILTER_STRIDES, kind, *stride)
        put(how, name.CONVOLUTION_DILATIONS, kind, *dilation)
        self.finalize(how)

        one = self.create(Descriptor.OPERATION_CONVOLUTION_FORWARD)
        prefix = "OPERATION_CONVOLUTION_FORWARD_"
        for part, made in {"X": x, "W": w, "Y": y, "CONV_DESC": how}.items():
            put(one, name[prefix + part], AttributeType.BACKEND_DESCRIPTOR, made)
        put(one, name[prefix + "ALPHA"], AttributeType.FLOAT, 1)
        put(one, name[prefix + "BETA"], AttributeType.FLOAT, 0)
        self.operations.append(self.finalize(one))

    def pointwise(self, mode: int, x: int, b: int = 0, *, y: int) -> None:
        """Add the operation y = mode(x), or y = mode(x, b), element by element."""
        name, put = Attribute, self.put
        how = self.create(Descriptor.POINTWISE)
        put(how, name.POINTWISE_MODE, AttributeType.POINTWISE_MODE, mode)
        put(how, name.POINTWISE_MATH_PREC, AttributeType.DATA_TYPE, DataType.FLOAT)
        self.finalize(how)

        one = self.create(Descriptor.OPERATION_POINTWISE)
        parts = {"PW_DESCRIPTOR": how, "XDESC": x, "YDESC": y} | (
            {"BDESC": b} if b else {}
        )
        for part, made in parts.items():
            kind = AttributeType.BACKEND_DESCRIPTOR
            put(one, name[f"OPERATION_POINTWISE_{part}"], kind, made)
        self.operations.append(self.finalize(one))

    # Plans

    def plans(self, mode: int = HeurMode.A, most: int = 100) -> list[Plan]:
        """Plans for the graph, those that the heuristic expects to be fastest first.

        An engine that cannot do it after all is left out.
        """
        desc = AttributeType.BACKEND_DESCRIPTOR
        if not self.graph:
            self.graph = self.create(Descriptor.OPERATIONGRAPH)
            self.put(self.graph, Attribute.OPERATIONGRAPH_OPS, desc, *self.operations)
            name = Attribute.OPERATIONGRAPH_HANDLE
            self.put(self.graph, name, AttributeType.HANDLE, self.handle)
            self.finalize(self.graph)
        ranked = self.create(Descriptor.ENGINEHEUR)
        self.put(ranked, Attribute.ENGINEHEUR_OPERATION_GRAPH, desc, self.graph)
        self.put(ranked, Attribute.ENGINEHEUR_MODE, AttributeType.HEUR_MODE, mode)
        self.finalize(ranked)
        found = []
        for config in self._configurations(ranked, most):
            try:
                found.append(self._plan(config))
            except cudnn.cuDNNError as error:
                if error.status // 1000 != 3:  # it is not that it is not supported
                    raise
        return found

    def _configurations(self, ranked: int, most: int) -> list[int]:
        """Engines with their settings, as the heuristic has ranked them."""
        made = [self.create(Descriptor.ENGINECFG) for _ in range(most)]
        held, count = np.array(made, np.uint64), ctypes.c_int64()
        name, kind = Attribute.ENGINEHEUR_RESULTS, AttributeType.BACKEND_DESCRIPTOR
        at = ctypes.addressof(count)
        cudnn.backend_get_attribute(ranked, name, kind, most, at, held.ctypes.data)
        return made[: count.value]

    def _plan(self, config: int) -> Plan:
        """Build a plan: this is where some engines compile a kernel."""
        made, desc = (
            self.create(Descriptor.EXECUTION_PLAN),
            AttributeType.BACKEND_DESCRIPTOR,
        )
        self.put(
            made, Attribute.EXECUTION_PLAN_HANDLE, AttributeType.HANDLE, self.handle
        )
        self.put(made, Attribute.EXECUTION_PLAN_ENGINE_CONFIG, desc, config)
        self.finalize(made)
        size = Attribute.EXECUTION_PLAN_WORKSPACE_SIZE
        (workspace,) = self.get(made, size, AttributeType.INT64)
        engine = self.create(Descriptor.ENGINE)
        held, count = np.array([engine], np.uint64), ctypes.c_int64()
        name, at = Attribute.ENGINECFG_ENGINE, ctypes.addressof(count)
        cudnn.backend_get_attribute(config, name, desc, 1, at, held.ctypes.data)
        index = Attribute.ENGINE_GLOBAL_INDEX
        (number,) = self.get(engine, index, AttributeType.INT64)
        note = AttributeType.BEHAVIOR_NOTE
        notes = self.get(engine, Attribute.ENGINE_BEHAVIOR_NOTE, note, 8)
        return Plan(made, workspace, number, BehaviorNote.RUNTIME_COMPILATION in notes)

    # Execution

    def pack(self, addresses: Mapping[int, int], workspace: int = 0) -> int:
        """A variant pack: the addresses of the tensors in memory, by their numbers."""
        made, put = self.create(Descriptor.VARIANT_PACK), self.put
        void = AttributeType.VOID_PTR
        ids, at = list(addresses), list(addresses.values())
        put(made, Attribute.VARIANT_PACK_UNIQUE_IDS, AttributeType.INT64, *ids)
        put(made, Attribute.VARIANT_PACK_DATA_POINTERS, void, *at)
        put(made, Attribute.VARIANT_PACK_WORKSPACE, void, workspace)
        return self.finalize(made)

    def execute(self, plan: Plan, pack: int) -> None:
        """Queue the plan's work on the handle's stream."""
        cudnn.backend_execute(self.handle, plan.descriptor, pack)

    def destroy(self) -> None:
        """Free all descriptors."""
        while self.made:
            cudnn.backend_destroy_descriptor(self.made.pop())
        self.operations, self.graph = [], 0
