"""What a check's code prints: kept short, and shown below the verdict."""

import re
from typing import Any

import numpy as np
import pytest

import weft

from numba import cuda  # isort: skip
from weft.checking.printed import Printed
from weft.checking.verdict import CheckFailed


def kept(*written: str) -> list[str]:
    stream = Printed()
    for text in written:
        stream.write(text)
    return stream.text.splitlines()


@pytest.mark.parametrize(
    ("lines", "last"),
    [
        (1, "0"),
        (20, "19"),
        (21, "… and 1 more line"),
        (20_000, "… and 19,980 more lines"),
    ],
)
def test_twenty_lines_are_kept_and_the_others_counted(lines: int, last: str) -> None:
    shown = kept(*(f"{number}\n" for number in range(lines)))
    assert shown[-1] == last
    assert len(shown) == min(lines, 21)


def test_a_line_counts_once_however_it_is_written() -> None:
    assert kept("a", "b\nc", "", "\n") == ["ab", "c"]
    assert kept("a\nb\n" * 10, "no end")[-1] == "… and 1 more line"
    assert kept() == []
    assert len(kept("x" * 5_000)[0]) == 201


def test_a_line_that_is_printed_again_is_kept_once() -> None:
    assert kept("a\n", "b\n" * 2, "a\n", "a") == [
        "a",
        "b",
        "… and the same 1 more time",
        "a",
        "a",
    ]
    assert kept("\n\na\n\n\nb") == ["", "", "a", "", "", "b"]
    assert kept("a\n" * 5_000, "b\n")[1:] == ["… and the same 4,999 more times", "b"]
    assert len(kept(("x" * 5_000 + "\n") * 3)) == 3


@cuda.jit
def talks(x, out):
    i = cuda.grid(1)
    print(i)
    if i < out.size:
        out[i] = 2 * x[i]


def checked(factor: int) -> weft.checking.verdict.Verdict:
    return weft.check(
        talks,
        spec=lambda x: factor * x,
        inputs=lambda rng, n: (rng.random(n, np.float32),),
        sizes=[100, 300],
        launch=lambda n: (-(-n // 128), 128),
    )


@pytest.mark.parametrize(("factor", "kind"), [(2, "pass"), (3, "wrong-value")])
def test_a_kernel_that_prints_does_not_bury_its_verdict(
    factor: int, kind: str, capsys: Any
) -> None:
    verdict = checked(factor)
    assert verdict.kind == kind
    assert capsys.readouterr().out == ""
    shown = repr(verdict)
    assert shown.startswith(verdict.title)
    assert re.search(r"It printed:\n(    \d+\n){20}    … and [\d,]+ more lines", shown)
    page = verdict._repr_html_()
    assert page.index("<strong>") < page.index("<pre")


def test_what_prints_nothing_says_nothing_of_it() -> None:
    def double(x):
        return 2 * x

    verdict = weft.check(double, spec=lambda x: 2 * x, inputs=[(1,), (2,)])
    assert verdict
    assert "printed" not in repr(verdict) + verdict._repr_html_()


def test_where_there_is_no_verdict_the_prints_are_shown(
    capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_STRICT", "1")

    def talker(x):
        print("so far")
        return x

    with pytest.raises(CheckFailed):
        weft.check(talker, spec=lambda x: 2 * x, inputs=[(1,), (2,)])
    assert capsys.readouterr().out.startswith("so far")
