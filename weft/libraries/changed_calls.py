"""Find the wrong arguments of a matrix product by repeating it with others."""

import itertools
from collections.abc import Iterator, Mapping
from types import SimpleNamespace as Arguments
from typing import Any

import numpy as np

from weft.checking.compare import difference
from weft.libraries.exercise import wide
from weft.libraries.faults import ModelFault, Refusal
from weft.libraries.headers import cublas
from weft.libraries.model import Call
from weft.libraries.products import SCALARS
from weft.libraries.run import Run
from weft.wording import joined

N, T = cublas.Operation.N, cublas.Operation.T
SIZES = "m", "n", "k"
PAIRS = (("lda", "ldb"), ("stride_a", "stride_b"), ("stride_b", "stride_c"))
OPERATION = "Which of the matrices is stored transposed, as the library reads them?"
SIZE = "Which size is which, of the matrices as the library reads them?"
OPERANDS = (
    ("a", "b"),
    ("lda", "ldb"),
    ("stride_a", "stride_b"),
    ("atype", "btype"),
)
OPERAND = "Which matrix comes first, as the library reads them?"
PAIR = "Which of them belongs to which matrix?"


def cure(run: Run, call: Call) -> str:
    """Return a hint on which arguments of a cuBLAS product to change, or ""."""
    if "transa" not in call.arguments or len(run.model.calls) > 1:
        return ""
    for changes, question in changed(call.arguments):
        if is_right(run, call, changes):
            names = joined([f"`{name}`" for name in list(changes)[:2]])
            other = "another" if len(changes) == 1 else "other"
            return f"With {other} {names} the result would be right. {question}"
    return ""


def changed(given: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield dicts of changed arguments, each with a question for the learner."""
    turned = {name: N if given[name] else T for name in ("transa", "transb")}
    for names in (("transa",), ("transb",), ("transa", "transb")):
        yield {name: turned[name] for name in names}, OPERATION
    operands: dict[str, Any] = {}
    for pair in OPERANDS:
        if pair[0] in given:
            operands |= exchanged(given, pair)
    yield operands | exchanged(given, ("transa", "transb")), OPERAND
    yield operands, OPERAND
    for pair in itertools.combinations(SIZES, 2):
        yield exchanged(given, pair), SIZE
    for pair in PAIRS:
        if pair[0] in given and pair[1] in given:
            yield exchanged(given, pair), PAIR


def exchanged(given: Mapping[str, Any], pair: tuple[str, ...]) -> dict[str, Any]:
    one, other = pair
    return {one: given[other], other: given[one]}


def is_right(run: Run, call: Call, changes: Mapping[str, Any]) -> bool:
    """Return whether `call` gives the right result if repeated with `changes`.

    The model's buffers and records are restored.
    """
    model = run.model
    buffers = model.memory.buffers[: len(run.before)]
    after = [buffer.tensor().clone() for buffer in buffers]
    lists: list[list[Any]] = [model.calls, model.faults, model.printed]
    noted = [list(each) for each in lists]
    for buffer, before in zip(buffers, run.before, strict=True):
        buffer.tensor().copy_(before)
    scalars = [np.array(value, SCALARS[call.scale]) for value in call.scalars]
    alpha, beta = (scalar.ctypes.data for scalar in scalars)
    again = {**call.arguments, "alpha": alpha, "beta": beta, **changes}
    try:
        library: Any = model.libraries["cublas"]
        library._product(Arguments(**again))
        got, (wanted, *_) = wide(run.out.held).numpy(), run.case.expected
        return difference(got, wanted, run.exercise.tolerance) is None
    except (Refusal, ModelFault):
        return False
    finally:
        for buffer, now in zip(buffers, after, strict=True):
            buffer.tensor().copy_(now)
        for each, as_it_was in zip(lists, noted, strict=True):
            each[:] = as_it_was
