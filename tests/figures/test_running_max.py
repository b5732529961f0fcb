"""The figure on the running maximum, against chapter 24's attention."""

import itertools

import numpy as np
import pytest
from test_schedules import called

import weft
from weft.chapters import Chapter

checks = Chapter("24_attention").checks
TILE, TILES = 4, 4
KINDS = ["mixed", "rising", "falling"]
assert weft


@pytest.fixture(scope="module")
def scores() -> dict[str, list[float]]:
    found = called("running_max_rules", *[("scores", kind) for kind in KINDS])
    return dict(zip(KINDS, found, strict=True))


def test_the_scores_are_the_same_in_another_order(
    scores: dict[str, list[float]],
) -> None:
    assert scores["rising"] == sorted(scores["mixed"])
    assert scores["falling"] == scores["rising"][::-1]
    assert len(scores["mixed"]) == TILE * TILES


def test_the_output_is_that_of_the_chapter(scores: dict[str, list[float]]) -> None:
    cases = list(itertools.product(KINDS, range(1, TILES + 1), (True, False)))
    asked = [("after", step, scores[kind], ok) for kind, step, ok in cases]
    found = called("running_max_rules", *asked)
    for (kind, step, correct), now in zip(cases, found, strict=True):
        s = np.array(scores[kind][: TILE * step])[None, None]
        values = np.arange(s.size, dtype=float)[None, :, None]
        out, lse = checks.over_tiles(s, values, TILE, old="all" if correct else "none")
        assert now["output"] == pytest.approx(out.item(), rel=1e-6)
        assert now["tops"] == [s[..., : TILE * (k + 1)].max() for k in range(step)]
        total = np.log(now["total"]) + now["tops"][-1]
        assert total == pytest.approx(lse.item(), rel=1e-6)
        assert sum(now["weights"]) == pytest.approx(now["total"])
        if correct:
            assert now["weights"] == pytest.approx(np.exp(s - s.max()).ravel())


def test_the_whole_row_is_attention(scores: dict[str, list[float]]) -> None:
    found = called("running_max_rules", *[("exactly", scores[k]) for k in KINDS])
    last = [("after", TILES, scores[kind]) for kind in KINDS]
    by_tiles = called("running_max_rules", *last)
    for kind, exact, now in zip(KINDS, found, by_tiles, strict=True):
        k = np.array(scores[kind])[None, :, None]
        q, v = np.ones((1, 16, 1)), np.arange(16.0)[None, :, None]
        out, _ = checks.attention(q, k, v)
        assert exact == pytest.approx(out[0, 0, 0], rel=1e-6)
        assert now["output"] == pytest.approx(exact)


def test_without_correction_only_falling_scores_are_right(
    scores: dict[str, list[float]],
) -> None:
    for kind in KINDS:
        now, exact = called(
            "running_max_rules",
            ("after", TILES, scores[kind], False),
            ("exactly", scores[kind]),
        )
        assert (now["output"] == pytest.approx(exact)) == (kind == "falling")
