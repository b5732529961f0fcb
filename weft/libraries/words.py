"""Explain why a library refuses a call, and why a result may be wrong."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from weft.checking.compare import agrees, difference
from weft.checking.differences import Difference
from weft.libraries import convolutions
from weft.libraries.changed_calls import cure
from weft.libraries.convolutions import same_strides
from weft.libraries.device_memory import DTYPES
from weft.libraries.exercise import wide
from weft.libraries.headers import CudaType
from weft.libraries.model import Call
from weft.libraries.products import SCALARS
from weft.libraries.run import Run
from weft.wording import capital, joined, several

Array = np.ndarray[Any, Any]
# Words that begin a sentence, unlike a parameter's name.
WORDS = ["the", "a", "this", "there", "two", "attribute", "type", "algorithm", "tensor"]


def worded(text: str) -> str:
    """Capitalise a sentence if it begins with one of WORDS, not a parameter's name."""
    return capital(text) if text.split()[0] in WORDS else text


SEES = "A library does not see your arrays: it sees addresses and sizes. "
COLUMNS = SEES + "Write down each matrix as the library reads it, column by column."
TYPED = (
    "A library supports a list of combinations of types. Compare the type of each "
    "matrix, the compute type and the type of the scalars with what is asked."
)
PREPARED = (
    "The product is described in steps: descriptor, layouts, algorithm, workspace. "
    "Compare what each step was given with what this call needs."
)
DESCRIBED = SEES + "Compare what each descriptor says with the array that it describes."
PLANS = SEES + "A plan has to be made before it is executed, and destroyed after."
# What a refusal says → the advice for it; the first match counts.
ADVICE = (
    (("does not take A and B", "does not scale in", "same type"), TYPED),
    (("compute_type", "compute type"), TYPED),
    (("workspace", "another product", "attribute", "epilogue", "null"), PREPARED),
)


DNN_ADVICE = (
    (
        ("workspace",),
        "The library allocates nothing for an algorithm. It says how much is needed, "
        "and the caller passes an address and a size.",
    ),
    (
        ("a padding of", "a stride of", "a dilation of"),
        "Compare the order of the arguments with the function's. No padding is 0; no "
        "stride and no dilation are 1.",
    ),
    (
        ("variant pack", "the pack", "have the number"),
        "Each tensor of a graph has a number of its own. Those in memory need an "
        "address, under this number. Virtual ones have none.",
    ),
)


def why_refused(library: str, reason: str) -> str:
    """Return advice on what to check after a refusal, or ""."""
    if "handle is null" in reason:
        return "A handle is what the library's own create function has returned."
    if library == "cufft":
        return PLANS
    if library not in ("cublas", "cublasLt", "cudnn"):
        return ""
    for parts, advice in DNN_ADVICE if library == "cudnn" else ADVICE:
        if any(part in reason for part in parts):
            return advice
    return DESCRIBED if library == "cudnn" else COLUMNS


def compare(run: Run) -> None:
    """Compare a run's result with the spec's. Raises `Failed` if they differ."""
    got = wide(run.out.held).numpy()
    (wanted, *_) = run.case.expected
    wrong = difference(got, wanted, run.exercise.tolerance)
    if wrong is None:
        return
    call, name = run.model.calls[-1], run.exercise.result
    well_read(run, call)
    kind, message = "wrong-value", wrong.sentence(name)
    result = Result(run, call, got, wanted, wrong)
    why = next(filter(None, (reason(result) for reason in REASONS)), "")
    if np.isnan(wrong.got) and call.scalars[1] == 0:
        kind, missing = "unwritten", int(np.isnan(got).sum())
        message = f"{several(missing, 'element')} of {name} never got a result."
        why = "Was the right address passed, and are there as many results as needed?"
    else:
        why = run.exercise.likely(*run.case.inputs, got) or why
    raise run.failed(kind, message, why, call.places)


@dataclass(frozen=True)
class Result:
    """A wrong result: its call, the values got and wanted, and the first difference."""

    run: Run
    call: Call
    got: Array
    wanted: Array
    wrong: Difference


def old_values(result: Result) -> str:
    if not np.isnan(result.wrong.got):
        return ""
    return (
        f"{result.run.exercise.result} held NaN before the call, and beta was "
        f"{result.call.scalars[1]:g}: so the old values are added. Only with beta = 0 "
        "are they not read."
    )


def overflow(result: Result) -> str:
    if not np.isinf(result.got).any():
        return ""
    return (
        "A sum has left the range of its type. In which type does this compute type "
        "add up?"
    )


def by_columns(result: Result) -> str:
    """Return an explanation if the result is stored column by column, or ""."""
    got, run = result.got, result.run
    if got.ndim != 2 or not run.out.is_contiguous():
        return ""
    read = got.reshape(-1).reshape(got.shape[::-1]).T
    if difference(read, result.wanted, run.exercise.tolerance) is not None:
        return ""
    return (
        f"{run.exercise.result} holds the right numbers, but stored column by column. "
        "The caller reads it row by row."
    )


