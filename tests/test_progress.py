"""Loops that end are not called endless, and those that do not are found soon."""

import inspect
import itertools
import signal
from typing import Any

import numpy as np
import pytest

import weft
from weft import effort
from weft.intrinsics import peek, poke

from numba import cuda, float32  # isort: skip
from weft.simulator import Fault, record, simulate

pytestmark = pytest.mark.skipif(weft.GPU, reason="the simulator is not in use")


@cuda.jit
def counts(out, rounds):
    k = 0
    while k < rounds:
        k += 1
    out[cuda.grid(1)] = k


@cuda.jit
def newton(out, rounds):
    i = cuda.grid(1)
    root, k = float32(1), 0
    while k < rounds:
        root = (root + float32(i + 1) / root) * float32(0.5)
        k += 1
    out[i] = root


@cuda.jit
def meets(out, rounds):
    k = 0
    while k < rounds:
        cuda.syncthreads()
        k += 1
    out[cuda.grid(1)] = k


@cuda.jit
def looks(out, flag, rounds):
    k = 0
    while k < rounds and peek(flag, 0) == 0:
        k += 1
    out[cuda.grid(1)] = k


@cuda.jit
def one_by_one(out, lock, rounds):
    tries = 0
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        tries += 1
    cuda.threadfence()
    k = 0
    while k < rounds:
        k += 1
    out[0] += 1
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


@cuda.jit
def one_works_long(out, flag, rounds):
    if cuda.threadIdx.x == 0:
        k = 0
        while k < rounds:
            k += 1
        out[0] = k
        cuda.threadfence()
        poke(flag, 0, 1)
    else:
        while peek(flag, 0) == 0:
            cuda.nanosleep(100)
        cuda.threadfence()
        out[cuda.threadIdx.x] = out[0]


def floats(size: int = 1024) -> Any:
    return np.zeros(size, np.float32)


def word() -> Any:
    return np.zeros(1, np.int32)


@pytest.mark.parametrize("launch", [record, simulate])
@pytest.mark.parametrize(
    ("kernel", "config", "args"),
    [
        (counts, (1, 1024), (floats(), 200)),
        (counts, (1, 1024), (floats(), 2_100)),
        (counts, (2, 1), (floats(), 200_000)),
        (newton, (1, 1024), (floats(), 200)),
        (meets, (1, 1024), (floats(), 200)),
        (looks, (1, 1024), (floats(), word(), 200)),
        (one_by_one, (64, 1), (floats(), word(), 300)),
        (one_works_long, (1, 128), (floats(), word(), 20_000)),
    ],
)
def test_a_loop_that_ends_is_not_endless(
    launch: Any, kernel: Any, config: Any, args: Any
) -> None:
    launch(kernel, config, args)


def test_a_plain_launch_of_2100_rounds_with_a_barrier() -> None:
    out = floats(256)
    simulate(meets, (1, 256), (out, 2_100))
    assert (out == 2_100).all()


@cuda.jit
def never(out):
    k = 0
    while k >= 0:  # <- here
        k += 1
    out[0] = k


@cuda.jit
def one_never(out):
    k = 0
    while k < 100 or cuda.threadIdx.x == 77:  # <- here
        k += 1
    out[cuda.threadIdx.x] = k


@cuda.jit
def inner_for(out):
    k = 0
    while k >= 0:
        for _ in range(63):  # <- here
            k += 1
    out[0] = k


@cuda.jit
def step_of_zero(out):
    step = 0
    while step < 64:  # <- here
        cuda.syncthreads()
        step *= 2


@cuda.jit
def never_close(out):
    error = 1.0
    while error > 1e-9:  # <- here
        cuda.syncthreads()
        error += 1e-9


@cuda.jit
def over_everything(out):
    for i in range(10**12):  # <- here
        out[0] = i


@cuda.jit
def numbered(out):
    for i, _ in enumerate(range(10**12)):  # <- here
        out[0] = i


@cuda.jit
def in_pairs(out):
    for i, _ in zip(range(10**12), range(10**12)):  # noqa: B905  <- here
        out[0] = i


@cuda.jit
def summed(out):
    out[0] = sum(range(10**12))  # <- here


