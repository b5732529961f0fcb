"""Launching a kernel in the simulator: its arguments go in, its writes come out."""

import contextlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from types import FunctionType
from typing import Any

import numpy as np

from weft import meaning
from weft.intrinsics.boxes import decoded
from weft.places import Place
from weft.simulator import constant_memory, limits, options
from weft.simulator.faults import Fault
from weft.simulator.inference.kinds import Kind, Tup
from weft.simulator.inference.outside import kind_of
from weft.simulator.limits import Dim, configuration
from weft.simulator.memory.arrays import Memory
from weft.simulator.running.scheduler import Run
from weft.simulator.trace.noted_run import NotedRun, Suspicious
from weft.simulator.trace.recorded import Recorded
from weft.simulator.trace.stale_run import StaleRun
from weft.simulator.trace.trace import Trace
from weft.simulator.trace.traced_run import CalledRun, TracedRun, ValuedRun
from weft.simulator.trace.watched_run import Fill, Recording
from weft.wording import kind_of as described


@dataclass
class Launch:
    """What a finished launch reports.

    `written` maps the names of the watched parameters to Boolean arrays, which mark the
    elements to which the kernel stored.
    """

    written: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)


def simulate(
    kernel: Any,
    config: Any,
    args: tuple[Any, ...],
    *,
    readonly: frozenset[int] = frozenset(),
    watched: frozenset[int] = frozenset(),
    make_run: Callable[..., Run] = Run,
) -> Launch:
    """Run `kernel[config](*args)` on the CPU.

    `kernel` is what `@cuda.jit` made, or a Python function. `config` is `(grid, block[,
    stream[, shared_bytes]])`. Arrays may be NumPy arrays (or anything that shares
    memory with one); the kernel writes into them. `readonly` and `watched` are
    positions of arguments: stores to `readonly` ones raise a fault; stores to `watched`
    ones are recorded in `Launch.written`.

    Raises `Fault` if the launch fails, or `LaunchError` for a configuration that no GPU
    accepts. The launch is also checked against the kernel's signature and launch
    bounds, if it has any.
    """
    fn = kernel if isinstance(kernel, FunctionType) else meaning.python_function(kernel)
    if fn is None:
        raise Fault(
            "type", f"{kernel!r} is not a kernel", "Decorate it with @cuda.jit."
        )
    if meaning.is_device_function(kernel):
        raise Fault(
            "type",
            f"`{fn.__name__}` is a device function",
            "Only code on the GPU can call it. What the host launches is a kernel, "
            "which is marked `@cuda.jit`, without `device=True`.",
        )
    grid, block, _, shared = configuration(config, limits.most_shared(fn))
    options.hold_bounds(kernel, block)
    constant_memory.hold(fn)
    names = parameters(fn, args)
    args = as_declared(kernel, names, args)
    run = make_run(fn, grid, block, shared)
    run.bind(
        tuple(
            kind_of_argument(arg, name) for name, arg in zip(names, args, strict=True)
        )
    )
    launch = Launch()
    given = []
    for position, (name, arg) in enumerate(zip(names, args, strict=True)):
        marks = None
        if position in watched:
            marks = launch.written[name] = np.zeros(np.shape(arg), bool)
            memory = host_array(arg, name)
            if memory is not None:
                run.watched.append((memory, marks))
        given.append(argument(run, arg, name, marks, position in readonly))
    run.execute(tuple(given))
    return launch


