"""What the check of a plain Python function says."""

import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from weft import check
from weft.chapters import Chapter
from weft.checking.cases import unseen_arguments
from weft.functions.exercise import FunctionExercise
from weft.functions.wording import brief


def test_a_pair_has_no_first_element_before_all_others() -> None:
    def peaks(n):
        return n, n

    verdict = check(peaks, spec=lambda n: (n, 2 * n), inputs=[(3,)], unseen=False)
    assert verdict.kind == "wrong-value"
    assert "result[1] is 3 and should be 6" in verdict.message
    assert not verdict.why


def test_a_float_on_the_host_is_not_what_numba_refuses() -> None:
    def half(n):
        return n / 2

    verdict = check(half, spec=lambda n: n // 2, inputs=[(4,)], unseen=False)
    assert verdict.kind == "type"
    assert "a float instead of an integer" in verdict.title
    assert "Numba" not in verdict.title


def total(*terms: float) -> float:
    return sum(terms)


def test_many_arguments_are_named_by_the_learners_parameters() -> None:
    def three(send, kernel, fetch):
        return send + kernel

    def other(send, kernel, *rest):
        return 0

    def two(a, b):
        return a

    def said(function: Any, *args: float) -> str:
        return check(function, spec=total, inputs=[args], unseen=False).message

    assert said(three, 1, 2, 3).startswith("three(send=1, kernel=2, fetch=3) returns 3")
    assert said(other, 1, 2, 3).startswith("other(1, 2, 3) returns 0")
    assert said(two, 1, 2).startswith("two(1, 2) returns 1")


def test_a_call_with_too_few_parameters_is_written_in_order() -> None:
    def two(a, b):
        return a

    verdict = check(two, spec=total, inputs=[(1, 2, 3)], unseen=False)
    assert "two(1, 2, 3) raises TypeError" in verdict.message


def test_a_long_text_is_named_by_its_first_line() -> None:
    def lines(text):
        return 0

    text = "\n    ld.global.f32     %f1, [%rd8];\n    ret;\n"
    verdict = check(lines, spec=lambda t: 2, inputs=[(text,)], unseen=False)
    assert verdict.message == (
        'lines("ld.global.f32 %f1, [%rd8]; …" (2 lines)) returns 0 and should return 2.'
    )


def counted(n: int) -> int:
    return sum(1 for _ in range(n))


@pytest.mark.parametrize("again", [lambda f: f, lambda f: lambda n: f(n)])
def test_a_function_may_not_ask_its_spec(again: Any) -> None:
    asked = again(counted)

    def count(n):
        return asked(n)

    verdict = check(count, spec=counted, inputs=[(3,), (5,)])
    assert verdict.kind == "library"
    assert "lets `counted` do the work" in verdict.message
    assert verdict.places[0][0].text == "return asked(n)"


def spectrum_by_inverse(x):
    return np.conj(np.fft.ifft(np.conj(x))) * len(x)


def spectrum_by_import(x):
    from numpy.fft import fftn

    return fftn(x)


def spectrum(x):
    places = np.arange(len(x))
    return np.exp(-2j * np.pi * np.outer(places, places) / len(x)) @ x


def spectrum_of(function: Any) -> Any:
    return check(
        function,
        spec=np.fft.fft,
        inputs=lambda rng: [(rng.random(8),), (rng.random(3),)],
        without=("numpy.fft",),
    )


def test_what_a_library_has_ready_may_be_ruled_out() -> None:
    assert spectrum_of(spectrum)
    for function, called, line in (
        (spectrum_by_inverse, "numpy.fft.ifft", 1),
        (spectrum_by_import, "numpy.fft.fftn", 3),
    ):
        verdict = spectrum_of(function)
        assert verdict.kind == "library"
        assert f"`{called}`" in verdict.message
        assert verdict.line == function.__code__.co_firstlineno + line
    assert spectrum_of(np.fft.fft).kind == "library"


def test_an_error_while_a_function_is_watched_is_its_own() -> None:
    def endless(n):
        return endless(n - 1)

    verdict = check(endless, spec=counted, inputs=[(3,)], without=("numpy.fft",))
    assert verdict.kind == "exception"
    assert verdict.places[0][0].text == "return endless(n - 1)"


def remainders(n):
    parts = n - 3
    return [k % parts for k in range(n)]


def both_parts(n):
    return divmod(n, n - 3)


def smaller(n):
    n //= n - 3
    return n


def reciprocal(n):
    return (n - 3) ** -1


def fraction(n):
    return Fraction(n, n - 3)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (remainders, "`parts` is 0."),
        (both_parts, "`n - 3` is 0."),
        (smaller, "`n - 3` is 0."),
        (reciprocal, ""),
        (fraction, ""),
    ],
)
def test_a_division_by_zero_names_its_divisor(function: Any, why: str) -> None:
    verdict = check(function, spec=counted, inputs=[(3,)], unseen=False)
    assert "raises ZeroDivisionError" in verdict.message
    assert verdict.why == why


def never_smaller(n):
    blocks = 0
    while n > 0:
        blocks += 1
    return blocks


def on_one_line(n):
    while True: pass  # fmt: skip # noqa: E701


def outer_goes_on(n):
    while n > 0:
        for step in range(4):
            n + step
        n += 1
    return n


def inner_goes_on(n):
    while n > 0:
        n -= 1
        while n < 4:
            n -= 1
    return n


def caught(n):
    while True:
        try:
            n += 1
        except Exception:
            return 0


def through_a_helper(n):
    return never_smaller(n)


layouts = Chapter("20_layouts").layouts


def merged(text):
    return layouts.coalesce(layouts.parse(text)).size


