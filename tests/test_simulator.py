"""The simulator refuses what a GPU would not survive, and says where."""

import contextlib
import gc
import linecache
import math
import os
import subprocess
import sys
import textwrap
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

import weft

from numba import cuda, float32, int32  # isort: skip
from weft import effort
from weft.simulator import Fault, LaunchError, record, simulate
from weft.simulator.running.scheduler import Run

ROOT = Path(__file__).parents[1]
FULL = 0xFFFFFFFF
WIDTH = 8

pytestmark = pytest.mark.skipif(weft.GPU, reason="launches go to the GPU here")


def fault_of(kernel: Any, config: Any, *args: Any) -> Fault:
    with pytest.raises(Fault) as caught:
        kernel[config](*args)
    return caught.value


def line_of(kernel: Any, text: str) -> int:
    """The line of the kernel's source that holds `text`."""
    import inspect

    lines, first = inspect.getsourcelines(kernel.py_func)
    return first + next(k for k, line in enumerate(lines) if text in line)


def test_out_of_bounds_names_thread_block_line_and_expression() -> None:
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = x[i + 1]

    fault = fault_of(kernel, (2, 8), np.zeros(13), np.zeros(16))
    assert fault.kind == "out-of-bounds"
    assert (fault.thread, fault.block) == ((4,), (1,))
    assert fault.places[0].line == line_of(kernel, "x[i + 1]")
    assert fault.places[0].expression == "x[i + 1]"
    assert "x[13]" in fault.message


@pytest.mark.parametrize("of", ["C", "F", "a part"])
@pytest.mark.parametrize(
    ("body", "access", "room"),
    [
        ("out[0] = x[1, x.shape[1]]", "reads x[1, 7]", "x is (6, 7): axis 1 ends at 6"),
        ("x[1, 7] = 1", "writes x[1, 7]", "x is (6, 7): axis 1 ends at 6"),
        ("x[1, 7] += 1", "x[1, 7]", "x is (6, 7): axis 1 ends at 6"),
        ("at = 1, 7; x[at] = 1", "writes x[1, 7]", "x is (6, 7): axis 1 ends at 6"),
        ("cuda.atomic.add(x, (1, 7), 1)", "x[1, 7]", "x is (6, 7): axis 1 ends at 6"),
        ("x[6, 0] = 1", "writes x[6, 0]", "x is (6, 7): axis 0 ends at 5"),
        ("x[:, 1:][1, 6] = 1", "x[1, 6]", "x is (6, 6): axis 1 ends at 5"),
        ("y = x[1]; y[7] = 1", "writes x[7]", "x has 7 elements (0 to 6)"),
        ("t = cuda.shared.array((4, 8), float32); t[0, 8] = 1",
         "writes t[0, 8]", "t is (4, 8): axis 1 ends at 7"),
    ],
)  # fmt: skip
def test_a_column_past_the_last_is_not_in_the_next_row(
    body: str, access: str, room: str, of: str
) -> None:
    """The address is inside the memory of the array, and in another row of it."""
    name = f"<{body}>"
    lines = [
        "@cuda.jit",
        "def kernel(x, out):",
        *("    " + b for b in body.split("; ")),
    ]
    source = "\n".join(lines) + "\n"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    scope: dict[str, Any] = {"cuda": cuda, "float32": float32}
    exec(compile(source, name, "exec"), scope)
    kernel = scope["kernel"]
    x = np.zeros((6, 16), np.float32)[:, :7] if of == "a part" else np.zeros((6, 7))
    x = np.asfortranarray(x) if of == "F" else x
    fault = fault_of(kernel, (1, 1), x, np.zeros(1))
    assert fault.kind == "out-of-bounds"
    said, _, why = fault.message.partition(", but ")
    assert said.endswith(access)
    assert why.removeprefix("the shape of ") == room


def test_an_atomic_operation_out_of_bounds_is_named_as_one() -> None:
    @cuda.jit
    def kernel(out):
        cuda.atomic.add(out, 6, 1)

    fault = fault_of(kernel, (1, 1), np.zeros(5, np.int32))
    assert fault.kind == "out-of-bounds"
    assert fault.message.startswith("atomically changes out[6], but out has 5")


def test_an_index_has_as_many_numbers_as_the_launch_has_dimensions() -> None:
    @cuda.jit
    def kernel(out):
        col, row = cuda.grid(2)
        out[row, col] = 1

    fault = fault_of(kernel, ((2, 1), (4, 2)), np.zeros((2, 4), np.float32))
    assert (fault.thread, fault.block) == ((0, 0), (1,))
    assert "thread (0, 0), block 1" in str(fault)


