"""Calls of cuBLAS, right and wrong, whose answers were recorded on a GPU.

    python -m verification.library_calls verification/library_calls.json

needs a GPU and writes the answers of NVIDIA's library. `tests/test_libraries.py` makes
the same calls of the model in `weft.libraries`, and compares the answers.
"""

import contextlib
import ctypes
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from weft.libraries import CudaType, cublas, cublasLt
from weft.libraries.binding import LibraryError
from weft.libraries.cublas import ComputeType
from weft.libraries.cublaslt import (
    Epilogue,
    MatmulDescAttribute,
    MatmulPreferenceAttribute,
    MatrixLayoutAttribute,
    Order,
)

TORCH = {
    "R_16F": torch.float16,
    "R_16BF": torch.bfloat16,
    "R_32F": torch.float32,
    "R_64F": torch.float64,
    "R_8I": torch.int8,
    "R_32I": torch.int32,
    "R_8F_E4M3": torch.float8_e4m3fn,
}
SCALARS = {
    "half": np.float16,
    "float": np.float32,
    "double": np.float64,
    "int": np.int32,
}
SCALE = {"COMPUTE_16F": "half", "COMPUTE_64F": "double", "COMPUTE_32I": "int"}
# takes a tensor of the CPU; returns an array with data_ptr()
Place = Callable[[Any], Any]


class World:
    """Where calls happen: `place` puts a tensor there, `back` returns its values."""

    def __init__(self, place: Place, back: Callable[[Any], Any]) -> None:
        self.place, self.back = place, back
        self.kept: list[Any] = []

    def small(self, rows: int, cols: int, dtype: str, seed: int) -> Any:
        """Return a matrix of small integers, exact in every type."""
        rng = np.random.default_rng(seed)
        whole = torch.from_numpy(rng.integers(-3, 4, (rows, cols)))
        return self.keep(self.place(whole.to(torch.float32).to(TORCH[dtype])))

    def keep(self, thing: Any) -> Any:
        self.kept.append(thing)
        return thing

    def scalar(self, value: float, kind: str = "float") -> int:
        """Return the address of a scalar that is followed by zeros."""
        room = self.keep(np.zeros(2, np.float64))
        room.view(SCALARS[kind])[0] = value
        return int(room.ctypes.data)

    def values(self, array: Any) -> Any:
        return np.asarray(self.back(array)).astype(np.float64).round(9).tolist()


def gemm(w: World, **change: Any) -> Any:
    """Compute a product of small integers by gemm_ex, sgemm or a batched form."""
    f = {"m": 4, "n": 3, "k": 2, "transa": 0, "transb": 0, "alpha": 1, "beta": 0}
    f |= {"types": ("R_32F", "R_32F", "R_32F"), "compute": "COMPUTE_32F"}
    f |= {"pad": 0, "kind": "", "mode": 0, "math": 0, "call": "sgemm", "batch": 2}
    f |= change
    m, n, k = (max(f[x], 1) for x in "mnk")
    shape_a = (m, k) if f["transa"] == 0 else (k, m)
    shape_b = (k, n) if f["transb"] == 0 else (n, k)
    lds = [rows + f["pad"] for rows in (shape_a[0], shape_b[0], m)]
    widths = (shape_a[1], shape_b[1], n)
    batch = max(f["batch"], 1) if "batched" in f["call"] else 1
    arrays = [
        f[name] if name in f else w.small(batch * width, ld, dtype, seed)
        for name, width, ld, dtype, seed in zip(
            "abc", widths, lds, f["types"], (1, 2, 3), strict=True
        )
    ]
    kind = f["kind"] or SCALE.get(f["compute"], "float")
    if f["mode"] == 0:
        alpha, beta = (w.scalar(f[x], kind) for x in ("alpha", "beta"))
    else:
        held = [torch.tensor([float(f[x])]) for x in ("alpha", "beta")]
        alpha, beta = (w.keep(w.place(x)).data_ptr() for x in held)
    handle = cublas.create()
    try:
        cublas.set_pointer_mode(handle, f["mode"])
        cublas.set_math_mode(handle, f["math"])
        named = zip(("lda", "ldb", "ldc"), lds, strict=True)
        lda, ldb, ldc = (f.get(name, ld) for name, ld in named)
        a, b, c = (x.data_ptr() for x in arrays)
        used = f.get("handle", handle)
        head = (used, f["transa"], f["transb"], f["m"], f["n"], f["k"], alpha)
        ta, tb, tc = (CudaType[t] for t in f["types"])
        sa, sb, sc = (
            f.get(x, width * ld)
            for x, width, ld in zip(("sa", "sb", "sc"), widths, lds, strict=True)
        )
        last = (f.get("compute_number", ComputeType[f["compute"]]), -1)
        if f["call"] == "sgemm":
            cublas.sgemm(*head, a, lda, b, ldb, beta, c, ldc)
        elif f["call"] == "gemm_ex":
            cublas.gemm_ex(*head, a, ta, lda, b, tb, ldb, beta, c, tc, ldc, *last)
        elif f["call"] == "sgemm_strided_batched":
            tail = (beta, c, ldc, sc, f["batch"])
            cublas.sgemm_strided_batched(*head, a, lda, sa, b, ldb, sb, *tail)
        else:
            tail = (beta, c, tc, ldc, sc, f["batch"], *last)
            ab = (a, ta, lda, sa, b, tb, ldb, sb)
            cublas.gemm_strided_batched_ex(*head, *ab, *tail)
        return w.values(arrays[2])
    finally:
        cublas.destroy(handle)


