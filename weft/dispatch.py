"""`check`: the one call a learner makes, and the verdict it gives.

It runs the kernel in the simulator on small sizes, compiles it, runs it on the GPU at
full size, counts what its accesses cost, and stops at the first stage that fails.
"""

from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from weft import compiling, lesson
from weft.checking import unseen_case
from weft.checking.exercise import Exercise, is_kernel
from weft.checking.settle import refuse_stale, settled
from weft.checking.verdict import CheckFailed, Failed, Verdict
from weft.functions import values
from weft.kernels import compiled, cost, full_size, other_constants, simulated
from weft.kernels.forbidden_atomics import ready_made
from weft.simulator.faults import kind_of

__all__ = ["CheckFailed", "Verdict", "check"]


def check(
    function: Any,
    spec: Callable[..., Any],
    inputs: Callable[..., Any] | Iterable[Any],
    *,
    sizes: Sequence[Any] = (),
    launch: Callable[..., Any] | None = None,
    kernel: Any = None,
    full: Any = None,
    out: Callable[..., Any] | None = None,
    tolerance: float = 1e-5,
    limits: dict[str, Any] | None = None,
    unseen: bool = True,
    because: Callable[..., str] | None = None,
    constants: Sequence[dict[str, Any]] = (),
    without: tuple[str, ...] = (),
) -> Verdict:
    """Check a learner's function and say what is wrong with it.

    function: a kernel made by `@cuda.jit`, called as `kernel(*inputs, *outputs)`; or a
        plain Python function, whose return value is compared. With `kernel=`, it is
        the function that chooses that kernel's launch: size → (grid, block).
    spec: NumPy function of the inputs; returns the output, or a tuple of outputs.
    inputs: for a kernel, `(rng, *size)` → inputs; for a function, its argument tuples.
    sizes: what stage 1 runs; an integer or a tuple each. Counters use the last one.
    launch: `(*size)` → `(grid, block[, stream[, shared bytes]])`.
    full: the size of the GPU stage; None for none.
    out: inputs → the outputs' initial values; by default poisoned, to be all written.
    tolerance: relative, against the spec in double precision.
    limits: {"sectors": most per global request, "bank_conflicts": most extra passes per
        shared request, "lanes": fewest lanes of a warp per request on average,
        "loads", "shared_loads": most loads from global and from shared memory by one
        thread, without those of `peek`, "peeks": most different words that one thread
        looks at with `peek`, "barriers": most that a block passes, "flops": most
        floating-point operations of a block on average, "atomics": most atomic
        operations on global memory by the whole launch, "load_bytes", "store_bytes":
        fewest bytes a lane moves at a time on average, in global memory, "float64":
        most lines that compute in it without need, "local": most bytes of local memory
        that a thread has in PTX, "size": size to count on, "otherwise": a dict of the
        limits that hold with other `constants`}.
    unseen: also run a size that is not listed, between those that are, with data that
        belong to the learner's source; for a function, arguments likewise.
    because: for a function that answers questions or returns a number, `(*arguments,
        answer)` → why this answer is wrong, "" if nobody knows. For questions
        `weft.lesson.answers` gives it, with spec and inputs.
    constants: other values of global names that the kernel and its launch use, a dict
        each time: with each of them the last size has to be right as well.
    without: for a function, modules whose functions it may not call, such as
        "numpy.fft". It may never call its spec. For a kernel, atomic operations that
        it may not use, such as "cuda.atomic.max", or "cuda.atomic.max float32" for
        arrays of that type alone.

    Returns a Verdict, true if all is well. Where the environment has WEFT_STRICT=1, a
    failure raises CheckFailed. Raises ValueError if the exercise itself is wrong.
    """
    return settled(
        lambda: _verdict(
            function,
            spec,
            inputs,
            sizes,
            launch,
            kernel,
            full,
            out,
            tolerance,
            limits or {},
            unseen,
            because,
            constants,
            without,
        )
    )


def _verdict(
    function: Any,
    spec: Callable[..., Any],
    inputs: Any,
    sizes: Sequence[Any],
    launch: Callable[..., Any] | None,
    kernel: Any,
    full: Any,
    out: Callable[..., Any] | None,
    tolerance: float,
    limits: dict[str, Any],
    unseen: bool,
    because: Callable[..., str] | None,
    constants: Sequence[dict[str, Any]],
    without: tuple[str, ...],
) -> Verdict:
    name = getattr(function, "__name__", repr(function))
    refuse_stale(name)
    if kernel is not None:
        launch = function
    elif launch is None:
        return _check_function(
            function, name, spec, inputs, tolerance, unseen, because, without
        )
    else:
        kernel = function
        if not is_kernel(kernel):
            raise Failed(_not_a_kernel(function, name))
    if not sizes:
        raise ValueError(f"check({name}, ...): sizes is empty")
    exercise = Exercise(
        function,
        kernel,
        spec,
        inputs,
        sizes,
        launch,
        full,
        out,
        tolerance,
        limits,
        unseen,
        lesson.unseen(name),
        constants,
    )
    if not exercise.checks_launch:
        compiling.warm_up()
    facts, trace = simulated.run(exercise)
    if (found := ready_made(name, trace, without)) is not None:
        raise Failed(found)
    more, leak = compiled.run(exercise)
    facts += more
    if full is not None and _on_gpu():
        facts += full_size.run(exercise)
    facts += cost.run(exercise, trace)
    facts += other_constants.run(exercise)
    if leak is not None:
        raise Failed(leak)
    return Verdict(name, "pass", facts=facts)


def _check_function(
    function: Any,
    name: str,
    spec: Callable[..., Any],
    inputs: Any,
    tolerance: float,
    more: bool,
    because: Callable[..., str] | None,
    without: tuple[str, ...],
) -> Verdict:
    if values.belongs(function, without):
        raise Failed(values.of_another(name, name, f"{function.__module__}.{name}"))
    if not isinstance(function, FunctionType):
        raise Failed(
            Verdict(
                name,
                "type",
                f"{name} is {kind_of(function)}, not a plain function.",
                "This exercise asks for a Python function, without @cuda.jit.",
            )
        )
    cases = list(inputs(np.random.default_rng(0)) if callable(inputs) else inputs)
    seed = unseen_case.seed(function)
    if more and callable(inputs):
        cases += inputs(np.random.default_rng(seed))
    elif more and (extra := unseen_case.arguments(cases, seed)) is not None:
        cases.append(extra)
    facts = values.run(function, spec, cases, tolerance, because, without)
    return Verdict(name, "pass", facts=facts)


def _not_a_kernel(function: Any, name: str) -> Verdict:
    if isinstance(function, FunctionType):
        return Verdict(
            name,
            "type",
            f"{name} is a plain Python function, not a kernel.",
            "`@cuda.jit` in the line above `def` makes it one.",
        )
    if hasattr(function, "py_func"):
        return Verdict(
            name,
            "type",
            f"{name} is compiled for the CPU.",
            "`@cuda.jit` in the line above `def` compiles for the GPU; plain `@jit` "
            "does not.",
        )
    return Verdict(
        name,
        "type",
        f"{name} is {kind_of(function)}, not a kernel.",
        "Did a later line give the name to something else? Run the cell that defines "
        "the kernel again.",
    )


def _on_gpu() -> bool:
    import weft

    return weft.GPU