def test_those_who_wait_are_named_as_the_launch_names_them() -> None:
    @cuda.jit
    def kernel(out):
        if cuda.threadIdx.y == 0:
            cuda.syncthreads()
        else:
            cuda.syncthreads()

    fault = fault_of(kernel, (1, (8, 2)), np.zeros(8, np.float32))
    assert "8 threads, (0, 0) among them, of the block wait" in fault.message
    assert "but thread (0, 1) waits" in fault.message


def test_negative_index_is_not_python() -> None:
    @cuda.jit
    def kernel(x):
        x[cuda.threadIdx.x] = x[cuda.threadIdx.x - 1]

    fault = fault_of(kernel, (1, 4), np.zeros(4))
    assert fault.kind == "negative-index"
    assert fault.thread == (0,)


def test_bounds_hold_in_shared_and_local_memory_and_in_views() -> None:
    @cuda.jit
    def shared(x):
        tile = cuda.shared.array((4, 4), float32)
        tile[cuda.threadIdx.x, 4] = 0

    @cuda.jit
    def local(x):
        mine = cuda.local.array(4, float32)
        mine[4] = 0

    @cuda.jit
    def view(x):
        row = x[0]
        row[3] = 1

    fault = fault_of(shared, (1, 1), np.zeros(1))
    assert "tile[0, 4]" in fault.message
    assert "mine[4]" in fault_of(local, (1, 1), np.zeros(1)).message
    assert fault_of(view, (1, 1), np.zeros((2, 3))).kind == "out-of-bounds"


def test_an_index_that_is_a_float() -> None:
    @cuda.jit
    def kernel(x):
        x[cuda.threadIdx.x / 2] = 0

    fault = fault_of(kernel, (1, 4), np.zeros(4))
    assert fault.kind == "type"
    assert "not an integer" in fault.message


def test_an_exchange_of_something_stale_loses_an_update() -> None:
    @cuda.jit
    def kernel(out):
        old = cuda.atomic.add(out, 0, 0)
        cuda.atomic.exch(out, 0, old + 1)

    out = np.zeros(1, np.int32)
    kernel[1, 8](out)
    assert out[0] < 8


@pytest.mark.parametrize(
    ("kind", "operation", "words"),
    [
        ("float32", "cas", "int32, uint32, int64 and uint64"),
        ("uint8", "add", "float32 and float64"),
        ("int32", "inc", "uint32 and uint64"),
    ],
)
def test_an_atomic_that_numba_does_not_have(
    kind: str, operation: str, words: str
) -> None:
    @cuda.jit
    def kernel(out):
        if operation == "cas":
            cuda.atomic.cas(out, 0, 0, 1)
        elif operation == "inc":
            cuda.atomic.inc(out, 0, 1)
        else:
            cuda.atomic.add(out, 0, 1)

    fault = fault_of(kernel, (1, 1), np.zeros(1, kind))
    assert fault.kind == "type"
    assert words in fault.why


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ((1, 2048), "block of 2048 threads; a block holds at most 1024 (32 warps)"),
        ((1, (32, 64)), "block of 2048 threads"),
        ((1, (1, 1, 128)), "block of 128 along z; the limit there is 64"),
        (((1, 70000), 32), "grid of 70000 along y; the limit there is 65535"),
        ((1000 / 128, 128), "grid of 7.8125 blocks"),
        ((0, 128), "there must be at least 1"),
        ((4, -1), "there must be at least 1"),
        (((1, 1, 1, 1), 32), "grid has 4 dimensions"),
        ((4,), "a launch needs kernel[grid, block]"),
        ((1, 32, 0, 49_153), "Numba launches no more than 49,152 (48 KB)"),
        ((1, 32, 0, -4), "-4 bytes of dynamic shared memory"),
    ],
)
def test_wrong_launches(config: Any, words: str) -> None:
    @cuda.jit
    def kernel(x):
        x[0] = 1

    with pytest.raises(LaunchError) as caught:
        kernel[config](np.zeros(1))
    assert words in str(caught.value)


def test_a_kernel_called_like_a_function() -> None:
    @cuda.jit
    def kernel(x):
        x[0] = 1

    with pytest.raises(LaunchError, match=r"kernel\[grid, block\]"):
        kernel(np.zeros(1))


