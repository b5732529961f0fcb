"""Verdicts: what each mistake is called, where it is, and how it is worded."""

import ctypes
import functools
import linecache
import math
from typing import Any

import numpy as np
import pytest

import weft

from numba import cuda, float32, int32  # isort: skip
from weft import compiling
from weft.checking import waiting
from weft.checking.compare import difference
from weft.checking.differences import apart
from weft.checking.verdict import CheckFailed, Failed, Verdict
from weft.dispatch import check
from weft.intrinsics import load4, peek, store4
from weft.kernels import full_size
from weft.kernels.exercise import KernelExercise
from weft.kernels.outputs import left_out
from weft.places import Place
from weft.wording import several


@pytest.fixture(autouse=True)
def _a_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)


def vectors(rng: Any, n: int) -> tuple[Any, Any]:
    return rng.random(n, np.float32), rng.random(n, np.float32)


def on_vectors(kernel: Any, **options: Any) -> Verdict:
    defaults: dict[str, Any] = {
        "spec": lambda a, b: a + b,
        "inputs": vectors,
        "sizes": [1, 31, 100],
        "launch": lambda n: (-(-n // 32), 32),
    }
    return check(kernel, **(defaults | options))


def test_a_right_kernel_passes_and_says_what_was_seen() -> None:
    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i]

    verdict = on_vectors(add)
    assert verdict
    assert verdict.kind == "pass"
    assert "3 sizes and one not listed, " in repr(verdict)


def test_the_first_wrong_store_is_named() -> None:
    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] * b[i]

    verdict = on_vectors(add)
    assert not verdict
    assert verdict.kind == "wrong-value"
    assert verdict.places[0][0].text == "out[i] = a[i] * b[i]"
    assert verdict.thread == (0,)


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (lambda a, b, i, n: a[n - 1 - i] + b[n - 1 - i], "this value belongs at [30]"),
        (lambda a, b, i, n: float32(2) * (a[i] + b[i]), "exactly twice what it"),
        (lambda a, b, i, n: float32(0) * a[i], "Every element is 0."),
        (lambda a, b, i, n: a[i] + b[i] if i < 1 else a[i], "The first element is"),
        (lambda a, b, i, n: math.log(-a[i] - float32(1)), ""),
    ],
)
def test_what_kind_of_wrong(body: Any, hint: str) -> None:
    value = cuda.jit(device=True)(body)

    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = value(a, b, i, out.size)

    verdict = on_vectors(add, sizes=[31])
    assert verdict.kind == "wrong-value"
    assert hint in verdict.why


def test_one_wrong_element_is_one() -> None:
    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i] if i != 5 else a[i]

    verdict = on_vectors(add, sizes=[31])
    assert "; 1 of 31 elements is wrong." in verdict.message


def test_a_name_keeps_its_small_letter() -> None:
    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i, 0] + b[i]

    verdict = on_vectors(add)
    assert verdict.message == "`a` has 1 dimension, but 2 indices were given."


def test_a_device_function_that_gives_nothing_back_is_named() -> None:
    @cuda.jit(device=True)
    def plus(a, b):
        a + b

    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = float32(1) * plus(a[i], b[i])

    verdict = on_vectors(add)
    assert verdict.kind == "exception"
    assert verdict.why.startswith("`plus` returns nothing")


def test_a_comparison_in_place_of_a_store_is_named() -> None:
    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] == a[i] + b[i]  # noqa: B015

    @cuda.jit
    def scale(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] == float32(2) * x[i]  # noqa: B015

    verdict = on_vectors(add)
    assert verdict.kind == "uninitialised"
    assert verdict.why.startswith("`==` compares; `=` stores. This array")
    in_place = check(
        scale,
        spec=lambda x: 2 * x,
        inputs=lambda rng, n: (rng.random(n, np.float32),),
        out=lambda x: np.zeros_like(x),
        sizes=[32],
        launch=lambda n: (1, 32),
    )
    assert "`==` compares; `=` stores." in in_place.why


def test_a_kernel_that_returns_something_is_called_that() -> None:
    @cuda.jit
    def add(a, b, out):
        return 0

    verdict = on_vectors(add)
    assert verdict.title == "✗ add — the kernel returns a value"
    assert verdict.kind == "exception"


def test_the_power_is_not_a_caret() -> None:
    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] ^ 2

    verdict = on_vectors(add)
    assert "`**` is the power and `^` is a bitwise exclusive or" in verdict.why
    assert "ufunc" not in repr(verdict)
    text = ceil_verdict(lambda n, t: n ^ 0.5)
    assert "`**` is the power" in text.why


def test_a_device_function_still_to_write_is_no_mistake() -> None:
    @cuda.jit(device=True)
    def plus(a, b):
        # your code here
        pass

    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = float32(1) * plus(a[i], b[i])

    assert on_vectors(add).kind == "begin"


