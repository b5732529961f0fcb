"""The simulator computes as Numba does: types, values, and the edges of a GPU.

The programs are random, but the same each time; `verification.programs` draws them.
"""

import json
import math
import sys
from typing import Any

import numpy as np
import pytest

import weft
from verification import arithmetic, edges, number_types, programs
from weft.simulator import Fault, simulate

from numba import cuda, float32, int8, int32, int64, uint8, uint32, uint64  # isort: skip

CHUNK = 16  # programs of one test, some 250 expressions
FAST, ALL = 4, 8  # tests of the fast tier, and of both
CHUNKS = [
    *range(FAST),
    *(pytest.param(chunk, marks=pytest.mark.long) for chunk in range(FAST, ALL)),
]


def test_the_types_are_numbas_own() -> None:
    kept = json.loads(number_types.TABLE.read_text(encoding="utf-8"))
    assert number_types.apart() == kept


@pytest.mark.parametrize("chunk", CHUNKS)
def test_random_programs_give_what_njit_gives(
    chunk: int, pytestconfig: pytest.Config
) -> None:
    """Compiling takes most of the time, so Numba's answers are kept; see `answers`."""
    done = 0
    for seed in range(CHUNK * chunk, CHUNK * (chunk + 1)):
        one = arithmetic.calm(programs.program(seed))
        found = list(arithmetic.differences(one, answers(pytestconfig)))
        assert found == []
        done += len(one.results())
    assert done >= 240


def answers(config: pytest.Config) -> Any:
    """`by_njit`, which compiles a program only where nobody knows its answer.

    The repository has the answers for the pinned packages; others are kept in pytest's
    cache.
    """
    assert config.cache is not None
    folder = config.cache.mkdir("arithmetic")
    known = np.load(arithmetic.KEPT)

    def by_njit(one: programs.Program) -> arithmetic.Results:
        name = arithmetic.key(one)
        if name in known:
            whole, real = known[name]
            return whole, real.view(np.float64)
        file = folder / f"{name}.npz"
        if not file.exists():
            whole, real = arithmetic.by_njit(one)
            np.savez(file, whole=whole, real=real)
        with np.load(file) as found:
            return found["whole"], found["real"]

    return by_njit


def test_the_answers_that_are_kept_are_those_of_njit() -> None:
    known = np.load(arithmetic.KEPT)
    if str(known["by"]) != arithmetic.computed_by():
        pytest.skip(f"they are kept for {known['by']}")
    last = programs.program(CHUNK * ALL - 1)
    one = arithmetic.calm(last)
    assert arithmetic.key(one) in known, "python -m verification.arithmetic 2220 --keep"
    whole, real = arithmetic.by_njit(one)
    np.testing.assert_array_equal(known[arithmetic.key(one)][0], whole)
    np.testing.assert_array_equal(known[arithmetic.key(one)][1].view("f8"), real)


def test_a_difference_is_found() -> None:
    """The comparison can fail: here the reference adds 1 to what Numba gives."""

    def off_by_one(one: programs.Program) -> arithmetic.Results:
        whole, real = arithmetic.by_simulator(one)
        return whole + 1, real

    one = programs.program(1)
    assert any(one.numbers[k].whole for k in one.results())
    assert list(arithmetic.differences(one, off_by_one))


# Beyond njit

# The edges at which the simulator is not the GPU. Each would need what a GPU has no
# rule for, or what no learner's result should depend on.
REMAINDER = (
    "A GPU has no instruction for the remainder of floats: LLVM computes x - y * "
    "trunc(x / y), which is NaN where y is infinite, and off by the rounding of x / y "
    "where that is large. The simulator gives the exact remainder, as njit does."
)
UNLIKE_A_GPU = {
    "abs(a) of i8": "-128 has no counterpart, and is negated in a wider register",
    "(a) % (b) of f32,f32": REMAINDER,
    "(a) % (b) of f64,f64": REMAINDER,
}