def test_too_much_shared_memory() -> None:
    @cuda.jit
    def kernel(x):
        tile = cuda.shared.array((128, 128), float32)
        tile[0, 0] = x[0]

    fault = fault_of(kernel, (1, 1), np.zeros(1))
    assert fault.kind == "launch"
    assert "65,536 bytes" in fault.message


def test_static_and_dynamic_shared_memory_count_together() -> None:
    @cuda.jit
    def kernel(x):
        tile = cuda.shared.array(1024, float32)
        more = cuda.shared.array(0, float32)
        tile[0] = more[0] = x[0]

    simulate(kernel, (1, 1, 0, 45_056), (np.zeros(1),))
    fault = fault_of(kernel, (1, 1, 0, 45_060), np.zeros(1))
    assert fault.kind == "launch"
    assert "49,156 bytes of shared memory" in fault.message
    assert "45,060 of them dynamic" in fault.message


def test_a_shape_that_numba_cannot_know() -> None:
    @cuda.jit
    def kernel(x):
        tile = cuda.shared.array((WIDTH, WIDTH + 1), float32)
        tile[0, 0] = x[0]

    fault = fault_of(kernel, (1, 1), np.zeros(1))
    assert fault.kind == "type"
    assert "`WIDTH + 1`" in fault.message
    assert fault.places[0].line == line_of(kernel, "WIDTH + 1")


def test_barriers_in_two_branches() -> None:
    @cuda.jit
    def kernel(x):
        if cuda.threadIdx.x < 16:
            cuda.syncthreads()
        else:
            x[0] = 1
            cuda.syncthreads()

    fault = fault_of(kernel, (1, 32), np.zeros(1))
    assert fault.kind == "barrier"
    assert len(fault.places) == 2
    assert "threads 0–15" in fault.message


def test_a_barrier_that_half_a_warp_never_reaches() -> None:
    @cuda.jit
    def kernel(x):
        if cuda.threadIdx.x < 16:
            cuda.syncthreads()
        x[cuda.threadIdx.x] = cuda.shfl_sync(FULL, 1, 0)

    assert fault_of(kernel, (1, 32), np.zeros(32)).kind in ("barrier", "warp")


def test_a_mask_that_names_lanes_which_never_come() -> None:
    @cuda.jit
    def kernel(x):
        if cuda.threadIdx.x < 16:
            x[cuda.threadIdx.x] = cuda.shfl_sync(FULL, 1, 0)
        cuda.syncthreads()

    fault = fault_of(kernel, (1, 32), np.zeros(32))
    assert fault.kind == "warp"
    assert "lanes 16–31" in fault.message


def test_a_mask_without_the_caller() -> None:
    @cuda.jit
    def kernel(x):
        x[cuda.threadIdx.x] = cuda.shfl_sync(0xFFFF, 1, 0)

    fault = fault_of(kernel, (1, 32), np.zeros(32))
    assert fault.kind == "warp"
    assert fault.thread == (16,)


def test_reading_from_a_lane_outside_the_mask() -> None:
    @cuda.jit
    def kernel(x):
        t = cuda.threadIdx.x
        if t < 16:
            x[t] = cuda.shfl_down_sync(0xFFFF, t, 8)

    fault = fault_of(kernel, (1, 32), np.zeros(32))
    assert fault.kind == "warp"
    assert "lane 8 reads from lane 16" in fault.message


@pytest.mark.parametrize("lane", [math.inf, math.nan])
def test_a_shuffle_from_a_lane_that_is_no_number(lane: float) -> None:
    @cuda.jit
    def kernel(x):
        x[cuda.threadIdx.x] = cuda.shfl_xor_sync(FULL, 1, lane)

    fault = fault_of(kernel, (1, 32), np.zeros(32))
    assert fault.kind == "type"
    assert "shfl_xor_sync" in fault.message


@pytest.mark.parametrize("threads", [1, 64, 1024])
def test_an_endless_loop_ends(threads: int) -> None:
    @cuda.jit
    def kernel(x):
        i = 0
        while i >= 0:
            i += 1

    fault = fault_of(kernel, (4, threads), np.zeros(1))
    assert fault.kind == "endless-loop"
    assert fault.places[0].line == line_of(kernel, "while")


def test_an_endless_loop_of_a_device_function_names_its_caller() -> None:
    @cuda.jit(device=True)
    def halved(n):
        while n != 1:
            n = n >> 1
        return n

    @cuda.jit
    def kernel(x):
        x[0] = halved(0)

    fault = fault_of(kernel, (1, 32), np.zeros(1))
    assert fault.kind == "endless-loop"
    lines = [line_of(halved, "while"), line_of(kernel, "halved(0)")]
    assert [p.line for p in fault.places] == lines


