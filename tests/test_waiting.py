"""Where threads can wait, however the kernel names what they wait at."""

from inspect import isgeneratorfunction
from types import FunctionType
from typing import Any, get_type_hints

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

import numba  # isort: skip
from numba import cuda, float32, int32  # isort: skip
from numba.cuda import shfl_xor_sync as swap, syncthreads  # isort: skip
from numba.cuda import syncthreads as meet  # isort: skip
from weft import intrinsics
from weft.simulator import Fault, simulate
from weft.simulator.language import waiting
from weft.simulator.running.atomics import Atomic
from weft.simulator.running.namespace import Cuda
from weft.simulator.running.protocol import Waiting
from weft.simulator.running.scheduler import Run

FULL = 0xFFFFFFFF
gpu = cuda


def launched(kernel: Any, threads: int = 64) -> list[float]:
    out = np.zeros(threads, np.float32)
    simulate(kernel, (1, threads), (out,))
    return out.tolist()


def by_name(out):
    i = cuda.threadIdx.x
    out[i] = i
    syncthreads()
    value = out[63 - i]
    meet()
    out[i] = value


def of_a_module(out):
    i = cuda.threadIdx.x
    out[i] = i
    numba.cuda.syncthreads()
    value = out[63 - i]
    gpu.syncthreads()
    out[i] = value


def under_a_local_name(out):
    i = cuda.threadIdx.x
    barrier, here = cuda.syncthreads, cuda
    out[i] = i
    barrier()
    value = out[63 - i]
    here.syncthreads()
    out[i] = value


def one_or_the_other(out):
    i = cuda.threadIdx.x
    barrier = cuda.syncthreads if out[i] == 0 else cuda.syncwarp
    out[i] = i
    barrier()
    value = out[63 - i]
    cuda.syncthreads()
    out[i] = value


def in_a_lambda(out):
    i = cuda.threadIdx.x
    barrier = lambda: cuda.syncthreads()  # noqa: E731
    out[i] = i
    barrier()
    value = out[63 - i]
    barrier()
    out[i] = value


def in_a_function_inside(out):
    i = cuda.threadIdx.x

    def past_the_barrier(value):
        cuda.syncthreads()
        return value

    out[i] = past_the_barrier(i)
    value = past_the_barrier(out[(63 - i) * past_the_barrier(1)])
    out[i] = value


def of_the_grid(out):
    i = cuda.threadIdx.x
    grid = cuda.cg.this_grid()
    out[i] = i
    zero = grid.sync()
    value = out[63 - i]
    cuda.cg.this_grid().sync()
    out[i] = value + zero + of_a_group(g=grid)


@cuda.jit(device=True)
def of_a_group(g):
    return g.sync()


def given_to_a_function(out):
    i = cuda.threadIdx.x
    out[i] = i
    calling(cuda.syncthreads)
    value = out[63 - i]
    calling(f=cuda.syncthreads)
    out[i] = value


@cuda.jit(device=True)
def calling(f):
    f()


def in_conditions(out):
    i = cuda.threadIdx.x
    while cuda.syncthreads_or(out[i] < i):
        out[i] += 1 if out[i] < i else 0
    if cuda.syncthreads_and(True) and cuda.syncthreads_count(i < 10) == 10:
        value = out[63 - i]
        cuda.syncthreads()
        out[i] = value


@pytest.mark.parametrize(
    "function",
    [
        by_name,
        of_a_module,
        under_a_local_name,
        one_or_the_other,
        in_a_lambda,
        in_a_function_inside,
        of_the_grid,
        given_to_a_function,
        in_conditions,
    ],
)
def test_barriers(function: Any) -> None:
    assert launched(cuda.jit(function)) == list(range(63, -1, -1))


@cuda.jit(device=True)
def swapped(value):
    return cuda.shfl_xor_sync(FULL, value, 31)


@cuda.jit(device=True)
def applied(f, value):
    return f(value)


# fmt: off
first, second = cuda.jit(lambda v: swapped(v), device=True), cuda.jit(lambda v: swapped(v) + 0.5, device=True)  # noqa: E501
# fmt: on


def in_a_device_function(out):
    i = cuda.threadIdx.x
    out[i] = (swapped(float32(i)) + swap(FULL, i, 31)) / 2


def passed_on(out):
    i = cuda.threadIdx.x
    out[i] = (applied(swapped, float32(i)) + applied(f=swapped, value=i)) / 2


def of_two_lambdas_on_a_line(out):
    i = cuda.threadIdx.x
    out[i] = first(float32(i)) + second(float32(i)) - first(float32(i)) - 0.5


@pytest.mark.parametrize(
    "function", [in_a_device_function, passed_on, of_two_lambdas_on_a_line]
)
def test_shuffles(function: Any) -> None:
    assert launched(cuda.jit(function), 32) == list(range(31, -1, -1))


