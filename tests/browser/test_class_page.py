"""The page of a class can be read on a phone, in light and in dark."""

import pytest

from grading import class_page
from grading.register import Register
from grading.scoring import Rules, scores
from grading.table import Row

LAB = "05_first_kernel"
LONG = "out[i] = x[i] + y[i]  # " + "and so on, " * 20
NAMES = ("blocks_for", "vector_add", "reverse", "interleave", "launch_for", "saxpy")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_a_phone(open_page, tmp_path, scheme):
    kinds = [dict.fromkeys(NAMES, kind) for kind in ("pass", "race", "begin")]
    rows = [
        Row(f"Student {n}, with a long name", LAB, kinds[n % 3], {"saxpy": LONG})
        for n in range(30)
    ]
    path = tmp_path / "class.html"
    path.write_text(
        class_page.page(scores(rows, Register(), Rules())), encoding="utf-8"
    )
    watched = open_page(width=360, scheme=scheme)
    watched.page.goto(path.as_uri())
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= 360
    colours = watched.page.evaluate(
        "['body', 'td.passed', 'td.failed'].map(s =>"
        " getComputedStyle(document.querySelector(s)).color)"
    )
    assert len(set(colours)) == 3
    assert (colours[0] == "rgb(0, 0, 0)") == (scheme == "light")
    assert watched.errors == []
    assert watched.left == []