def test_an_endless_loop_ends_though_all_meet_in_it() -> None:
    @cuda.jit
    def kernel(x):
        step = 0
        while step < 64:
            cuda.syncthreads()
            step *= 2

    fault = fault_of(kernel, (1, 64), np.zeros(1))
    assert fault.kind == "endless-loop"
    assert "no thread finishes" in fault.message
    assert fault.places[0].line == line_of(kernel, "while")


def test_a_range_without_end() -> None:
    @cuda.jit
    def kernel(x):
        for i in range(10**12):
            x[0] = i

    assert fault_of(kernel, (1, 1), np.zeros(1)).kind == "endless-loop"


def test_an_array_in_a_kernel_has_no_methods() -> None:
    @cuda.jit
    def kernel(x):
        x[0] = x.max()

    fault = fault_of(kernel, (1, 1), np.zeros(4, np.float32))
    assert fault.kind == "exception"
    assert "an array has no `max`" in fault.message
    assert "loop" in fault.why


def test_min_max_and_sum_of_a_single_number_are_not_compiled() -> None:
    @cuda.jit
    def largest(x, out):
        out[0] = max(x[0, 1])

    @cuda.jit
    def smallest(x, out):
        out[0] = min(x)

    @cuda.jit
    def total(x, out):
        out[0] = sum(x[0, 1], out[0])

    x, out = np.ones((1, 2), np.float32), np.zeros(1, np.float32)
    said = {
        largest: (
            "`max` is given `x[0, 1]`, which is one number",
            "the largest so far",
        ),
        smallest: ("`min` is given `x`, which has 2 dimensions", "takes two numbers"),
        total: ("`sum` is given `x[0, 1]`, which is one number", "in a loop"),
    }
    for kernel, (message, why) in said.items():
        fault = fault_of(kernel, (1, 1), x, out)
        assert (fault.kind, fault.message) == ("type", message)
        assert why in fault.why
        assert fault.places[0].line == line_of(kernel, "out[0] = ")


def test_min_max_and_sum_go_over_an_array_of_any_length() -> None:
    @cuda.jit
    def kernel(x, out):
        row = cuda.blockIdx.x
        out[row] = max(x[row]) + 10 * min(x[row]) + sum(x[row]) + max((x[row, 0],))

    for columns in (1, 3):
        x, out = np.full((2, columns), 2, np.float32), np.zeros(2, np.float32)
        simulate(kernel, (2, 1), (x, out))
        assert out.tolist() == [24 + 2 * columns] * 2


def test_an_exception_is_reported_with_its_line() -> None:
    @cuda.jit
    def kernel(x):
        x[0] = undefined_name  # noqa: F821

    fault = fault_of(kernel, (1, 1), np.zeros(1))
    assert fault.kind == "exception"
    assert "undefined_name" in fault.message
    assert fault.places[0].line == line_of(kernel, "undefined_name")


def test_a_misspelt_name_is_guessed() -> None:
    @cuda.jit
    def kernel(x):
        cuda.syncthread()

    assert (
        "did you mean cuda.syncthreads" in fault_of(kernel, (1, 1), np.zeros(1)).message
    )


def test_a_kernel_returns_nothing() -> None:
    @cuda.jit
    def kernel(x):
        return x[0]

    assert "returns" in fault_of(kernel, (1, 1), np.zeros(1)).message


def plain(x):
    return 2 * x


def test_a_return_of_something_is_named() -> None:
    @cuda.jit
    def kernel(x):
        if x.size == 0:
            return
        return 1

    fault = fault_of(kernel, (1, 1), np.zeros(1))
    assert fault.places[0].line == line_of(kernel, "return 1")


def test_a_grid_barrier_waits_for_everyone() -> None:
    @cuda.jit
    def kernel(x):
        if cuda.grid(1) >= x.size:
            return
        cuda.cg.this_grid().sync()

    kernel[3, 4](np.zeros(12))
    fault = fault_of(kernel, (3, 4), np.zeros(10))
    assert fault.kind == "barrier"
    assert "2 of the launch's threads" in fault.message
    assert fault.places[0].line == line_of(kernel, "sync()")