def test_the_edges_are_those_of_a_gpu() -> None:
    gpu = json.loads(edges.KEPT.read_text(encoding="utf-8"))
    ours = edges.edges(gpu=False)
    assert ours.keys() == gpu.keys()
    unlike = {name for name in gpu if gpu[name] != ours[name]}
    assert unlike <= UNLIKE_A_GPU.keys()


def gives(expression: str, wanted: Any, dtype: Any = np.float64, **given: Any) -> None:
    """Assert what an expression gives for elements of arrays."""
    arrays = [np.array([value]) for value in given.values()]
    names = list(given)
    source = [
        f"def kernel({', '.join(f'{n}_' for n in names)}, out):",
        *(f"    {n} = {n}_[0]" for n in names),
        f"    out[0] = {expression}",
    ]
    import linecache

    file = f"<{expression}>"
    text = "\n".join(source)
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    scope = {
        **{"cuda": cuda, "math": math, "np": np, "float32": float32, "int8": int8},
        **{"int32": int32, "int64": int64, "uint8": uint8, "uint32": uint32},
        "uint64": uint64,
    }
    exec(compile(text, file, "exec"), scope)
    out = np.zeros(1, dtype)
    simulate(scope["kernel"], (1, 1), (*arrays, out))
    np.testing.assert_array_equal(out, np.array([wanted], dtype))


U8, I32, U32, F32 = np.uint8, np.int32, np.uint32, np.float32
# Since 3.14, Numba gets the `~` of a bool from Python, and its own gives a bool.
FOLDED = pytest.mark.skipif(sys.version_info >= (3, 14), reason="Numba sees a bool")


