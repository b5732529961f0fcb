"""The figure on composed layouts, against the algebra of chapter 20."""

import random
from typing import Any

from test_drawn_layouts import Layout, drawn, layouts, parse
from test_schedules import called

MODULE = "composed_rules"
CHAPTER = [  # A, B and their composition, as the chapter prints them
    ("(6,2):(8,2)", "6:2", "(3,2):(16,2)"),
    ("20:2", "(5,4):(4,1)", "(5,4):(8,2)"),
    ("(6,2):(8,2)", "(4,3):(3,1)", "((2,2),3):((24,2),8)"),
]


def as_lists(layout: Any) -> dict[str, Any]:
    def lists(value: Any) -> Any:
        return list(map(lists, value)) if isinstance(value, tuple) else value

    return {"shape": lists(layout.shape), "stride": lists(layout.stride)}


def with_strides(shape: Any, choices: list[int], rng: random.Random) -> Any:
    def strides(like: Any) -> Any:
        return (
            tuple(map(strides, like))
            if isinstance(like, tuple)
            else rng.choice(choices)
        )

    return Layout(shape, strides(shape))


def pairs(count: int) -> list[tuple[Any, Any]]:
    """Return layouts A and B, of which B picks elements of A; some do not compose."""
    rng = random.Random(20)
    found = []
    while len(found) < count:
        of_a = rng.choice([(6, 2), (4, 8), (2, 3, 4), 8, (4, (2, 2))])
        of_b = rng.choice([2, 3, 4, 6, (2, 2), (4, 3), (2, (2, 2))])
        a = with_strides(of_a, [1, 2, 3, 8, 9, 16], rng)
        b = with_strides(of_b, [0, 1, 2, 3, 4, 6, 8], rng)
        if b.cosize <= a.size:
            found.append((a, b))
    return found


def composed(a: Any, b: Any) -> Any:
    try:
        return layouts.composition(a, b)
    except ValueError:
        return None


def test_the_chapters_examples() -> None:
    asked = [(as_lists(parse(a)), as_lists(parse(b))) for a, b, _ in CHAPTER]
    found = called(MODULE, *[("composition", *each) for each in asked])
    assert found == [as_lists(parse(result)) for *_, result in CHAPTER]


def test_coalesced_as_in_the_chapter() -> None:
    some = drawn(60)
    found = called(MODULE, *[("coalesce", as_lists(each)) for each in some])
    assert found == [as_lists(layouts.coalesce(each)) for each in some]
    sizes = called(MODULE, *[("cosize", as_lists(each)) for each in some])
    assert sizes == [each.cosize for each in some]


def test_compositions_are_those_of_the_chapter() -> None:
    some = pairs(150)
    expected = [composed(a, b) for a, b in some]
    assert 40 < sum(each is not None for each in expected) < 140
    asked = [("tried", as_lists(a), as_lists(b)) for a, b in some]
    answers = called(MODULE, *asked)
    for (a, b), result, answer in zip(some, expected, answers, strict=True):
        if result is None:
            assert answer["layout"] is None, (a, b)
            assert answer["why"], (a, b)
        else:
            assert answer["layout"] == as_lists(result), (a, b)


def test_why_there_is_none_is_said_as_the_chapter_does() -> None:
    a, b = parse("(6,2):(8,2)"), parse("3:4")
    (answer,) = called(MODULE, ("tried", as_lists(a), as_lists(b)))
    assert answer["why"] == "steps of 4 do not divide a mode of 6"
