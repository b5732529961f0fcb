"""Check a launch against the signature and launch bounds given to `@cuda.jit`.

On a GPU, a launch that violates them fails. The simulator could run a kernel without
them, so it has to check them separately, before the launch.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from weft import meaning
from weft.meaning import Typing
from weft.places import Place
from weft.simulator.faults import Fault, LaunchError
from weft.simulator.limits import MAX_THREADS, Dim
from weft.wording import joined, several

WITHOUT = (
    "Without a signature, `@cuda.jit` alone, Numba takes the types from the arguments."
)


@dataclass(frozen=True)
class Signature:
    """One declared signature. types: the types of the arguments."""

    text: str
    types: tuple[Any, ...]


def signatures(kernel: Any) -> list[Signature]:
    """Return the signatures of a kernel, or [] if Numba infers them at launch.

    Raises `Fault` for a signature that Numba refuses when it reads the kernel.
    """
    given = meaning.options_of(kernel).signatures
    return [read(kernel, signature) for signature in given]


def read(kernel: Any, signature: Any) -> Signature:
    """Read one signature of a kernel. Raises `Fault` if it is not valid."""
    function, typing = meaning.python_function(kernel), meaning.typing_of(kernel)
    assert function is not None
    places = decorator_of(function)
    try:
        types, returned = typing.signature_types(signature)
    except Exception as error:
        raise Fault(
            "type",
            f"the signature {signature!r} cannot be read: {error}",
            'It lists the types of the arguments, as in "void(float32[:], int32)".',
            places=places,
        ) from None
    text = f"({', '.join(map(written, types))})"
    names = list(inspect.signature(function).parameters)
    if len(types) != len(names):
        raise Fault(
            "type",
            f"the signature {text} has {several(len(types), 'type')}, but "
            f"{function.__name__} takes {several(len(names), 'argument')} "
            f"({', '.join(names)})",
            f"It needs one type for each argument, outputs included. {WITHOUT}",
            places=places,
        )
    if returned is not None and not meaning.is_device_function(kernel):
        raise Fault(
            "type",
            f"the signature {returned}{text} says that the kernel returns a value",
            "A kernel returns nothing: its signature begins with `void`. Results go "
            "into an output array.",
            places=places,
        )
    return Signature(text, types)


def fitting(kernel: Any, args: Sequence[Any]) -> Signature | None:
    """Return the signature with which Numba launches a kernel on `args`.

    args: NumPy arrays, and numbers. Returns None for a kernel without signatures.
    Raises `Fault` if no signature fits, where Numba raises TypeError.
    """
    known = signatures(kernel)
    if not known:
        return None
    typing = meaning.typing_of(kernel)
    given = [type_of(arg, typing) for arg in args]
    for signature in known:
        if given == list(signature.types):
            return signature
    for signature in known:
        if len(given) == len(signature.types) and not misfits(given, signature, typing):
            return signature
    raise unfit(kernel, given, known)


def misfits(given: Sequence[Any], signature: Signature, typing: Typing) -> list[int]:
    """Return the positions of arguments that Numba cannot convert to `signature`."""
    pairs = enumerate(zip(given, signature.types, strict=True))
    return [
        at
        for at, (got, declared) in pairs
        if got is not None and not typing.converts(got, declared)
    ]


def unfit(kernel: Any, given: Sequence[Any], known: Sequence[Signature]) -> Fault:
    """Return the fault for a launch whose arguments fit no signature."""
    function = meaning.python_function(kernel)
    assert function is not None
    names = list(inspect.signature(function).parameters)
    places = decorator_of(function)
    got = ", ".join(map(written, given))
    if len(known) > 1 or len(given) != len(known[0].types):
        listed = joined([one.text for one in known])
        return Fault(
            "type",
            f"no signature of {function.__name__} fits its arguments, ({got}): there "
            f"{'are' if len(known) > 1 else 'is'} {listed}",
            f"With a signature, Numba compiles for these types alone. {WITHOUT}",
            places=places,
        )
    at = misfits(given, known[0], meaning.typing_of(kernel))[0]
    return Fault(
        "type",
        f"the signature says that {names[at]} is {written(known[0].types[at])}, and it "
        f"is launched with {written(given[at])}",
        "With a signature, Numba compiles for these types alone, and converts numbers "
        "but no arrays: the launch ends with `TypeError: No matching definition for "
        f"argument type(s)`. Write the type of the data. {WITHOUT}",
        places=places,
    )


def converted(value: Any, declared: Any) -> Any:
    """Convert a number to the declared type; return any other value unchanged."""
    if isinstance(value, (bool, int, float, complex, np.generic)):
        dtype = meaning.as_dtype(declared)
        return np.asarray(value).astype(dtype)[()]
    return value


def type_of(arg: Any, typing: Typing) -> Any:
    """Return Numba's type of an argument, or None if it is unknown."""
    try:
        if isinstance(arg, np.ndarray):
            layout = "A"
            if arg.flags.c_contiguous:
                layout = "C"
            elif arg.flags.f_contiguous:
                layout = "F"
            return typing.array_type(arg.dtype, max(arg.ndim, 1), layout)
        return typing.value_type(arg)
    except (ValueError, TypeError, NotImplementedError):
        return None


