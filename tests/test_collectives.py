"""Operations of a whole warp: registered like any intrinsic, checked by the scheduler.

The course's tensor-core operations will be such. Here a small one stands in for them.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from numba import cuda, float32  # isort: skip
from weft.counters import count
from weft.intrinsics import registry
from weft.intrinsics.memory import as_one
from weft.intrinsics.registry import Effect, Lanes, Operation
from weft.simulator import Fault, record, simulate

warp_dot: Any = None
masked_sum: Any = None


def dot(calls: dict[int, tuple[Any, Any]]) -> dict[int, Any]:
    """Every lane gets the sum of the products of all lanes."""
    total = sum((a * b for a, b in calls.values()), np.float32(0))
    return dict.fromkeys(calls, total)


def no_ptx(gpu: Any, call: str) -> Any:
    raise NotImplementedError(call)


@pytest.fixture(autouse=True)
def operations() -> Iterator[None]:
    """Two operations that exist as long as a test runs."""
    global warp_dot, masked_sum
    warp_dot = registry.register(
        Operation(
            "warp_dot", dot, no_ptx, Effect.COLLECTIVE, Lanes.ALL, (8, 0),
            gives=("float32",),
        )
    )  # fmt: skip
    masked_sum = registry.register(
        Operation(
            "masked_sum",
            lambda calls: dict.fromkeys(calls, sum(v for (v,) in calls.values())),
            no_ptx,
            Effect.COLLECTIVE,
            Lanes.MASK,
            gives=("float32",),
        )
    )
    yield
    registry.remove("warp_dot")
    registry.remove("masked_sum")


X = np.arange(64, dtype=np.float32)


def launch(kernel: Any, threads: int, run: Any = simulate) -> Any:
    out = np.zeros(64, np.float32)
    run(kernel, (1, threads), (X, out))
    return out


def refused(kernel: Any, threads: int = 32) -> Fault:
    with pytest.raises(Fault) as caught:
        launch(kernel, threads)
    assert caught.value.kind == "warp"
    return caught.value


@pytest.mark.parametrize("run", [simulate, record])
def test_all_lanes_of_each_warp_meet(run: Any) -> None:
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = warp_dot(x[i], float32(2))

    out = launch(kernel, 64, run)
    assert out.tolist() == [2 * X[:32].sum()] * 32 + [2 * X[32:].sum()] * 32


def test_a_warp_that_is_not_full_is_refused() -> None:
    @cuda.jit
    def kernel(x, out):
        out[cuda.grid(1)] = warp_dot(x[0], x[1])

    fault = refused(kernel, 48)
    assert fault.message == (
        "`warp_dot` needs all 32 lanes of a warp, and lanes 16–31 are not there: the "
        "warp has 16 lanes"
    )
    assert fault.places[0].text == "out[cuda.grid(1)] = warp_dot(x[0], x[1])"


def test_lanes_that_have_returned_are_missed() -> None:
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i == 31:
            return
        out[i] = warp_dot(x[i], x[i])

    fault = refused(kernel)
    assert fault.message.endswith("of a warp, and lane 31 has returned")
    assert "Guard the loads and stores around it" in fault.why


def test_lanes_that_wait_elsewhere_are_missed() -> None:
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < 16:
            out[i] = warp_dot(x[i], x[i])
        else:
            cuda.syncwarp()
            out[i] = warp_dot(x[i], x[i])

    fault = refused(kernel)
    assert "the warp_dot waits for lanes 16–31, which never arrive" in fault.message
    assert "lane 16 waits on line" in fault.message


def test_all_must_come_to_the_same_line() -> None:
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i % 2:
            out[i] = warp_dot(x[i], x[i])
        else:
            out[i] = warp_dot(x[i], x[i])

    fault = refused(kernel)
    assert "waits for lanes 1, 3, 5" in fault.message
    assert len(fault.places) == 2


def test_lanes_can_be_named_by_a_mask() -> None:
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < 4:
            out[i] = masked_sum(0xF, x[i])

    assert launch(kernel, 32)[:5].tolist() == [6, 6, 6, 6, 0]


def test_arguments_that_it_does_not_take() -> None:
    @cuda.jit
    def kernel(x, out):
        out[cuda.grid(1)] = warp_dot(x[0])

    with pytest.raises(Fault, match="warp_dot: not enough values") as caught:
        launch(kernel, 32)
    assert caught.value.kind == "type"


@pytest.mark.parametrize("width", [2, 4])
def test_each_lane_may_read_its_part_first(width: int) -> None:
    """As `ldmatrix` does: a row per lane at once, then they exchange elements."""

    def row(lane: int, x: Any, index: int) -> tuple[Any, ...]:
        with as_one(x, width):
            return tuple(x[index + k] for k in range(width))

    def columns(calls: dict[int, tuple[Any, ...]]) -> dict[int, Any]:
        return {lane: sum(calls[k][lane % width] for k in calls) for lane in calls}

    read_rows = registry.register(
        Operation(
            "read_rows", columns, no_ptx, Effect.COLLECTIVE, Lanes.ALL,
            elements=width, first=row, gives=("float32",),
        )
    )  # fmt: skip

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = read_rows(x, width * i)

    x, out = np.arange(32 * width, dtype=np.float32), np.zeros(32, np.float32)
    trace, _ = record(kernel, (1, 32), (x, out), rows=True)
    registry.remove("read_rows")
    assert out.tolist() == x.reshape(32, width).sum(axis=0).tolist() * (32 // width)
    load = next(line for line in count(trace) if not line.store)
    assert (load.requests, load.bytes, load.sectors) == (1, 128 * width, 4 * width)
    assert {place.text for place in trace.places} == {
        "out[i] = read_rows(x, width * i)"
    }


def test_the_host_cannot_call_it() -> None:
    with pytest.raises(TypeError, match="warp_dot: only a kernel can call it"):
        warp_dot(1, 2)


def test_an_entry_has_lanes_if_it_is_collective() -> None:
    with pytest.raises(ValueError, match="collective operations alone have lanes"):
        Operation("alone", dot, no_ptx, Effect.COLLECTIVE)
    with pytest.raises(ValueError, match="there is an operation warp_dot already"):
        registry.register(
            Operation("warp_dot", dot, no_ptx, Effect.COLLECTIVE, Lanes.ALL)
        )