def test_a_swap_that_is_not_tried_again_loses_updates() -> None:
    @cuda.jit
    def once(out):
        old = out[0]
        cuda.atomic.cas(out, 0, old, old + 1)

    @cuda.jit
    def until(out):
        guess = out[0]
        old = cuda.atomic.cas(out, 0, guess, guess + 1)
        while old != guess:
            guess = old
            old = cuda.atomic.cas(out, 0, guess, guess + 1)

    lost, kept = np.zeros(1, np.int32), np.zeros(1, np.int32)
    once[1, 64](lost)
    until[1, 64](kept)
    assert (lost[0], kept[0]) == (1, 64)


def test_a_plain_function_is_not_compiled() -> None:
    @cuda.jit
    def kernel(x):
        x[0] = plain(x[0])

    fault = fault_of(kernel, (1, 1), np.zeros(1))
    assert fault.kind == "type"
    assert "device=True" in fault.why


def test_arguments_that_no_kernel_takes() -> None:
    @cuda.jit
    def kernel(x):
        x[0] = 1

    assert "list" in fault_of(kernel, (1, 1), [1, 2]).message
    assert "takes 1 argument" in fault_of(kernel, (1, 1), np.zeros(1), 2).message


def test_torch_tensors_are_written_in_place() -> None:
    torch = pytest.importorskip("torch")

    @cuda.jit
    def kernel(x):
        x[cuda.grid(1)] = x.size

    x = torch.zeros(3)
    kernel[1, 3](x)
    assert x.tolist() == [3, 3, 3]
    fault = fault_of(kernel, (1, 3), torch.zeros(3, requires_grad=True))
    assert ".detach()" in fault.why


def test_memory_that_nobody_wrote_is_poisoned_in_every_block() -> None:
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(32, float32)
        t = cuda.threadIdx.x
        out[cuda.grid(1)] = tile[t]
        tile[t] = 1

    out = np.zeros(64, np.float32)
    kernel[2, 32](out)
    assert np.isnan(out).all()


def test_the_schedule_is_always_the_same() -> None:
    @cuda.jit
    def kernel(out, order):
        out[cuda.atomic.add(order, 0, 1)] = cuda.grid(1)

    runs = []
    for _ in range(3):
        out = np.zeros(64, np.int32)
        kernel[2, 32](out, np.zeros(1, np.int32))
        runs.append(out.tolist())
    assert runs == [list(range(64))] * 3


def test_simulate_runs_plain_functions_and_watches_stores() -> None:
    def kernel(x, out):
        i = cuda.grid(1)
        if i < 3:
            out[i] = x[i]

    out = np.zeros(5)
    launch = simulate(kernel, (1, 8), (np.arange(5.0), out), watched=frozenset([1]))
    assert launch.written["out"].tolist() == [True] * 3 + [False] * 2
    with pytest.raises(Fault) as caught:
        simulate(kernel, (1, 8), (np.zeros(5), out), readonly=frozenset([1]))
    assert caught.value.kind == "input-written"


def test_notebook_globals_are_left_alone() -> None:
    @cuda.jit
    def kernel(x):
        x[0] = int32(1)

    before = dict(globals())
    kernel[1, 1](np.zeros(1, np.int32))
    assert globals() == before


@settings(max_examples=examples(60))
@given(
    n=st.integers(1, 40),
    blocks=st.integers(1, 4),
    threads=st.integers(1, 40),
    scale=st.integers(-2, 3),
    offset=st.integers(-5, 45),
)
def test_bounds_agree_with_a_direct_model(
    n: int, blocks: int, threads: int, scale: int, offset: int
) -> None:
    @cuda.jit
    def kernel(x):
        x[scale * cuda.grid(1) + offset] = 1

    x = np.zeros(n, np.int32)
    indices = [scale * i + offset for i in range(blocks * threads)]
    bad = next((i for i in indices if not 0 <= i < n), None)
    if bad is None:
        kernel[blocks, threads](x)
        assert set(np.flatnonzero(x)) == set(indices)
    else:
        fault = fault_of(kernel, (blocks, threads), x)
        assert fault.kind == ("negative-index" if bad < 0 else "out-of-bounds")
        assert f"x[{bad}]" in fault.message


@settings(max_examples=examples(40))
@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=100))
def test_a_block_reduction_for_any_block_size(values: list[int]) -> None:
    @cuda.jit
    def kernel(x, out):
        tile = cuda.shared.array(128, int32)
        t = cuda.threadIdx.x
        tile[t] = x[t] if t < x.size else 0
        cuda.syncthreads()
        step = 64
        while step > 0:
            if t < step:
                tile[t] += tile[t + step]
            cuda.syncthreads()
            step //= 2
        if t == 0:
            out[0] = tile[0]

    out = np.zeros(1, np.int32)
    kernel[1, 128](np.array(values, np.int32), out)
    assert out[0] == sum(values)