def record(
    kernel: Any,
    config: Any,
    args: tuple[Any, ...],
    *,
    readonly: frozenset[int] = frozenset(),
    watched: frozenset[int] = frozenset(),
    fresh: frozenset[str] = frozenset(),
    look: Callable[[Trace], None] | None = None,
    backwards: bool = False,
    failed: Callable[[Trace, Fault], None] | None = None,
    every: bool = False,
    fill: Fill | None = None,
    stale: frozenset[Place] = frozenset(),
    rows: bool = False,
) -> tuple[Trace, Launch]:
    """Run `kernel[config](*args)` as `simulate` does, and record its accesses.

    `fresh` are the names of parameters whose arrays hold nothing before the launch.
    `look` is called with the trace so far, from time to time in a long launch. With
    `backwards`, the last block runs first. `failed` is called with the trace so far and
    the fault that ends it, before the fault is raised. With `every`, all blocks are
    recorded; otherwise, only a sample if there are many. `fill` puts initial values
    into new shared and local memory. Reads at the places in `stale` return the oldest
    value that they are allowed to see. With `rows`, every access is recorded in this
    run. Otherwise, the launch is usually run again to record the accesses once
    something asks for them: see `Recorded`.
    """
    recording, cluster = Recording(fresh, look, every, fill), meaning.CLUSTER.get()
    how = partial(_run, kernel, config, readonly=readonly, watched=watched)
    if rows or stale or _overlap(args) or any(map(_is_map, args)):
        made = partial(StaleRun, stale) if stale else TracedRun
        run, launch = how(made, args, backwards, recording, failed)
        return run.trace(), launch
    before = [_copied(arg) for arg in args]
    try:
        noted, launch = how(NotedRun, args, backwards, recording)
    except Fault as fault:
        if look is None and failed is None:
            raise
        _restore(args, before)
        run, launch = how(TracedRun, args, backwards, recording, failed)
        if isinstance(fault, Suspicious):
            return run.trace(), launch
        raise  # not reached: what failed once fails again

    def again() -> Trace:
        """Repeat the launch, and return its trace with every access."""
        with meaning.clustered(cluster):
            run, _ = how(TracedRun, tuple(before), backwards, recording)
        made: Trace = run.trace()
        return made

    if noted.cuda.intrinsics.works_beside:
        return again(), launch
    return Recorded(noted.given_up(), again), launch  # type: ignore[return-value]


def _run(
    kernel: Any,
    config: Any,
    made: Callable[..., Any],
    args: tuple[Any, ...],
    backwards: bool,
    recording: Recording,
    failed: Callable[[Trace, Fault], None] | None = None,
    **how: Any,
) -> tuple[Any, Launch]:
    """Run a launch and record it. made: constructs the run. See `record`."""
    runs: list[Any] = []

    def make(fn: FunctionType, grid: Dim, block: Dim, shared: int) -> Any:
        runs.append(made(fn, grid, block, shared, backwards, recording))
        return runs[-1]

    try:
        launch = simulate(kernel, config, args, make_run=make, **how)
    except Fault as fault:
        if failed is not None and runs and runs[0].is_bound:
            failed(runs[0].trace(so_far=True), fault)
        raise
    return runs[0], launch


def _overlap(args: tuple[Any, ...]) -> bool:
    """Return whether two of the arguments are arrays that may share memory."""
    arrays = [array for arg in args for array in _arrays(arg)]
    return any(np.may_share_memory(a, b) for a, b in combinations(arrays, 2))


def _is_map(arg: Any) -> bool:
    """Return whether an argument is, or contains, a tensor map.

    A tensor map refers to memory elsewhere.
    """
    return any(decoded(array) is not None for array in _arrays(arg))


def _arrays(arg: Any) -> list[np.ndarray[Any, Any]]:
    """Return the arrays in an argument, which may be a tuple of them."""
    if isinstance(arg, tuple):
        return [array for part in arg for array in _arrays(part)]
    found = host_array(arg)
    return [] if found is None else [found]


def _copied(arg: Any) -> Any:
    """Return a copy of an argument as it is before the launch."""
    if isinstance(arg, tuple):
        copies = map(_copied, arg)
        named = hasattr(arg, "_fields")
        return type(arg)(*copies) if named else tuple(copies)
    found = host_array(arg)
    return arg if found is None else found.copy(order="K")


def _restore(args: tuple[Any, ...], before: list[Any]) -> None:
    """Restore the contents that arguments had before a launch."""
    for now, then in zip(args, before, strict=True):
        for array, copy in zip(_arrays(now), _arrays(then), strict=True):
            if array.flags.writeable:
                array[...] = copy


def calls(
    kernel: Any,
    config: Any,
    args: tuple[Any, ...],
    rows: frozenset[int],
    *,
    readonly: frozenset[int] = frozenset(),
    backwards: bool = False,
) -> dict[int, list[Place]]:
    """Repeat a launch recorded by `record`; find the calls that led to some accesses.

    Returns, for each of `rows`, the place of the access and those of the calls that led
    there, innermost first; {} if the launch is refused.
    """
    runs: list[CalledRun] = []

    def make(fn: FunctionType, grid: Dim, block: Dim, shared: int) -> CalledRun:
        run = CalledRun(rows, fn, grid, block, shared, backwards)
        runs.append(run)
        return run

    with contextlib.suppress(Fault):
        simulate(kernel, config, args, readonly=readonly, make_run=make)
    return runs[0].calls if runs else {}


