"""Calls of cuDNN, right and wrong, whose answers were recorded on a GPU.

    python -m verification.cudnn_calls verification/cudnn_calls.json

needs a GPU and writes the answers of NVIDIA's library. `tests/test_cudnn.py` makes the
same calls of the model in `weft.libraries`, and compares the answers.
"""

import contextlib
import ctypes
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from verification.library_calls import World, on_gpu
from weft.libraries import cudnn
from weft.libraries.binding import LibraryError
from weft.libraries.cudnn import DataType, HeurMode, MathType, Pointwise
from weft.libraries.graphs import Graph

TORCH = {
    DataType.FLOAT: torch.float32,
    DataType.DOUBLE: torch.float64,
    DataType.HALF: torch.float16,
    DataType.BFLOAT16: torch.bfloat16,
}
FLOAT, HALF, BF16 = DataType.FLOAT, DataType.HALF, DataType.BFLOAT16
NCHW, NHWC = 0, 1
PROBLEM: dict[str, Any] = {
    "x": (2, 8, 7, 9),
    "w": (16, 8, 3, 2),
    "y": None,  # None: the sizes that the library computes
    "formats": (NCHW, NCHW, NCHW),
    "types": (FLOAT, FLOAT, FLOAT),
    "compute": FLOAT,
    "pad": (1, 0),
    "stride": (2, 1),
    "dilation": (1, 1),
    "groups": 1,
    "mode": 1,
    "math": MathType.DEFAULT_MATH,
    "algo": 1,
    "alpha": 1,
    "beta": 0,
    "kind": "float",
    "room": 0,  # bytes of workspace beyond what is asked for
    "null_room": False,
}


class Convolution:
    """The descriptors of one convolution; `close` destroys them."""

    def __init__(self, **change: Any) -> None:
        self.f = f = PROBLEM | change
        self.made: list[tuple[Callable[[int], Any], int]] = []
        self.handle = self._keep(cudnn.create(), cudnn.destroy)
        self.x = self._tensor(f["x"], f["formats"][0], f["types"][0])
        self.w = self._keep(
            cudnn.create_filter_descriptor(), cudnn.destroy_filter_descriptor
        )
        cudnn.set_filter4d_descriptor(self.w, f["types"][1], f["formats"][1], *f["w"])
        self.how = self._keep(
            cudnn.create_convolution_descriptor(), cudnn.destroy_convolution_descriptor
        )
        cudnn.set_convolution2d_descriptor(
            self.how, *f["pad"], *f["stride"], *f["dilation"], f["mode"], f["compute"]
        )
        cudnn.set_convolution_group_count(self.how, f["groups"])
        cudnn.set_convolution_math_type(self.how, f["math"])

    def _keep(self, made: int, drop: Callable[[int], Any]) -> int:
        self.made.append((drop, made))
        return made

    def _tensor(self, shape: Any, form: int, kind: int) -> int:
        made = self._keep(
            cudnn.create_tensor_descriptor(), cudnn.destroy_tensor_descriptor
        )
        if "strides" in self.f and shape == self.f["x"]:
            steps = self.f["strides"]
            cudnn.set_tensor4d_descriptor_ex(made, kind, *shape, *steps)
        else:
            cudnn.set_tensor4d_descriptor(made, form, kind, *shape)
        return made

    def output(self) -> list[int]:
        """Return the sizes of y, as the library computes them."""
        sizes = (ctypes.c_int * 4)()
        at = ctypes.addressof(sizes)
        cudnn.get_convolution2d_forward_output_dim(
            self.how, self.x, self.w, at, at + 4, at + 8, at + 12
        )
        return list(sizes)

    def result(self) -> int:
        """Return the descriptor of y."""
        shape = self.f["y"] or self.output()
        return self._tensor(tuple(shape), self.f["formats"][2], self.f["types"][2])

    def close(self) -> None:
        for drop, made in reversed(self.made):
            drop(made)


@contextlib.contextmanager
def convolution(**change: Any) -> Iterator[Convolution]:
    found = Convolution(**change)
    try:
        yield found
    finally:
        found.close()


def numbers(shape: Any, form: int, kind: int, seed: int) -> torch.Tensor:
    """Return small integers of a type, laid out in memory in a format's order."""
    rng = np.random.default_rng(seed)
    whole = torch.from_numpy(rng.integers(-2, 3, shape))
    if form == NHWC:
        whole = whole.permute(0, 2, 3, 1).contiguous()
    return whole.to(torch.float32).to(TORCH[DataType(kind)]).reshape(-1)


