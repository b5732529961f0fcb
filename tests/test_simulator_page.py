"""What the page on the simulator says is what was measured."""

import json
import re
import sys
from pathlib import Path

import pytest

import weft  # noqa: F401  before Numba
from weft.simulator.trace import watched_run

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "book" / "simulator.md").read_text(encoding="utf-8")
FIGURE = (ROOT / "book" / "figures" / "simulator_cost.svg").read_text(encoding="utf-8")
KEPT = json.loads(
    (ROOT / "benchmarks" / "simulator_speed.json").read_text(encoding="utf-8")
)


def test_the_page_is_short() -> None:
    assert len(PAGE.split()) <= 1_000


def each(which: str) -> float:
    """Microseconds an access takes, where there are many."""
    accesses, seconds = KEPT["accesses"][which][-1]
    return 1e6 * seconds / accesses


@pytest.mark.parametrize(
    ("words", "measured"),
    [
        (r"takes (\d+) µs per access", each("numba")),
        (r"An access costs\s+([\d.]+) µs", each("ours")),
        (r"([\d.]+) µs with a trace", each("traced")),
        (r"([\d.]+) µs\s+with the search for hazards", each("sanitised")),
        (r"it takes\s+(\d+)\s+times as much proc", KEPT["one core"]["ratio"]),
        (r"You then wait\s+(\d+) times as long", KEPT["waited"]["ratio"]),
        (r"or\s+(\d+)\s+times as long if", KEPT["waited"]["sanitised_ratio"]),
        (r"about (\d+) during the\s+search", KEPT["bytes_per_access"]["sanitised"]),
    ],
)
def test_numbers_on_the_page(words: str, measured: float) -> None:
    found = re.search(words, PAGE)
    assert found, words
    assert float(found[1]) == pytest.approx(measured, rel=0.15)


def test_limits_on_the_page() -> None:
    assert watched_run.MOST_BLOCKS == 64
    assert "more than 64 blocks, 64 are traced" in PAGE
    assert watched_run.MOST_ACCESSES == 2_000_000
    said = " ".join(PAGE.split())
    assert "After two million rows, no further block is started" in said


def test_cost_grows_no_faster_than_the_work() -> None:
    for series in ("threads", "accesses"):
        for which, points in KEPT[series].items():
            (few, little), (many, much) = points[0], points[-1]
            assert much / little < 1.3 * many / few, (series, which)


def test_the_figure_is_drawn_in_the_pages_own_colour() -> None:
    assert not re.search(r"#[0-9a-fA-F]{3,6}\b(?!\))", re.sub(r'"#\w+"', "", FIGURE))
    assert "currentColor" in FIGURE
    for unwanted in ("<style", "<metadata", "dc:date", "DejaVu"):
        assert unwanted not in FIGURE


def test_the_figure_shows_the_numbers_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("resource")
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import simulator_speed

    monkeypatch.setattr(simulator_speed, "FIGURE", tmp_path / "drawn.svg")
    simulator_speed.draw(KEPT)
    drawn = (tmp_path / "drawn.svg").read_text(encoding="utf-8")
    curves = re.compile(r'<path d="([^"]+)" clip-path="[^"]+" style="fill: none; str')
    points = [
        [float(n) for n in re.findall(r"[\d.]+", svg)]
        for svg in (" ".join(curves.findall(drawn)), " ".join(curves.findall(FIGURE)))
    ]
    assert len(points[0]) > 50
    assert points[0] == pytest.approx(points[1], abs=0.5)
    sys.modules.pop("simulator_speed")