def values(
    kernel: Any,
    config: Any,
    args: tuple[Any, ...],
    wanted: dict[int, int],
    *,
    readonly: frozenset[int] = frozenset(),
    backwards: bool = False,
) -> ValuedRun | None:
    """Repeat a launch recorded by `record`; read memory at some rows of its trace.

    wanted: for each row, the address of the element to read. Returns None if the launch
    is refused.
    """
    runs: list[ValuedRun] = []

    def make(fn: FunctionType, grid: Dim, block: Dim, shared: int) -> ValuedRun:
        runs.append(ValuedRun(wanted, fn, grid, block, shared, backwards))
        return runs[-1]

    with contextlib.suppress(Fault):
        simulate(kernel, config, args, readonly=readonly, make_run=make)
    for run in runs:
        run.settle()
        return run
    return None


def parameters(fn: FunctionType, args: tuple[Any, ...]) -> list[str]:
    """Return the names of the parameters that receive `args`.

    Raises `Fault` if their number differs from that of `args`.
    """
    names = list(inspect.signature(fn).parameters)
    if len(names) != len(args):
        raise Fault(
            "type",
            f"the kernel takes {len(names)} arguments ({', '.join(names)}), but "
            f"{len(args)} were given",
            "Outputs are arguments too: a kernel gets its inputs first, then its "
            "outputs.",
        )
    return names


def as_declared(
    kernel: Any, names: list[str], args: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Return the arguments, converted to the types of a declared signature.

    Returns them unchanged if the kernel declares no signature. Raises `Fault` if none
    of its signatures accepts them.
    """
    if not meaning.options_of(kernel).signatures:
        return args
    seen = [host_array(arg, name) for arg, name in zip(args, names, strict=True)]
    values = [arg if got is None else got for arg, got in zip(args, seen, strict=True)]
    signature = options.fitting(kernel, values)
    assert signature is not None
    return tuple(map(options.converted, args, signature.types))


def argument(
    run: Run,
    value: Any,
    name: str,
    written: np.ndarray[Any, Any] | None = None,
    readonly: bool = False,
) -> Any:
    """Return the value that the kernel receives for a host value.

    Raises `Fault` for what Numba refuses.
    """
    data = host_array(value, name)
    if data is not None:
        run.given.append(data)
        return run.array(data, Memory(name, "global", readonly=readonly), written)
    if isinstance(value, tuple):
        return tuple(argument(run, v, name) for v in value)
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, complex)):
        return value
    raise Fault(
        "type",
        f"the argument {name} is {described(value)}",
        "A kernel takes arrays and numbers.",
    )


def kind_of_argument(value: Any, name: str) -> Kind:
    """Return what is known about an argument before the kernel runs."""
    data = host_array(value, name)
    if isinstance(value, tuple) and data is None:
        return Tup(tuple(kind_of_argument(part, name) for part in value))
    return kind_of(value if data is None else data)


def host_array(value: Any, name: str = "the array") -> np.ndarray[Any, Any] | None:
    """Return a NumPy array over the memory of `value`, or None if it is not an array.

    name: the kernel's name for it. Raises `Fault` for a tensor that no kernel can use.
    """
    if isinstance(value, np.ndarray):
        return value if value.ndim else value.reshape(1)
    inner = meaning.simulated_array(value)
    if inner is not None:
        return host_array(inner, name)
    if type(value).__module__.partition(".")[0] == "torch":
        return host_array(tensor_memory(value, name), name)
    return None


def tensor_memory(tensor: Any, name: str) -> np.ndarray[Any, Any] | None:
    """Return the memory of a PyTorch tensor, or None for any other PyTorch object.

    Raises `Fault` for a tensor that the simulator cannot use.
    """
    if not hasattr(tensor, "numpy"):
        return None
    shown = f"the tensor {name}" if name.isidentifier() else name
    if tensor.requires_grad:
        raise Fault(
            "type",
            f"{shown} requires a gradient",
            f"A kernel cannot record one: pass {name}.detach().",
        )
    try:
        memory: np.ndarray[Any, Any] = tensor.numpy()
    except (TypeError, RuntimeError) as error:
        if "ScalarType" in str(error):
            kind = str(tensor.dtype).removeprefix("torch.")
            raise Fault(
                "type",
                f"{shown} holds {kind}, which NumPy does not have",
                "The simulator works on NumPy arrays. Give it float32.",
            ) from None
        message = f"{shown} has no memory that a kernel could use"
        raise Fault("type", message, f"PyTorch says: {error}") from None
    return memory