@cuda.jit
def largest(out):
    out[0] = max(range(10**12))  # <- here


def tiered(launches: list[Any]) -> list[Any]:
    """Pair two ways to run a kernel with three launches; two pairs are not long."""
    fast = (record, launches[2]), (simulate, launches[1])
    pairs = itertools.product((record, simulate), launches)
    long = pytest.mark.long
    return [pytest.param(*p, marks=() if p in fast else long) for p in pairs]


def marked(kernel: Any) -> int:
    lines, first = inspect.getsourcelines(kernel.py_func)
    return first + next(k for k, text in enumerate(lines) if "<- here" in text)


@pytest.mark.parametrize(("launch", "threads"), tiered([1, 32, 1024]))
@pytest.mark.parametrize(
    "kernel",
    [
        never,
        one_never,
        inner_for,
        step_of_zero,
        over_everything,
        numbered,
        in_pairs,
        summed,
        largest,
    ],
    ids=lambda kernel: kernel.__name__,
)
def test_a_loop_without_end_is_found(launch: Any, threads: int, kernel: Any) -> None:
    if kernel is one_never and threads < 78:
        pytest.skip("thread 77 is the one that never ends")
    if kernel is inner_for and threads > 32:
        pytest.skip("a turn of each thread takes long")
    with effort.counted() as done, pytest.raises(Fault) as found:
        launch(kernel, (2, threads), (floats(),))
    assert found.value.kind == "endless-loop"
    assert found.value.places[0].line == marked(kernel)
    assert done["turns"] < 300_000
    assert done["accesses"] < 1_100_000


def test_a_loop_with_barriers_and_other_numbers_each_time_is_found() -> None:
    with effort.counted() as done, pytest.raises(Fault, match="finishes") as found:
        record(never_close, (1, 64), (floats(),))
    assert found.value.places[0].line == marked(never_close)
    assert done["turns"] < 2_000_000


@cuda.jit
def spins_plainly(flag):
    while flag[0] == 0:  # <- here
        pass


@cuda.jit
def spins_with_peek(flag):
    while peek(flag, 0) == 0:  # <- here
        pass


@cuda.jit
def spins_with_cas(flag):
    while cuda.atomic.cas(flag, 0, 1, 1) == 0:  # <- here
        pass


@cuda.jit
def spins_and_sleeps(flag):
    while peek(flag, 0) == 0:  # <- here
        cuda.nanosleep(64)


@cuda.jit
def spins_together(flag):
    seen = 0
    while seen == 0:  # <- here
        cuda.syncthreads()
        seen = peek(flag, 0)


@cuda.jit
def some_store_it_again(flag):
    while flag[0] == 0:  # <- here
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            flag[0] = 0
        cuda.syncthreads()


@pytest.mark.parametrize(("launch", "config"), tiered([(1, 1), (4, 32), (1, 1024)]))
@pytest.mark.parametrize(
    "kernel",
    [
        spins_plainly,
        spins_with_peek,
        spins_with_cas,
        spins_and_sleeps,
        spins_together,
        some_store_it_again,
    ],
    ids=lambda kernel: kernel.__name__,
)
def test_a_flag_that_nobody_sets_is_found_soon(
    launch: Any, config: Any, kernel: Any
) -> None:
    with effort.counted() as done, pytest.raises(Fault) as found:
        launch(kernel, config, (word(),))
    assert found.value.kind == "endless-loop"
    assert found.value.places[0].line == marked(kernel)
    assert done["accesses"] < 400_000
    assert done["turns"] < 450_000


def test_loops_over_few_of_many_things() -> None:
    @cuda.jit
    def kernel(out):
        for a, _ in zip(range(20), range(10**12)):  # noqa: B905
            out[a] = 1
        for a, _ in enumerate(range(10**12)):
            if a == 5:
                break
            out[20 + a] = 1
        for a in range(10**12):
            if a == 5:
                break
            out[30 + a] = 1

    out = floats(64)
    simulate(kernel, (1, 1), (out,))
    assert out.sum() == 30


