"""What a GPU or its compiler refuses of a launch is refused here as well."""

from enum import Enum, IntEnum, IntFlag
from typing import Any, NamedTuple

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from numba import cuda, float32, float64, int32, void  # isort: skip
from weft import check, meaning
from weft.checking.verdict import Verdict
from weft.device import toolkit
from weft.simulator import Fault, LaunchError, constant_memory
from weft.simulator.limits import MOST_SHARED

compiler = pytest.mark.skipif(bool(toolkit.find().missing), reason="no compiler here")


@pytest.fixture(autouse=True)
def _a_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    monkeypatch.setattr("weft.lesson._current", None)


def vectors(rng: Any, n: int) -> tuple[Any, Any]:
    return rng.random(n, np.float32), rng.random(n, np.float32)


def added(kernel: Any, **options: Any) -> Verdict:
    """The verdict on a kernel that should add two vectors, in blocks of 128."""
    defaults: dict[str, Any] = {
        "spec": lambda a, b: a + b,
        "inputs": vectors,
        "sizes": [128, 1000, 1],
        "launch": lambda n: (-(-n // 128), 128),
    }
    return check(kernel, **(defaults | options))


def adds(*signature: Any, **options: Any) -> Any:
    @cuda.jit(*signature, **options)
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i]

    return add


def launched(kernel: Any, *given: Any) -> Any:
    """What a plain launch on these arguments raises, None if it runs."""
    out = np.zeros(128, np.float32)
    x = np.ones(128, np.float32)
    try:
        kernel[1, 128](*(given or (x, x, out)))
    except Fault as fault:
        return fault
    assert given or (out == 2).all()
    return None


# Signatures

ONES = float32[:], float32[:], float32[:]


@pytest.mark.parametrize(
    "signature",
    [
        "void(float32[:], float32[:], float32[:])",
        "void(float32[::1], float32[::1], float32[::1])",
        "(float32[:], float32[:], float32[::1])",
        ONES,
        void(*ONES),
        [ONES],
        ["void(float64[:], float64[:], float64[:])", void(*ONES)],
    ],
)
def test_a_signature_that_fits(signature: Any) -> None:
    assert added(adds(signature))
    assert launched(adds(signature)) is None


@pytest.mark.parametrize(
    ("signature", "said"),
    [
        (
            "void(float64[:], float64[:], float64[:])",
            "The signature says that a is float64[:], and it is launched with "
            "float32[::1].",
        ),
        ("void(float32[:], float32[:], float64[:])", "says that out is float64[:]"),
        ((float32[:], float64[:], float32[:]), "says that b is float64[:]"),
        ("void(float32[:, :], float32[:], float32[:])", "says that a is float32[:, :]"),
        ("void(float32, float32[:], float32[:])", "says that a is float32,"),
        ("void(float32[:], float32[:])", "has 2 types, but add takes 3 arguments"),
        (float32[:](float32[:]), "has 1 type, but add takes 3 arguments"),
        ("float32(float32[:], float32[:], float32[:])", "says that the kernel returns"),
        ("void(float32[:], float32[:], nothing)", "cannot be read"),
        (
            ["void(float64[:], float64[:], float64[:])", void(*[int32[:]] * 3)],
            "No signature of add fits its arguments",
        ),
    ],
)
def test_a_signature_that_does_not_fit(signature: Any, said: str) -> None:
    verdict = added(adds(signature))
    assert verdict.kind == "type", verdict
    assert said in verdict.message
    assert verdict.places[0][0].text == "@cuda.jit(*signature, **options)"
    fault = launched(adds(signature))
    assert fault.kind == "type"
    assert fault.message in verdict.message[:1].lower() + verdict.message[1:]


def test_a_layout_that_a_signature_does_not_take() -> None:
    wide = np.ones(256, np.float32)[::2]
    out = np.zeros(128, np.float32)
    kernel = adds("void(float32[::1], float32[::1], float32[::1])")
    assert "a is float32[::1]" in launched(kernel, wide, wide, out).message
    assert launched(adds(ONES), wide, wide, out) is None
    assert (out == 2).all()


def test_numbers_are_converted_to_a_signatures_types() -> None:
    @cuda.jit("void(int32, float32, int64[:], float64[:])")
    def types_of(n, x, whole, out):
        whole[0] = n * n
        out[0] = x * n

    whole, out = np.zeros(1, np.int64), np.zeros(1)
    types_of[1, 1](np.int64(3), 0.1, whole, out)
    assert (whole[0], out[0]) == (9, float(np.float32(0.1)) * 3)
    with pytest.raises(Fault, match="the signature says that n is int32"):
        types_of[1, 1](2.5, 0.1, whole, out)


def test_what_was_told_is_kept() -> None:
    told = meaning.options_of(adds(ONES, launch_bounds=(128, 2), max_registers=40))
    assert (told.launch_bounds, told.max_registers) == ((128, 2), 40)
    assert meaning.NUMBA.signature_types(told.signatures[0]) == (ONES, None)
    assert meaning.options_of(adds()) == meaning.Options()
    assert meaning.options_of(len) == meaning.Options()

    class Dispatcher:  # as far as it matters, what Numba makes where there is a GPU
        targetoptions = {"launch_bounds": 64}  # noqa: RUF012
        overloads = {ONES: None}  # noqa: RUF012
        _can_compile = False

    assert meaning.options_of(Dispatcher()) == meaning.Options((ONES,), 64, None)


@compiler
def test_the_compiler_gets_the_signature() -> None:
    """The `x` that it declares is a float64, though the check passes a float32."""

    def case(*signature: Any) -> Verdict:
        @cuda.jit(*signature)
        def scale(x, out):
            i = cuda.grid(1)
            if i < out.size:
                out[i] = x * x

        return added(
            scale,
            spec=lambda x: np.full(7, x * x),
            inputs=lambda rng, n: (rng.random(1, np.float32)[0],),
            out=lambda x: np.zeros(7, np.float32),
            limits={"float64": 0},
        )

    assert case()
    assert case("void(float32, float32[:])")
    assert case("void(float64, float32[:])").kind == "float64"


# Launch bounds


@pytest.mark.parametrize("bounds", [64, (64,), (64, 2), (127, 1, 1)])
def test_a_block_larger_than_its_bounds(bounds: Any) -> None:
    verdict = added(adds(launch_bounds=bounds))
    assert verdict.kind == "launch"
    assert "Block of 128 threads; add is compiled for at most" in verdict.message
    assert isinstance(launched(adds(launch_bounds=bounds)), LaunchError)


@pytest.mark.parametrize("bounds", [128, (128, 4), 1024, (256, 1, 1)])
def test_a_block_within_its_bounds(bounds: Any) -> None:
    assert added(adds(launch_bounds=bounds, max_registers=32))
    assert added(adds(ONES, launch_bounds=bounds))


@pytest.mark.parametrize(
    "options",
    [
        {"launch_bounds": 2048},
        {"launch_bounds": 0},
        {"launch_bounds": "128"},
        {"launch_bounds": (128, 2, 1, 1)},
        {"launch_bounds": ()},
        {"max_registers": (32,)},
        {"max_registers": 0},
        {"max_registers": 31.5},
    ],
)
def test_options_that_mean_nothing(options: Any) -> None:
    (name,) = options
    verdict = added(adds(**options))
    assert verdict.kind == "type"
    assert name in verdict.message


# Memory


@pytest.mark.parametrize("kilobytes", [0, 8, 9, 48, 200])
def test_static_and_dynamic_shared_memory_together(kilobytes: int) -> None:
    @cuda.jit
    def both(a, b, out):
        tile = cuda.shared.array(10_000, float32)  # 40,000 bytes
        i = cuda.grid(1)
        tile[cuda.threadIdx.x] = float32(0)
        if i < out.size:
            out[i] = a[i] + b[i] + tile[cuda.threadIdx.x]

    dynamic = 1024 * kilobytes
    verdict = added(both, launch=lambda n: (-(-n // 128), 128, 0, dynamic))
    fits = 40_000 + dynamic <= MOST_SHARED
    assert verdict.kind == ("pass" if fits else "launch"), verdict


LARGE = np.arange(25_600, dtype=np.float32)  # 100 KB


@cuda.jit(device=True)
def looked_up(i):
    return LARGE[i]


def test_a_table_that_constant_memory_cannot_hold() -> None:
    @cuda.jit
    def direct(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i] + (LARGE[i] - LARGE[i])

    @cuda.jit
    def declared(a, b, out):
        table = cuda.const.array_like(LARGE)
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i] + (table[i] - table[i])

    @cuda.jit
    def elsewhere(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i] + (looked_up(i) - looked_up(i))

    for kernel in (direct, declared, elsewhere):
        verdict = added(kernel)
        assert verdict.kind == "type", verdict
        assert "`LARGE`, which is no argument, has 102,400 bytes" in verdict.message
        assert "LARGE" in verdict.places[0][0].text
        assert launched(kernel).kind == "type"


def test_a_table_of_which_only_the_size_is_used() -> None:
    @cuda.jit
    def sized(a, b, out):
        i = cuda.grid(1)
        if i < out.size and i < LARGE.size and i < LARGE.shape[0]:
            out[i] = a[i] + b[i]

    assert added(sized)
    assert list(constant_memory.copied(sized.py_func)) == []


@compiler
def test_a_table_that_is_mentioned_too_often() -> None:
    """Numba makes a copy for each mention; three of 28 KB are too many."""
    small = np.zeros(7_000, np.float32)
    small[-1] = 1  # no constant to the compiler, and 0 for all that is read

    @cuda.jit
    def thrice(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i] + (small[i] - small[2 * i] + small[i // 2])

    @cuda.jit
    def once(a, b, out):
        table = small
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i] + (table[i] - table[2 * i] + table[i // 2])

    verdict = added(thrice)
    assert verdict.kind == "type"
    assert "84,000 bytes" in verdict.message
    assert added(once)


@compiler
def test_more_local_memory_than_a_thread_may_have() -> None:
    def with_cells(count: int) -> Verdict:
        @cuda.jit
        def cells(a, b, out):
            mine = cuda.local.array(count, float32)
            i = cuda.grid(1)
            if i < out.size:
                mine[i] = a[i]
                mine[i + 1] = b[i]
                out[i] = mine[i] + mine[i + 1]

        return added(cells, unseen=False)

    assert with_cells(100_000)
    verdict = with_cells(262_144)
    assert verdict.kind == "type"
    assert "a local array of 1,048,576 bytes" in verdict.message.lower()


# Classes of the learner's own


class Axis(IntEnum):
    X = 0
    Y = 1


class Colour(Enum):
    RED = 1
    GREEN = 2


class Marks(IntFlag):
    A = 1
    B = 2


class Point(NamedTuple):
    x: int
    y: int = 1


class Clever(IntEnum):
    X = 0

    def __add__(self, other: Any) -> Any:
        return 7

    def data(self, array: Any) -> Any:
        return array._data


ORIGIN, CORNERS = Point(1), (Axis.X, Axis.Y)


@compiler
def test_classes_that_numba_compiles() -> None:
    @cuda.jit
    def names_them(a, b, out):
        i = cuda.grid(1)
        here, colour = Point(i, 2), Colour.RED
        if i < out.size and here.x == i and ORIGIN.y == 1 and colour == Colour.RED:
            out[i + Axis.X] = a[i] + b[i]

    verdict = added(names_them, limits={"float64": 0, "local": 0})
    assert verdict, verdict
    assert any(fact.startswith("compiles for") for fact in verdict.facts)


@compiler
def test_a_class_does_not_hide_what_the_compiler_finds() -> None:
    @cuda.jit
    def in_double(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i + Axis.X] = a[i] * 0.1 * 10 + b[i]

    @cuda.jit
    def tuple_or_number(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            v = a[i] if i % 2 == Axis.X else (a[i], b[i])
            out[i] = a[i] + b[i] if i % 2 != v else b[i] + a[i]

    @cuda.jit
    def a_method(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = Colour.RED.bit_length() + a[i]

    @cuda.jit
    def flags(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i] + (Marks.A - Marks.A)

    @cuda.jit
    def to_a_float(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i] + float32(Axis.X)

    assert added(in_double, limits={"float64": 0}).kind == "float64"
    for kernel in (tuple_or_number, flags, to_a_float):
        assert added(kernel).kind == "type", kernel
    assert added(a_method).kind in ("type", "exception")


def test_operators_of_ones_own_are_refused() -> None:
    @cuda.jit
    def adds_cleverly(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i] + (Clever.X + 1) - 7

    @cuda.jit
    def reaches_the_data(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = Clever.X.data(a)[i] + b[i]

    for kernel in (adds_cleverly, reaches_the_data):
        verdict = added(kernel)
        assert verdict.kind == "type"
        assert "has a `__add__` of its own" in verdict.message


def test_what_numba_knows_of_cuda_only() -> None:
    from numba.cuda import blockDim, blockIdx, grid, syncthreads, threadIdx

    @cuda.jit
    def by_name(a, b, out):
        i = grid(1)
        syncthreads()
        if i < out.size:
            out[i] = a[i] + b[i]

    @cuda.jit
    def own_index(a, b, out):
        i = blockIdx.x * blockDim.x + threadIdx.x
        if i < out.size:
            out[i] = a[i] + b[i]

    assert added(by_name)
    verdict = added(own_index)
    assert verdict.kind == "type"
    assert "Numba knows `blockIdx` only as `cuda.blockIdx`" in verdict.message
    with pytest.raises(Fault, match=r"cuda\.grid is used outside a kernel"):
        grid(1)
    for name in ("laneid", "shared", "atomic", "literal_unroll", "managed_array"):
        assert hasattr(cuda, name)
