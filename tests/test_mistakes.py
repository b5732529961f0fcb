"""A known wrong number is given its reason; others, and right ones, none."""

import math

import numpy as np
import pytest

from weft.chapters import Chapter

mistakes = Chapter("01_why_gpus").mistakes

SIZES = np.array([16, 64, 256, 1024])
CPU = np.array([10.0, 10, 10, 10])
KERNEL = np.array([12.0, 3, 3, 3])
WON = (SIZES, CPU, np.array([3.0, 8, 2, 2]), KERNEL, np.array([3.0, 8, 8, 2]))
LUCK = (SIZES, CPU, np.array([3.0, 2, 8, 2]), KERNEL, np.array([3.0, 2, 8, 2]))
NEVER = (SIZES, CPU, np.array([3.0, 2, 2, 8]), KERNEL, np.array([3.0, 2, 2, 8]))
ALWAYS = (SIZES, CPU, np.full(4, 2.0), np.full(4, 3.0), np.full(4, 2.0))


@pytest.mark.parametrize(
    ("table", "answer", "why"),
    [
        (WON, 64, "the kernel alone"),
        (WON, 256, "copied back"),
        (WON, 3, "an index into the table"),
        (WON, math.inf, "to the end of the table"),
        (WON, 0, "The smallest size"),
        (LUCK, 64, "not at a later one"),
        (NEVER, 1024, "for good"),
        (ALWAYS, 64, "the first size as well"),
        (WON, 17, ""),
    ],
)
def test_crossover(table: tuple[np.ndarray, ...], answer: float, why: str) -> None:
    found = mistakes.crossover(*table, answer)
    assert why in found if why else not found


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (1 / (0.2 + 0.8 / 3), ""),
        (3, "could be shared"),
        (0.2 + 0.8 / 3, "the new time"),
        (0.2 + 0.8 * 3, "speed-ups do not add up"),
        (0.8 * 3, "serial part still takes"),
        (3 / 0.8, "serial part still takes"),
        (5, "infinitely many workers"),
        (1 / (0.2 + 1 / 3), "not the whole hour"),
        (1 / (0.8 + 0.2 / 3), "other way around"),
        (1 / (0.002 + 0.998 / 3), "a fraction"),
        (1 / 0.2 + 0.8 / 3, "the whole sum"),
        (1 / (0.2 + 1 - 0.2 / 3), "all of `1 - serial`"),
        (2, "after the point"),
        (17, ""),
    ],
)
def test_amdahl(answer: float, why: str) -> None:
    found = mistakes.amdahl(0.2, 3, answer)
    assert why in found if why else not found


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (0.2 + 0.8 * 3, ""),
        (1 / (0.2 + 0.8 / 3), "Amdahl's law"),
        (3, "all workers but one"),
        (0.8 * 3, "what one worker did"),
        (0.8 + 0.2 * 3, "other way around"),
        (0.2 * 3, "only one of them works"),
        (1 + 0.8 * 3, "a part of the hour, not"),
        (0.2 + 0.8 / 3, "more time, not less"),
        (0.2 + 0.8 * 2, "the first included"),
        (17, ""),
    ],
)
def test_gustafson(answer: float, why: str) -> None:
    found = mistakes.gustafson(0.2, 3, answer)
    assert why in found if why else not found


@pytest.mark.parametrize(
    ("factor", "why"),
    [
        (1, ""),
        (1e-3, "10⁻⁹ × 10¹²"),
        (1e9, "nanoseconds"),
        (1e-12, "terabytes"),
        (1e3, "nanoseconds"),
        (1.024, "powers of ten"),
        (1.024**4, "powers of ten"),
        (4, "bytes in flight"),
        (16, "the fewer threads"),
        (8, "8 bits"),
        (1 / 8, "8 bits"),
        (1 / 32, "warps"),
        (2, "while the next requests"),
        (1 / 340**2, "multiply"),
        (17, ""),
    ],
)
def test_threads_needed(factor: float, why: str) -> None:
    right = 340 * 4.8 * 1000 / 4
    found = mistakes.threads_needed(340, 4.8, 4, right * factor)
    assert why in found if why else not found


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (340 * 4.8 * 1000 / 64, "right for an H200"),
        (100 * 0.3 * 1000 / 4, "Not every load"),
    ],
)
def test_numbers_that_are_written_into_the_answer(answer: float, why: str) -> None:
    assert why in mistakes.threads_needed(100, 0.3, 64, answer)


@pytest.mark.parametrize(
    ("lab", "given", "changes"),
    [
        (
            "24_attention",
            (3, 100, 8, 32),
            {
                "": lambda flops, naive, fused: (flops, naive, fused),
                "`naive` and `fused` are exchanged": lambda a, b, c: (a, c, b),
                "order should be (flops, naive, fused).": lambda a, b, c: (c, a, b),
                "the value that `fused` should have": lambda a, b, c: (a, c, c),
                "each product counts twice": lambda a, b, c: (2 * a, b, c),
                "count as one": lambda a, b, c: (a // 2, b, c),
                "has 4 bytes": lambda a, b, c: (a, 2 * b, 2 * c),
                "and not their bytes": lambda a, b, c: (a, b, c // 2),
                "one head alone": lambda a, b, c: (a // 3, b // 3, c // 3),
            },
        ),
        (
            "37_decoding",
            ([100, 7, 33], 4, 2, 16),
            {
                "": lambda flops, once, apart: (flops, once, apart),
                "`once` and `apart` are exchanged": lambda a, b, c: (a, c, b),
                "the value that `apart` should have": lambda a, b, c: (a, c, c),
                "as operations": lambda a, b, c: (2 * a, b, c),
                "has 4 bytes": lambda a, b, c: (a, b, 2 * c),
                "and not their bytes": lambda a, b, c: (a, b // 2, c // 2),
            },
        ),
    ],
)
def test_counted_operations_and_bytes(lab, given, changes) -> None:
    of = Chapter(lab).checks
    for why, change in changes.items():
        found = of.why_other_costs(*given, change(*of.counted(*given)))
        assert why in found if why else not found
    assert of.why_other_costs(*given, [1, 2, 3]) == ""
    right = of.counted(*given)
    assert of.compare_costs([np.int64(each) for each in right], right) == ""
    for got in (7, [1, 2], [None, 2, "3"]):
        assert of.why_other_costs(*given, got) == ""
        assert "Return 3 numbers" in of.compare_costs(got, right)