NAN = float("nan")
LT_TYPES = ("R_32F", "R_32F", "R_32F")


def attribute(value: Any, dtype: Any) -> np.ndarray[Any, Any]:
    return np.array([value], dtype)


def lt(w: World, **change: Any) -> Any:
    """Compute one product by cuBLASLt; `change` has what differs."""
    f: dict[str, Any] = {"m": 16, "n": 32, "k": 8, "ta": 0, "tb": 0, "order": "COL"}
    f |= {"types": LT_TYPES, "compute": "COMPUTE_32F", "scale": "R_32F", "alpha": 1}
    f |= {"beta": 0, "epilogue": None, "bias": None, "bias_type": None, "kind": ""}
    f |= {"ask": None, "preferred": 0, "room": 0, "unaligned": 0, "show": 64}
    f |= {"batch": 1}
    f |= change
    m, n, k = f["m"], f["n"], f["k"]
    shapes = [(k, m) if f["ta"] else (m, k), (n, k) if f["tb"] else (k, n)]
    shapes += [(m, n), (m, n)]
    types = [*f["types"][:2], f["types"][2], f["types"][2]]
    made: list[tuple[Any, int]] = []

    def keep(handle: int, drop: Any) -> int:
        made.append((drop, handle))
        return handle

    try:
        handle = keep(cublasLt.create(), cublasLt.destroy)
        desc = keep(
            cublasLt.matmul_desc_create(
                ComputeType[f["compute"]], CudaType[f["scale"]]
            ),
            cublasLt.matmul_desc_destroy,
        )

        def put(name: str, value: Any, dtype: Any) -> None:
            buf = w.keep(attribute(value, dtype))
            which = MatmulDescAttribute[name]
            size = f.get("size", buf.nbytes)
            cublasLt.matmul_desc_set_attribute(desc, which, buf.ctypes.data, size)

        if f["ta"]:
            put("TRANSA", f["ta"], np.int32)
        if f["tb"]:
            put("TRANSB", f["tb"], np.int32)
        if f["epilogue"] is not None:
            put("EPILOGUE", f["epilogue"], np.uint32)
        if f["bias"]:
            count = n if f.get("bias_along_n") else m
            bias = w.small(1, count, f["bias"], 9)
            put("BIAS_POINTER", bias.data_ptr(), np.int64)
        if f["bias_type"]:
            put("BIAS_DATA_TYPE", CudaType[f["bias_type"]], np.int32)
        layouts, arrays = [], []
        for i, ((rows, cols), dtype) in enumerate(zip(shapes, types, strict=True)):
            row_major = f["order"] == "ROW"
            ld = cols if row_major else rows
            rows += f.get("more_rows", {}).get(i, 0)
            layout = keep(
                cublasLt.matrix_layout_create(
                    CudaType[dtype], rows, cols, f.get("ld", {}).get(i, ld)
                ),
                cublasLt.matrix_layout_destroy,
            )
            if row_major:
                buf = w.keep(attribute(Order.ROW, np.int32))
                cublasLt.matrix_layout_set_attribute(
                    layout, MatrixLayoutAttribute.ORDER, buf.ctypes.data, buf.nbytes
                )
            if f["batch"] > 1:
                for name, value, kind in (
                    ("BATCH_COUNT", f["batch"], np.int32),
                    ("STRIDED_BATCH_OFFSET", rows * cols, np.int64),
                ):
                    buf = w.keep(attribute(value, kind))
                    cublasLt.matrix_layout_set_attribute(
                        layout, MatrixLayoutAttribute[name], buf.ctypes.data, buf.nbytes
                    )
            layouts.append(layout)
            shape = (rows, cols) if row_major else (cols, rows)
            arrays.append(w.small(f["batch"] * shape[0], shape[1], dtype, i + 1))
        found, algo = [], 0
        if f["ask"] is not None:
            pref = keep(
                cublasLt.matmul_preference_create(), cublasLt.matmul_preference_destroy
            )
            buf = w.keep(attribute(f["preferred"], np.uint64))
            name = MatmulPreferenceAttribute.MAX_WORKSPACE_BYTES
            cublasLt.matmul_preference_set_attribute(pref, name, buf.ctypes.data, 8)
            results = w.keep(np.zeros(f["ask"], cublasLt.matmul_heuristic_result_dtype))
            count = w.keep(np.zeros(1, np.int32))
            cublasLt.matmul_algo_get_heuristic(
                handle,
                desc,
                *layouts,
                pref,
                f["ask"],
                results.ctypes.data,
                count.ctypes.data,
            )
            found = results[: count[0]]
            use = f.get("use", 0)
            if use == "hungry":
                use = int(np.argmax(found["workspace_size"]))
            algo = int(found[use : use + 1].ctypes.data)
            if f.get("only_ask"):
                return {
                    "count": int(count[0]),
                    "within": bool((found["workspace_size"] <= f["preferred"]).all()),
                    "states": sorted(set(found["state"].tolist())),
                }
        room = w.keep(w.place(torch.zeros(max(f["room"], 1) + 512, dtype=torch.uint8)))
        kind = f["kind"] or {"R_64F": "double", "R_16F": "half"}.get(
            f["scale"], "float"
        )
        a, b, c, d = (x.data_ptr() for x in arrays)
        if f.get("in_place"):
            d = c
        cublasLt.matmul(
            handle,
            desc,
            w.scalar(f["alpha"], kind),
            a,
            layouts[0],
            b,
            layouts[1],
            w.scalar(f["beta"], kind),
            c,
            layouts[2],
            d,
            layouts[3],
            algo,
            room.data_ptr() + f["unaligned"],
            f["room"],
            0,
        )
        got = np.asarray(w.values(arrays[2 if f.get("in_place") else 3]))
        return got.reshape(-1)[: f["show"]].tolist()
    finally:
        for drop, handle in reversed(made):
            drop(handle)


