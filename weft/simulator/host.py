"""The host's side of a simulated GPU: launches, events and stubs for kernel-only names.

`behind_numba` provides these to Numba's own simulator, `stand_in` to a module that
replaces Numba.
"""

import time
from collections.abc import Callable, Container
from typing import Any

from weft import meaning
from weft.simulator.faults import Fault, LaunchError
from weft.simulator.launch import host_array, record, simulate
from weft.simulator.limits import (
    MAX_BLOCK,
    MAX_GRID,
    MAX_THREADS,
    MOST_SHARED,
    WARP,
    configuration,
    most_shared,
)
from weft.simulator.memory.arrays import poison
from weft.simulator.running.namespace import Cuda
from weft.simulator.trace.trace import Trace

CAPABILITY = (9, 0)
MULTIPROCESSORS = 132  # as on an H200; programs size launches by it


Check = Callable[[Trace], None]
_checks: list[Check] = []  # holds at most one function


def check_launches(check: Check | None) -> None:
    """From now on, call `check` with the trace of every launch; None ends this."""
    _checks[:] = [] if check is None else [check]


def run(
    kernel: Any,
    config: Any,
    args: tuple[Any, ...],
    fresh: frozenset[str] = frozenset(),
) -> None:
    """Run a launch, and check its trace if `check_launches` has set a check.

    fresh: the names of parameters whose arrays hold nothing before the launch. Raises
    `Fault` if the launch fails.
    """
    if not _checks:
        simulate(kernel, config, args)
        return
    trace, _ = record(kernel, config, args, fresh=fresh)
    _checks[0](trace)


class Launcher:
    """A configured launch, `kernel[grid, block, stream, shared]`, before its call."""

    def __init__(self, kernel: Any, config: Any) -> None:
        most = most_shared(meaning.python_function(kernel))
        # a wrong configuration is refused on the line that gives it
        configuration(config, most)
        self._kernel, self._config = kernel, config

    def __call__(self, *args: Any) -> None:
        __tracebackhide__ = True
        back: list[Any] = []
        given = tuple(meaning.transferred(arg, back) for arg in args)
        fresh = emptied(self._kernel, args, given)
        try:
            run(self._kernel, self._config, given, fresh)
        except Fault as fault:
            raise fault.with_traceback(None) from None
        finally:
            for write_back in back:
                write_back()


def emptied(
    kernel: Any, args: tuple[Any, ...], given: tuple[Any, ...]
) -> frozenset[str]:
    """Poison the arrays made for `cuda.Out`, and return their parameters' names.

    args: as the launch gets them. given: as the kernel gets them.
    """
    function = meaning.python_function(kernel)
    names = function.__code__.co_varnames if function else ()
    fresh = set()
    for name, arg, array in zip(names, args, given, strict=False):
        memory = meaning.simulated_array(array)
        if meaning.is_out(arg) and array is not arg.value and memory is not None:
            poison(memory, "global")
            fresh.add(name)
    return frozenset(fresh)


def launch_unconfigured(kernel: Any, *args: Any) -> Any:
    if meaning.is_device_function(kernel):
        raise Fault(
            "launch",
            f"{kernel.__name__} is a device function",
            "Only a kernel can call it: the host launches kernels.",
        )
    raise LaunchError(
        f"{kernel.__name__} was called without a grid and a block",
        f"Launch it with {kernel.__name__}[grid, block](...).",
    )


def for_all(
    kernel: Any, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0
) -> Launcher:
    threads = tpb or 128
    return Launcher(kernel, (max(1, -(-ntasks // threads)), threads, stream, sharedmem))


class Event:
    """An event that stores when it was recorded. Launches here are synchronous."""

    def __init__(self, timing: bool = True) -> None:
        self._at: float | None = None

    def record(self, stream: Any = 0) -> None:
        self._at = time.perf_counter()

    def query(self) -> bool:
        return True

    def wait(self, stream: Any = 0) -> None: ...

    def synchronize(self) -> None: ...

    def elapsed_time(self, later: "Event") -> float:
        """Return the time in ms from this event to `later`.

        It is measured on this machine's CPU, not on a GPU.
        """
        if self._at is None or later._at is None:
            raise ValueError("record both events before you ask for the time between")
        return (later._at - self._at) * 1e3


class Stub:
    """A placeholder for a name that only kernels use, such as `grid` or `threadIdx`.

    In a kernel, `Cuda.twin_of` replaces it. Numba compiles most such names only where
    the kernel writes `cuda.name`. Stubs for them are refused elsewhere, because their
    `__module__` is not one of Numba's.
    """

    def __init__(self, name: str) -> None:
        self.__name__ = self.of_cuda = name
        self.__module__ = "numba.cuda.stubs" if name in BY_NAME else __name__

    def _outside(self) -> Any:
        raise Fault(
            "type",
            f"cuda.{self.__name__} is used outside a kernel",
            "It belongs to a thread on the GPU, and the host is none. Only a kernel, "
            "or a device function that it calls, can use it.",
        )

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self._outside()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._outside()

    def __repr__(self) -> str:
        return f"cuda.{self.__name__}"


def stubs(known: Container[str] = ()) -> dict[str, Stub]:
    """Return stubs for the names that only kernels may use. known: names to omit."""
    return {
        name: Stub(name)
        for name in (*vars(Cuda), *OF_A_RUN)
        if not name.startswith("_") and name != "twin_of" and name not in known
    }


# The names that numba-cuda 0.30 also compiles when imported from `numba.cuda`.
BY_NAME = frozenset(
    (
        "grid gridsize all_sync any_sync ballot_sync eq_sync shfl_sync "
        "shfl_up_sync shfl_down_sync shfl_xor_sync syncthreads "
        "syncthreads_and syncthreads_count syncthreads_or"
    ).split()
)

# What a run or a thread provides to `Cuda`, besides its methods.
OF_A_RUN = tuple(
    (
        "threadIdx blockIdx blockDim gridDim laneid shared local const atomic cg fp16"
    ).split()
)

ATTRIBUTES: dict[str, Any] = {
    "name": b"Warp & Weft simulator",
    "compute_capability": CAPABILITY,
    "WARP_SIZE": WARP,
    "MAX_THREADS_PER_BLOCK": MAX_THREADS,
    "MAX_BLOCK_DIM_X": MAX_BLOCK[0],
    "MAX_BLOCK_DIM_Y": MAX_BLOCK[1],
    "MAX_BLOCK_DIM_Z": MAX_BLOCK[2],
    "MAX_GRID_DIM_X": MAX_GRID[0],
    "MAX_GRID_DIM_Y": MAX_GRID[1],
    "MAX_GRID_DIM_Z": MAX_GRID[2],
    "MAX_SHARED_MEMORY_PER_BLOCK": MOST_SHARED,
    "MULTIPROCESSOR_COUNT": MULTIPROCESSORS,
    "MAX_THREADS_PER_MULTI_PROCESSOR": 2048,
    "COOPERATIVE_LAUNCH": 1,
}


def is_cuda_array(data: Any) -> bool:
    """Return whether a kernel can take `data` as an array."""
    try:
        return host_array(data) is not None
    except Fault:  # a tensor that a kernel cannot take
        return False


def array_of(data: Any) -> Any:
    """Return a NumPy array over the memory of an array or a CPU tensor.

    Raises TypeError for anything else, and `Fault` for a tensor that no kernel can use.
    """
    array = host_array(data)
    if array is None:
        raise TypeError(f"{type(data).__name__} holds no array")
    return array
