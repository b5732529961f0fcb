"""What the page on the simulator says is what was measured."""

import json
import math
import re
import sys
from pathlib import Path

import pytest

import weft  # noqa: F401  before Numba
from weft.simulator.trace import watched_run

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "book" / "simulator.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
FIGURES = ["simulator_cost.svg", "narrow/simulator_cost.svg"]  # the second: on a phone
KEPT = json.loads(
    (ROOT / "benchmarks" / "simulator_speed.json").read_text(encoding="utf-8")
)


def test_the_page_is_short() -> None:
    assert len(PAGE.split()) <= 1_000


_, LAST = KEPT["series"]
BACKENDS = KEPT["backends"]["rows"]
ELSEWHERE = KEPT["another processor"]


def each(which: str) -> float:
    """Microseconds an access takes, where there are many."""
    accesses, seconds = LAST["accesses"][which][-1]
    return 1e6 * seconds / accesses


def a_thread() -> float:
    """Microseconds that one more thread of 17 accesses takes."""
    (few, little), *_, (many, much) = LAST["threads"]["ours"]
    return 1e6 * (much - little) / (many - few)


def an_iteration() -> float:
    """Microseconds for an iteration with a barrier."""
    (loop,) = (one for one in BACKENDS if one["launch"] == "256 threads, 100 barriers")
    return 1e6 * loop["generators"]["plain"] / (256 * 100)


def mean(above: str, way: str, below: str = "generators") -> float:
    """The geometric mean of how many times as long one simulator takes as another."""
    ratios = [
        one[above]["plain" if above == "numba" else way] / one[below][way]
        for one in BACKENDS
        if one[above]
    ]
    return math.prod(ratios) ** (1 / len(ratios))


@pytest.mark.parametrize(
    ("words", "measured"),
    [
        (r"17 accesses costs ([\d.]+) µs", a_thread()),
        (r"with a barrier ([\d.]+) µs", an_iteration()),
        (r"An access costs ([\d.]+) µs", each("ours")),
        (r"([\d.]+) µs with a trace", each("sanitised")),
        (r"adds ([\d.]+) µs", 1e6 * LAST["rows"][1] / LAST["rows"][0]),
        (r"takes (\d+) times as much processor", LAST["one core"]["ratio"]),
        (r"or (\d+) times as much as a check", LAST["one core"]["sanitised_ratio"]),
        (r"ratios were (\d+) to", min(ELSEWHERE["ratio"])),
        (r"ratios were 24 to (\d+)", max(ELSEWHERE["ratio"])),
        (r"36 and (\d+) to", min(ELSEWHERE["sanitised_ratio"])),
        (r"36 and 13 to (\d+)", max(ELSEWHERE["sanitised_ratio"])),
        (r"means are (\d+) and", mean("numba", "plain")),
        (r"means are 80 and (\d+)", mean("numba", "checked")),
        (r"wait (\d+) times as long as for ours", LAST["waited"]["ratio"]),
        (r"or (\d+) times as long as for a check", LAST["waited"]["sanitised_ratio"]),
        (r"access takes up about (\d+) bytes", LAST["bytes_per_access"]["traced"]),
        (r"or about (\d+) if rec", LAST["bytes_per_access"]["rows"]),
    ],
)  # fmt: skip
def test_numbers_on_the_page(words: str, measured: float) -> None:
    found = re.search(words, " ".join(PAGE.split()))
    assert found, words
    assert float(found[1]) == pytest.approx(measured, rel=0.15)


def test_numbers_of_the_readme() -> None:
    found = re.search(
        r"takes ([\d.]+) to ([\d.]+) seconds of a core; "
        r".* takes (\d+) to (\d+) times as long to run it",
        " ".join(README.split()),
    )
    assert found
    kept = LAST["one core"]
    seconds = [kept["sanitised"], *ELSEWHERE["sanitised"]]
    ratios = [kept["sanitised_ratio"], *ELSEWHERE["sanitised_ratio"]]
    wanted = min(seconds), max(seconds), min(ratios), max(ratios)
    assert [float(n) for n in found.groups()] == pytest.approx(wanted, rel=0.2)


def test_generators_are_quicker_than_greenlets() -> None:
    """On the same core, taking turns; over 4 times when it was measured."""
    assert len(BACKENDS) == 8
    assert mean("greenlets", "checked") > 3
    assert mean("greenlets", "plain") > 3
    for one in BACKENDS:
        assert one["greenlets"]["checked"] > 2 * one["generators"]["checked"]


def test_limits_on_the_page() -> None:
    assert watched_run.MOST_BLOCKS == 64
    assert "more than 64 blocks, 64 are traced" in PAGE
    assert watched_run.MOST_ACCESSES == 2_000_000
    said = " ".join(PAGE.split())
    assert "After two million accesses, no further block is started" in said


def test_cost_grows_no_faster_than_the_work() -> None:
    for series in ("threads", "accesses"):
        for which, points in LAST[series].items():
            (few, little), (many, much) = points[0], points[-1]
            assert much / little < 1.3 * many / few, (series, which)


def drawing(name: str) -> str:
    return (ROOT / "book" / "figures" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FIGURES)
def test_the_figure_is_drawn_in_the_pages_own_colour(name: str) -> None:
    figure = drawing(name)
    assert not re.search(r"#[0-9a-fA-F]{3,6}\b(?!\))", re.sub(r'"#\w+"', "", figure))
    assert "currentColor" in figure
    for unwanted in ("<style", "<metadata", "dc:date", "DejaVu"):
        assert unwanted not in figure


@pytest.mark.parametrize("name", FIGURES)
def test_the_figure_shows_the_numbers_kept(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("resource")
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import simulator_speed

    monkeypatch.setattr(simulator_speed, "FIGURE", tmp_path / "simulator_cost.svg")
    simulator_speed.draw(LAST)
    drawn = (tmp_path / name).read_text(encoding="utf-8")
    curves = re.compile(r'<path d="([^"]+)" clip-path="[^"]+" style="fill: none; str')
    points = [
        [float(n) for n in re.findall(r"[\d.]+", svg)]
        for svg in (
            " ".join(curves.findall(drawn)),
            " ".join(curves.findall(drawing(name))),
        )
    ]
    assert len(points[0]) > 50
    assert points[0] == pytest.approx(points[1], abs=0.5)
    sys.modules.pop("simulator_speed")