def handles(w: World, what: str) -> Any:
    """Return what a handle keeps, or refuses, by case."""
    handle = cublas.create()
    try:
        if what == "defaults":
            return [
                cublas.get_stream(handle),
                cublas.get_pointer_mode(handle),
                cublas.get_math_mode(handle),
            ]
        if what == "pointer mode 7":
            cublas.set_pointer_mode(handle, 7)
        if what.startswith("math mode"):
            cublas.set_math_mode(handle, int(what.split()[-1]))
            return cublas.get_math_mode(handle)
        if what == "workspace off by 8":
            room = w.keep(w.place(torch.zeros(1 << 20, dtype=torch.uint8)))
            cublas.set_workspace(handle, room.data_ptr() + 8, 1 << 19)
        if what == "workspace":
            room = w.keep(w.place(torch.zeros(1 << 20, dtype=torch.uint8)))
            cublas.set_workspace(handle, room.data_ptr(), 1 << 20)
        if what == "pointer mode back":
            cublas.set_pointer_mode(handle, 1)
            return cublas.get_pointer_mode(handle)
        if what == "destroy null":
            cublas.destroy(0)
        return "fine"
    finally:
        cublas.destroy(handle)


def lt_objects(w: World, what: str) -> Any:
    """Return what descriptors and layouts accept when made and set, by case."""
    desc = cublasLt.matmul_desc_create(ComputeType.COMPUTE_32F, CudaType.R_32F)
    four, eight = (w.keep(np.zeros(1, d)).ctypes.data for d in (np.int32, np.int64))
    put = cublasLt.matmul_desc_set_attribute
    layout = cublasLt.matrix_layout_create
    calls: dict[str, Callable[[], Any]] = {
        "trans in 8 bytes": lambda: put(desc, 3, eight, 8),
        "trans in 1 byte": lambda: put(desc, 3, eight, 1),
        "bias pointer in 4 bytes": lambda: put(desc, 8, four, 4),
        "attribute 999": lambda: put(desc, 999, eight, 8),
        "attribute at null": lambda: put(desc, 3, 0, 4),
        "trans 9": lambda: put(desc, 3, w.keep(attribute(9, np.int32)).ctypes.data, 4),
        "epilogue 3": lambda: put(
            desc, 7, w.keep(attribute(3, np.int32)).ctypes.data, 4
        ),
        "null descriptor": lambda: put(0, 3, four, 4),
        "ld below rows": lambda: layout(0, 8, 4, 5) and "made",
        "no rows": lambda: layout(0, 0, 4, 8) and "made",
        "ld of zero": lambda: layout(0, 8, 4, 0) and "made",
        "type 99": lambda: layout(99, 8, 4, 8) and "made",
    }
    try:
        return calls[what]() or "fine"
    finally:
        cublasLt.matmul_desc_destroy(desc)