def test_iter_takes_one_thing() -> None:
    @cuda.jit
    def kernel(out):
        for _ in iter(int, 1):
            out[0] += 1

    with pytest.raises(Fault, match="iter") as found:
        simulate(kernel, (1, 1), (floats(),))
    assert found.value.kind == "type"
    assert found.value.places


def test_printing_ends_but_the_kernel_goes_on(capsys: Any) -> None:
    @cuda.jit
    def kernel(out):
        for k in range(5_000):
            print(k)
        out[0] = 1

    out = floats(1)
    simulate(kernel, (1, 1), (out,))
    said = capsys.readouterr().out.splitlines()
    assert out[0] == 1
    assert said[999] == "999"
    assert said[1000].startswith("... This launch has printed 1,000 lines")
    assert len(said) == 1001


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, SystemExit, GeneratorExit, BaseException]
)
def test_a_kernel_cannot_raise_what_ends_python(error: type[BaseException]) -> None:
    @cuda.jit
    def kernel(out):
        if cuda.grid(1) == 3:
            raise error

    with pytest.raises(Fault, match=error.__name__) as found:
        simulate(kernel, (1, 8), (floats(),))
    assert found.value.kind == "type"
    assert found.value.thread == (3,)
    assert found.value.places[0].text == "raise error"


def test_a_kernel_may_raise_stop_iteration() -> None:
    @cuda.jit
    def kernel(out):
        raise StopIteration

    with pytest.raises(Fault) as found:
        simulate(kernel, (1, 1), (floats(),))
    assert (found.value.kind, found.value.message) == ("exception", "StopIteration")


@pytest.mark.usefixtures("interruptible")
def test_stop_is_no_fault_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    @cuda.jit
    def kernel(out):
        cuda.nanosleep(1)

    def interrupted(*_: Any) -> int:
        signal.raise_signal(signal.SIGINT)
        return 0

    monkeypatch.setattr("weft.simulator.running.namespace.Cuda.nanosleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        simulate(kernel, (1, 1), (floats(),))


def test_without_source_a_kernel_is_refused() -> None:
    scope: dict[str, Any] = {}
    exec("def kernel(out):\n    while True:\n        pass\n", scope)
    with pytest.raises(Fault, match="source") as found:
        simulate(cuda.jit(scope["kernel"]), (1, 1), (floats(),))
    assert found.value.kind == "source"


@pytest.mark.parametrize("where", ["local", "shared"])
def test_an_array_far_too_large_is_not_made(where: str) -> None:
    @cuda.jit
    def local(out):
        mine = cuda.local.array(10**10, float32)
        out[0] = mine[0]

    @cuda.jit
    def shared(out):
        ours = cuda.shared.array(10**10, float32)
        out[0] = ours[0]

    with pytest.raises(Fault, match="40,000,000,000 bytes") as found:
        simulate({"local": local, "shared": shared}[where], (1, 1), (floats(),))
    assert found.value.kind == {"local": "type", "shared": "launch"}[where]


# All launches of a check share one limit


@cuda.jit
def slowly(x, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for _ in range(2000):  # <- here
            total += x[i]
        out[i] = total / float32(2000)


def checked(monkeypatch: pytest.MonkeyPatch, sizes: list[int]) -> Any:
    """The verdict on `slowly`, where a check may take 200,000 iterations."""
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    monkeypatch.setattr(effort, "MOST_ITERATIONS", 200_000)
    return weft.check(
        slowly,
        spec=lambda x: x,
        inputs=lambda rng, n: rng.integers(1, 5, n).astype(np.float32),
        sizes=sizes,
        launch=lambda n: (-(-n // 32), 32),
        larger=False,
    )


def test_a_check_ends_when_its_launches_have_taken_too_much_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with effort.counted() as done:
        verdict = checked(monkeypatch, [40] * 10)
    assert verdict.kind == "endless-loop"
    assert verdict.headline == "more work than a check does"
    assert "loops of this check add up to 20" in verdict.message
    assert verdict.places[0][0].line == marked(slowly)
    assert done["launches"] < 6
    assert done["iterations"] < 210_000


def test_each_check_has_the_whole_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        assert checked(monkeypatch, [20])
    assert effort.iterations() is None
