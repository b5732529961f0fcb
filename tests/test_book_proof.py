"""The pages that prove the checks: the kill table, and the agreement with NVIDIA."""

import re
import shutil
import sys
from pathlib import Path

import pytest
from built_book import ROOT
from test_book_extension import Render, render  # noqa: F401

sys.path.insert(0, str(ROOT / "book" / "_ext"))
from verification import comparison
from verification.corpus import corpus

KERNEL = """# verdict: out-of-bounds
# Every thread has an element.
@cuda.jit
def kernel(x, out):
    out[cuda.grid(1)] = x[cuda.grid(1)]  # <- here


CHECK = dict()
"""


@pytest.fixture
def small(tmp_path: Path, render: Render) -> Render:  # noqa: F811
    """A repository with one kernel in its corpus, and what was measured on a GPU."""
    source = tmp_path / "source"
    folder = source / "tests" / "corpus" / "out_of_bounds"
    folder.mkdir(parents=True)
    (folder / "wrong_no_guard.py").write_text(KERNEL)
    (source / "verification").mkdir()
    for name in (
        "results/agreement.nvidia-h200.json",
        "verification/differences.toml",
    ):
        shutil.copy(ROOT / name, source / name)
    return render


def test_a_kernel_its_thought_its_verdict_and_its_line(small: Render) -> None:
    html, warnings = small("```{kill-table} out_of_bounds\n```")
    assert warnings == []
    assert "no guard" in html
    assert "Every thread has an element." in html
    assert "✗ outside the array" in html
    assert "<code>out[cuda.grid(1)] = x[cuda.grid(1)]</code>" in html
    assert "# &lt;- here" not in html


def test_a_class_that_does_not_exist_is_a_warning(small: Render) -> None:
    _, warnings = small("```{kill-table} nothing\n```")
    assert len(warnings) == 1


def test_how_many_there_are(small: Render) -> None:
    html, warnings = small("```{kill-count}\n```")
    assert warnings == []
    assert re.search(r"<dd>1</dd></div>.*<dd>0</dd></div>", html)
    place = r'<a href="#out_of_bounds">out of bounds</a> <span[^>]*>1 wrong, 0 right<'
    assert re.search(place, html)


def test_a_class_is_a_closed_group_and_has_an_address(small: Render) -> None:
    html, _ = small("```{kill-table} out_of_bounds\n```")
    assert '<details class="weft-group" id="out_of_bounds"><summary>' in html
    assert 'href="#out_of_bounds"' in html
    assert "1 wrong, 0 right" in html
    assert '<tr role="row" class="wrong" id="out_of_bounds/wrong_no_guard">' in html


def test_the_groups_of_the_agreement_have_the_kill_tables_addresses(
    small: Render,
) -> None:
    html, warnings = small(
        "```{agreement} verdicts\n```\n\n```{agreement} counters\n```"
    )
    assert warnings == []
    groups = re.findall(r'<details class="weft-group" id="([^"]+)"', html)
    classes = {kernel.group for kernel in corpus()}
    assert {name.removeprefix("counters/") for name in groups} <= classes
    assert {"race_shared", "counters/race_shared"} <= set(groups)
    ids = re.findall(r' id="([^"]+)"', html)
    assert len(ids) == len(set(ids))


def test_the_agreement_is_summed_up(small: Render) -> None:
    html, warnings = small("```{agreement} summary\n```")
    assert warnings == []
    found = comparison.read(ROOT)
    right = sum(entry["verdict"] == "pass" for entry in found.kernels.values())
    assert f"<dd>{right} of {right}</dd>" in html
    assert f"of {len(found.patterns)}</dd>" in html


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("measured", "NVIDIA H200"),
        ("overview", "racecheck"),
        ("verdicts", "racecheck: race: read and write, lines 8, 9"),
        ("counters", "≠"),
        ("patterns", "global load, 16 bytes"),
        ("why counters", "<code>grid.sync()</code>"),
    ],
)
def test_the_tables_of_the_agreement(small: Render, what: str, text: str) -> None:
    html, warnings = small(f"```{{agreement}} {what}\n```")
    assert warnings == []
    assert text in html


def test_every_class_has_its_place_on_the_page() -> None:
    page = (ROOT / "book" / "kill_table.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```{kill-table} (\w+)$", page, re.M)
    assert sorted(shown) == sorted({k.group for k in corpus()})


def test_every_lab_has_its_place_on_a_page() -> None:
    pages = sorted((ROOT / "book").glob("kill_table_*.md"))
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    ranges = re.findall(r"^```{kill-table} labs (\d\d) (\d\d)$", text, re.M)
    shown = [n for a, b in ranges for n in range(int(a), int(b) + 1)]
    labs = sorted((ROOT / "chapters").glob("[0-9][0-9]_*"))
    assert shown == [int(lab.name[:2]) for lab in labs]


def test_every_kind_of_difference_has_its_place_on_the_page() -> None:
    page = (ROOT / "book" / "agreement.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^```{agreement} why (\w+)$", page, re.M))
    assert shown == set(comparison.read(ROOT).causes)