def output(world: World, **change: Any) -> Any:
    """Return the output sizes that the library computes."""
    with convolution(**change) as c:
        return c.output()


def forward(world: World, **change: Any) -> Any:
    """Run one convolution on small integers; return its result."""
    with convolution(**change) as c:
        f, y_desc = c.f, c.result()
        shape = f["y"] or c.output()
        x, filters, y = (
            world.keep(world.place(numbers(size, form, kind, seed)))
            for seed, (size, form, kind) in enumerate(
                zip((f["x"], f["w"], shape), f["formats"], f["types"], strict=True)
            )
        )
        used = (c.x, c.w, c.how, y_desc)
        nbytes = cudnn.get_convolution_forward_workspace_size(
            c.handle, *used, f["algo"]
        )
        if f.get("needs"):
            return nbytes > 0
        nbytes = max(nbytes + f["room"], 0)
        room = world.keep(world.place(torch.zeros(nbytes + 16, dtype=torch.uint8)))
        at = 0 if f["null_room"] else room.data_ptr() + f.get("off", 0)
        alpha, beta = (world.scalar(f[s], f["kind"]) for s in ("alpha", "beta"))
        handle = f.get("handle", c.handle)
        cudnn.convolution_forward(
            *(handle, alpha, c.x, x.data_ptr(), c.w, filters.data_ptr(), c.how),
            *(f["algo"], at, nbytes, beta, y_desc, y.data_ptr()),
        )
        return some(world.values(y))


def some(values: list[float]) -> list[float]:
    """Return the first 96 values and the sum of all."""
    return [*values[:96], sum(values)]


def algorithms(world: World, **change: Any) -> Any:
    """Return how the library ranks the algorithms."""
    with convolution(**change) as c:
        used = (c.x, c.w, c.how, c.result())
        count = ctypes.c_int()
        most = c.f.get("most", 8)
        found = world.keep(np.zeros(8, cudnn.convolution_fwd_algo_perf_dtype))
        cudnn.get_convolution_forward_algorithm_v7(
            c.handle, *used, most, ctypes.addressof(count), found.ctypes.data
        )
        rows = found[: count.value]
        return {
            "count": count.value,
            "each once": len(set(rows["algo"].tolist())) == len(rows),
            "all known": set(rows["algo"].tolist()) <= set(range(8)),
            "first works": bool((rows["status"][:1] == 0).all()),
        }


def types_table(world: World, _: str) -> Any:
    """Return the types of x, w, y and the sums that are accepted, by format."""
    taken = []
    kinds = (FLOAT, HALF, BF16, DataType.DOUBLE)
    for compute, form in itertools.product((FLOAT, HALF), (NCHW, NHWC)):
        for types in itertools.product(kinds, repeat=3):
            with contextlib.suppress(LibraryError):
                forward(world, types=types, compute=compute, formats=(form,) * 3)
                taken.append([compute.name, form, *(t.name for t in types)])
    return taken


def formats_table(world: World, _: str) -> Any:
    """Return the formats of x, w and y that go together, by type and algorithm."""
    taken = []
    for kind, algo in itertools.product((FLOAT, HALF), (0, 1)):
        for formats in itertools.product((NCHW, NHWC), repeat=3):
            with contextlib.suppress(LibraryError):
                forward(world, types=(kind,) * 3, formats=formats, algo=algo)
                taken.append([kind.name, algo, *formats])
    return taken