def type_table(w: World, call: str) -> Any:
    """Return the types of A, B and C that each compute type accepts."""
    names = list(TORCH)[:6]
    taken = []
    computes = ("COMPUTE_16F", "COMPUTE_32F", "COMPUTE_32F_FAST_16F")
    computes += ("COMPUTE_32F_FAST_16BF", "COMPUTE_32F_FAST_TF32", "COMPUTE_64F")
    computes += ("COMPUTE_32I",)
    given, results = ({n: w.small(4, 4, n, s) for n in names} for s in (5, 6))
    for compute in computes:
        for types in itertools.product(names, repeat=3):
            abc = {"a": given[types[0]], "b": given[types[1]], "c": results[types[2]]}
            with contextlib.suppress(LibraryError):
                gemm(w, m=4, n=4, k=4, types=types, compute=compute, call=call, **abc)
                taken.append([compute, *types])
    return taken


def scale_table(w: World, _: str) -> Any:
    """Return the scale types that a cuBLASLt descriptor accepts, by compute type."""
    taken = []
    for compute, scale in itertools.product(ComputeType, list(TORCH)[:6]):
        with contextlib.suppress(LibraryError):
            desc = cublasLt.matmul_desc_create(compute, CudaType[scale])
            cublasLt.matmul_desc_destroy(desc)
            taken.append([compute.name, scale])
    return taken