def test_two_left_out_and_a_launch_of_two_dimensions() -> None:
    @cuda.jit
    def copy(x, out):
        col, row = cuda.grid(2)
        if row < out.shape[0] and col < out.shape[1] - 2:
            out[row, col] = x[row, col]

    verdict = check(
        copy,
        spec=lambda x: x,
        inputs=lambda rng, rows, cols: rng.random((rows, cols), np.float32),
        sizes=[(1, 9)],
        launch=lambda rows, cols: ((-(-cols // 4), -(-rows // 2)), (4, 2)),
    )
    assert verdict.message == (
        "out[0, 7] is never written, nor is 1 of the other 8 elements."
    )
    assert "3 × 1 blocks of 4 × 2 threads, 12 along x and 2 along y" in verdict.why


def test_a_lane_beyond_the_end_of_the_block_is_named() -> None:
    @cuda.jit
    def exchange(x, out):
        t = cuda.threadIdx.x
        out[t] = cuda.shfl_sync(0xFFFFFFFF, x[t], 20)

    verdict = check(
        exchange,
        spec=lambda x: x,
        inputs=lambda rng, n: rng.random(n, np.float32),
        sizes=[16],
        launch=lambda n: (1, n),
    )
    assert verdict.kind == "warp"
    assert "has 16 threads, and none of them is that lane" in verdict.why


def test_an_output_that_is_never_written_is_said_in_a_word() -> None:
    nothing = np.zeros(3, bool)
    assert left_out("out", nothing) == (
        "out[0] is never written, nor is any other element."
    )
    assert left_out("out", nothing[:1]) == "out[0] is never written."
    assert left_out("out", np.array([True, False])) == "out[1] is never written."


def test_a_missing_barrier_is_a_race() -> None:
    @cuda.jit
    def reverse(x, out):
        tile = cuda.shared.array(32, float32)
        t = cuda.threadIdx.x
        tile[t] = x[t]
        out[t] = tile[31 - t]

    verdict = check(
        reverse,
        spec=lambda x: x[::-1],
        inputs=lambda rng: rng.random(32, np.float32),
        sizes=[()],
        launch=lambda: (1, 32),
    )
    assert verdict.kind == "race"
    assert "Thread 15 may read `tile[16]` before thread 16" in (verdict.message)
    assert [p.text for p, _ in verdict.places] == [
        "tile[t] = x[t]",
        "out[t] = tile[31 - t]",
    ]


def test_shared_memory_that_nobody_wrote() -> None:
    @cuda.jit
    def smooth(x, out):
        tile = cuda.shared.array(34, float32)
        t = cuda.threadIdx.x
        tile[t + 1] = x[t]
        cuda.syncthreads()
        out[t] = tile[t] + tile[t + 1] + tile[t + 2]

    verdict = check(
        smooth,
        spec=lambda x: np.convolve(x, np.ones(3), "same"),
        inputs=lambda rng: rng.random(32, np.float32),
        sizes=[()],
        launch=lambda: (1, 32),
    )
    assert verdict.kind == "uninitialised"
    assert verdict.thread == (0,)


def test_lost_updates() -> None:
    @cuda.jit
    def count(x, bins):
        i = cuda.grid(1)
        if i < x.size:
            bins[x[i]] += 1

    verdict = check(
        count,
        spec=lambda x: np.bincount(x, minlength=4).astype(np.int32),
        inputs=lambda rng, n: rng.integers(0, 4, n, np.int32),
        out=lambda x: np.zeros(4, np.int32),
        sizes=[100],
        launch=lambda n: (4, 32),
    )
    assert verdict.kind == "race"
    assert "updates of global memory are lost" in verdict.title
    assert verdict.page == "lost-update"


def test_unwritten_outputs_are_counted() -> None:
    @cuda.jit
    def add(a, b, out):
        i = cuda.threadIdx.x
        if i < out.size:
            out[i] = a[i] + b[i]

    verdict = on_vectors(add)
    assert verdict.kind == "unwritten"
    assert "out[32] is never written, nor are 67 of the other" in verdict.message


def test_integer_outputs_are_watched_too() -> None:
    @cuda.jit
    def zeros(x, out):
        i = cuda.grid(1)
        if i < out.size - 1:
            out[i] = 0

    verdict = check(
        zeros,
        spec=lambda x: np.zeros_like(x),
        inputs=lambda rng, n: rng.integers(0, 9, n, np.int32),
        sizes=[40],
        launch=lambda n: (2, 32),
    )
    assert verdict.kind == "unwritten"


def test_inputs_are_not_to_be_written() -> None:
    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            a[i] += b[i]
            out[i] = a[i]

    assert on_vectors(add).kind == "input-written"


def test_the_starter_is_told_to_begin() -> None:
    @cuda.jit
    def add(a, b, out):
        # your code here
        pass

    verdict = on_vectors(add)
    assert verdict.kind == "begin"
    assert verdict.message == (
        "The code that ran last still says `# your code here`. Write yours above, run "
        "that cell, then this one."
    )
    assert 'hint("add")' in repr(verdict)


def test_an_empty_kernel_without_the_stub_has_written_nothing() -> None:
    @cuda.jit
    def add(a, b, out):
        pass

    assert on_vectors(add).kind == "unwritten"


def test_a_forgotten_decorator() -> None:
    def add(a, b, out):
        out[0] = 1

    verdict = on_vectors(add)
    assert verdict.kind == "type"
    assert "@cuda.jit" in verdict.why


def test_outputs_that_start_with_values() -> None:
    @cuda.jit
    def count(x, bins):
        i = cuda.grid(1)
        if i < x.size:
            cuda.atomic.add(bins, x[i], 1)

    verdict = check(
        count,
        spec=lambda x: np.bincount(x, minlength=4).astype(np.int32),
        inputs=lambda rng, n: rng.integers(0, 4, n, np.int32),
        out=lambda x: np.zeros(4, np.int32),
        sizes=[1, 100],
        launch=lambda n: (4, 32),
    )
    assert verdict, verdict


def test_two_outputs() -> None:
    @cuda.jit
    def both(a, b, low, high):
        i = cuda.grid(1)
        if i < low.size:
            low[i] = min(a[i], b[i])
            high[i] = min(a[i], b[i])

    verdict = on_vectors(
        both, spec=lambda a, b: (np.minimum(a, b), np.maximum(a, b)), sizes=[40]
    )
    assert verdict.kind == "wrong-value"
    assert verdict.message.startswith("high[0]")


def test_the_spec_is_evaluated_in_double_precision() -> None:
    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i]

    seen = []

    def spec(a: Any, b: Any) -> Any:
        seen.append(a.dtype)
        return a + b

    assert on_vectors(add, spec=spec, sizes=[3])
    assert np.dtype(np.float64) in seen


# Launches


def launch_verdict(function: Any) -> Verdict:
    @cuda.jit
    def halve(x, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] // 2

    return check(
        function,
        kernel=halve,
        spec=lambda x: x // 2,
        inputs=lambda rng, n: rng.integers(0, 9, n, np.int32),
        sizes=[256, 257],
    )


@pytest.mark.parametrize(
    ("launch", "words"),
    [
        (lambda n: (n / 256, 256), "so it must be an integer"),
        (lambda n: (n // 256, 256), "never written"),
        (lambda n: (n // 256 + 1, 256), "where 1 would be enough"),
        (lambda n: (1, 2048), "at most 1024"),
        (lambda n: n, "kernel[grid, block]"),
        (lambda n: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_wrong_launch_functions(launch: Any, words: str) -> None:
    verdict = launch_verdict(launch)
    assert verdict.kind in ("launch", "exception")
    assert words in repr(verdict)


def test_a_right_launch_function() -> None:
    assert launch_verdict(lambda n: (-(-n // 128), 128))


# Plain functions


def ceil_verdict(function: Any) -> Verdict:
    return check(
        function, spec=lambda n, t: -(-n // t), inputs=[(1, 256), (256, 256), (300, 32)]
    )


def test_plain_functions() -> None:
    def right(n, t):
        return (n + t - 1) // t

    def floor(n, t):
        return n // t

    def real(n, t):
        return n / t

    def nothing(n, t):
        n // t

    def stub(n, t):
        # your code here
        pass

    assert ceil_verdict(right)
    assert ceil_verdict(floor).kind == "wrong-value"
    assert "floor(1, 256) returns 0 and should return 1" in ceil_verdict(floor).message
    assert ceil_verdict(real).kind == "type"
    assert "Numba" not in repr(ceil_verdict(real))  # it is plain Python
    text = ceil_verdict(lambda n, t: "never")
    assert "which is a string, not a number" in text.message
    endless = ceil_verdict(lambda n, t: math.inf)
    assert "returns inf and should return" in endless.message
    assert "returns nothing" in ceil_verdict(nothing).message
    assert ceil_verdict(stub).kind == "begin"
    assert ceil_verdict(lambda n, t: [n, t]).kind == "shape"
    in_c = ceil_verdict(lambda n, t: ctypes.c_int(-(-n // t)))
    assert in_c.kind == "type"
    assert "a ctypes object instead of a number" in in_c.title
    assert "returns c_int(1), which is an object of ctypes." in in_c.message
    assert in_c.why == "`.value` gives the plain int."
    assert "Numba" not in repr(in_c)
    assert ceil_verdict(lambda n, t: undefined).kind == "exception"  # noqa: F821


def test_of_several_returns_the_one_that_was_taken_is_quoted() -> None:
    def early(n, t):
        if n == 1:
            return 1
        return n // t

    def used_up(left):
        if left.pop() > 1:
            return 0
        return 1

    ((place, _),) = ceil_verdict(early).places
    assert place.text == "return n // t"
    verdict = check(used_up, spec=lambda left: 2, inputs=[([1, 1],)], unseen=False)
    assert [place.text for place, _ in verdict.places] == ["return 1"]


def test_a_wrapped_function_is_quoted_as_the_learner_wrote_it() -> None:
    def wrapped(function: Any) -> Any:
        @functools.wraps(function)
        def run(*parts: int) -> Any:
            return function(*parts)

        return run

    @wrapped
    def floor(n, t):
        return n // t

    @wrapped
    def fails(n, t):
        return undefined  # noqa: F821

    for function, text in ((floor, "return n // t"), (fails, "return undefined")):
        ((place, _),) = ceil_verdict(function).places
        assert place.text.startswith(text)
        assert linecache.getline(__file__, place.line).strip() == place.text


def test_a_wrong_answer_is_given_its_reason() -> None:
    def verdict(answer: Any) -> Verdict:
        def colour(fruit: str) -> Any:
            return answer

        return check(
            colour,
            spec={"lemon": "yellow"}.__getitem__,
            inputs=[("lemon",)],
            because=lambda fruit, answer: f"A {fruit} is not {answer}.",
        )

    wrong = verdict("blue")
    assert wrong.kind == "answer"
    assert wrong.message == "colour('lemon') returns 'blue'."
    assert wrong.why == "A lemon is not blue."
    assert wrong.places[0][0].text == "return answer"
    assert "yellow" not in repr(wrong)
    assert "returns nothing" in verdict(None).message
    assert verdict("yellow")


@pytest.mark.parametrize(
    ("answer", "kind", "why"),
    [
        (6.0, "pass", ""),
        (6.0 + 1e-9, "pass", ""),
        (6, "pass", ""),
        (5.0, "wrong-value", "That is the sum."),
        (7, "wrong-value", ""),
        (None, "wrong-value", "A function returns its result with `return`."),
        ([6.0, 5.0], "shape", ""),
    ],
)
def test_a_wrong_number_is_given_its_reason(answer: Any, kind: str, why: str) -> None:
    def times(a: float, b: float) -> Any:
        return answer

    found = check(
        times,
        spec=lambda a, b: a * b,
        inputs=[(2.0, 3.0)],
        because=lambda a, b, answer: "That is the sum." if answer == a + b else "",
    )
    assert (found.kind, found.why) == (kind, why)


def test_a_right_number_of_the_wrong_type_is_not_called_wrong() -> None:
    def half(n: int) -> Any:
        return n / 2

    found = check(
        half, spec=lambda n: n // 2, inputs=[6, 7], because=lambda n, answer: "Too few."
    )
    assert found.kind == "type"
    assert "`/` always gives a float" in found.why


def halved(n: int) -> Any:
    return n / 2


def rounded(n: int) -> Any:
    return np.ceil(0.5 * n)


def gathered(n: int) -> Any:
    out = np.zeros(n)
    return out + np.ones(n, np.int32)


def with_dtype(n: int) -> Any:
    return 0.5 * np.zeros(n, dtype=np.int32) + math.floor(n)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (halved, "`/` always gives a float."),
        (rounded, "NumPy's `ceil` and `floor` round a float to a float."),
        (gathered, "On line {}, `np.zeros` without a dtype makes an array of float64."),
        (with_dtype, ""),
    ],
)
def test_a_float_is_blamed_only_on_what_the_code_has(function: Any, why: str) -> None:
    def spec(n: int) -> Any:
        got = function(n)
        return np.asarray(got).astype(int)[()]

    verdict = check(function, spec=spec, inputs=[(4,)], unseen=False)
    assert verdict.kind == "type"
    assert verdict.why == why.format(function.__code__.co_firstlineno + 1)


def test_a_small_number_beside_a_large_one_counts() -> None:
    def found(n: int) -> Any:
        return 100_000 * n, 0

    verdict = check(found, spec=lambda n: (100_000 * n, 1 / n), inputs=[4, 8])
    assert verdict.kind == "wrong-value"
    assert "result[1] is 0 and should be 0.25" in verdict.message


# Costs


def transposed(kernel: Any, **limits: Any) -> Verdict:
    return check(
        kernel,
        spec=lambda x: x.T,
        inputs=lambda rng, n: rng.random((n, n), np.float32),
        sizes=[64],
        launch=lambda n: ((n // 32, n // 32), (32, 32)),
        limits=limits,
    )


def test_uncoalesced_stores_are_named() -> None:
    @cuda.jit
    def naive(x, out):
        col, row = cuda.grid(2)
        out[col, row] = x[row, col]

    verdict = transposed(naive, sectors=4)
    assert verdict.kind == "sectors"
    assert "32 sectors" in verdict.message
    assert verdict.places[0][0].text == "out[col, row] = x[row, col]"


def test_bank_conflicts_are_named() -> None:
    @cuda.jit
    def tiled(x, out):
        tile = cuda.shared.array((32, 32), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        bx, by = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
        tile[ty, tx] = x[by + ty, bx + tx]
        cuda.syncthreads()
        out[bx + ty, by + tx] = tile[tx, ty]

    verdict = transposed(tiled, sectors=4, bank_conflicts=0)
    assert verdict.kind == "bank-conflicts"
    assert "31 conflicts per request" in repr(verdict)
    assert transposed(tiled, sectors=4)


def test_divergence_is_named() -> None:
    table = np.arange(3, dtype=np.float32)

    def verdict(kernel: Any) -> Verdict:
        return check(
            kernel,
            spec=lambda x, table: np.where(np.arange(x.size) % 2, x - 2, x + 2),
            inputs=lambda rng, n: (rng.random(n, np.float32), table),
            sizes=[64],
            launch=lambda n: (1, n),
            limits={"lanes": 32},
        )

    @cuda.jit
    def diverges(x, table, out):
        i = cuda.grid(1)
        if i % 2:
            out[i] = x[i] - table[2]
        else:
            out[i] = x[i] + table[2]

    @cuda.jit
    def regrouped(x, table, out):
        t = cuda.grid(1)
        if t < 32:
            out[2 * t] = x[2 * t] + table[2]
        else:
            out[2 * t - 63] = x[2 * t - 63] - table[2]

    refused = verdict(diverges)
    assert refused.kind == "divergence"
    assert "16 of its 32 lanes take part" in refused.message
    assert "32 lanes per request" in repr(verdict(regrouped))


def test_too_many_global_atomics_are_counted() -> None:
    def verdict(kernel: Any) -> Verdict:
        return check(
            kernel,
            spec=lambda x: np.bincount(x, minlength=4).astype(np.int32),
            inputs=lambda rng, n: rng.integers(0, 4, n, np.int32),
            out=lambda x: np.zeros(4, np.int32),
            sizes=[64, 200],
            launch=lambda n: (2, 64),
            limits={"atomics": 8},
        )

    @cuda.jit
    def direct(x, out):
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            cuda.atomic.add(out, x[i], 1)

    @cuda.jit
    def private(x, out):
        mine = cuda.shared.array(4, int32)
        t = cuda.threadIdx.x
        if t < 4:
            mine[t] = 0
        cuda.syncthreads()
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            cuda.atomic.add(mine, x[i], 1)
        cuda.syncthreads()
        if t < 4:
            cuda.atomic.add(out, t, mine[t])

    refused = verdict(direct)
    assert refused.kind == "atomics"
    assert "makes 200 atomic operations on global memory; 8 would" in refused.message
    assert refused.places[0][0].text == "cuda.atomic.add(out, x[i], 1)"
    assert refused.places[0][1] == "200 atomic operations on out"
    assert verdict(private)
    assert "global memory: 8 atomic operations" in repr(verdict(private))


def test_a_thread_that_loads_too_much_is_named() -> None:
    def verdict(kernel: Any, most: int) -> Verdict:
        return check(
            kernel,
            spec=lambda x: x.sum(axis=0),
            inputs=lambda rng, rows, cols: rng.random((rows, cols), np.float32),
            out=lambda x: np.zeros(x.shape[1], np.float32),
            sizes=[(4, 40), (24, 40)],
            launch=lambda rows, cols: ((2, -(-rows // 8)), 32),
            limits={"loads": most},
        )

    @cuda.jit
    def one_for_all(x, out):
        col = cuda.grid(1)
        if cuda.blockIdx.y == 0 and col < x.shape[1]:
            total = float32(0)
            for row in range(x.shape[0]):
                total += x[row, col]
            out[col] = total

    @cuda.jit
    def pieces(x, out):
        col = cuda.grid(1)
        if col < x.shape[1]:
            total = float32(0)
            for row in range(cuda.blockIdx.y, x.shape[0], cuda.gridDim.y):
                total += x[row, col]
            cuda.atomic.add(out, col, total)

    refused = verdict(one_for_all, 8)
    assert refused.kind == "loads"
    assert "One thread loads 24 elements" in refused.message
    assert refused.places[0][0].text == "total += x[row, col]"
    assert refused.places[0][1] == "24 loads of x by one thread"
    assert "same elements" not in refused.why
    assert refused.block == (0, 0)
    assert verdict(one_for_all, 24)
    assert "at most 8 loads per thread" in repr(verdict(pieces, 8))


def test_the_call_that_led_to_too_many_loads_is_shown() -> None:
    @cuda.jit(device=True)
    def column_sum(x, col):
        total = float32(0)
        for row in range(x.shape[0]):
            total += x[row, col]
        return total

    @cuda.jit
    def sums(x, begin, out):
        col = cuda.grid(1)
        if col < x.shape[1]:
            first = begin[col]
            out[col] = first + column_sum(x, col)

    refused = check(
        sums,
        spec=lambda x, begin: begin + x.sum(axis=0),
        inputs=lambda rng, n: (rng.random((24, n), np.float32), np.ones(n, np.float32)),
        sizes=[40],
        launch=lambda n: (2, 32),
        limits={"loads": 8},
        unseen=False,
    )
    assert refused.kind == "loads"
    (line, _), (call, note) = refused.places
    assert line.text == "total += x[row, col]"
    assert (call.text, note) == ("out[col] = first + column_sum(x, col)", "called here")


def test_threads_of_a_warp_that_all_load_the_same_are_told_so() -> None:
    @cuda.jit
    def sums(x, out):
        total = float32(0)
        for k in range(x.shape[1]):
            total += x[cuda.blockIdx.x, k]
        out[cuda.blockIdx.x, cuda.threadIdx.x] = total

    refused = check(
        sums,
        spec=lambda x: np.repeat(x.sum(axis=1, keepdims=True), 32, axis=1),
        inputs=lambda rng, rows, cols: rng.random((rows, cols), np.float32),
        sizes=[(2, 40)],
        launch=lambda rows, _: (rows, 32),
        limits={"loads": 2},
    )
    assert refused.kind == "loads"
    assert refused.why.startswith("All 32 threads of its warp load the same elements")


def test_a_thread_that_loads_too_much_of_shared_memory_is_named() -> None:
    @cuda.jit
    def all_by_one(x, out):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        tile[t] = x[t]
        cuda.syncthreads()
        total = float32(0)
        for k in range(t + 1):
            total += tile[k]
        out[t] = total

    def verdict(most: int) -> Verdict:
        return check(
            all_by_one,
            spec=np.cumsum,
            inputs=lambda rng, n: rng.random(n, np.float32),
            sizes=[64],
            launch=lambda n: (1, n),
            limits={"loads": 1, "shared_loads": most},
        )

    refused = verdict(20)
    assert refused.kind == "loads"
    assert "loads 64 elements from shared memory" in refused.message
    assert refused.places[0][0].text == "total += tile[k]"
    assert refused.thread == (63,)
    assert "other threads of the block" in refused.why
    assert "shared memory: at most 64 loads per thread" in repr(verdict(64))


def test_cells_that_a_thread_loads_again_are_what_it_could_keep() -> None:
    @cuda.jit
    def products(x, out):
        tile = cuda.shared.array(8, float32)
        t = cuda.threadIdx.x
        tile[t] = x[t]
        cuda.syncthreads()
        for k in range(8):
            out[t, k] = tile[t] * tile[k]

    refused = check(
        products,
        spec=lambda x: np.outer(x, x),
        inputs=lambda rng, n: rng.random(n, np.float32),
        sizes=[8],
        launch=lambda n: (1, n),
        limits={"shared_loads": 8},
        unseen=False,
    )
    assert refused.kind == "loads"
    assert "loads 16 elements from shared memory" in refused.message
    assert "the same elements again: 8 loads in all" in refused.why


def test_a_thread_that_looks_at_words_one_by_one_is_named() -> None:
    def verdict(kernel: Any, limits: dict[str, int]) -> Verdict:
        return check(
            kernel,
            spec=lambda words: words.sum(keepdims=True),
            inputs=lambda rng, n: rng.integers(1, 9, n).astype(np.int32),
            out=lambda words: np.zeros(1, np.int32),
            sizes=[64],
            launch=lambda n: (1, 32),
            limits=limits,
            unseen=False,
        )

    @cuda.jit
    def alone(words, out):
        if cuda.threadIdx.x == 0:
            for k in range(words.size):
                while peek(words, k) == 0:
                    pass
                out[0] += peek(words, k)

    refused = verdict(alone, {"peeks": 8, "loads": 64})
    assert refused.kind == "loads"
    assert "64 words, one after the other; 8 would be enough" in refused.message
    assert refused.line == alone.py_func.__code__.co_firstlineno + 4
    assert refused.thread == (0,)

    @cuda.jit
    def together(words, out):
        mine = int32(0)
        for k in range(cuda.threadIdx.x, words.size, 32):
            while peek(words, k) == 0:
                pass
            mine += peek(words, k)
        cuda.atomic.add(out, 0, mine)

    passed = repr(verdict(together, {"peeks": 8, "loads": 0}))
    assert "peek: at most 2 words per thread" in passed
    assert "global memory: at most 0 loads per thread" in passed


def test_too_much_arithmetic_is_counted_for_a_block() -> None:
    @cuda.jit
    def steps(x, out):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        tile[t] = x[cuda.grid(1)]
        cuda.syncthreads()
        step = 1
        while step < 64:
            left = tile[t - step] if t >= step else float32(0)
            cuda.syncthreads()
            if t >= step:
                tile[t] += left
            cuda.syncthreads()
            step *= 2
        out[cuda.grid(1)] = tile[t]

    def verdict(most: int) -> Verdict:
        return check(
            steps,
            spec=lambda x: x.reshape(-1, 64).cumsum(axis=1).ravel(),
            inputs=lambda rng, n: rng.random(n, np.float32),
            sizes=[64, 192],
            launch=lambda n: (n // 64, 64),
            limits={"flops": most},
        )

    refused = verdict(126)  # of a tree
    assert refused.kind == "flops"
    assert "do 321 operations on floats; 126 would be enough" in refused.message
    assert refused.places[0][0].text == "tile[t] += left"
    assert "arithmetic: 321 operations on floats per block" in repr(verdict(321))


def test_too_many_barriers_are_counted() -> None:
    @cuda.jit
    def careful(x, out):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        tile[t] = x[t + 64 * cuda.blockIdx.x]
        cuda.syncthreads()
        total = float32(0)
        for k in range(64):
            total += tile[k]
            cuda.syncthreads()
        if t == 0:
            out[cuda.blockIdx.x] = total

    def verdict(most: int) -> Verdict:
        return check(
            careful,
            spec=lambda x: x.reshape(-1, 64).sum(axis=1),
            inputs=lambda rng, n: rng.random(n, np.float32),
            sizes=[64, 192],
            launch=lambda n: (n // 64, 64),
            limits={"barriers": most},
        )

    refused = verdict(64)
    assert refused.kind == "barriers"
    assert "wait for each other 65 times, where 64 would be enough" in refused.message
    assert refused.line == careful.py_func.__code__.co_firstlineno + 9
    assert refused.places[0][1] == "64 barriers per block"
    assert [note for _, note in refused.places[1:]] == ["1 barrier per block"]
    assert "barriers: at most 65 per block" in repr(verdict(65))


def test_a_kernel_without_barriers_has_none() -> None:
    @cuda.jit
    def ones(out):
        out[cuda.grid(1)] = float32(1)

    verdict = check(
        ones,
        spec=lambda: np.ones(64, np.float32),
        inputs=lambda rng: (),
        sizes=[()],
        launch=lambda: (2, 32),
        limits={"barriers": 0},
    )
    assert "barriers: at most 0 per block" in repr(verdict)


def test_a_kernel_may_load_nothing() -> None:
    @cuda.jit
    def ones(out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = float32(1)

    verdict = check(
        ones,
        spec=lambda: np.ones(40, np.float32),
        inputs=lambda rng: (),
        sizes=[()],
        launch=lambda: (2, 32),
        limits={"loads": 0},
    )
    assert "at most 0 loads per thread" in repr(verdict)


def test_conflicts_of_wide_accesses_are_counted_against_their_own_best() -> None:
    @cuda.jit
    def wide(x, out):
        tile = cuda.shared.array((32, 32), float32)
        t = cuda.threadIdx.x
        a = load4(x, (t, 0))
        store4(tile, (t, 0), a[0], a[1], a[2], a[3])
        store4(out, (t, 0), a[0], a[1], a[2], a[3])

    verdict = check(
        wide,
        spec=lambda x: x,
        inputs=lambda rng, n: rng.random((n, 4), np.float32),
        sizes=[32],
        launch=lambda n: (1, n),
        limits={"bank_conflicts": 0},
    )
    assert verdict.kind == "bank-conflicts"
    assert "takes 32 passes where 4 would be enough. Up to 8 lanes" in verdict.message


def test_passes_that_differ_are_an_average() -> None:
    @cuda.jit
    def strided(x, out):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        tile[t] = x[t]
        tile[t + 32] = x[t]
        cuda.syncthreads()
        total = float32(0)
        for step in range(1, 3):
            total += tile[step * t]
        out[t] = total

    verdict = check(
        strided,
        spec=lambda x: x + x[2 * np.arange(32) % 32],
        inputs=lambda rng, n: rng.random(n, np.float32),
        sizes=[32],
        launch=lambda n: (1, n),
        limits={"bank_conflicts": 0},
        unseen=False,
    )
    assert verdict.kind == "bank-conflicts"
    assert (
        "takes 1.5 passes on average where one would be enough; the worst takes 2. "
        "Up to 2 lanes" in verdict.message
    )


def test_narrow_accesses_are_named() -> None:
    def verdict(kernel: Any) -> Verdict:
        return check(
            kernel,
            spec=lambda x: x,
            inputs=lambda rng, n: rng.random(n, np.float32),
            sizes=[256],
            launch=lambda n: (1, n // 4),
            limits={"load_bytes": 16, "store_bytes": 16},
        )

    @cuda.jit
    def scalar(x, out):
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            out[i] = x[i]

    @cuda.jit
    def half(x, out):
        i = 4 * cuda.grid(1)
        v = load4(x, i)
        out[i], out[i + 1], out[i + 2], out[i + 3] = v

    @cuda.jit
    def wide(x, out):
        i = 4 * cuda.grid(1)
        a, b, c, d = load4(x, i)
        store4(out, i, a, b, c, d)

    refused = verdict(scalar)
    assert refused.kind == "narrow"
    assert "A lane loads 4 bytes at a time" in refused.message
    assert "A lane stores 4 bytes at a time" in verdict(half).message
    assert "a lane loads 16 bytes at a time" in repr(verdict(wide))


def test_a_byte_alone_and_an_int_are_named_as_they_should_be() -> None:
    @cuda.jit
    def scalar(x, out):
        i = cuda.grid(1)
        out[i] = x[i]

    refused = check(
        scalar,
        spec=lambda x: x,
        inputs=lambda rng, n: rng.integers(0, 9, n, np.uint8),
        sizes=[64],
        launch=lambda n: (2, 32),
        limits={"load_bytes": 4},
    )
    assert "A lane loads 1 byte at a time" in refused.message
    plain = check(3, spec=lambda x: x, inputs=[(1,)])
    assert plain.message == "3 is an int, not a plain function."


def test_a_wrong_value_inside_a_wide_store_is_named() -> None:
    @cuda.jit
    def swaps(x, out):
        i = 4 * cuda.grid(1)
        a, b, c, d = load4(x, i)
        store4(out, i, a, b, d, c)

    verdict = check(
        swaps,
        spec=lambda x: x,
        inputs=lambda rng, n: rng.random(n, np.float32),
        sizes=[64],
        launch=lambda n: (1, n // 4),
    )
    assert verdict.kind == "wrong-value"
    assert verdict.places[0][0].text == "store4(out, i, a, b, d, c)"


# The GPU stage, with a GPU that is played


class Device:
    """A `cuda` whose launches end as told."""

    def __init__(self, error: Exception | None = None, done: bool = True) -> None:
        self.error, self.done = error, done

    def to_device(self, data: Any) -> Any:
        device = type("Array", (), {"data": data.copy()})()
        device.copy_to_host = lambda: device.data
        return device

    def event(self, timing: bool) -> Any:
        return type(
            "Event", (), {"record": lambda s: None, "query": lambda s: self.done}
        )()

    def synchronize(self) -> None:
        if self.error:
            raise self.error


class Kernel:
    __name__ = "add"

    def __getitem__(self, config: Any) -> Any:
        def run(a: Any, b: Any, out: Any) -> None:
            out.data = a.data + b.data

        return run


def at_full_size(monkeypatch: pytest.MonkeyPatch, device: Device) -> list[str]:
    import numba

    monkeypatch.setattr(numba, "cuda", device)
    monkeypatch.setattr(waiting, "LONGEST", 0.01)
    kernel = Kernel()
    return full_size.run(
        KernelExercise(
            written_by_learner=kernel,
            spec=lambda a, b: a + b,
            inputs=vectors,
            sizes=[1],
            launch=lambda n: (1, n),
            full=100,
        )
    )


def test_full_size_right(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "relative error" in at_full_size(monkeypatch, Device())[0]


def test_a_launch_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Failed) as caught:
        at_full_size(monkeypatch, Device(done=False))
    assert caught.value.verdict.kind == "hang"
    assert "Restart Kernel" in caught.value.verdict.why


def test_a_launch_that_poisons_the_context(monkeypatch: pytest.MonkeyPatch) -> None:
    error = RuntimeError("[700] Call to cuEventQuery: CUDA_ERROR_ILLEGAL_ADDRESS")
    with pytest.raises(Failed) as caught:
        at_full_size(monkeypatch, Device(error))
    assert caught.value.verdict.kind == "context"
    assert "Restart Kernel" in caught.value.verdict.why


# Wording


def test_strict_runs_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    @cuda.jit
    def add(a, b, out):
        out[cuda.grid(1)] = a[cuda.grid(1)]

    monkeypatch.setenv("WEFT_STRICT", "1")
    with pytest.raises(CheckFailed, match="outside the array"):
        on_vectors(add)


def test_passes_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i]

    seen = []
    monkeypatch.setattr("weft.lesson.passed", seen.append)
    on_vectors(add)
    assert seen == ["add"]


def test_html_is_escaped_and_marked() -> None:
    verdict = Verdict(
        "k",
        "out-of-bounds",
        "x < y & z",
        "",
        [(Place("k", 3, "x[i < 2]", "i < 2"), "")],
    )
    shown = verdict._repr_html_()
    assert 'class="weft-verdict"' in shown
    assert 'data-kind="out-of-bounds"' in shown
    assert 'role="status"' in shown
    assert "x &lt; y &amp; z" in shown
    assert "<script" not in shown


def test_weft_exports() -> None:
    assert weft.check is check
    assert isinstance(weft.GPU, bool)
    assert set(weft.__all__) <= set(dir(weft))


def test_a_function_from_before_an_error_is_not_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i]

    monkeypatch.setattr("weft.lesson.missing._stale", {"add"})
    assert on_vectors(add).kind == "stale"


def test_slices_are_accesses_too() -> None:
    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i : i + 2] = a[i] + b[i]

    assert on_vectors(add, sizes=[31]).kind == "race"


def test_a_slice_counts_what_it_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    skipped = compiling.Outcome(skipped="Numba would refuse it")
    monkeypatch.setattr("weft.compiling.compile_kernel", lambda *_: skipped)

    @cuda.jit
    def turn(x, out):
        row = cuda.grid(1)
        out[:, row] = x[row]

    verdict = check(
        turn,
        spec=lambda x: x.T,
        inputs=lambda rng, n: rng.random((n, n), np.float32),
        sizes=[32],
        launch=lambda n: (1, 32),
        limits={"sectors": 4},
    )
    assert verdict.kind == "sectors"


@pytest.mark.parametrize(
    "how", ["np.transpose(x)", "np.zeros(3)", "x + x", "np.sin(x)"]
)
def test_whole_arrays_are_refused(how: str) -> None:
    import linecache

    source = f"def kernel(x, out):\n    out[0] = {how}\n"
    linecache.cache["<whole>"] = (len(source), None, source.splitlines(True), "<whole>")
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, "<whole>", "exec"), scope)
    verdict = check(
        cuda.jit(scope["kernel"]),
        spec=lambda x: x,
        inputs=lambda rng, n: rng.random(n, np.float32),
        sizes=[4],
        launch=lambda n: (1, 32),
    )
    assert verdict.kind == "type"
    assert "whole" in verdict.message


def test_a_barrier_that_is_not_reached_is_said_not_to_help() -> None:
    @cuda.jit
    def reverse(x, out):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        if t < 32:
            tile[t] = x[t]
            cuda.syncthreads()
        else:
            out[t] = tile[t - 32]

    verdict = check(
        reverse,
        spec=lambda x: np.concatenate([x, x]),
        inputs=lambda rng: rng.random(32, np.float32),
        sizes=[()],
        launch=lambda: (1, 64),
    )
    assert verdict.kind in ("race", "uninitialised")
    if verdict.kind == "race":
        assert "does not help" in verdict.why


def test_a_barrier_that_neither_thread_reaches_is_counted() -> None:
    @cuda.jit
    def reverse(x, out):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        tile[t] = x[t]
        if t < 10:
            cuda.syncthreads()
        out[t] = tile[63 - t]

    verdict = check(
        reverse,
        spec=lambda x: x[::-1],
        inputs=lambda rng: rng.random(64, np.float32),
        sizes=[()],
        launch=lambda: (1, 64),
    )
    assert verdict.kind == "race"
    assert "only 10 of the 64 threads of the block reach it" in verdict.why
    assert verdict.places[1][1].endswith(", and neither waited")


def test_an_early_end_before_a_barrier_is_noted() -> None:
    @cuda.jit
    def reverse(x, out):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        if t >= x.size:
            return
        tile[t] = x[t]
        cuda.syncthreads()
        out[t] = tile[x.size - 1 - t]

    verdict = check(
        reverse,
        spec=lambda x: x[::-1],
        inputs=lambda rng, n: rng.random(n, np.float32),
        sizes=[40],
        launch=lambda n: (1, 64),
    )
    assert verdict
    assert "note: not every thread" in repr(verdict)


def test_a_launch_far_too_large_is_refused_at_once() -> None:
    assert launch_verdict(lambda n: (1_000_000, 256)).kind == "launch"


def test_a_size_that_is_right_is_named_where_another_has_no_stores() -> None:
    @cuda.jit
    def whole_fours(x, out):
        for i in range(cuda.grid(1), x.size // 4, cuda.gridsize(1)):
            store4(out, 4 * i, *load4(x, 4 * i))

    verdict = check(
        whole_fours,
        spec=lambda x: x,
        inputs=lambda rng, n: rng.random(n, np.float32),
        sizes=[64, 1],
        launch=lambda n: (1, 32),
    )
    assert verdict.message == "Nothing is written to out."
    assert verdict.why.startswith("For size 64 it is right.")


def test_an_output_that_is_as_it_was() -> None:
    @cuda.jit
    def nobody_adds(x, out):
        if cuda.grid(1) > x.size:
            cuda.atomic.add(out, 0, x[0])

    verdict = check(
        nobody_adds,
        spec=lambda x: x.sum(keepdims=True),
        inputs=lambda rng, n: rng.random(n, np.float32),
        out=lambda x: np.zeros(1, np.float32),
        sizes=[64],
        launch=lambda n: (1, n),
    )
    assert verdict.kind == "wrong-value"
    assert "No thread has stored to " in verdict.why


def test_wide_accesses_are_no_waste_of_sectors() -> None:
    @cuda.jit
    def fours(x, out):
        i = 4 * cuda.grid(1)
        if i < x.size:
            store4(out, i, *load4(x, i))

    @cuda.jit
    def apart(x, out):
        i = 4 * cuda.grid(1)
        for k in range(4):
            if i < x.size:
                out[i + k] = x[i + k]

    options: dict[str, Any] = {
        "spec": lambda x: x,
        "inputs": lambda rng, n: rng.random(n, np.float32),
        "sizes": [128],
        "launch": lambda n: (1, 32),
        "limits": {"sectors": 4},
    }
    assert check(fours, **options)
    assert check(apart, **options).kind == "sectors"


def test_a_second_load_in_other_laps_is_no_waste_of_sectors() -> None:
    @cuda.jit
    def strided(x, out):
        top = float32(-1)
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            if x[i] > top:
                top = x[i]
        out[cuda.grid(1)] = top

    @cuda.jit
    def in_pieces(x, out):
        top = float32(-1)
        part = x.size // cuda.gridsize(1)
        for i in range(cuda.grid(1) * part, (cuda.grid(1) + 1) * part):
            if x[i] > top:
                top = x[i]
        out[cuda.grid(1)] = top

    def highest(by_thread: Any) -> dict[str, Any]:
        return {
            "spec": by_thread,
            "inputs": lambda rng, n: rng.random(n, np.float32),
            "sizes": [1024],
            "launch": lambda n: (1, 32),
            "limits": {"sectors": 4},
        }

    assert check(strided, **highest(lambda x: x.reshape(-1, 32).max(axis=0)))
    verdict = check(in_pieces, **highest(lambda x: x.reshape(32, -1).max(axis=1)))
    assert verdict.kind == "sectors"


def test_a_kernel_that_counts_on_the_order_of_the_blocks() -> None:
    @cuda.jit
    def highest_adds_up(x, parts, count, out):
        b = cuda.blockIdx.x
        if cuda.threadIdx.x == 0:
            parts[b] = x[b]
            cuda.threadfence()
            cuda.atomic.add(count, 0, 1)
            cuda.threadfence()
            if b == cuda.gridDim.x - 1:
                total = float32(0)
                for k in range(cuda.gridDim.x):
                    total += parts[k]
                out[0] = total

    verdict = check(
        highest_adds_up,
        spec=lambda x: (x, np.array([x.size], np.int32), x.sum(keepdims=True)),
        inputs=lambda rng, n: rng.random(n, np.float32),
        out=lambda x: (np.zeros_like(x), np.zeros(1, np.int32), np.zeros(1, x.dtype)),
        sizes=[2, 8],
        launch=lambda n: (n, 32),
    )
    assert verdict.kind == "race"
    assert verdict.premise.startswith("If block 0 runs first, it is right")
    assert "there is a `cuda.threadfence()` between them" in verdict.why
    assert verdict.when.endswith("the last block first")
    assert verdict.topic == "lost-update"


def test_where_the_stores_went_instead() -> None:
    @cuda.jit
    def add(a, b, out):
        i = cuda.threadIdx.x
        if i < out.size:
            out[i] = a[i] + b[i]

    @cuda.jit
    def rebound(a, b, out):
        i = cuda.grid(1)
        if i < a.size:
            out = a[i] + b[i]  # noqa: F841

    verdict = on_vectors(add)
    assert "written by up to 4 threads each" in verdict.why
    assert verdict.places[0][0].text == "out[i] = a[i] + b[i]"
    verdict = on_vectors(rebound)
    assert verdict.message == "Nothing is written to out."
    assert "makes the name refer to something else" in verdict.why


def test_two_numbers_are_shown_so_that_they_differ() -> None:
    assert apart(0.351347, 0.351312) == ("0.35135", "0.35131")
    assert apart(2.0, 3.0) == ("2", "3")
    assert apart(7, 8) == ("7", "8")


def test_zero_is_shown_without_a_sign() -> None:
    one = (np.array([k], np.float32) for k in (-0.0, 1.0))
    found = difference(*one, 1e-5)
    assert found is not None
    assert found.sentence("out") == "out[0] is 0 and should be 1."


def test_a_factor_that_is_shown_as_one_is_not_mentioned() -> None:
    wanted = np.arange(1, 9, dtype=np.float32)
    for factor in (np.float32(1.0001), np.float32(1.2)):
        found = difference(factor * wanted, wanted, 1e-5)
        assert found is not None
        assert ("times what it should be" in found.hint) == (factor > 1.1)


@pytest.mark.parametrize(
    ("number", "shown"),
    [(1, "1 load"), (0, "0 loads"), (1024, "1,024 loads"), (2.5, "2.5 loads")],
)
def test_one_is_no_plural(number: float, shown: str) -> None:
    assert several(number, "load") == shown


@cuda.jit
def names_of_its_own(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = b[i] - 2 * a[i]


@cuda.jit
def swapped_and_wrong(b, a, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


@cuda.jit
def swapped(b, a, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = b[i] - 2 * a[i]


@cuda.jit
def not_a_number(x, y, out):
    for i in range(x):
        out[i] = y[i]


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        (names_of_its_own, "pass"),
        (swapped_and_wrong, "wrong-value"),
        (swapped, "arguments"),
        (not_a_number, "exception"),
    ],
)
def test_parameters_in_another_order(kernel: Any, kind: str) -> None:
    def spec(a, b):
        return b - 2 * a

    def spec_by_other_names(b, a):
        return a - 2 * b

    own = kernel is names_of_its_own
    verdict = check(
        kernel,
        spec=spec_by_other_names if own else spec,
        inputs=lambda rng, n: (rng.random(n, np.float32), rng.random(n, np.float32)),
        sizes=[40],
        launch=lambda n: (2, 32),
    )
    assert verdict.kind == kind, verdict
    if kind == "arguments":
        assert "swapped(a, b, out)" in verdict.message
        assert "are b, a, out." in verdict.message
        assert verdict.places[0][0].text == "def swapped(b, a, out):"
    assert "Traced" not in repr(verdict)


def test_what_keeps_threads_from_a_store_is_shown() -> None:
    @cuda.jit
    def misread_guard(x, out):
        i = cuda.grid(1)
        if i < 8 & i < out.size:
            out[i] = x[i]

    @cuda.jit
    def lets_through(x, out):
        i = cuda.grid(1)
        if i >= out.size & i < 0:
            return
        out[i] = x[i]

    @cuda.jit
    def never(x, out):
        i = cuda.grid(1)
        if i > 2 * out.size:
            cuda.atomic.add(out, i, x[i])

    @cuda.jit
    def ends_early(x, out):
        i = cuda.grid(1)
        if i >= out.size - 1:
            return
        out[i] = x[i]

    def verdict(kernel: Any) -> Verdict:
        return check(
            kernel,
            spec=lambda x: x,
            inputs=lambda rng, n: rng.random(n, np.float32),
            sizes=[40],
            launch=lambda n: (2, 32),
        )

    def shown(found: Verdict) -> list[str]:
        return [place.text for place, _ in found.places]

    found = verdict(misread_guard)
    assert found.kind == "unwritten"
    assert shown(found) == ["if i < 8 & i < out.size:", "out[i] = x[i]"]
    assert "`8 & i` first" in found.why
    found = verdict(lets_through)
    assert found.kind == "out-of-bounds"
    assert shown(found) == ["out[i] = x[i]", "if i >= out.size & i < 0:"]
    assert "`out.size & i` first" in found.why
    found = verdict(never)
    assert shown(found) == ["if i > 2 * out.size:", "cuda.atomic.add(out, i, x[i])"]
    found = verdict(ends_early)
    assert shown(found) == ["out[i] = x[i]", "if i >= out.size - 1:", "return"]


def test_an_atomic_operation_may_be_ruled_out() -> None:
    @cuda.jit
    def largest(x, out):
        i = cuda.grid(1)
        if i < x.size:
            cuda.atomic.max(out, 0, x[i])

    def verdict(kind: Any, without: tuple[str, ...]) -> Verdict:
        return check(
            largest,
            spec=lambda x: x.max(keepdims=True),
            inputs=lambda rng, n: rng.integers(0, 99, n).astype(kind),
            out=lambda x: np.zeros(1, x.dtype),
            sizes=[40],
            launch=lambda n: (2, 32),
            without=without,
        )

    assert verdict(np.float32, ())
    assert verdict(np.float32, ("cuda.atomic.cas",))
    assert verdict(np.int32, ("cuda.atomic.max float32",))
    for without in ("cuda.atomic.max", "cuda.atomic.max float32"):
        found = verdict(np.float32, (without,))
        assert found.kind == "library"
        assert found.places[0][0].text == "cuda.atomic.max(out, 0, x[i])"
    with pytest.raises(ValueError, match="no atomic operation"):
        verdict(np.float32, ("numpy.max",))