def test_a_single_function_may_be_forbidden() -> None:
    asked = {"spec": lambda text: layouts.parse(text).size, "inputs": [("(2,3)",)]}
    assert check(merged, **asked, without=("layouts.co", "layouts.swizzle"))
    verdict = check(merged, **asked, without=("layouts.coalesce",))
    assert verdict.kind == "library"
    assert "`layouts.coalesce`" in verdict.message


@pytest.mark.parametrize(
    ("function", "line"),
    [
        (never_smaller, "while n > 0:"),
        (on_one_line, "while True: pass  # fmt: skip # noqa: E701"),
        (outer_goes_on, "while n > 0:"),
        (inner_goes_on, "while n < 4:"),
        (caught, "while True:"),
        (through_a_helper, "while n > 0:"),
    ],
)
@pytest.mark.parametrize("without", [(), ("numpy.fft",)])
def test_a_loop_without_an_end_is_ended(function: Any, line: str, without: Any) -> None:
    verdict = check(function, spec=counted, inputs=[(4,)], without=without)
    assert verdict.kind == "endless-loop"
    assert f"{function.__name__}(4) has run" in verdict.message
    assert verdict.places[0][0].text == line
    assert sys.gettrace() is None


def test_a_long_loop_with_an_end_is_waited_for() -> None:
    def count(n):
        total = 0
        for _ in range(n):
            total += 1
        return total

    assert check(count, spec=lambda n: n, inputs=[(50_000,)])


# Values that NumPy cannot hold as one array


def test_trees_are_compared_leaf_by_leaf() -> None:
    wanted = ((2, (2, 2)), (1, (4, 2)))

    def layout(n):
        return (2, (2, 2)), (1, (4, 2))

    def other(n):
        return (2, (2, 2)), (1, (2, 4))

    def flat(n):
        return (2, 2, 2), (1, 4, 2)

    asked = {"spec": lambda n: wanted, "inputs": [(8,)], "unseen": False}
    assert check(layout, **asked)
    found = check(other, **asked)
    assert found.kind == "wrong-value"
    assert "result[1][1][0] is 2 and should be 4" in found.message
    found = check(flat, **asked)
    assert found.kind == "shape"
    assert "nested in different ways" in found.why


def test_tensors_that_require_grad_and_bf16_are_values() -> None:
    torch = pytest.importorskip("torch")

    def grad(x):
        return torch.tensor([x, 2.0], requires_grad=True) * 2

    def half(x):
        return torch.tensor([x, 2.0], dtype=torch.bfloat16) * 2

    asked = {"spec": lambda x: np.array([2 * x, 4.0]), "inputs": [(1.0,)]}
    assert check(grad, **asked)
    assert check(half, **asked)
    assert check(lambda x: half(x) + 1, **asked).kind == "wrong-value"


def test_an_exercise_may_say_what_counts_as_the_same() -> None:
    def permuted(n):
        return list(range(n))[::-1]

    asked = {"spec": lambda n: list(range(n)), "inputs": [(3,)], "unseen": False}
    assert check(permuted, **asked).kind == "wrong-value"
    differ = {"same": lambda got, wanted: "" if sorted(got) == wanted else "No set."}
    assert check(permuted, **asked, **differ)
    found = check(lambda n: [0], **asked, **differ)
    assert (found.kind, found.why) == ("answer", "No set.")


def test_functions_among_the_arguments_and_results_are_named() -> None:
    def twice(step, x):
        return step

    found = check(
        twice,
        spec=lambda step, x: step(step(x)),
        inputs=[(math.floor, 1.5), (lambda x: x, 2)],
        same=lambda got, wanted: "No." if wanted == 2 else "",
        unseen=False,
    )
    assert found.message == "twice(a lambda, 2) returns a lambda."
    assert brief(math.floor) == "floor"
    assert brief(twice) == "twice"


# Long loops


def test_a_long_loop_that_ends_is_not_called_endless() -> None:
    def total(n):
        s = 0
        for i in range(n):
            s += i
        return s

    asked = {"spec": lambda n: n * (n - 1) // 2, "inputs": [(600_000,)]}
    assert check(total, **asked, unseen=False)


def test_a_reason_comes_before_what_a_comparison_says() -> None:
    def halves(n):
        return n // 2, n // 2

    asked = {
        "spec": lambda n: (n // 2, n - n // 2),
        "inputs": [(7,)],
        "same": lambda got, wanted: "" if got == wanted else "They differ.",
        "unseen": False,
    }
    assert "They differ." in str(check(halves, **asked))
    reason = "One is left over."
    found = check(halves, **asked, because=lambda n, got: reason * (sum(got) < n))
    assert reason in found.why


def test_an_exercise_may_raise_the_number_of_lines() -> None:
    def down(n):
        while n:
            n -= 1
        return n

    asked = {"spec": lambda n: 0, "inputs": [(2000,)], "unseen": False}
    found = check(down, **asked, lines=1000)
    assert found.kind == "endless-loop"
    assert "1,000 lines" in found.message
    assert found.headline == "more lines than this exercise allows"
    assert "a formula" in found.why
    assert check(down, **asked, lines=10_000)


def test_arguments_that_the_spec_does_not_take_are_not_tried():
    """The number of a tile is below that of all tiles, which no listed one says."""
    listed = [(number, rows) for rows in (4, 9, 30) for number in range(rows)]
    exercise = FunctionExercise(
        written_by_learner=lambda number, rows: number,
        spec=lambda number, rows: list(range(rows))[number],
        inputs=listed,
    )
    found = {a for seed in range(300) for a in exercise.argument_tuples(seed)}
    assert found > set(listed)
    assert all(number < rows for number, rows in found)
    raw = {a for seed in range(300) for a in unseen_arguments(listed, seed)}
    assert any(number >= rows for number, rows in raw)