BF16 = ("R_16BF",) * 3
HALF = ("R_16F",) * 3
FP8 = ("R_8F_E4M3", "R_8F_E4M3", "R_16BF")
E, EX = Epilogue, {"call": "gemm_ex"}
CASES: dict[str, tuple[Callable[..., Any], Any]] = {
    "sgemm": (gemm, {}),
    "sgemm, A transposed": (gemm, {"transa": 1}),
    "sgemm, B transposed": (gemm, {"transb": 1}),
    "sgemm, both transposed": (gemm, {"transa": 1, "transb": 1}),
    "sgemm, A conjugated": (gemm, {"transa": 2}),
    "sgemm, padded": (gemm, {"pad": 3}),
    "sgemm, padded, A transposed": (gemm, {"pad": 3, "transa": 1}),
    "sgemm, alpha and beta": (gemm, {"alpha": 2, "beta": 3}),
    "sgemm, scalars on the device": (gemm, {"alpha": 2, "beta": 3, "mode": 1}),
    "sgemm, k of 0": (gemm, {"k": 0, "beta": 2}),
    "sgemm, m of 0": (gemm, {"m": 0}),
    "sgemm, lda below m": (gemm, {"lda": 3}),
    "sgemm, lda below k, transposed": (gemm, {"transa": 1, "lda": 1}),
    "sgemm, lda below m, transposed": (gemm, {"transa": 1, "lda": 2}),
    "sgemm, ldb below k": (gemm, {"ldb": 1}),
    "sgemm, ldb below n, transposed": (gemm, {"transb": 1, "ldb": 2}),
    "sgemm, ldc below m": (gemm, {"ldc": 3}),
    "sgemm, lda and ldc below m": (gemm, {"lda": 3, "ldc": 3}),
    "sgemm, m of -1": (gemm, {"m": -1}),
    "sgemm, n of -1": (gemm, {"n": -1}),
    "sgemm, k of -1": (gemm, {"k": -1}),
    "sgemm, transa of 99": (gemm, {"transa": 99, "lda": 4}),
    "sgemm, no handle": (gemm, {"handle": 0}),
    "gemm_ex, bf16": (gemm, {**EX, "types": BF16}),
    "gemm_ex, bf16 to float": (gemm, {**EX, "types": ("R_16BF", "R_16BF", "R_32F")}),
    "gemm_ex, half": (gemm, {**EX, "types": HALF}),
    "gemm_ex, half in half": (gemm, {**EX, "types": HALF, "compute": "COMPUTE_16F"}),
    "gemm_ex, double": (
        gemm,
        {**EX, "types": ("R_64F",) * 3, "compute": "COMPUTE_64F"},
    ),
    "gemm_ex, lda below m": (gemm, {**EX, "lda": 3}),
    "gemm_ex, ldb below k": (gemm, {**EX, "ldb": 1}),
    "gemm_ex, ldc below m": (gemm, {**EX, "ldc": 3}),
    "gemm_ex, compute type 0": (gemm, {**EX, "compute_number": 0}),
    "gemm_ex, alpha a double": (gemm, {**EX, "types": BF16, "kind": "double"}),
    "gemm_ex, alpha a half": (gemm, {**EX, "types": HALF, "kind": "half"}),
    "gemm_ex, alpha an int": (gemm, {**EX, "types": HALF, "kind": "int"}),
    "gemm_ex, in half, alpha a float": (
        gemm,
        {**EX, "types": HALF, "compute": "COMPUTE_16F", "kind": "float"},
    ),
    "gemm_ex, in double, alpha a float": (
        gemm,
        {**EX, "types": ("R_64F",) * 3, "compute": "COMPUTE_64F", "kind": "float"},
    ),
    "gemm_ex, types": (type_table, "gemm_ex"),
    "batched": (gemm, {"call": "sgemm_strided_batched"}),
    "batched, one A": (gemm, {"call": "sgemm_strided_batched", "sa": 0}),
    "batched, one B, padded": (
        gemm,
        {"call": "sgemm_strided_batched", "sb": 0, "pad": 2, "batch": 3},
    ),
    "batched, none": (gemm, {"call": "sgemm_strided_batched", "batch": 0}),
    "batched, -1": (gemm, {"call": "sgemm_strided_batched", "batch": -1}),
    "batched, lda below m": (gemm, {"call": "sgemm_strided_batched", "lda": 3}),
    "batched, ldb below k": (gemm, {"call": "sgemm_strided_batched", "ldb": 1}),
    "batched, ldc below m": (gemm, {"call": "sgemm_strided_batched", "ldc": 3}),
    "batched_ex, bf16": (gemm, {"call": "gemm_strided_batched_ex", "types": BF16}),
    "batched_ex, one A": (
        gemm,
        {"call": "gemm_strided_batched_ex", "types": BF16, "sa": 0},
    ),
    "batched_ex, lda below m": (gemm, {"call": "gemm_strided_batched_ex", "lda": 3}),
    **{
        f"handle, {what}": (handles, what)
        for what in (
            *("defaults", "pointer mode 7", "math mode 99", "workspace off by 8"),
            *("workspace", "pointer mode back", "destroy null"),
            *("math mode 16", "math mode 19"),
        )
    },
    **{
        f"lt, {what}": (lt_objects, what)
        for what in (
            *("trans in 8 bytes", "trans in 1 byte", "bias pointer in 4 bytes"),
            *("attribute 999", "attribute at null", "trans 9", "epilogue 3"),
            *("null descriptor", "ld below rows", "no rows", "ld of zero", "type 99"),
        )
    },
    "lt, scale types": (scale_table, ""),
    "lt, float": (lt, {}),
    "lt, row-major": (lt, {"order": "ROW"}),
    "lt, A transposed": (lt, {"ta": 1}),
    "lt, B transposed": (lt, {"tb": 1}),
    "lt, alpha and beta": (lt, {"alpha": 2, "beta": 3}),
    "lt, in place": (lt, {"alpha": 2, "beta": 3, "in_place": True}),
    "lt, bf16": (lt, {"types": BF16}),
    "lt, row-major bf16": (lt, {"types": BF16, "order": "ROW"}),
    "lt, scale of double": (lt, {"scale": "R_64F"}),
    "lt, alpha a double": (lt, {"kind": "double"}),
    "lt, ReLU": (lt, {"types": BF16, "epilogue": E.RELU}),
    "lt, GELU": (lt, {"types": BF16, "epilogue": E.GELU}),
    "lt, GELU to float": (
        lt,
        {"types": ("R_16BF", "R_16BF", "R_32F"), "epilogue": E.GELU},
    ),
    "lt, bias": (lt, {"types": BF16, "epilogue": E.BIAS, "bias": "R_16BF"}),
    "lt, bias and ReLU": (
        lt,
        {"types": BF16, "epilogue": E.RELU_BIAS, "bias": "R_16BF"},
    ),
    "lt, bias and GELU": (
        lt,
        {"types": BF16, "epilogue": E.GELU_BIAS, "bias": "R_16BF"},
    ),
    "lt, row-major, GELU": (lt, {"types": BF16, "order": "ROW", "epilogue": E.GELU}),
    "lt, row-major, bias": (
        lt,
        {"types": BF16, "order": "ROW", "epilogue": E.BIAS, "bias": "R_16BF"},
    ),
    "lt, row-major, bias and GELU": (
        lt,
        {"types": BF16, "order": "ROW", "epilogue": E.GELU_BIAS, "bias": "R_16BF"},
    ),
    "lt, bias that is float": (
        lt,
        {"types": BF16, "epilogue": E.BIAS, "bias": "R_32F", "bias_type": "R_32F"},
    ),
    "lt, bias in float": (lt, {"epilogue": E.BIAS, "bias": "R_32F"}),
    "lt, bias taken for bf16": (
        lt,
        {"types": BF16, "epilogue": E.BIAS, "bias": "R_32F"},
    ),
    "lt, k that differs": (lt, {"more_rows": {1: 8}}),
    "lt, rows of D that differ": (lt, {"more_rows": {3: 8}}),
    "lt, rows of C that differ": (lt, {"more_rows": {2: 8}}),
    "lt, ld of A too small": (lt, {"ld": {0: 8}}),
    "lt, ld of D too small": (lt, {"ld": {3: 8}}),
    "lt, half and bf16": (lt, {"types": ("R_16F", "R_16BF", "R_32F")}),
    "lt, asked for 8": (
        lt,
        {
            "types": BF16,
            "ask": 8,
            "preferred": 1 << 25,
            "only_ask": 1,
            "m": 256,
            "n": 256,
            "k": 8192,
        },
    ),
    "lt, asked for 8 without workspace": (
        lt,
        {
            "types": BF16,
            "ask": 8,
            "preferred": 0,
            "only_ask": 1,
            "m": 256,
            "n": 256,
            "k": 8192,
        },
    ),
    "lt, asked for half and bf16": (
        lt,
        {"types": ("R_16F", "R_16BF", "R_32F"), "ask": 4, "only_ask": 1},
    ),
    "lt, asked with wrong k": (lt, {"more_rows": {1: 8}, "ask": 4, "only_ask": 1}),
    "lt, first algorithm": (
        lt,
        {"types": BF16, "ask": 4, "preferred": 1 << 25, "room": 1 << 25},
    ),
    "lt, workspace too small": (
        lt,
        {
            "types": BF16,
            "ask": 8,
            "use": "hungry",
            "preferred": 1 << 25,
            "room": 16,
            "m": 256,
            "n": 256,
            "k": 8192,
            "show": 4,
        },
    ),
    "lt, workspace enough": (
        lt,
        {
            "types": BF16,
            "ask": 8,
            "use": "hungry",
            "preferred": 1 << 25,
            "room": 1 << 25,
            "m": 256,
            "n": 256,
            "k": 8192,
            "show": 4,
        },
    ),
    "lt, workspace off by 8": (
        lt,
        {
            "types": BF16,
            "ask": 8,
            "use": "hungry",
            "preferred": 1 << 25,
            "room": 1 << 25,
            "unaligned": 8,
            "m": 256,
            "n": 256,
            "k": 8192,
            "show": 4,
        },
    ),
    "lt, fp8, A transposed": (lt, {"types": FP8, "ta": 1, "m": 32, "k": 64}),
    "lt, fp8, as they are": (lt, {"types": FP8, "m": 32, "k": 64}),
    "lt, fp8, B transposed": (lt, {"types": FP8, "tb": 1, "m": 32, "k": 64}),
    "lt, fp8, k of 24": (lt, {"types": FP8, "ta": 1, "m": 32, "k": 24}),
    "lt, fp8, m of 24": (lt, {"types": FP8, "ta": 1, "m": 24, "k": 64}),
    "lt, fp8, n of 17": (lt, {"types": FP8, "ta": 1, "m": 32, "n": 17, "k": 64}),
    "lt, a batch": (lt, {"batch": 2, "m": 4, "n": 8, "k": 4}),
    "lt, a batch of bf16": (lt, {"batch": 3, "types": BF16, "m": 8, "n": 8}),
    # Last, since it may break the context.
    "lt, no bias pointer": (lt, {"types": BF16, "epilogue": E.BIAS}),
}


