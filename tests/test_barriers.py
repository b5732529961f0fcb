"""Barriers are told apart by the calls that lead to them, and by the turn of a loop."""

from typing import Any

import numpy as np
import pytest

import weft

from numba import cuda  # isort: skip
from weft.simulator import Fault, record, simulate

pytestmark = pytest.mark.skipif(weft.GPU, reason="the simulator is not in use")


@cuda.jit(device=True)
def meet(value):
    cuda.syncthreads()
    return value


@cuda.jit(device=True)
def meet_further_down(value):
    return meet(value) + 1


@cuda.jit
def from_both_branches(out):
    t = cuda.threadIdx.x
    if t < 32:  # noqa: SIM108
        v = meet(t)
    else:
        v = meet(t + 1)
    out[t] = v


@cuda.jit
def from_both_branches_further_down(out):
    t = cuda.threadIdx.x
    if t % 2:  # noqa: SIM108
        v = meet_further_down(t)
    else:
        v = meet_further_down(t + 1)
    out[t] = v


@cuda.jit
def lanes_take_turns(out):
    t = cuda.threadIdx.x
    for k in range(32):
        if k == t % 32:
            cuda.syncthreads()
    out[t] = t


@cuda.jit
def warps_take_turns(out):
    t = cuda.threadIdx.x
    k = 0
    while k < 4:
        if k == t // 32:
            meet(t)
        k += 1
    out[t] = t


@cuda.jit
def some_skip_turns(out):
    t = cuda.threadIdx.x
    for k in range(5):
        if k < t // 32:
            continue
        cuda.syncthreads()
    out[t] = t


@cuda.jit
def trips_by_warp_in_rounds(out):
    t = cuda.threadIdx.x
    for _ in range(2):
        for _ in range(t // 32 + 1):
            cuda.syncthreads()
    out[t] = t


WRONG = {
    from_both_branches: "for the call on line",
    from_both_branches_further_down: "for the call on line",
    lanes_take_turns: "in turn 1 of the loop on line",
    warps_take_turns: "in turn 1 of the loop on line",
    some_skip_turns: "in turn 1 of the loop on line",
    trips_by_warp_in_rounds: "in turn 2 of the loop on line",
}


@pytest.mark.parametrize("launch", [record, simulate])
@pytest.mark.parametrize("kernel", WRONG, ids=lambda kernel: kernel.__name__)
def test_threads_that_meet_by_chance_have_not_met(kernel: Any, launch: Any) -> None:
    with pytest.raises(Fault, match=WRONG[kernel]) as found:
        launch(kernel, (2, 128), (np.zeros(128, np.float32),))
    assert found.value.kind == "barrier"
    assert "cuda.syncthreads()" in [p.text for p in found.value.places]


def test_both_calls_are_shown() -> None:
    with pytest.raises(Fault) as found:
        simulate(from_both_branches, (1, 64), (np.zeros(64, np.float32),))
    texts = [p.text for p in found.value.places]
    assert texts == ["cuda.syncthreads()", "v = meet(t)", "v = meet(t + 1)"]


@cuda.jit
def all_by_the_same_calls(out):
    t = cuda.threadIdx.x
    v = t
    for _ in range(3):
        v = meet_further_down(v)
    v = meet(v)
    v = meet(v)
    out[t] = v


@cuda.jit
def strides(out):
    t = cuda.threadIdx.x
    for _ in range(t, 512, 128):
        cuda.syncthreads()
    k = t
    while k < 512:
        cuda.syncthreads()
        k += 128
    out[t] = t


@cuda.jit
def leaves_a_loop_in_two_ways(out):
    t = cuda.threadIdx.x
    for _ in range(3):
        k = 0
        while k < 4:
            cuda.syncthreads()
            k += 1
            if t == 3 and k == 4:
                break
        for j in range(5):
            cuda.syncthreads()
            if t == 5 and j == 4:
                break
    cuda.syncthreads()
    out[t] = t


@cuda.jit
def trips_by_warp_without_a_barrier(out):
    t = cuda.threadIdx.x
    for _ in range(3):
        for _ in range(t // 32 + 1):
            if out[0] > 1e9:
                cuda.syncthreads()
        cuda.syncthreads()
    cuda.syncthreads()
    out[t] = t


@cuda.jit
def a_branch_of_the_whole_block(out):
    t = cuda.threadIdx.x
    for k in range(4):
        if (k + cuda.blockIdx.x) % 2:  # noqa: SIM108
            v = meet(t)
        else:
            v = meet(t + 1)
    out[t] = v


@cuda.jit
def the_others_have_ended(out):
    t = cuda.threadIdx.x
    for _ in range(t // 32 + 1):
        cuda.syncthreads()
    out[t] = t


@pytest.mark.parametrize("launch", [record, simulate])
@pytest.mark.parametrize(
    "kernel",
    [
        all_by_the_same_calls,
        strides,
        leaves_a_loop_in_two_ways,
        trips_by_warp_without_a_barrier,
        a_branch_of_the_whole_block,
        the_others_have_ended,
    ],
    ids=lambda kernel: kernel.__name__,
)
def test_right_kernels_are_not_refused(kernel: Any, launch: Any) -> None:
    launch(kernel, (2, 128), (np.zeros(128, np.float32),))


def test_a_shuffle_takes_five_bits_of_its_distance() -> None:
    """PTX ISA, `shfl.sync`."""

    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        out[0, t] = cuda.shfl_down_sync(0xFFFFFFFF, t, -1)
        out[1, t] = cuda.shfl_up_sync(0xFFFFFFFF, t, -1)
        out[2, t] = cuda.shfl_down_sync(0xFFFFFFFF, t, -31)
        out[3, t] = cuda.shfl_down_sync(0xFFFFFFFF, t, 32)
        out[4, t] = cuda.shfl_up_sync(0xFFFFFFFF, t, 33)
        out[5, t] = cuda.shfl_xor_sync(0xFFFFFFFF, t, 35)
        out[6, t] = cuda.shfl_sync(0xFFFFFFFF, t, -2)

    out, lane = np.zeros((7, 32), np.int32), np.arange(32)
    simulate(kernel, (1, 32), (out,))
    assert (out[0] == np.where(lane == 0, 31, lane)).all()
    assert (out[1] == np.where(lane == 31, 0, lane)).all()
    assert (out[2] == np.minimum(lane + 1, 31)).all()
    assert (out[3] == lane).all()
    assert (out[4] == np.maximum(lane - 1, 0)).all()
    assert (out[5] == lane ^ 3).all()
    assert (out[6] == 30).all()


def test_a_sum_by_shuffles_the_wrong_way_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)

    @cuda.jit
    def warp_sum(x, out):
        mine = x[cuda.threadIdx.x]
        for step in (16, 8, 4, 2, 1):
            mine += cuda.shfl_up_sync(0xFFFFFFFF, mine, -step)
        if cuda.threadIdx.x == 0:
            out[0] = mine

    verdict = weft.check(
        warp_sum,
        spec=lambda x: x.sum(keepdims=True),
        inputs=lambda rng, n: rng.random(n, np.float32),
        sizes=[32],
        launch=lambda n: (1, n),
        unseen=False,
    )
    assert verdict.kind == "wrong-value"
