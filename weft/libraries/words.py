"""The verdicts on calls of a library, and the comparison of what they leave."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.checking.cases import Case
from weft.checking.compare import difference
from weft.checking.differences import Difference
from weft.checking.source import raised_at, returns
from weft.checking.verdict import Failed, Verdict
from weft.libraries.binding import LibraryError
from weft.libraries.convolutions import same_strides
from weft.libraries.device_memory import DTYPES, Buffer
from weft.libraries.enumerations import CudaType
from weft.libraries.exercise import LibraryExercise, wide
from weft.libraries.faults import Fault
from weft.libraries.model import Call, Model
from weft.libraries.objects import Opaque
from weft.libraries.products import SCALARS
from weft.libraries.run import Run
from weft.wording import capital, joined, several

Array = np.ndarray[Any, Any]
# With which a sentence begins that does not begin with a parameter's name.
WORDS = ["the", "a", "this", "there", "two", "attribute", "type", "algorithm", "tensor"]


def worded(text: str) -> str:
    """A sentence, with a capital unless it begins with the name of a parameter."""
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
# What a refusal says → the advice for it, the first that fits.
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
    """What to look at after a refusal."""
    if library == "cufft":
        return PLANS
    if library not in ("cublas", "cublasLt", "cudnn"):
        return ""
    for parts, advice in DNN_ADVICE if library == "cudnn" else ADVICE:
        if any(part in reason for part in parts):
            return advice
    return DESCRIBED if library == "cudnn" else COLUMNS


def fault(name: str, found: Fault, when: str) -> Verdict:
    """The verdict on what the model has refused."""
    return Verdict(
        name,
        found.kind,
        worded(found.message),
        found.why,
        found.places,
        when=when,
        headline=found.headline,
    )


def raised(run: Run, error: Exception) -> Verdict:
    """The verdict on an exception that ended the call."""
    places = raised_at(error, run.function)
    message = f"{type(error).__name__}: {error}".removesuffix(": ")
    if run.model.refusals:
        reason = run.model.refusals[-1]
        return Verdict(
            run.name,
            "status",
            worded(reason),
            why_refused(run.exercise.library, reason),
            places,
            when=run.when,
        )
    kind = "status" if isinstance(error, LibraryError) else "exception"
    return Verdict(run.name, kind, message, places=places, when=run.when)


def no_call(run: Run) -> Verdict:
    return Verdict(
        run.name,
        "wrong-value",
        f"{run.name} returns, and the library has computed nothing.",
        "The work has to be done by the library's function.",
        returns(run.function),
        when=run.when,
        headline="the library is not called",
    )


def overwritten(run: Run, buffer: Buffer, byte: int) -> Verdict:
    """The verdict on a write to an input, or between the rows of the result."""
    if buffer is run.out.buffer:
        return Verdict(
            run.name,
            "device-bounds",
            f"{buffer.name} is a part of a larger array. Byte {byte:,} of that array "
            "is outside the part, and it is overwritten.",
            "Rows of a part are further apart than they are long. The leading "
            "dimension says how far.",
            run.model.calls[-1].places,
            when=run.when,
            headline="what is between the rows is overwritten",
        )
    return Verdict(
        run.name,
        "input-written",
        f"{run.name} writes into {buffer.name}, which is an input.",
        "Which of the addresses is the one that the library writes to?",
        run.model.calls[-1].places,
        when=run.when,
    )


def other_stream(run: Run, call: Call) -> Verdict:
    which = "the default stream" if not call.stream else "another stream"
    return Verdict(
        run.name,
        "stream",
        f"{call.symbol} runs on {which}, and the data are made on the stream that is "
        "passed.",
        "Nothing makes one stream wait for the other, so the product may read what is "
        "not there yet. cuBLAS takes the stream from its handle, cuBLASLt from the "
        "call.",
        call.places,
        when=run.when,
    )


def left_over(run: Run, left: list[Opaque]) -> Verdict:
    """The verdict on objects that are never destroyed."""
    first = left[0]
    others = len(left) - 1
    more = f", nor {others} other objects" if others > 1 else ""
    more = ", nor is one more object" if others == 1 else more
    keeps = "A handle keeps memory on the GPU until it is destroyed."
    if not any(each.what.startswith("handle") for each in left):
        keeps = "The library keeps its memory until it is destroyed."
    return Verdict(
        run.name,
        "handle-leak",
        f"The {first.what} made here is never destroyed{more}.",
        f"Python does not know that the number is an object of the library. {keeps}",
        [note for each in left for note in each.places],
        when=run.when,
    )


def unnoticed(run: Run) -> Verdict:
    return Verdict(
        run.name,
        "unchecked",
        f"In one more run, {run.fails} returned CUBLAS_STATUS_EXECUTION_FAILED (13), "
        f"and {run.name} returned as if nothing had happened.",
        "C has no exceptions. A function that fails says so in the number that it "
        "returns, which the caller has to look at.",
    )


def calls_made(model: Model) -> str:
    """How often each function of the library was called: '2 calls of A and 1 of B'."""
    first, *others = Counter(call.symbol for call in model.calls).items()
    more = [f"{count} of {symbol}" for symbol, count in others]
    return joined([f"{several(first[1], 'call')} of {first[0]}", *more])


def too_many(run: Run, most: int) -> Verdict:
    why = (
        "Every call is a launch of its own, and each of them is far too small to fill "
        "a GPU."
    )
    if run.exercise.library == "cudnn":
        why = "What one call leaves in memory, the next one has to read again."
    return Verdict(
        run.name,
        "calls",
        f"{calls_made(run.model)}, where {most} would do.",
        why,
        run.model.calls[-1].places,
        when=run.when,
    )


def converted(run: Run, call: Call, name: str) -> Verdict:
    """The verdict on an array that cuDNN copies into another order first."""
    return Verdict(
        run.name,
        "calls",
        f"{call.symbol} gets {name} in the order NCHW. Its kernels want NHWC, so "
        f"cuDNN copies {name} in a kernel of its own, at every call.",
        "The result is right. Which array is stored, or described, in another order "
        "than this exercise asks for?",
        call.places,
        when=run.when,
        headline="an array that has to be converted",
    )


def on_gpu(exercise: LibraryExercise, error: Exception, when: str) -> Verdict:
    return Verdict(
        exercise.name,
        "status" if isinstance(error, LibraryError) else "exception",
        f"{type(error).__name__}: {error}",
        "It was right on the model of the library, on small sizes.",
        raised_at(error, exercise.written_by_learner),
        when=when,
    )


def right_on_gpu(exercise: LibraryExercise, got: Array, case: Case, when: str) -> None:
    """Compare what the GPU left with the spec. Raises `Failed`."""
    wrong = difference(got, case.expected[0], exercise.tolerance)
    if wrong is not None:
        why = wrong.hint or "It was right on the model of the library, on small sizes."
        message = wrong.sentence(exercise.result)
        raise Failed(Verdict(exercise.name, "wrong-value", message, why, when=when))


def compare(run: Run) -> None:
    """Compare the result with the spec's. Raises `Failed`."""
    got = wide(run.out.held).numpy()
    (wanted, *_) = run.case.expected
    wrong = difference(got, wanted, run.exercise.tolerance)
    if wrong is None:
        return
    call, name = run.model.calls[-1], run.exercise.result
    if (verdict := misread(run, call)) is not None:
        raise Failed(verdict)
    kind, message = "wrong-value", wrong.sentence(name)
    result = Result(run, call, got, wanted, wrong)
    why = next(filter(None, (reason(result) for reason in REASONS)), "")
    if np.isnan(wrong.got) and call.scalars[1] == 0:
        kind, missing = "unwritten", int(np.isnan(got).sum())
        message = f"{several(missing, 'element')} of {name} never got a result."
        why = "Was the right address passed, and are there as many results as needed?"
    elif run.exercise.because is not None:
        why = run.exercise.because(*run.case.inputs, got) or why
    raise Failed(Verdict(run.name, kind, message, why, call.places, when=run.when))