@pytest.mark.parametrize("last", [63, 64])
def test_nothing_is_kept_of_a_launch(last: int) -> None:
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        cuda.syncthreads()
        out[i if i < 63 else last] = i  # in some thread of the first block
        cuda.syncthreads()

    runs = []

    def make(*args: Any) -> Run:
        run = Run(*args)
        runs.append(weakref.ref(run))
        return run

    with contextlib.suppress(Fault):
        simulate(kernel, (2, 64), (np.zeros(64, np.int32),), make_run=make)
    gc.collect()
    assert [run() for run in runs] == [None]


def in_a_process(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_numba_imported_first_is_a_clear_error() -> None:
    done = in_a_process("""
        import os
        os.environ["WEFT_SIMULATOR"] = "1"
        os.environ.pop("NUMBA_ENABLE_CUDASIM", None)
        import numba
        import weft
    """)
    assert done.returncode != 0
    assert "Restart the kernel" in done.stderr
    assert "put `import weft` first" in done.stderr


@pytest.mark.parametrize("first", [False, True])
def test_under_pytest_the_error_names_conftest(tmp_path: Path, first: bool) -> None:
    """Numba is imported by a test that has nothing to do with weft, or after it."""
    (tmp_path / "conftest.py").write_text("import weft\n" if first else "")
    (tmp_path / "test_own.py").write_text("import numba\nimport weft\ndef test(): 0\n")
    environment = {k: v for k, v in os.environ.items() if "SIM" not in k}
    environment |= {"WEFT_SIMULATOR": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    says = "Put `import weft` at the top of conftest.py"
    assert (says in done.stdout, done.returncode == 0) == (not first, first)
    assert "Restart the kernel" not in done.stdout


def test_import_brings_little_beyond_numbas_own() -> None:
    done = in_a_process("""
        import os, sys
        os.environ["WEFT_SIMULATOR"] = "1"
        os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
        from numba import cuda
        known = set(sys.modules)
        sys.path.append("tests")
        from counting import lines_run
        print(lines_run(lambda: __import__("weft")))
        print(*sorted({name.split(".")[0] for name in set(sys.modules) - known}))
    """)
    lines, packages = done.stdout.splitlines()
    assert packages.split() == ["counting", "difflib", "weft"]
    assert int(lines) < 190_000  # 169,000 when this was written


def test_what_a_launch_does_is_counted() -> None:
    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        for _ in range(3):
            x[i] += 1
        cuda.syncthreads()
        x[i] += 1

    x = np.zeros(64, np.float32)
    with effort.counted() as done:
        simulate(kernel, (2, 32), (x,))
    plain = {"launches": 1, "threads": 64, "turns": 128, "iterations": 192}
    assert done == plain
    with effort.counted() as done:
        record(kernel, (2, 32), (x,))
    assert done == plain | {"accesses": 64 * 4 * 2}


def test_an_outer_loop_counts_the_iterations_of_inner_ones() -> None:
    """But only where an iteration of the outer loop runs all of them."""

    @cuda.jit
    def whole(x):
        for _ in range(x.shape[0]):
            for _ in range(2):
                for k in range(1, 7, 2):
                    x[k] += 1
            for k in range(4):
                x[k] += 1

    @cuda.jit
    def cut_short(x):
        for i in range(x.shape[0]):
            for k in range(4):
                if k > i:
                    break
                x[k] += 1

    @cuda.jit
    def sometimes(x):
        for i in range(x.shape[0]):
            if i == 0:
                for k in range(4):
                    x[k] += 1

    for kernel, count in (
        (whole, 8 * (1 + 2 + 6 + 4)),
        (cut_short, 40),
        (sometimes, 12),
    ):
        with effort.counted() as done:
            simulate(kernel, (1, 1), (np.zeros(8, np.float32),))
        assert done["iterations"] == count, kernel


def test_a_loop_without_end_inside_another_is_stopped() -> None:
    @cuda.jit
    def kernel(x):
        for _ in range(1000):
            for _ in range(1000):
                for k in range(1000):
                    x[k % 8] += 1

    with pytest.raises(Fault, match="add up to"):
        simulate(kernel, (1, 1), (np.zeros(8, np.float32),))