def answer(w: World, case: str) -> dict[str, Any]:
    """Return what the library in use answers to one case."""
    function, change = CASES[case]
    try:
        if isinstance(change, str):
            return {"gives": function(w, change)}
        return {"gives": function(w, **change)}
    except LibraryError as error:
        return {"status": str(error).partition(" ")[0]}


@contextlib.contextmanager
def printed() -> Iterator[list[str]]:
    """Collect the lines that C code prints meanwhile."""
    lines: list[str] = []
    libc = ctypes.CDLL(None)
    libc.fflush(None)
    before = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            yield lines
        finally:
            libc.fflush(None)
            os.dup2(before, 1)
            os.close(before)
            file.seek(0)
            lines += [x.strip() for x in file.read().decode().splitlines() if x.strip()]


def on_gpu() -> World:
    def back(x: Any) -> Any:
        torch.cuda.synchronize()
        return (x.cpu().to(torch.float64)).numpy()

    return World(lambda x: x.cuda(), back)


def main() -> None:
    """Write what NVIDIA's library answers to every case."""
    answers: dict[str, Any] = {}
    for case in CASES:
        with printed() as lines:
            try:
                answers[case] = answer(on_gpu(), case)
            except Exception as error:
                answers[case] = {"breaks": type(error).__name__}
        if lines:
            answers[case]["says"] = lines[0]
    handle = cublas.create()
    version = cublas.get_version(handle)
    cublas.destroy(handle)
    about = {
        "device": torch.cuda.get_device_name(),
        "cublas": version,
        "torch": torch.__version__,
    }
    text = json.dumps({"about": about, "answers": answers}, indent=1)
    Path(sys.argv[1]).write_text(text + "\n")


if __name__ == "__main__":
    main()
