"""What is wrong only beyond the sizes that a check lists: it is found all the same."""

from typing import Any

import numpy as np
import pytest
from test_kernels import checks, run, scope_of

import weft  # noqa: F401  before Numba

from numba import cuda, float32, int8, int16, int32, int64, uint16  # isort: skip
from weft import check, effort
from weft.checking.cases import evened, unseen_arguments
from weft.checking.verdict import Verdict
from weft.kernels import larger
from weft.kernels.exercise import KernelExercise


@pytest.fixture(autouse=True)
def _a_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    monkeypatch.setattr("weft.lesson._current", None)


def vectors(rng: Any, n: int) -> tuple[Any, Any]:
    return rng.random(n, np.float32), rng.random(n, np.float32)


def added(kernel: Any, **options: Any) -> Verdict:
    """The verdict on a kernel that should add two vectors."""
    defaults: dict[str, Any] = {
        "spec": lambda a, b: a + b,
        "inputs": vectors,
        "sizes": [128, 1000, 1],
        "launch": lambda n: (-(-n // 128), 128),
    }
    return check(kernel, **(defaults | options))


FEW = {"launch": lambda n: (2, 64), "sizes": [128, 300, 999]}


def test_a_right_kernel_says_how_far_it_went() -> None:
    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i]

    assert "right in 1 larger case as well: size 2,102" in added(add).facts
    assert not any("larger" in fact for fact in added(add, larger=False).facts)
    assert not any("larger" in fact for fact in added(add, unseen=False).facts)
    given = added(add, larger=4_000).facts
    assert "right in 1 larger case as well: size 4,000" in given


@pytest.mark.parametrize("bound", [1001, 1024, 1500, 2048])
def test_a_bound_that_the_listed_sizes_keep_to(bound: int) -> None:
    @cuda.jit
    def up_to(a, b, out):
        i = cuda.grid(1)
        if i < out.size and i < bound:
            out[i] = a[i] + b[i]

    verdict = added(up_to)
    assert verdict.kind == "unwritten"
    assert verdict.when == "size 2,102, which the check does not list"
    assert f"out[{bound}] is never written" in verdict.message


@pytest.mark.parametrize("laps", [8, 16, 32])
def test_a_loop_of_so_many_laps(laps: int) -> None:
    @cuda.jit
    def strides(a, b, out):
        i = cuda.grid(1)
        for _ in range(laps):
            if i < out.size:
                out[i] = a[i] + b[i]
            i += cuda.gridsize(1)

    assert added(strides, **FEW).kind == "unwritten"


def test_a_loop_without_an_end_of_its_own() -> None:
    @cuda.jit
    def strides(a, b, out):
        for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
            out[i] = a[i] + b[i]

    assert "right in 1 larger case as well: size 5,122" in added(strides, **FEW).facts


@pytest.mark.parametrize(
    "wrong",
    [
        lambda n: n % 2 == 0 and n not in (128, 1000),
        lambda n: n % 2 == 1 and n != 1,
        lambda n: n % 2 == 0 and n % 8 != 0,
        lambda n: n % 4 == 2,
    ],
)
def test_sizes_of_both_parities_are_run(wrong: Any) -> None:
    sizes = np.array([wrong(n) for n in range(10_000)])

    @cuda.jit
    def picks(a, b, out):
        i = cuda.grid(1)
        if i < out.size and not sizes[out.size]:
            out[i] = a[i] + b[i]

    verdict = added(picks)
    assert verdict.kind == "unwritten"
    assert "which the check does not list" in verdict.when


def test_one_axis_at_a_time() -> None:
    @cuda.jit
    def product(a, b, out):
        i, j = cuda.grid(2)
        if i < out.shape[0] and j < out.shape[1]:
            total = float32(0)
            for k in range(min(a.shape[1], 32)):
                total += a[i, k] * b[k, j]
            out[i, j] = total

    verdict = check(
        product,
        spec=lambda a, b: a @ b,
        inputs=lambda rng, m, k, n: (
            rng.random((m, k), np.float32),
            rng.random((k, n), np.float32),
        ),
        sizes=[(8, 32, 4), (5, 20, 17), (21, 3, 1)],
        launch=lambda m, k, n: ((-(-m // 8), -(-n // 8)), (8, 8)),
    )
    assert verdict.kind == "wrong-value"
    assert verdict.when.startswith("size 21 × ")


def exercise(sizes: Any, launch: Any) -> KernelExercise:
    @cuda.jit
    def kernel(x, out):
        pass

    return KernelExercise(
        written_by_learner=kernel,
        spec=lambda a, b: a + b,
        inputs=vectors,
        sizes=sizes,
        launch=launch,
    )


@pytest.mark.parametrize(
    ("sizes", "launch", "wanted"),
    [
        ([1, 31, 100], lambda n: (-(-n // 32), 32), [2102, 1102, 302, 202]),
        ([64, 256, 1024], lambda n: (n // 64, 64), [2048]),
        ([40, 120], lambda n: (n // 8, 8), [2120, 1120, 320, 240]),
        ([1, 1000], lambda n: (1, 1024), []),  # a thread for every element there may be
        ([1, 1000], lambda n: (1, 64), [2562, 2102, 2002]),
        ([1, 1000], lambda n: {1: (1, 32), 1000: (4, 256)}[n], []),
    ],
)
def test_sizes_of_one_number(sizes: Any, launch: Any, wanted: list[int]) -> None:
    (found,) = larger.sizes(exercise(sizes, launch))
    assert sorted({n for (n,) in found}, reverse=True) == wanted


def test_axes_that_are_equal_grow_together() -> None:
    squares = exercise([(4, 4, 7), (9, 9, 7)], lambda *_: (1, 1))
    first, *_ = larger.sizes(squares)[0]
    assert first[0] == first[1] > 9
    assert first[2] == 7
    assert larger.sizes(exercise([(4, "f4"), (9, "f4")], lambda *_: (1, 1))) == []


def test_it_costs_little() -> None:
    """Whatever an element of the listed sizes was worth, the larger case is bounded."""
    one = exercise([1, 31, 100], lambda n: (-(-n // 32), 32))
    (choices,) = larger.sizes(one)
    assert [t.case.size for t in larger.trials(one, choices, 100)] == []
    first, *_ = larger.trials(one, choices, 1500)
    assert first.case.size == (1102,)

    @cuda.jit
    def quadratic(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            for _ in range(out.size):
                out[i] = a[i] + b[i]

    with effort.counted() as done:
        verdict = added(quadratic, sizes=[64, 200, 1])
    assert verdict
    assert done["iterations"] < 1_000_000
    assert any("larger case" in fact for fact in verdict.facts)


def test_arguments_of_plain_functions() -> None:
    cases = [(1, 128), (128, 128), (129, 128), (1000, 256), (1 << 26, 256)]
    odd, even, multiple = unseen_arguments(cases, 12345)
    assert (odd[0] % 2, even[0] % 4, multiple[0] % multiple[1]) == (1, 2, 0)
    assert unseen_arguments([(3,)], 1) == []
    assert unseen_arguments([(-1,), (2,)], 1) == []
    assert evened((31, 40, 7), [(1, 8, 7), (100, 80, 7)]) == (30, 40, 7)

    def one_too_many(n, threads):
        listed = dict.fromkeys(cases, 0) | {c: -(-c[0] // c[1]) for c in cases}
        return listed.get((n, threads), n // threads + 1)

    verdict = check(one_too_many, spec=lambda n, t: -(-n // t), inputs=cases)
    assert verdict.kind == "wrong-value"


# An index that is too narrow


def by_cast(kind: Any) -> Any:
    @cuda.jit
    def cast(a, b, out):
        i = kind(cuda.grid(1))
        if i < out.size:
            out[i] = a[i] + b[i]

    return cast


@pytest.mark.parametrize(
    ("kind", "verdict", "most"),
    [
        (int16, "negative-index", "32,767"),
        (np.int16, "negative-index", "32,767"),
        (uint16, "unwritten", "65,535"),
        (float32, "type", ""),  # an array has no index of float32
        (int32, "pass", ""),
        (int64, "pass", ""),
    ],
)
def test_a_cast_of_the_threads_number(kind: Any, verdict: str, most: str) -> None:
    found = added(by_cast(kind))
    assert found.kind == verdict, found
    assert most in found.message
    if most:
        assert "i = kind(cuda.grid(1))" in [place.text for place, _ in found.places]


def test_an_int8_is_found_by_the_listed_sizes() -> None:
    assert added(by_cast(int8)).kind == "negative-index"


def test_through_float32() -> None:
    @cuda.jit
    def parts(a, b, out):
        block = float32(cuda.blockIdx.x)
        f = block * float32(cuda.blockDim.x) + float32(cuda.threadIdx.x)
        i = int(f)
        if i < out.size:
            out[i] = a[i] + b[i]

    @cuda.jit
    def in_a_loop(a, b, out):
        for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
            k = int32(np.float32(i))
            out[k] = a[k] + b[k]

    @cuda.jit
    def inline(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[int(float32(i))] = a[i] + b[i]

    for kernel in (parts, in_a_loop, inline):
        verdict = added(kernel)
        assert verdict.kind == "unwritten", verdict
        assert "16,777,216" in verdict.message
        assert not added(kernel, full=1 << 24)
        assert added(kernel, full=1 << 20)


def test_what_is_narrow_and_right() -> None:
    @cuda.jit
    def bounded(a, b, out):
        i = cuda.grid(1)
        lane, thread = int16(i % 32), int16(cuda.threadIdx.x)
        first = i - thread
        if i < out.size:
            out[first + thread] = a[i] + b[i] + float32(lane - i % 32)

    @cuda.jit
    def data(a, b, out):
        i = cuda.grid(1)
        x = float32(i) * float32(0)
        if i < out.size:
            out[i] = a[i] + b[i] + x

    for kernel in (bounded, data):
        assert added(kernel), added(kernel)


# The labs' own checks


@pytest.mark.parametrize(
    ("lab", "exercise", "cell", "kind"),
    [
        (
            "05_first_kernel",
            "saxpy",
            """
@cuda.jit
def saxpy(alpha, x, y):
    i = cuda.grid(1)
    for lap in range(8):
        if i < x.size:
            y[i] = alpha * x[i] + y[i]
        i += cuda.gridsize(1)
""",
            "wrong-value",
        ),
        (
            "06_grids_2d",
            "matmul",
            """
@cuda.jit
def matmul(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for k in range(32):
            if k < a.shape[1]:
                total += a[row, k] * b[k, col]
        c[row, col] = total
""",
            "wrong-value",
        ),
    ],
)
def test_the_labs(lab: str, exercise: str, cell: str, kind: str) -> None:
    scope = scope_of(lab)
    run(cell, "<a learner's cell>", scope)
    verdict = run(checks(lab)[exercise], "<check>", scope)
    assert verdict.kind == kind, verdict