def algorithms_table(world: World, _: str) -> Any:
    """Return what each algorithm can do, by the sizes of the workspaces."""
    taken = []
    for kind, form, taps, stride, dilation, groups in itertools.product(
        (FLOAT, HALF), (NCHW, NHWC), (1, 3, 5), (1, 2), (1, 2), (1, 2)
    ):
        change = {"types": (kind,) * 3, "formats": (form,) * 3, "groups": groups}
        change |= {"x": (2, 16, 14, 14), "w": (24, 16 // groups, taps, taps)}
        change |= {"pad": (taps // 2,) * 2, "stride": (stride,) * 2}
        with convolution(dilation=(dilation,) * 2, **change) as c:
            used, can = (c.x, c.w, c.how, c.result()), []
            for algo in range(8):
                with contextlib.suppress(LibraryError):
                    cudnn.get_convolution_forward_workspace_size(c.handle, *used, algo)
                    can.append(algo)
        taken.append([kind.name, form, taps, stride, dilation, groups, can])
    return taken


def set_descriptor(world: World, what: str) -> Any:
    """Return what a descriptor answers when it is set, by case."""
    tensor = cudnn.create_tensor_descriptor()
    filters = cudnn.create_filter_descriptor()
    how = cudnn.create_convolution_descriptor()
    out = world.keep((ctypes.c_int * 4)())
    at = [ctypes.addressof(out) + 4 * i for i in range(4)]
    sizes = (2, 3, 4, 5)
    tensor4d = cudnn.set_tensor4d_descriptor
    strided = cudnn.set_tensor4d_descriptor_ex
    filter4d = cudnn.set_filter4d_descriptor
    conv2d = cudnn.set_convolution2d_descriptor
    calls: dict[str, Callable[[], Any]] = {
        "tensor": lambda: tensor4d(tensor, 0, 0, *sizes),
        "tensor, no channels": lambda: tensor4d(tensor, 0, 0, 2, 0, 4, 5),
        "tensor, -1 rows": lambda: tensor4d(tensor, 0, 0, 2, 3, -1, 5),
        "tensor, format 7": lambda: tensor4d(tensor, 7, 0, *sizes),
        "tensor, type 99": lambda: tensor4d(tensor, 0, 99, *sizes),
        "tensor, null": lambda: tensor4d(0, 0, 0, *sizes),
        "strided": lambda: strided(tensor, 0, *sizes, 60, 1, 15, 3),
        "strided, 0": lambda: strided(tensor, 0, *sizes, 60, 0, 15, 3),
        "strided, 0 for one": lambda: strided(tensor, 0, 2, 1, 4, 5, 60, 0, 15, 3),
        "filter": lambda: filter4d(filters, 0, 0, *sizes),
        "filter, no channels": lambda: filter4d(filters, 0, 0, 2, 0, 4, 5),
        "filter, format 7": lambda: filter4d(filters, 0, 7, *sizes),
        "filter, type 99": lambda: filter4d(filters, 99, 0, *sizes),
        "convolution": lambda: conv2d(how, 1, 1, 1, 1, 1, 1, 1, 0),
        "convolution, pad -1": lambda: conv2d(how, -1, 1, 1, 1, 1, 1, 1, 0),
        "convolution, stride 0": lambda: conv2d(how, 1, 1, 0, 1, 1, 1, 1, 0),
        "convolution, dilation 0": lambda: conv2d(how, 1, 1, 1, 1, 1, 0, 1, 0),
        "convolution, mode 5": lambda: conv2d(how, 1, 1, 1, 1, 1, 1, 5, 0),
        "convolution, sums in 99": lambda: conv2d(how, 1, 1, 1, 1, 1, 1, 1, 99),
        "convolution, sums in bfloat16": lambda: conv2d(how, 1, 1, 1, 1, 1, 1, 1, 9),
        "groups of 0": lambda: cudnn.set_convolution_group_count(how, 0),
        "math 9": lambda: cudnn.set_convolution_math_type(how, 9),
        "sizes of nothing": lambda: cudnn.get_convolution2d_forward_output_dim(
            how, tensor, filters, *at
        ),
        "destroy null": lambda: cudnn.destroy_tensor_descriptor(0),
        "destroy no handle": lambda: cudnn.destroy(0),
    }
    try:
        return calls[what]() or "fine"
    finally:
        cudnn.destroy_convolution_descriptor(how)
        cudnn.destroy_filter_descriptor(filters)
        cudnn.destroy_tensor_descriptor(tensor)


def backend(world: World, what: str) -> Any:
    """Return what a graph answers before it has a plan, by case."""
    graph = Graph(0)
    half = torch.zeros(2, 3, 4, 5)
    x, y = graph.tensor(7, half), graph.tensor(8, half)
    calls: dict[str, Callable[[], Any]] = {
        "tensor": lambda: None,
        "add without b": lambda: graph.pointwise(Pointwise.ADD, x, y=y),
        "no handle": lambda: graph.plans() and "fine",
    }
    try:
        return calls[what]() or "fine"
    finally:
        graph.destroy()


def fused(world: World, **change: Any) -> Any:
    """Run relu(conv(x, w) + bias) as a graph; `change` has what differs."""
    f: dict[str, Any] = {"format": NHWC, "type": HALF, "bias": (1, 16, 1, 1)}
    f |= {"ids": (1, 2, 3, 4, 5, 6), "packed": (1, 2, 3, 4), "virtual": True}
    f |= {"pad": (1, 1), "between": torch.float32, "mode": HeurMode.A, "b_first": False}
    f |= {"y": (2, 16, 7, 9), "null": False, "no_room": False, "ask": False} | change
    shapes = ((2, 8, 7, 9), (16, 8, 3, 3), f["bias"], f["y"])
    order = torch.channels_last if f["format"] == NHWC else torch.contiguous_format
    arrays = []
    for seed, shape in enumerate(shapes):
        flat = numbers(shape, NCHW, f["type"], seed).reshape(shape)
        arrays.append(world.keep(world.place(flat.contiguous(memory_format=order))))
    x, filters, bias, y = arrays
    handle = cudnn.create()
    graph = Graph(handle)
    try:
        ids = f["ids"]
        tx, tw, ty = (
            graph.tensor(i, a)
            for i, a in zip((ids[0], ids[1], ids[3]), (x, filters, y), strict=True)
        )
        tb = graph.tensor(ids[2], bias)
        if f["virtual"]:
            mid, sum_ = (graph.virtual(i, y, f["between"]) for i in ids[4:])
        else:
            between = numbers(f["y"], NCHW, f["type"], 9).reshape(f["y"])
            between = between.contiguous(memory_format=order)
            stored = [world.keep(world.place(between)) for _ in ids[4:]]
            mid, sum_ = (
                graph.tensor(i, a) for i, a in zip(ids[4:], stored, strict=True)
            )
            arrays += stored
        graph.convolution(tx, tw, y=mid, padding=f["pad"])
        if f.get("no_bias"):
            graph.pointwise(Pointwise.RELU_FWD, mid, y=ty)
        elif f.get("relu_first"):
            graph.pointwise(Pointwise.RELU_FWD, mid, y=sum_)
            graph.pointwise(Pointwise.ADD, sum_, tb, y=ty)
        else:
            graph.pointwise(Pointwise.ADD, mid, tb, y=sum_)
            graph.pointwise(Pointwise.RELU_FWD, sum_, y=ty)
        plans = graph.plans(f["mode"], 3)
        if f["ask"]:
            return {"some": len(plans) > 0}
        plan = plans[0]
        by_id = dict(zip(ids, [a.data_ptr() for a in arrays], strict=False))
        packed = {i: by_id.get(i, y.data_ptr()) for i in f["packed"]}
        if f["null"]:
            packed[f["null"]] = 0
        if f.get("off"):
            packed[1] += f["off"]
        room = torch.zeros(plan.workspace + 16, dtype=torch.uint8)
        room = world.keep(world.place(room))
        at = 0 if f["no_room"] else room.data_ptr()
        graph.execute(plan, graph.pack(packed, at))
        return some(np.ravel(world.values(y)).tolist())
    finally:
        graph.destroy()
        cudnn.destroy(handle)


LARGER = {"x": (2, 16, 14, 14), "w": (24, 16, 3, 3), "pad": (1, 1), "stride": (1, 1)}
H3, N3 = {"types": (HALF,) * 3}, {"formats": (NHWC,) * 3}
CASES: dict[str, tuple[Callable[..., Any], Any]] = {
    **{
        f"set, {what}": (set_descriptor, what)
        for what in (
            *("tensor", "tensor, no channels", "tensor, -1 rows", "tensor, format 7"),
            *("tensor, type 99", "tensor, null", "strided", "strided, 0"),
            *("strided, 0 for one", "filter", "filter, no channels"),
            *("filter, format 7", "filter, type 99", "convolution"),
            *("convolution, pad -1", "convolution, stride 0", "convolution, mode 5"),
            *("convolution, dilation 0", "convolution, sums in 99", "groups of 0"),
            *("convolution, sums in bfloat16", "math 9", "sizes of nothing"),
            *("destroy null", "destroy no handle"),
        )
    },
    "sizes": (output, {}),
    "sizes, dilated": (output, {"dilation": (2, 3)}),
    "sizes, groups": (output, {"w": (16, 4, 3, 2), "groups": 2}),
    "sizes, groups that do not divide k": (
        output,
        {"w": (15, 4, 3, 2), "groups": 2},
    ),
    "sizes, other channels": (output, {"w": (16, 7, 3, 2)}),
    "sizes, too small": (output, {"w": (16, 8, 11, 2)}),
    "sizes, just enough": (output, {"w": (16, 8, 9, 9)}),
    "sizes, other formats": (output, {"formats": (NHWC, NCHW, NCHW)}),
    "forward": (forward, {}),
    "forward, convolution": (forward, {"mode": 0}),
    "forward, dilated": (forward, {"dilation": (2, 3)}),
    "forward, groups": (forward, {"w": (16, 4, 3, 2), "groups": 2}),
    "forward, depthwise": (forward, {"w": (8, 1, 3, 2), "groups": 8}),
    "forward, groups that do not divide k": (
        forward,
        {"w": (15, 4, 3, 2), "groups": 2, "y": (2, 15, 4, 8)},
    ),
    "forward, alpha and beta": (forward, {"alpha": 2, "beta": 3}),
    "forward, alpha a double": (forward, {"alpha": 2, "kind": "double"}),
    "forward, alpha a half": (forward, {**H3, "alpha": 2, "kind": "half"}),
    "forward, algorithm 0": (forward, {"algo": 0}),
    "forward, algorithm 2": (forward, {"algo": 2}),
    "forward, algorithm 3": (forward, {"algo": 3}),
    "forward, algorithm 4": (forward, {"algo": 4}),
    "forward, algorithm 4, stride 1": (forward, {"algo": 4, "stride": (1, 1)}),
    "forward, algorithm 6": (forward, {"algo": 6}),
    "forward, algorithm 6, 3 x 3": (
        forward,
        {"algo": 6, "w": (16, 8, 3, 3), "stride": (1, 1)},
    ),
    "forward, algorithm 7, 3 x 3": (
        forward,
        {"algo": 7, "w": (16, 8, 3, 3), "stride": (1, 1)},
    ),
    "forward, algorithm 8": (forward, {"algo": 8}),
    "forward, FMA": (forward, {"math": MathType.FMA_MATH}),
    "forward, half": (forward, H3),
    "forward, half in half": (forward, {**H3, "compute": HALF}),
    "forward, half, NHWC": (forward, {**H3, **N3}),
    "forward, float, NHWC": (forward, N3),
    "forward, half, x NHWC alone": (forward, {**H3, "formats": (NHWC, NCHW, NHWC)}),
    "forward, half, filters NHWC alone": (
        forward,
        {**H3, "formats": (NCHW, NHWC, NCHW)},
    ),
    "forward, half, y NCHW": (forward, {**H3, "formats": (NHWC, NHWC, NCHW)}),
    "forward, strides": (forward, {"strides": (504, 1, 72, 8)}),
    "forward, strides, half, NHWC": (
        forward,
        {**H3, **N3, "strides": (504, 1, 72, 8)},
    ),
    "forward, other channels": (
        forward,
        {"w": (16, 7, 3, 2), "y": (2, 16, 4, 8)},
    ),
    "forward, y too wide": (forward, {"y": (2, 16, 4, 9)}),
    "forward, y of another batch": (forward, {"y": (3, 16, 4, 8)}),
    "forward, y of other channels": (forward, {"y": (2, 15, 4, 8)}),
    "forward, filters of another type": (forward, {"types": (FLOAT, HALF, FLOAT)}),
    "forward, y of another type": (forward, {"types": (HALF, HALF, FLOAT)}),
    "forward, no handle": (forward, {"handle": 0}),
    **{
        f"forward, workspace, algorithm {algo}, needed": (
            forward,
            {"algo": algo, "needs": True, **LARGER},
        )
        for algo in (0, 1, 2, 4, 7)
    },
    **{
        f"forward, workspace, algorithm {algo}, {what}": (
            forward,
            {"algo": algo, **LARGER, **change},
        )
        for algo in (1, 2, 7)
        for what, change in (
            ("enough", {}),
            ("a byte short", {"room": -1}),
            ("none", {"room": -(1 << 40)}),
            ("null", {"null_room": True}),
            ("larger", {"room": 1000}),
        )
    },
    "forward, double": (
        forward,
        {"types": (DataType.DOUBLE,) * 3, "compute": DataType.DOUBLE},
    ),
    "forward, double, alpha a double": (
        forward,
        {
            "types": (DataType.DOUBLE,) * 3,
            "compute": DataType.DOUBLE,
            "alpha": 2,
            "kind": "double",
        },
    ),
    "forward, types": (types_table, ""),
    "forward, formats": (formats_table, ""),
    "forward, algorithms": (algorithms_table, ""),
    "algorithms": (algorithms, {}),
    "algorithms, half, NHWC": (algorithms, {**H3, **N3}),
    "algorithms, 3 of them": (algorithms, {"most": 3}),
    "algorithms, none": (algorithms, {"most": 0}),
    "algorithms, y too wide": (algorithms, {"y": (2, 16, 4, 9)}),
    **{
        f"backend, {what}": (backend, what)
        for what in ("tensor", "add without b", "no handle")
    },
    "graph": (fused, {}),
    "graph, bfloat16": (fused, {"type": BF16}),
    "graph, float": (fused, {"type": FLOAT}),
    "graph, float, NCHW": (fused, {"type": FLOAT, "format": NCHW}),
    "graph, NCHW": (fused, {"format": NCHW}),
    "graph, half between": (fused, {"between": torch.float16}),
    "graph, no bias": (fused, {"no_bias": True, "packed": (1, 2, 4)}),
    "graph, no bias, but packed": (fused, {"no_bias": True}),
    "graph, ReLU first": (fused, {"relu_first": True}),
    "graph, a bias per column": (fused, {"bias": (1, 1, 1, 9)}),
    "graph, a bias for all": (fused, {"bias": (1, 1, 1, 1)}),
    "graph, a bias of 8": (fused, {"bias": (1, 8, 1, 1)}),
    "graph, a whole bias": (fused, {"bias": (2, 16, 7, 9)}),
    "graph, other padding": (fused, {"pad": (0, 0)}),
    "graph, nothing virtual": (
        fused,
        {"virtual": False, "packed": (1, 2, 3, 4, 5, 6)},
    ),
    "graph, nothing virtual, none packed": (fused, {"virtual": False}),
    "graph, y not packed": (fused, {"packed": (1, 2, 3)}),
    "graph, bias not packed": (fused, {"packed": (1, 2, 4)}),
    "graph, virtual packed": (fused, {"packed": (1, 2, 3, 4, 5)}),
    "graph, unknown uid packed": (fused, {"packed": (1, 2, 3, 4, 99)}),
    "graph, no workspace": (fused, {"no_room": True}),
    "graph, bias null": (fused, {"null": 3}),
    "graph, x off by 2": (fused, {"off": 2}),
    "graph, one uid twice": (fused, {"ids": (1, 2, 3, 4, 5, 5)}),
    "graph, uid of x and w": (fused, {"ids": (1, 1, 3, 4, 5, 6)}),
    "graph, mode B": (fused, {"mode": HeurMode.B, "ask": True}),
    "graph, fallback": (fused, {"mode": HeurMode.FALLBACK, "ask": True}),
    "graph, instant": (fused, {"mode": HeurMode.INSTANT, "ask": True}),
    # Last, since it may break the context.
    "forward, workspace off by 2": (forward, {"algo": 2, "off": 2, "room": 16}),
}


def answer(world: World, case: str) -> dict[str, Any]:
    """Return what the library in use answers to one case."""
    function, change = CASES[case]
    try:
        if isinstance(change, str):
            return {"gives": function(world, change)}
        return {"gives": function(world, **change)}
    except LibraryError as error:
        return {"status": str(error).partition(" ")[0]}


def main() -> None:
    """Write what NVIDIA's library answers to every case."""
    about = {
        "device": torch.cuda.get_device_name(),
        "cudnn": torch.backends.cudnn.version(),
        "torch": torch.__version__,
    }
    answers: dict[str, Any] = {}
    for case in CASES:
        try:
            answers[case] = answer(on_gpu(), case)
        except Exception as error:
            answers[case] = {"breaks": f"{type(error).__name__}: {error}"}
        text = json.dumps({"about": about, "answers": answers})
        Path(sys.argv[1]).write_text(text + "\n")


if __name__ == "__main__":
    main()