def taken_for(result: Result) -> str:
    """Return an explanation if the call gives an array the wrong type, else ""."""
    run, call = result.run, result.call
    held = {x.buffer: x.dtype for x in run.arrays if hasattr(x, "buffer")}
    taken = [(m.parameter, m.address, m.kind, DTYPES) for m in call.matrices]
    taken += [(name, at, t.kind, convolutions.DTYPES) for name, at, t in call.tensors]
    for name, address, kind, dtypes in taken:
        buffer, _ = run.model.memory.find(address) or (None, 0)
        dtype = held.get(buffer)
        if buffer is not None and dtype not in (None, dtypes[kind]):
            return (
                f"{name} has the type {kind.name} in this call, and {buffer.name} "
                f"holds {str(dtype)[6:]}. An address carries no type."
            )
    return ""


def described_otherwise(result: Result) -> str:
    """Return an explanation if a descriptor's strides are not its array's, else ""."""
    run, call = result.run, result.call
    for name, address, tensor in call.tensors:
        buffer, offset = run.model.memory.find(address) or (None, 0)
        array = buffer.placed if buffer is not None else None
        if buffer is None or array is None or offset:
            continue
        if array.storage_offset() or tuple(array.shape) != tensor.shape:
            continue
        steps = tuple(array.stride())
        if not same_strides(tensor.shape, tensor.strides, steps):
            said, held = (", ".join(map(str, each)) for each in (tensor.strides, steps))
            return (
                f"{name} is described with strides {said}, and {buffer.name} has "
                f"{held}. An address carries no layout."
            )
    return ""


def alpha_is_zero(result: Result) -> str:
    """Return an explanation if the library read alpha as 0, else ""."""
    if result.call.scalars[0] or not result.call.arguments:
        return ""
    return "The library read alpha as 0, at the address that it got."


def scalars_read(result: Result) -> str:
    """Return an explanation if other scalars would make the result right, else ""."""
    call, run = result.call, result.run
    alpha, beta = call.scalars
    if not call.arguments or not alpha or len(run.model.calls) > 1:
        return ""
    before = run.before[run.model.memory.buffers.index(run.out.buffer)]
    held = run.out.held
    old = torch.empty(0, dtype=held.dtype).set_(before.untyped_storage())
    old = old.as_strided(held.shape, held.stride(), held.storage_offset())
    start = wide(old).numpy().astype(float).ravel()
    got, wanted = (x.astype(float).ravel() for x in (result.got, result.wanted))
    had_numbers = np.isfinite(start).all()
    parts = [(got - beta * start) / alpha, start] if had_numbers else [got / alpha]
    here = got != start  # without the gaps between columns of the result
    columns, wanted = np.stack(parts, axis=1)[here], wanted[here]
    if not np.isfinite(columns).all():
        return ""
    found, *_ = np.linalg.lstsq(columns, wanted, rcond=None)
    tolerance = max(run.exercise.tolerance, 1e-4)
    if len(wanted) < 4 or not agrees(columns @ found, wanted, tolerance):
        return ""
    mine = dict(zip(("alpha", "beta"), (alpha, beta), strict=True))
    names = [
        name
        for name, other in zip(mine, found, strict=False)
        if abs(other - mine[name]) > tolerance * max(abs(other), abs(mine[name]))
    ]
    if not names:
        return ""
    read = joined([f"{name} as {mine[name]:.4g}" for name in names])
    other = "another one" if len(names) == 1 else "others"
    return (
        f"The library read {read}, at the address{'es' * (len(names) > 1)} that it "
        f"got. With {other} the result would be right."
    )


# Possible causes of a wrong value, the most certain first.
REASONS: tuple[Callable[[Result], str], ...] = (
    old_values,
    overflow,
    by_columns,
    lambda result: next(iter(result.run.model.ignored), ""),
    taken_for,
    described_otherwise,
    alpha_is_zero,
    lambda result: result.wrong.hint,
    scalars_read,
    lambda result: cure(result.run, result.call),
)


def well_read(run: Run, call: Call) -> None:
    """Raise `Failed` if alpha or beta does not seem to have the type it is read as."""
    for name, value, data in zip(
        ("alpha", "beta"), call.scalars, call.held, strict=True
    ):
        meant = name == "beta" and value == 0
        if meant or 1e-30 < abs(value) < 1e30:
            continue
        for kind, dtype in SCALARS.items():
            if kind == call.scale or (other := read_as(data, dtype)) is None:
                continue
            wide = np.dtype(SCALARS[call.scale]).itemsize
            raise run.failed(
                "scalar",
                f"{call.symbol} reads {name} as {value:.3g}. It reads {wide} bytes as "
                f"{TYPES[call.scale]}; what is there is {other:g} as {TYPES[kind]}.",
                "An address carries no type. The compute type, or the scale type, "
                "decides how alpha and beta are read.",
                call.places,
            )


TYPES = {
    CudaType.R_16F: "a half",
    CudaType.R_32F: "a float",
    CudaType.R_64F: "a double",
    CudaType.R_32I: "an int",
}


def read_as(data: bytes, dtype: Any) -> float | None:
    """Return `data` read as a `dtype`, or None if it is too short or implausible."""
    wide = np.dtype(dtype).itemsize
    if len(data) < wide:
        return None
    value = float(np.frombuffer(data[:wide], dtype)[0])
    return value if math.isfinite(value) and 1e-3 <= abs(value) <= 1e4 else None
