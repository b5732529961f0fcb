"""Each student's answers are checked with a size and data of their own."""

from dataclasses import replace

from grading.sitting import Limits
from weft.checking.cases import unseen_size
from weft.checking.source import seed

STUDENTS = [f"student {number}" for number in range(40)]


def half(x):
    """Return a half of x."""
    return x / 2


def test_a_seed_belongs_to_a_student_and_can_be_given_again():
    limits = Limits(seed="spring", variants=True)
    assert limits.of("ana") == Limits(seed="spring ana")
    assert limits.of("ana") != limits.of("bo")
    assert replace(limits, seed="").of("ana") == Limits(seed="ana")
    assert Limits(seed="spring").of("ana") == Limits(seed="spring")


def test_students_get_other_sizes_and_other_data(monkeypatch):
    seeds, sizes = set(), set()
    for student in STUDENTS:
        monkeypatch.setenv("WEFT_SEED", Limits(variants=True).of(student).seed)
        seeds.add(seed(half))
        sizes.add(unseen_size([128, 1000, 1, 2500], seed(half)))
    assert len(seeds) == len(STUDENTS)
    assert len(sizes) > 10
    assert all(1 <= size <= 2500 for size in sizes)
