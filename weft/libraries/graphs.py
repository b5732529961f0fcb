"""cuDNN graphs: operations on tensors, from which plans are built and executed.

A thin layer over the backend's six functions: create a descriptor, set its attributes,
finalise it, read attributes, execute, destroy.
"""

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from weft.libraries import cudnn
from weft.libraries.headers import HEADERS
from weft.libraries.loading import library, model_in_use
from weft.libraries.model_cudnn import ELEMENTS
from weft.libraries.model_graphs import ALIGNMENT, TYPES, ModelGraph, Plan, Tensors

__all__ = ["TYPES", "Graph", "Plan"]

FLOAT = cudnn.DataType.FLOAT
ATTRIBUTE_TYPES = HEADERS["cudnn"].attribute_types


class Graph(Tensors):
    """A graph of operations on tensors. `destroy` frees all of its descriptors.

    handle: a cuDNN handle. Tensors are identified by their descriptors' addresses, as
    in C. Without a GPU, or if a check uses a model, a `ModelGraph` is made instead.
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

    def create(self, kind: str) -> int:
        """Create a descriptor without attributes."""
        made: int = cudnn.backend_create_descriptor(cudnn.Descriptor[kind])
        self.made.append(made)
        return made

    def finished(self, kind: str, **attributes: Any) -> int:
        """Create and finalise a descriptor with attributes of one or more elements."""
        made = self.create(kind)
        for name, value in attributes.items():
            values = value if isinstance(value, Sequence) else [value]
            self._array(made, f"{kind}_{name}", values, cudnn.backend_set_attribute)
        cudnn.backend_finalize(made)
        return made

    def get(self, made: int, name: str, held: Sequence[int] = (0,)) -> list[Any]:
        """Read the elements of an attribute, at most as many as `held` has.

        held: the initial contents, such as descriptors for the library to fill in.
        """
        count = ctypes.c_int64()
        at = ctypes.addressof(count)
        array = self._array(made, name, held, cudnn.backend_get_attribute, at)
        found: list[Any] = array[: min(count.value, len(held))].tolist()
        return found

    def _array(
        self, made: int, name: str, values: Sequence[Any], call: Any, *more: int
    ) -> Any:
        """Pass an attribute's elements to `call`; return them as `call` leaves them."""
        kind = cudnn.AttributeType[ATTRIBUTE_TYPES[name]]
        array = np.array(values, ELEMENTS.get(kind, np.int32))
        which = cudnn.Attribute[name], kind
        call(made, *which, len(values), *more, array.ctypes.data)
        return array

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
        """Create and finalise the descriptor of a tensor."""
        return self.finished(
            "TENSOR",
            UNIQUE_ID=uid,
            DATA_TYPE=TYPES[dtype],
            DIMENSIONS=shape,
            STRIDES=steps,
            BYTE_ALIGNMENT=ALIGNMENT,
            IS_VIRTUAL=virtual,
        )

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
        mode: int = cudnn.ConvolutionMode.CROSS_CORRELATION,
    ) -> None:
        """Add the convolution y = x * w."""
        how = self.finished(
            "CONVOLUTION",
            SPATIAL_DIMS=2,
            COMP_TYPE=FLOAT,
            CONV_MODE=mode,
            PRE_PADDINGS=padding,
            POST_PADDINGS=padding,
            FILTER_STRIDES=stride,
            DILATIONS=dilation,
        )
        operation = "OPERATION_CONVOLUTION_FORWARD"
        parts = {"X": x, "W": w, "Y": y, "CONV_DESC": how, "ALPHA": 1, "BETA": 0}
        self.operations.append(self.finished(operation, **parts))

    def pointwise(self, mode: int, x: int, b: int = 0, *, y: int) -> None:
        """Add the operation y = mode(x), or y = mode(x, b), element by element."""
        how = self.finished("POINTWISE", MODE=mode, MATH_PREC=FLOAT)
        parts = {"PW_DESCRIPTOR": how, "XDESC": x, "YDESC": y}
        if b:
            parts["BDESC"] = b
        self.operations.append(self.finished("OPERATION_POINTWISE", **parts))

    # Plans

    def plans(self, mode: int = cudnn.HeurMode.A, most: int = 100) -> list[Plan]:
        """Return up to `most` plans for the graph, in the heuristic's order.

        The plan that it expects to be fastest comes first. Engines that turn out not to
        support the graph are left out.
        """
        if not self.graph:
            parts = {"OPS": self.operations, "HANDLE": self.handle}
            self.graph = self.finished("OPERATIONGRAPH", **parts)
        ranked = self.finished("ENGINEHEUR", OPERATION_GRAPH=self.graph, MODE=mode)
        found = []
        for config in self._configurations(ranked, most):
            try:
                found.append(self._plan(config))
            except cudnn.cuDNNError as error:
                if error.status // 1000 != 3:  # any error but "not supported"
                    raise
        return found

    def _configurations(self, ranked: int, most: int) -> list[int]:
        """Return up to `most` engine configurations, in the heuristic's order."""
        made = [self.create("ENGINECFG") for _ in range(most)]
        return made[: len(self.get(ranked, "ENGINEHEUR_RESULTS", made))]

    def _plan(self, config: int) -> Plan:
        """Build the execution plan of an engine configuration.

        Some engines compile a kernel for the plan.
        """
        parts = {"HANDLE": self.handle, "ENGINE_CONFIG": config}
        made = self.finished("EXECUTION_PLAN", **parts)
        (workspace,) = self.get(made, "EXECUTION_PLAN_WORKSPACE_SIZE")
        engine = self.create("ENGINE")
        self.get(config, "ENGINECFG_ENGINE", [engine])
        (number,) = self.get(engine, "ENGINE_GLOBAL_INDEX")
        notes = self.get(engine, "ENGINE_BEHAVIOR_NOTE", [0] * 8)
        compiles = cudnn.BehaviorNote.RUNTIME_COMPILATION in notes
        return Plan(made, workspace, number, compiles)

    # Execution

    def pack(self, addresses: Mapping[int, int], workspace: int = 0) -> int:
        """Create a variant pack: the tensors' addresses by number, and a workspace."""
        return self.finished(
            "VARIANT_PACK",
            UNIQUE_IDS=list(addresses),
            DATA_POINTERS=list(addresses.values()),
            WORKSPACE=workspace,
        )

    def execute(self, plan: Plan, pack: int) -> None:
        """Queue the plan's work on the handle's stream."""
        cudnn.backend_execute(self.handle, plan.descriptor, pack)

    def destroy(self) -> None:
        """Free all descriptors."""
        while self.made:
            cudnn.backend_destroy_descriptor(self.made.pop())
        self.operations, self.graph = [], 0