@dataclass(frozen=True)
class Result:
    """A wrong result: of which call, what was wanted, and the first difference."""

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
    """Whether a result is right if it is read column by column."""
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
    """Which array is read or written as another type than it has; "" if none is."""
    run, call = result.run, result.call
    held = {x.buffer: x.dtype for x in run.arrays if hasattr(x, "buffer")}
    for matrix in call.matrices:
        if (found := run.model.memory.find(matrix.address)) is None:
            continue
        buffer, _ = found
        dtype = held.get(buffer)
        if dtype not in (None, DTYPES[matrix.kind]):
            return (
                f"{matrix.parameter} has the type {matrix.kind.name} in this call, and "
                f"{buffer.name} holds {str(dtype)[6:]}. An address carries no type."
            )
    return ""


def described_otherwise(result: Result) -> str:
    """Which array has other strides than its descriptor says; "" if none has."""
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
            return (
                f"{name} is described with strides {listed(tensor.strides)}, and "
                f"{buffer.name} has {listed(steps)}. An address carries no layout."
            )
    return ""


def listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))


def scalars_read(result: Result) -> str:
    """What a product was scaled with; "" for the usual 1 and 0."""
    call = result.call
    if not call.matrices or call.scalars == (1, 0):
        return ""
    alpha, beta = call.scalars
    return (
        f"The library read alpha as {alpha:.4g} and beta as {beta:.4g}, at the "
        "addresses that it got."
    )


# Why a value may be wrong, the most certain reason first.
REASONS: tuple[Callable[[Result], str], ...] = (
    old_values,
    overflow,
    by_columns,
    lambda result: next(iter(result.run.model.ignored), ""),
    taken_for,
    described_otherwise,
    lambda result: result.wrong.hint,
    scalars_read,
)


def misread(run: Run, call: Call) -> Verdict | None:
    """A verdict where alpha or beta is a number of another type than C reads."""
    for name, value, data in zip(
        ("alpha", "beta"), call.scalars, call.held, strict=True
    ):
        meant = name == "beta" and value == 0
        if meant or 1e-30 < abs(value) < 1e30:
            continue
        for kind, dtype in SCALARS.items():
            if kind == call.scale or (other := read_as(data, dtype)) is None:
                continue
            return Verdict(
                run.name,
                "scalar",
                f"{call.symbol} reads {name} as {value:.3g}. It reads "
                f"{size(call.scale)} bytes as {TYPES[call.scale]}; what is there is "
                f"{other:g} as {TYPES[kind]}.",
                "An address carries no type. The compute type, or the scale type, "
                "decides how alpha and beta are read.",
                call.places,
                when=run.when,
            )
    return None


TYPES = {
    CudaType.R_16F: "a half",
    CudaType.R_32F: "a float",
    CudaType.R_64F: "a double",
    CudaType.R_32I: "an int",
}


def size(kind: CudaType) -> int:
    return int(np.dtype(SCALARS[kind]).itemsize)


def read_as(data: bytes, dtype: Any) -> float | None:
    """The number of another type in some bytes, if it looks like one on purpose."""
    wide = np.dtype(dtype).itemsize
    if len(data) < wide:
        return None
    value = float(np.frombuffer(data[:wide], dtype)[0])
    return value if math.isfinite(value) and 1e-3 <= abs(value) <= 1e4 else None
