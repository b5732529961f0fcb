"""The directive {play}: a figure's first state, its still, and what may go wrong."""

import json
import re
from pathlib import Path

import pytest
from test_book_extension import Render, render  # noqa: F401
from weft_book import results
from weft_book.play import state_of, still_path, written

ROOT = Path(__file__).parents[1]
PLAY = """```{{play}} {name}
:alt: A tile, and its "banks"
{state}
What follows from *it*.
```"""


def page(name: str = "banks", state: str = ":state: {at: 5}") -> str:
    return PLAY.format(name=name, state=state)


@pytest.fixture
def play(render: Render, tmp_path: Path) -> Render:  # noqa: F811
    """Render a page in a repository that has one figure with one still."""
    source = tmp_path / "source"
    figures = source / "weft" / "exploring" / "figures"
    figures.mkdir(parents=True)
    (figures / "banks.js").write_text("export default {};")
    still = still_path(source, "banks", {"at": 5})
    still.parent.mkdir(parents=True)
    still.write_text("<svg></svg>")
    return render


def test_a_figure_has_its_state_and_its_still(play: Render, tmp_path: Path) -> None:
    body, warnings = play(page())
    assert warnings == []
    assert 'data-figure="banks"' in body
    state = re.search(r'<script type="application/json">(.*?)</script>', body)
    assert state is not None
    assert json.loads(state[1]) == {"at": 5}
    assert 'role="img" aria-label="A tile, and its &quot;banks&quot;"' in body
    assert "<svg></svg>" in body
    assert "What follows from <em>it</em>." in body
    whole = (tmp_path / "html" / "book" / "index.html").read_text()
    assert "_static/figures/load.js" in whole
    assert (tmp_path / "html" / "_static" / "figures" / "banks.js").is_file()


def test_a_page_without_a_figure_loads_nothing(play: Render, tmp_path: Path) -> None:
    play("Nothing to play with.")
    whole = (tmp_path / "html" / "book" / "index.html").read_text()
    assert "figures/load.js" not in whole


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (page("bank"), "there is no weft/exploring/figures/bank.js"),
        (page().replace(":alt:", ":name:"), "say in :alt: what is seen"),
        (page(state=":state: {at: 6}"), "run `make figures`"),
        (page(state=":state: {at: ["), "is not YAML"),
        (page(state=":state: 5"), "is not a mapping"),
        (page(state=":state: {a: {measured: x | y | z}}"), "there is no results/x"),
    ],
)
def test_a_mistake_is_a_warning(play: Render, text: str, why: str) -> None:
    _, warnings = play(text)
    assert len(warnings) == 1
    assert why in warnings[0]


def test_measured_numbers_are_rates_per_second() -> None:
    where = '"13_shared_memory | 8192 x 8192 float32 | copy"'
    state = state_of(ROOT, f"{{bandwidth: {{measured: {where}}}, kernels: [1]}}")
    copy = results.read(results.path_of(ROOT, "13_shared_memory", "nvidia-h200"))
    row = copy.find("8192 x 8192 float32", "copy")
    assert row.value is not None
    assert state == {"bandwidth": row.value * 1e12, "kernels": [1]}


def test_the_rows_of_a_case_are_names_and_seconds() -> None:
    lab = "35_mnist_cnn"
    profile = "torch, best: 2 steps, batch 1024, by kind"  # in µs, as values
    state = state_of(
        ROOT,
        f'{{kernels: {{measured: "{lab} | kernels, batch 64"}}, '
        f'kinds: {{measured: "{lab} | {profile}"}}}}',
    )
    measured = results.read(results.path_of(ROOT, lab, "nvidia-h200"))
    kernels = measured.of_case("kernels, batch 64")
    assert state["kernels"] == [[row.name, row.ms * 1e-3] for row in kernels]
    kinds = measured.of_case(profile)
    assert state["kinds"] == [[row.name, row.value * 1e-6] for row in kinds]


def test_a_case_without_times_is_no_list_of_times() -> None:
    where = '"35_mnist_cnn | accuracy after 2 epochs"'
    with pytest.raises(ValueError, match="that row has no time"):
        state_of(ROOT, f"{{a: {{measured: {where}}}}}")


def test_a_figure_without_its_numbers_needs_no_still(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    missing = page("roofline", ":state: {peak: {measured: x | y | z}}")
    (tmp_path / "book" / "00.md").write_text(f"{missing}\n\n{page()}\n")
    assert written(tmp_path) == [("banks", {"at": 5})]


def test_the_figures_of_all_pages_are_found() -> None:
    names = [name for name, _ in written(ROOT)]
    assert {"banks", "barrier", "grid_index", "roofline", "warp_access"} <= set(names)