def written(kind: Any) -> str:
    """Format a type as in a signature, such as `float32[:, ::1]`."""
    layout = getattr(kind, "layout", None)
    if layout is None or not hasattr(kind, "ndim"):
        return str(kind)
    axes = [":"] * kind.ndim
    if layout == "C":
        axes[-1] = "::1"
    elif layout == "F":
        axes[0] = "::1"
    return f"{kind.dtype}[{', '.join(axes)}]"


def hold_bounds(kernel: Any, block: Dim) -> None:
    """Raise `Fault` if a block exceeds the launch bounds, or an option is invalid."""
    told = meaning.options_of(kernel)
    function = meaning.python_function(kernel)
    if function is None or (told.launch_bounds is None and told.max_registers is None):
        return
    most = most_threads(told.launch_bounds, function)
    threads = block[0] * block[1] * block[2]
    if most is not None and threads > most:
        error = LaunchError(
            f"block of {threads} threads; {function.__name__} is compiled for at most "
            f"{most}, by its launch_bounds",
            "The compiler shares out a multiprocessor's registers among that many "
            "threads, so the launch of a larger block fails with "
            "CUDA_ERROR_INVALID_VALUE. Launch smaller blocks, or give launch_bounds "
            "the size of the blocks that you launch.",
        )
        error.places = decorator_of(function)
        raise error
    registers = told.max_registers
    if registers is not None and (type(registers) is not int or registers < 1):
        raise Fault(
            "type",
            f"the max_registers are {registers!r}, not a number per thread",
            "16 to 255 make sense.",
            places=decorator_of(function),
        )


def most_threads(bounds: Any, function: FunctionType) -> int | None:
    """Return the largest number of threads per block, or None if `bounds` is None.

    Raises `Fault` if `bounds` is invalid.
    """
    parts = bounds if isinstance(bounds, (tuple, list)) else (bounds,)
    if bounds is None:
        return None
    whole = all(type(part) is int and part > 0 for part in parts)
    if not whole or not 1 <= len(parts) <= 3 or parts[0] > MAX_THREADS:
        raise Fault(
            "type",
            f"the launch_bounds are {bounds!r}",
            f"It is the most threads of a block, up to {MAX_THREADS}, or a tuple: the "
            "most threads of a block, the fewest blocks per multiprocessor, the most "
            "blocks of a cluster.",
            places=decorator_of(function),
        )
    return int(parts[0])


def decorator_of(function: FunctionType) -> list[Place]:
    """Return a list with a kernel's decorator line, or [] if its source is unknown."""
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        return []
    return [Place(function.__name__, first, lines[0].strip())]