@cuda.jit(device=True)
def butterfly(value, distance):
    if distance == 0:
        return value
    return butterfly(value + cuda.shfl_xor_sync(FULL, value, distance), distance // 2)


@cuda.jit(device=True)
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def test_functions_that_call_themselves() -> None:
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        out[i] = butterfly(float32(i), 16) + factorial(4)

    assert launched(kernel, 32) == [496 + 24] * 32


def test_what_may_wait() -> None:
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        mine = cuda.local.array(2, int32)
        mine[0] = 5
        atomic = cuda.atomic
        change = atomic.exch
        out[i] = atomic.cas(mine, 0, 5, 7)
        out[i] += 10 * change(mine, 0, 9)
        out[i] += 100 * atomic.compare_and_swap(mine[:1], 9, 1)
        out[i] += 1000 * mine[0]
        for _ in range(3):
            out[i] = intrinsics.peek(out, i)
            cuda.nanosleep(10)

    assert launched(kernel, 32) == [1975] * 32


def test_the_lists_have_all_that_waits() -> None:
    asking = {"barrier", "pause", "waiting", "_warp"}
    asks = {
        name
        for name, method in vars(Cuda).items()
        if isinstance(method, FunctionType)
        and name[0] != "_"
        and asking & set(method.__code__.co_names)
    }
    generators = {
        f"atomic.{name}"
        for name, method in vars(Atomic).items()
        if name[0] != "_" and get_type_hints(method)["return"] == Waiting
    }
    known = waiting._CUDA
    assert {n for n, how in known.items() if how is waiting.Wait.GENERATOR} == (
        generators
    )
    assert {n for n, how in known.items() if how is waiting.Wait.ASKS} == (
        asks | {"GridGroup.sync"}
    )


def test_a_function_that_waits_since_it_was_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scope = test_a_function_that_waits_since_it_was_changed.__globals__
    monkeypatch.setitem(scope, "part", plain_part)
    assert launched(whole, 32) == list(range(32))
    monkeypatch.setitem(scope, "part", swapped)
    assert launched(whole, 32) == list(range(31, -1, -1))


@cuda.jit(device=True)
def plain_part(value):
    return value


part: Any = plain_part


@cuda.jit(device=True)
def between(value):
    return part(value)


@cuda.jit
def whole(out):
    i = cuda.threadIdx.x
    out[i] = between(float32(i))


def runs(kernel: Any, out: np.ndarray[Any, Any]) -> tuple[Run, Fault | None]:
    """A launch of 64 threads, and how it failed."""
    made: list[Run] = []

    def make(*given: Any) -> Run:
        made.append(Run(*given))
        return made[0]

    try:
        simulate(kernel, (1, 64), (out,), make_run=make)
    except Fault as fault:
        return made[0], fault
    return made[0], None


def test_what_never_waits_is_a_plain_call() -> None:
    @cuda.jit(device=True)
    def half(value):
        return value / 2

    @cuda.jit
    def kernel(out):
        for k in range(3):
            out[cuda.threadIdx.x] += half(k)

    run, fault = runs(kernel, np.zeros(64, np.float32))
    assert fault is None
    assert not isgeneratorfunction(run.call)


def test_threads_that_still_wait_are_closed() -> None:
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        cuda.syncthreads()
        out[i + 63] = swapped(i)

    run, fault = runs(kernel, np.zeros(64, np.float32))
    assert fault is not None
    assert fault.kind == "out-of-bounds"
    threads = [t for block in run._alive for t in block.threads]
    assert len(threads) == 64
    assert all(t.generator is None or not t.frames for t in threads)


@cuda.jit(device=True)
def empty(value):
    cuda.syncwarp()
    raise StopIteration


def test_an_iterator_that_is_empty() -> None:
    @cuda.jit
    def kernel(out):
        cuda.syncthreads()
        empty(out[0])

    _, fault = runs(kernel, np.zeros(64, np.float32))
    assert fault is not None
    assert (fault.kind, fault.message) == ("exception", "StopIteration")
    places = [(place.function, place.text) for place in fault.places]
    assert places == [("empty", "raise StopIteration"), ("kernel", "empty(out[0])")]


def test_what_a_function_takes_by_default_is_no_place_to_wait() -> None:
    @cuda.jit(device=True)
    def more(value, by=(lambda: 2)()):  # noqa: B008
        return value + by

    @cuda.jit
    def kernel(out):
        out[cuda.threadIdx.x] = more(1)

    assert launched(kernel, 32) == [3] * 32


def test_a_comprehension_cannot_wait() -> None:
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        out[i] = sum(cuda.shfl_xor_sync(FULL, i, k) for k in range(3))

    _, fault = runs(kernel, np.zeros(64, np.float32))
    assert fault is not None
    assert fault.message == "a kernel cannot make a list"


def test_a_kernel_that_waits_returns_nothing() -> None:
    @cuda.jit
    def kernel(out):
        cuda.syncthreads()
        if out[0] > 1:
            return None
        return out[0]

    _, fault = runs(kernel, np.zeros(64, np.float32))
    assert fault is not None
    assert fault.message == "the kernel returns 0.0"
    assert fault.places[0].text == "return out[0]"