@pytest.mark.parametrize(
    ("expression", "wanted", "given"),
    [
        # A review found these refused, though they are right on a GPU.
        ("a * 32 + 5", 255 * 32 + 5, {"a": U8(255)}),
        ("(a << 5) + 3", (255 << 5) + 3, {"a": U8(255)}),
        ("a + 256 * 1", 511, {"a": U8(255)}),
        ("(a + b) // 2", 225, {"a": U8(250), "b": U8(200)}),
        ("a * 300 // 256", 234, {"a": U8(200)}),
        ("(a > 0) - (a < 0)", -1, {"a": F32(-3)}),
        ("(a > 0) + (b > 0)", 2, {"a": F32(3), "b": F32(3)}),
        ("a * b", 2**40, {"a": I32(2**20), "b": I32(2**20)}),
        (
            "(int32(0) + a + b) // 2",
            2**31 - 1,
            {"a": I32(2**31 - 1), "b": I32(2**31 - 1)},
        ),
        ("63 - cuda.clz(a + 1)", 3, {"a": np.int64(7)}),
        ("a + (3 - 5)", -1, {"a": U32(1)}),
        ("(a - 128) * 2 + 128", -128, {"a": U8(0)}),
        ("a - 1", -1, {"a": U32(0)}),
        ("1 / a", np.inf, {"a": I32(0)}),
        ("1 / (1 + math.exp(-a))", 0.0, {"a": np.float64(-1000)}),
        # And these accepted, though a GPU gives something else than was meant.
        ("(a * uint32(2654435761)) >> 24", (7 * 2654435761) >> 24, {"a": U32(7)}),
        ("(a ^ (a << 13)) >> 32", ((2**31 + 5) << 13) >> 32, {"a": U32(2**31 + 5)}),
        ("31 - cuda.clz(a + 1)", 31 - 60, {"a": np.int64(7)}),
        ("cuda.popc(~a)", 61, {"a": I32(7)}),
        ("a + 200", 455, {"a": U8(255)}),
        ("(a + a) >> 16", (2**33 - 2) >> 16, {"a": U32(2**32 - 1)}),
        # Others of the kind.
        ("~(a > 0)", 0, {"a": F32(1)}),
        ("-a", 2**64 - 3.0, {"a": np.uint64(3)}),
        ("-a", 253, {"a": U8(3)}),
        ("~a", 252, {"a": U8(3)}),
        ("a - b", 2.0**64 - 2, {"a": U32(3), "b": U32(5)}),
        ("cuda.clz(a)", 24, {"a": I32(255)}),
        ("cuda.clz(a)", 0, {"a": U8(255)}),
        ("cuda.popc(a)", 32, {"a": I32(-1)}),
        ("cuda.popc(a + 0)", 64, {"a": I32(-1)}),
        ("cuda.ffs(a)", 4, {"a": I32(8)}),
        ("cuda.brev(a)", 2**31, {"a": I32(1)}),
        ("a * 0.1", float(F32(3)) * 0.1, {"a": F32(3)}),
        ("a * b", float(F32(0.1)) * 3, {"a": F32(0.1), "b": I32(3)}),
        ("a * b", F32(0.1) * F32(3), {"a": F32(0.1), "b": np.int16(3)}),
        ("a + 1", 2.0**24 + 1, {"a": F32(2**24)}),
        ("a == 16777217", 0, {"a": F32(2**24)}),
        ("a < 0.1", 0, {"a": F32(0.1)}),
        ("(a if b > 1 else 0) * a", float(F32(0.1)) ** 2, {"a": F32(0.1), "b": I32(2)}),
        ("a // b", 0, {"a": I32(5), "b": I32(0)}),
        ("a % b", 0, {"a": I32(5), "b": I32(0)}),
        ("a // b", -3, {"a": I32(-5), "b": I32(2)}),
        ("a % b", -1, {"a": I32(5), "b": I32(-2)}),
        ("min(a, 3)", 3, {"a": U8(200)}),
        ("max(a, b)", 1.0, {"a": F32(np.nan), "b": F32(1)}),
        ("round(a)", 2, {"a": F32(2.5)}),
        ("int32(a)", 2**31 - 1, {"a": F32(3e10)}),
        ("uint8(a)", 44, {"a": I32(300)}),
        ("int8(a)", -56, {"a": I32(200)}),
        ("2 ** a", 0, {"a": I32(-1)}),
        ("a * 2**-24", 2.0**-24, {"a": I32(1)}),  # Python has computed the power
        ("(1 << 63) / a", 2.0**62, {"a": I32(2)}),  # a uint64, as it is for Numba
        ("(1 << 63) // a", -(2**63) // 3, {"a": I32(3)}),  # an int64, as that says
        ("9223372036854775808 >> a", 2**62, {"a": I32(1)}),
        ("a != b == b", 1, {"a": np.int64(127), "b": np.uint64(2**62 + 3)}),
        ("a < b > a", 1, {"a": np.int64(-1), "b": np.uint64(2**63)}),
        ("b == a == b", 1, {"a": np.float64(2**53), "b": np.int64(2**53 + 1)}),
        pytest.param("~True", -2, {"a": I32(1)}, marks=FOLDED),
        ("0.5 if (1 % True) >= 2.0 else a // 2", 1, {"a": I32(3)}),
        ("int8(a // b)", -(2**7), {"a": np.int8(-(2**7)), "b": np.int8(-1)}),
        ("int32(a // b)", -(2**31), {"a": I32(-(2**31)), "b": I32(-1)}),
        ("a ** 25", 0, {"a": I32(2**3)}),
        ("uint32(-a) ** 5", (2**32 - 1) ** 5 % 2**64, {"a": I32(1)}),
        ("abs(a)", 5, {"a": I32(-5)}),
        ("math.sqrt(a)", math.sqrt(2), {"a": I32(2)}),
        ("math.sqrt(a)", np.nan, {"a": F32(-2)}),
        ("math.log(a)", -np.inf, {"a": F32(0)}),
        ("math.modf(a)[0]", 0.5, {"a": F32(2.5)}),
        ("math.frexp(a)[1]", 2, {"a": F32(2.5)}),
        ("(lambda v: v + v)(a)", 510, {"a": U8(255)}),
    ],
)
def test_an_expression(expression: str, wanted: Any, given: dict[str, Any]) -> None:
    gives(expression, wanted, **given)


def run(kernel: Any, *arrays: Any) -> None:
    simulate(kernel, (1, 1), arrays)


def test_a_condition_on_what_python_folds_leaves_a_branch_out() -> None:
    """Numba sees `v = 0`, and so `b` is an int64, too large for a float."""

    @cuda.jit
    def kernel(a, out):
        v = 1 % True
        b = (v / 3) if v >= 2.0 else a[0] - 1
        out[0] = a[0] % b
        c = a[0] > 0
        if +0.1 == False:  # noqa: E712  as a random program has it
            c = a[0]
        out[1] = ~c

    out = np.zeros(2)
    run(kernel, np.array([2**62 + 1], np.int64), out)
    assert out.tolist() == [1, 0]


def test_a_store_wraps_around() -> None:
    @cuda.jit
    def kernel(a, out, small):
        out[0] = uint32(4000000000)
        small[0] = 300
        small[1] = -1
        small[2] += 200
        small[2] += 200
        local = cuda.local.array(1, int8)
        local[0] = 200
        out[1] = local[0]
        shared = cuda.shared.array(1, uint8)
        shared[0] = 511
        out[2] = shared[0]
        out[3] = a[0] * a[0]

    out, small = np.zeros(4, np.int32), np.zeros(3, np.uint8)
    run(kernel, np.array([2**20], np.int32), out, small)
    assert out.tolist() == [4000000000 - 2**32, -56, 255, 0]
    assert small.tolist() == [44, 255, (200 + 200) % 256]


def test_int64_wraps_around() -> None:
    @cuda.jit
    def kernel(out):
        product = 1
        for k in range(1, 26):
            product *= k
        out[0] = product
        seed = 12345
        for _ in range(8):
            seed = seed * 6364136223846793005 + 1442695040888963407
        out[1] = seed % 1000
        out[2] = 10**19 if out[2] else 7**30

    out = np.zeros(3, np.int64)
    run(kernel, out)
    seed = 12345
    for _ in range(8):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
    signed = seed - 2**64 * (seed >= 2**63)
    assert out[0] == math.factorial(25) % 2**64 - 2**64 * (
        math.factorial(25) % 2**64 >= 2**63
    )
    assert out[1] == signed % 1000


def test_an_enormous_power_ends() -> None:
    @cuda.jit
    def kernel(out, n):
        out[0] = n**n**n

    run(kernel, np.zeros(1, np.int64), 10)


def test_where_two_paths_meet_the_types_do() -> None:
    @cuda.jit
    def kernel(x, out):
        total = 0
        for k in range(3):
            total += x[k] * x[k]
        out[0] = total
        if x[0] > 0:  # noqa: SIM108
            factor = x[0]
        else:
            factor = 2
        out[1] = factor * x[1]
        left = x[0]
        while left < 1:
            left += 0.1
            if left > 0.5:
                break
        out[2] = left

    x, out = np.array([0.1, 0.7, 0.3], np.float32), np.zeros(3)
    run(kernel, x, out)
    squares = [float(v * v) for v in x]  # each rounded to float32, added in float64
    assert out[0] == sum(squares)
    assert out[1] == float(x[0]) * float(x[1])
    left = float(x[0])
    while left <= 0.5:
        left += 0.1
    assert out[2] == left


def test_a_variable_without_a_value_is_left_alone() -> None:
    @cuda.jit
    def kernel(x, out):
        if x[0] > 5:
            a = x[0]
        if x[0] > 5:
            a = 1  # noqa: F841
        for _ in range(2):
            if x[0] > 5:
                b = x[0]
                b = 2  # noqa: F841
        out[0] = x[0]

    out = np.zeros(1)
    run(kernel, np.ones(1, np.float32), out)
    assert out[0] == 1


def test_an_unsigned_number_that_a_loop_makes_signed_is_a_float() -> None:
    """As Numba has it: a uint64 in the first turn, an int64 in the next."""

    @cuda.jit
    def kernel(x, out):
        h = uint32(x[0])
        for r in range(2):
            h = h * uint32(2654435761) + r
        out[0] = h

    out = np.zeros(1)
    run(kernel, np.array([7], np.int32), out)
    h = 7.0
    for r in range(2):
        h = h * 2654435761 + r
    assert out[0] == h


def test_a_device_function_is_compiled_for_its_arguments() -> None:
    @cuda.jit(device=True)
    def twice(value):
        return value + value

    @cuda.jit
    def kernel(a, b, out):
        out[0] = twice(a[0])
        out[1] = twice(b[0])
        out[2] = cuda.clz(twice(a[0]))

    out = np.zeros(3)
    run(kernel, np.array([255], np.uint8), np.array([0.1], np.float32), out)
    assert out.tolist() == [510, float(F32(0.1) + F32(0.1)), 55]


def test_a_device_function_that_calls_itself_ends() -> None:
    @cuda.jit(device=True)
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    @cuda.jit
    def kernel(out):
        out[0] = factorial(10)

    out = np.zeros(1, np.int64)
    run(kernel, out)
    assert out[0] == math.factorial(10)


def test_names_from_outside_are_constants_of_their_type() -> None:
    half, big, table = 0.5, np.uint8(200), (0.1, 3)

    @cuda.jit
    def kernel(x, out):
        out[0] = x[0] * half
        out[1] = big + big
        out[2] = x[0] * table[0]

    out = np.zeros(3)
    run(kernel, np.array([0.1], np.float32), out)
    tenth = float(F32(0.1))
    assert out.tolist() == [tenth * 0.5, 400, tenth * 0.1]


def test_functions_of_math_by_name_raise_nothing() -> None:
    from math import exp, log, sqrt

    @cuda.jit
    def kernel(x, out):
        out[0] = 1 / (1 + exp(-x[0]))
        out[1] = log(x[1])
        out[2] = sqrt(x[2])

    out = np.zeros(3)
    run(kernel, np.array([-1000.0, 0.0, -1.0]), out)
    np.testing.assert_array_equal(out, [0.0, -np.inf, np.nan])


def test_floor_gives_a_float_which_is_no_index() -> None:
    @cuda.jit
    def kernel(x, out):
        out[0] = x[math.floor(x[1])]

    with pytest.raises(Fault, match=r"`x` is indexed with 1\.0"):
        run(kernel, np.array([0.5, 1.5], np.float32), np.zeros(1, np.float32))


def test_flat_and_whole_array_methods() -> None:
    @cuda.jit
    def kernel(x, out):
        for k in range(x.size):
            out.flat[k] = x.flat[k]
        out[0, 0] = x.sum()
        out[0, 1] = x.prod()
        out[0, 2] = x.mean()
        for d in [x.size, 1]:
            out[1, 0] += d

    x, out = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((2, 3), np.float32)
    run(kernel, x, out)
    assert out.tolist() == [[15, 0, 2.5], [3 + 7, 4, 5]]


def test_flat_has_no_elements_beyond_the_array() -> None:
    @cuda.jit
    def kernel(x):
        x.flat[6] = 1

    with pytest.raises(Fault, match=r"writes x\[6, 0\]"):
        run(kernel, np.zeros((2, 3)))


def test_a_guard_with_a_tilde_is_a_logical_not() -> None:
    @cuda.jit
    def vector_add(a, b, out):
        i = cuda.grid(1)
        if ~(i < out.size):
            return
        out[i] = a[i] + b[i]

    verdict = weft.check(
        vector_add,
        spec=lambda a, b: a + b,
        inputs=lambda rng, n: (rng.random(n, np.float32), rng.random(n, np.float32)),
        sizes=[1, 100],
        launch=lambda n: (-(-n // 64), 64),
    )
    assert verdict, verdict
