"""The steps that led to a fault: which accesses, in which order, with which values."""

import re
from typing import Any

import numpy as np
import pytest

import weft
from weft.checking.history import Step
from weft.checking.verdict import Verdict
from weft.kernels import history
from weft.places import Place

from numba import cuda, float32, int32  # isort: skip

F = np.float32


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)


def check(kernel: Any, spec: Any, size: int = 64, **more: Any) -> Verdict:
    """Check a kernel on 0, 1, 2, …, or on what is given as `inputs`."""
    given = {
        "inputs": lambda rng, n: (np.arange(n, dtype=F),),
        "sizes": [size],
        "launch": lambda n: ((n + 63) // 64, 64),
        "unseen": False,
    }
    return weft.check(kernel, spec=spec, **(given | more))


def told(verdict: Verdict) -> list[str]:
    """The steps without the numbers of the lines."""
    return [str(step).partition(": ")[2] for step in verdict.past]


@cuda.jit
def reversed_too_early(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    out[t] = tile[63 - t]


def test_a_race_on_shared_memory():
    verdict = check(reversed_too_early, lambda x: x[::-1])
    assert verdict.kind == "race"
    assert told(verdict) == [
        "thread 31 reads `x[31]`: 31; `tile[32]` before and after: nothing yet",
        "thread 31 writes 31 to `tile[31]`; `tile[32]` before and after: nothing yet",
        "thread 31 reads `tile[32]`: nothing yet; "
        "`tile[32]` before and after: nothing yet",
        "thread 32 reads `x[32]`: 32; `tile[32]` before and after: nothing yet",
        "thread 32 writes 32 to `tile[32]`; `tile[32]`: nothing yet → 32",
    ]
    texts = [step.place.text for step in verdict.past]
    assert texts[2] == "out[t] = tile[63 - t]"
    assert texts[4] == "tile[t] = x[t]"


@cuda.jit
def counted_without_an_atomic(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[x[i]] += 1


def test_an_update_that_is_lost():
    verdict = check(
        counted_without_an_atomic,
        lambda x: np.full(1, 2, np.int32),
        2,
        inputs=lambda rng, n: (np.zeros(n, np.int32),),
        out=lambda x: np.zeros(1, np.int32),
        launch=lambda n: (2, 1),
    )
    assert verdict.topic == "lost-update"
    assert told(verdict)[1:] == [
        "thread 0 of block 0 reads `out[0]`: 0; `out[0]` before and after: 0",
        "thread 0 of block 0 writes 1 to `out[0]`; `out[0]`: 0 → 1",
        "thread 0 of block 1 reads `x[1]`: 0; `out[0]` before and after: 1",
        "thread 0 of block 1 reads `out[0]`: 1; `out[0]` before and after: 1",
    ]


@cuda.jit
def shifted(x, out):
    tile = cuda.shared.array(65, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    out[t] = tile[t + 1]


def test_a_read_of_what_nobody_has_written_after_a_barrier():
    verdict = check(shifted, lambda x: np.append(x[1:], F(0)))
    assert verdict.kind == "uninitialised"
    assert told(verdict)[1:] == [
        "thread 63 writes 63 to `tile[63]`; `tile[64]` before and after: nothing yet",
        "all 64 threads of block 0 meet at the barrier; "
        "`tile[64]` before and after: nothing yet",
        "thread 63 reads `tile[64]`: nothing yet; "
        "`tile[64]` before and after: nothing yet",
    ]


@cuda.jit
def bins_that_nobody_clears(x, out):
    bins = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    cuda.atomic.add(bins, int32(x[t]), 1)
    cuda.syncthreads()
    out[t] = bins[t]


def test_a_change_of_what_nobody_has_written():
    verdict = check(bins_that_nobody_clears, lambda x: np.ones(64, F))
    assert verdict.kind == "uninitialised"
    assert told(verdict) == [
        "thread 0 reads `x[0]`: 0; `bins[0]` before and after: nothing yet",
        "thread 0 changes `bins[0]` atomically; `bins[0]`: nothing yet → unknown",
    ]


@cuda.jit
def total_that_is_cleared_late(x, out):
    i = cuda.grid(1)
    cuda.atomic.add(out, 0, x[i])
    if i == 0:
        out[0] = 0


def test_an_atomic_operation_beside_a_plain_store():
    verdict = check(
        total_that_is_cleared_late,
        lambda x: x.sum(keepdims=True),
        out=lambda x: np.full(1, 5, F),
        inputs=lambda rng, n: (np.arange(1, n + 1, dtype=F),),
    )
    assert verdict.kind == "race"
    assert told(verdict)[1:] == [
        "thread 0 changes `out[0]` atomically; `out[0]`: 5 → 6",
        "thread 0 writes 0 to `out[0]`; `out[0]`: 6 → 0",
        "thread 1 reads `x[1]`: 2; `out[0]` before and after: 0",
        "thread 1 changes `out[0]` atomically; `out[0]`: 0 → 2",
    ]


@cuda.jit
def without_a_guard(x, out):
    i = cuda.grid(1)
    out[i] = x[i] + 1


def test_an_access_outside_of_an_array():
    verdict = check(without_a_guard, lambda x: x + 1, 100)
    assert verdict.kind == "out-of-bounds"
    assert told(verdict)[-3:] == [
        "thread 35 of block 1 reads `x[99]`: 99",
        "thread 35 of block 1 writes 100 to `out[99]`",
        "thread 36 of block 1 goes outside the array",
    ]


@cuda.jit
def halo(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    out[t] = tile[t] + tile[t - 1]


def test_an_access_before_the_beginning_of_shared_memory():
    verdict = check(halo, lambda x: x)
    assert verdict.kind == "negative-index"
    assert told(verdict) == [
        "thread 0 reads `x[0]`: 0",
        "thread 0 writes 0 to `tile[0]`",
        "all 64 threads of block 0 meet at the barrier",
        "thread 0 reads `tile[0]`: 0",
        "thread 0 goes outside the array",
    ]


@cuda.jit
def first_of_a_row(x, out):
    r, c = cuda.grid(2)
    out[r, c] = 2 * x[r, c + 1]


def test_an_access_that_ends_up_in_the_next_row():
    verdict = check(
        first_of_a_row,
        lambda x: 2 * x,
        4,
        inputs=lambda rng, n: (np.arange(n * n, dtype=F).reshape(n, n),),
        launch=lambda n: (1, (n, n)),
    )
    assert verdict.kind == "out-of-bounds"
    assert not any("reads `x[1, 0]`" in step for step in told(verdict))
    assert told(verdict)[-1] == "thread (0, 3) goes outside the array"


@cuda.jit
def parted_at_barriers(x, out):
    t = cuda.threadIdx.x
    if t < 32:
        out[t] = x[t]
        cuda.syncthreads()
    else:
        cuda.syncthreads()
        out[t] = x[t]


@cuda.jit
def parted_in_a_loop(x, out):
    t = cuda.threadIdx.x
    for k in range(1 + t // 63):
        if k == 1 or t < 63:
            out[t] = x[t]
        if k == 0 or t == 63:
            cuda.syncthreads()
    cuda.syncthreads()


def test_barriers_at_which_threads_do_not_meet():
    verdict = check(parted_at_barriers, lambda x: x)
    assert verdict.kind == "barrier"
    assert told(verdict) == [
        "thread 0 reads `x[0]`: 0",
        "thread 0 writes 0 to `out[0]`",
        "thread 0 waits at the barrier",
        "thread 32 waits at the barrier",
    ]
    here, there = verdict.past[-2:]
    assert here.place.line == there.place.line - 2
    assert here.place.text == there.place.text == "cuda.syncthreads()"


def test_barriers_at_which_threads_do_not_meet_after_one_at_which_they_did():
    verdict = check(parted_in_a_loop, lambda x: x)
    assert verdict.kind == "barrier"
    assert told(verdict)[-2:] == [
        "thread 0 waits at the barrier",
        "thread 63 waits at the barrier",
    ]


@cuda.jit
def of_the_wrong_thread(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 2 * x[i - i % 32]


def test_a_wrong_value():
    verdict = check(of_the_wrong_thread, lambda x: 2 * x)
    assert verdict.kind == "wrong-value"
    assert told(verdict) == [
        "thread 1 reads `x[0]`: 0; `out[1]` before and after: nothing yet",
        "thread 1 writes 0 to `out[1]`; `out[1]`: nothing yet → 0",
    ]


@cuda.jit
def many_changes(x, out):
    bins = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        for k in range(300):
            bins[0] = k
    out[t] = bins[0]


def test_a_long_history_has_the_nearest_steps():
    verdict = check(many_changes, lambda x: x)
    assert verdict.kind == "race"
    assert len(verdict.past) == history.MOST
    assert "`bins[0]`: 298 → 299" in "\n".join(told(verdict))
    first, *_, end = told(verdict)
    assert first.startswith("thread 0 writes 262 to `bins[0]`, after 262 accesses not")
    assert end.startswith("thread 32 reads `bins[0]`: 299;")
    assert not any("thread 1 " in step for step in told(verdict))


@cuda.jit
def changed_after_many_barriers(x, out):
    t = cuda.threadIdx.x
    out[t] = x[t]
    for _ in range(60):
        cuda.syncthreads()
    out[t] = x[t] + 1


def test_barriers_do_not_displace_the_accesses():
    verdict = check(changed_after_many_barriers, lambda x: x)
    steps = told(verdict)
    assert verdict.kind == "wrong-value"
    assert len(steps) == history.MOST
    assert steps[1] == "thread 0 writes 0 to `out[0]`; `out[0]`: nothing yet → 0"
    assert sum("meet at the barrier" in step for step in steps) == history.MOST - 4
    assert steps[-1] == "thread 0 writes 1 to `out[0]`; `out[0]`: 0 → 1"


@cuda.jit
def copied(x, out):
    i = cuda.grid(1)
    out[i] = x[i]


def test_the_steps_are_the_same_each_time_and_not_in_the_text():
    one, two = (check(reversed_too_early, lambda x: x[::-1]) for _ in range(2))
    assert one.past == two.past
    assert one == one.but(past=())
    assert repr(one) == repr(one.but(past=()))
    assert repr(one.history()).startswith("  1  line ")
    assert repr(one.history()).endswith(one.message)


def test_a_check_that_passes_runs_nothing_again(monkeypatch):
    monkeypatch.setattr(history, "values", lambda *_, **__: pytest.fail("run again"))
    assert check(copied, lambda x: x)
    assert check(copied, lambda x: x).past == ()


def test_a_launch_that_is_too_long_is_not_run_again(monkeypatch):
    monkeypatch.setattr(history, "LONGEST", 10)
    verdict = check(reversed_too_early, lambda x: x[::-1])
    assert verdict.past == ()
    assert "<details" not in verdict._repr_html_()
    assert "No steps" in repr(verdict.history())


def test_the_list_has_every_step_where_no_script_runs():
    verdict = check(reversed_too_early, lambda x: x[::-1])
    shown, _, below = verdict._repr_html_().partition("<details")
    assert shown.endswith("</div>"), "not in the status, which is read aloud as a whole"
    page = re.sub("<script>.*?</script>", "", below, flags=re.DOTALL)
    assert page.count("<li ") == len(verdict.past)
    assert "<strong>thread 32</strong> writes 32 to <code>tile[32]</code>" in page
    assert page.count("<strong>Thread 31 may read") == 1
    assert "display:none;align-items:center" in page, "no controls that do nothing"


def test_what_learners_write_is_text():
    step = Step(Place("<b>", 3, "x = a<b>c"), "thread 0", "reads `<i>`", "`<i>`: 1")
    verdict = Verdict("k", "race", "`a` <u>", past=[step, step])
    page = verdict.history()._repr_html_()
    assert not re.search("<[biu]>", page)
    assert "x = a&lt;b&gt;c" in page
