"""The directives and roles of the book, on pages of a few lines."""

import gzip
import io
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import nbformat
import pytest
import yaml
from built_book import ROOT
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

sys.path.insert(0, str(ROOT / "book" / "_ext"))
from weft_book import (
    around,
    cloth,
    curve,
    evidence,
    formulas,
    gpus,
    icons,
    judging,
    kills,
    lean,
    lessons,
    outline,
    results,
    routes,
    stack,
    stamps,
    switches,
    verdict,
)
from weft_book.citing import letters
from weft_book.drawing import (
    drawn_for_a_phone,
    inline_svg,
    legible_width,
    narrow_html,
    width_of,
    windows,
)

from weft import links
from weft.bench.results import REFERENCE
from weft.bench.rows import from_result
from weft.bench.table import Table
from weft.lesson import syllabus

Render = Callable[..., tuple[str, list[str]]]

DEVICE = {
    "name": "NVIDIA H200",
    "capability": "9.0",
    "sms": 132,
    "driver": "580.159",
    "cuda": "13.0",
}
ROWS = [
    {
        "case": "8 x 8 float32",
        "name": "torch",
        "ms": 0.4751,
        "spread": 0.002,
        "value": 1.13e12,
        "unit": "B/s",
        "baseline": "torch",
        "ratio": 1.0,
        "ceiling": 0.2646,
    },
    {
        "case": "8 x 8 float32",
        "name": "padded <tile>",
        "ms": 0.0321,
        "spread": 0.001,
        "value": 4.01,
        "unit": "TB/s",
        "baseline": "torch",
        "ratio": 14.8,
        "ceiling": 0.94,
    },
    {"case": "2^4 float32", "name": "mine", "ms": 1.0, "value": 250.0, "unit": "GB/s"},
    {"case": "2^5 float32", "name": "mine", "ms": 1.0, "value": 4.5, "unit": "TB/s"},
    {"case": "no ceiling", "name": "slow", "ms": 4.0},
    {"case": "no ceiling", "name": "fast", "ms": 1.0},
]


@pytest.fixture
def render(tmp_path: Path) -> Render:
    """Build one page in a small repository; return its article and the warnings.

    With `keep`, what an earlier call built is used where it has not changed.
    """
    source = tmp_path / "source"
    for folder in (
        "book/figures",
        "results",
        "solutions",
        "labs",
        "chapters",
        "weft",
    ):
        (source / folder).mkdir(parents=True)
    measured = {"lab": "13_demo", "device": DEVICE, "date": "2026-08-20", "rows": ROWS}
    measured["versions"] = {"torch": "2.11.0", "triton": "3.6.0"}
    path = source / "results" / "13_demo.nvidia-h200.json"
    path.write_text(json.dumps(measured))

    def build(
        text: str,
        builder: str = "html",
        files: dict[str, str] | None = None,
        keep: bool = False,
    ) -> tuple[str, list[str]]:
        for name, content in (files or {}).items():
            (source / name).parent.mkdir(exist_ok=True)
            (source / name).write_text(content)
        (source / "book" / "index.md").write_text(f"# Page\n\n{text}\n")
        warnings = io.StringIO()
        with patch_docutils(), docutils_namespace():
            app = Sphinx(
                srcdir=source,
                confdir=None,
                outdir=tmp_path / builder,
                doctreedir=tmp_path / f"{builder}.doctrees",
                buildername=builder,
                confoverrides={
                    "extensions": ["myst_nb", "weft_book"],
                    "master_doc": "book/index",
                    "nb_execution_mode": "off",
                    "html_theme": "basic",
                    "html_math_renderer": "mathml",
                },
                status=None,
                warning=warnings,
                freshenv=not keep,
            )
            app.build()
        suffix = "html" if builder == "html" else "txt"
        built = (tmp_path / builder / f"book/index.{suffix}").read_text()
        body = re.search(r'role="main">(.*?)<div class="clearer"', built, re.S)
        said = re.sub(r"\x1b\[[0-9;]*m", "", warnings.getvalue())
        found = [
            line
            for line in said.splitlines()
            if "WARNING" in line and "isn't included in any toctree" not in line
        ]
        return body[1] if body else built, found

    return build


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("ms", "0.475\N{NO-BREAK SPACE}ms"),
        ("rate", "1.13\N{NO-BREAK SPACE}TB/s"),
        ("ratio", "1.0"),
        ("percent", "100\N{NO-BREAK SPACE}%"),
        ("ceiling", "26\N{NO-BREAK SPACE}%"),
    ],
)
def test_numbers_are_worded_with_their_unit(what: str, text: str) -> None:
    assert results.text_of(results.Row(**ROWS[0]), what) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (4.01, "TB/s", "4.01\N{NO-BREAK SPACE}TB/s"),
        (0.0200, "TB/s", "20.0\N{NO-BREAK SPACE}GB/s"),
        (5.1e13, "FLOP/s", "51.0\N{NO-BREAK SPACE}TFLOP/s"),
        (12.0, "pages/s", "12.0\N{NO-BREAK SPACE}pages/s"),
        (469.0, "us", "469\N{NO-BREAK SPACE}µs"),
        (0.0386, "", "0.0386"),
        (16100.0, "× 10⁻⁶", "16,100\N{NO-BREAK SPACE}× 10⁻⁶"),
    ],
)
def test_a_rate_has_the_prefix_that_suits_it(
    value: float, unit: str, text: str
) -> None:
    assert results.rate_text(value, unit) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (24.0, "", "24"),
        (56.0, "B", "56\N{NO-BREAK SPACE}B"),
        (75, "%", "75\N{NO-BREAK SPACE}%"),
        (8192.0, "B", "8192\N{NO-BREAK SPACE}B"),
        (33280.0, "B", "33,280\N{NO-BREAK SPACE}B"),
        (0, "B", "0\N{NO-BREAK SPACE}B"),
    ],
)
def test_a_count_has_no_decimals(value: float, unit: str, text: str) -> None:
    assert results.rate_text(value, unit) == text


def test_small_and_large_numbers_stay_readable() -> None:
    row = results.Row(**ROWS[1])
    assert results.text_of(row, "ms") == "32.1\N{NO-BREAK SPACE}µs"
    assert results.text_of(row, "ratio") == "14.8"


def test_a_measured_number_says_where_it_is_from(render: Render) -> None:
    html, warnings = render("Moves {measured}`13_demo | 8 x 8 float32 | torch | rate`.")
    assert warnings == []
    assert 'title="measured: NVIDIA H200' in html
    assert "1.13\N{NO-BREAK SPACE}TB/s</span>." in html


def test_a_time_that_varies_a_lot_shows_it(render: Render) -> None:
    rows = [
        {"case": "a", "name": "steady", "ms": 1.0, "spread": 0.1, "reps": 20},
        {"case": "a", "name": "shaky", "ms": 1.0, "spread": 0.5, "unsteady": "a host"},
        {"case": "a", "name": "rare", "ms": 1.0, "spread": 0.1, "reps": 3},
    ]
    file = json.dumps({"lab": "13_noisy", "device": DEVICE, "rows": rows})
    files = {"results/13_noisy.nvidia-h200.json": file}
    html, warnings = render("```{ladder} 13_noisy\n:case: a\n```", files=files)
    assert warnings == []
    assert html.count("weft-doubt") == 2
    nbsp = "\N{NO-BREAK SPACE}"
    assert f"± 25{nbsp}%" in html
    assert f"± 5.0{nbsp}%" in html
    assert "; a host" in html


def test_what_is_counted_has_no_bars_and_no_times(render: Render) -> None:
    rows = [{"case": "a", "name": n, "value": 9.5, "unit": "us"} for n in ("b", "c")]
    file = json.dumps({"lab": "13_parts", "device": DEVICE, "rows": rows})
    files = {"results/13_parts.nvidia-h200.json": file}
    html, warnings = render("```{ladder} 13_parts\n:case: a\n```", files=files)
    assert warnings == []
    assert "weft-bar" not in html
    assert ">time<" not in html
    assert "9.50\N{NO-BREAK SPACE}µs" in html


def test_versions_are_those_of_the_run_and_of_the_course(render: Render) -> None:
    pinned = "numpy==2.4.6\ntorch==2.13.0\ntriton==3.7.1; sys_platform == 'linux'\n"
    text = "{versions}`13_demo`, and {versions}`installed`."
    html, warnings = render(text, files={"requirements.txt": pinned})
    assert warnings == []
    plain = html.replace("\N{NO-BREAK SPACE}", " ")
    assert "PyTorch 2.11.0 and Triton 3.6.0</span>, and" in plain
    assert "PyTorch 2.13.0 and Triton 3.7.1</span>." in plain


PINS = {"torch": "2.13.0", "triton": "3.7.1", "numba": "0.68.1"}


def test_a_page_says_that_newer_versions_are_not_measured_yet(render: Render) -> None:
    text = "".join(f"{name}=={version}\n" for name, version in PINS.items())
    html, warnings = render("```{stack}\n```", files={"requirements.txt": text})
    assert warnings == []
    assert "used PyTorch 2.11.0 and Triton 3.6.0. The course now installs" in html
    assert "installs PyTorch 2.13.0 and Triton 3.7.1, with which it has not" in html


def test_what_was_measured_is_what_is_installed() -> None:
    ran = PINS | {"torch": "2.13.0+cu130"}
    said = stack.sentence([ran, PINS], PINS)
    assert said == (
        "The runs on a GPU used PyTorch 2.13.0, Triton 3.7.1 and Numba 0.68.1, which "
        "the course installs."
    )
    assert stack.newer([ran, PINS | {"numba": "0.68.0"}], PINS) == ["numba"]


def test_versions_that_are_not_known_are_a_warning(render: Render) -> None:
    _, warnings = render("{versions}`installed`")
    assert "no version of torch and triton is known" in warnings[0]


@pytest.mark.parametrize(
    ("key", "complaint"),
    [
        ("14_none | 8 x 8 float32 | torch | ms", "there is no results/14_none"),
        ("13_demo | 9 x 9 float32 | torch | ms", "has no case '9 x 9 float32'"),
        ("13_demo | 8 x 8 float32 | cupy | ms", "no 'cupy', but 'torch'"),
        ("13_demo | 8 x 8 float32 | torch | seconds", "no field 'seconds'"),
        ("13_demo | no ceiling | fast | ratio", "'fast' has no ratio"),
        ("13_demo | torch | ms", "write `lab | case | name | field`"),
    ],
)
def test_a_number_that_is_not_there_is_a_warning(
    render: Render, key: str, complaint: str
) -> None:
    _, warnings = render(f"{{measured}}`{key}`")
    assert len(warnings) == 1
    assert complaint in warnings[0]


def test_a_ladder_is_a_table_with_bars_and_no_script(render: Render) -> None:
    html, warnings = render("```{ladder} 13_demo\n:case: 8 x 8 float32\n```")
    assert warnings == []
    assert html.count('<tr role="row"') == 3
    assert "width:26.5%" in html
    assert "width:94.0%" in html
    assert "padded &lt;tile&gt;" in html
    assert ">baseline</span>" in html
    assert "14.8×" in html
    assert "<script" not in html


@pytest.mark.parametrize("case", ["8 x 8 float32", "no ceiling"])
def test_a_notebook_draws_a_measurement_as_the_book_does(
    render: Render, case: str
) -> None:
    built, _ = render(f"```{{ladder}} 13_demo\n:case: {case}\n```")
    rows = [row for row in ROWS if row["case"] == case]
    baseline = next((row["baseline"] for row in rows if "baseline" in row), "")
    ceiling = "the ceiling" if any("ceiling" in row for row in rows) else ""
    timed = Table(
        case=case,
        rows=tuple(from_result(row["name"], row) for row in rows),
        unit="B" if ceiling else "",
        baseline=baseline,
        ceiling=ceiling,
        source="",
        here=True,
    )
    lab = timed._repr_html_()
    width = re.compile(r"width:\s?([\d.]+)%")
    assert width.findall(lab) == width.findall(built) != []
    heads = re.compile(r"<th[^>]*scope=\"col\"[^>]*>([^<]+)</th>")
    ours, theirs = (
        [re.sub("^(rate|TB/s)$", "", head) for head in heads.findall(page)]
        for page in (lab, built)
    )
    assert ours == [*theirs, "spread"]
    assert lab.count(">baseline<") == built.count(">baseline<") == bool(baseline)


def test_a_ladder_says_what_its_shares_are_of(render: Render) -> None:
    text = "```{ladder} 13_demo\n:case: 8 x 8 float32\n"
    assert "of the ceiling" in render(text + "```")[0]
    html, warnings = render(text + ":of: computed peak\n```")
    assert warnings == []
    assert "of the computed peak" in html
    assert "of the ceiling" not in html


def test_bars_without_a_ceiling_compare_speeds(render: Render) -> None:
    html, warnings = render("```{ladder} 13_demo\n:case: no ceiling\n```")
    assert warnings == []
    assert "width:25.0%" in html
    assert "width:100.0%" in html


def test_a_ladder_that_is_not_there_is_a_warning(render: Render) -> None:
    _, warnings = render("```{ladder} 13_demo\n:case: 9 x 9\n```")
    assert len(warnings) == 1
    assert "{ladder} 13_demo" in warnings[0]


def test_other_builders_get_the_numbers_without_the_pictures(render: Render) -> None:
    text, warnings = render(
        "{measured}`13_demo | 8 x 8 float32 | torch | rate`\n\n"
        "```{ladder} 13_demo\n```\n\n```{all-results}\n```",
        builder="text",
    )
    assert warnings == []
    assert "1.13\N{NO-BREAK SPACE}TB/s" in text
    assert "<" not in text


def test_all_results_are_shown_by_lab(render: Render) -> None:
    html, warnings = render("```{all-results}\n```")
    assert warnings == []
    assert "13 · demo" in html
    assert "132 SMs" in html
    assert html.count("weft-ladder") == len({row["case"] for row in ROWS})


H100 = "results/13_demo.nvidia-h100-80gb-hbm3.json"


def h100(rows: list[dict]) -> dict[str, str]:
    """The results of another GPU: the same rows, twice as slow."""
    slow = [row | {"ms": 2 * row["ms"]} for row in rows]
    device = DEVICE | {"name": "NVIDIA H100 80GB HBM3"}
    return {H100: json.dumps({"lab": "13_demo", "device": device, "rows": slow})}


def test_a_ladder_lets_the_reader_choose_a_gpu(render: Render) -> None:
    text = "```{ladder} 13_demo\n:case: 8 x 8 float32\n```\n"
    html, warnings = render(text * 2, files=h100(ROWS))
    assert warnings == []
    values = re.findall(r'type="radio"[^>]* value="([^"]+)"( checked)?>', html)
    two = [("nvidia-h200", " checked"), ("nvidia-h100-80gb-hbm3", "")]
    assert values == two * 2
    names = re.findall(r'name="([^"]+)" value', html)
    assert len(set(names)) == 2
    assert html.count("<label for=") == len(
        set(re.findall(r'id="(weft-gpus[^"]+)', html))
    )
    first, second = html.split('<div class="weft-gpu">')[1:3]
    assert "0.475" in first
    assert "0.950" in second
    assert "NVIDIA H100 80GB HBM3" in second


def test_a_ladder_says_that_a_gpu_ran_earlier_programs(render: Render) -> None:
    text = "```{ladder} 13_demo\n:case: 8 x 8 float32\n```\n"
    there = json.loads(h100(ROWS)[H100])
    html, _ = render(text, files={H100: json.dumps(there | {"digest": "an older one"})})
    first, second = html.split('<div class="weft-gpu">')[1:3]
    assert "an earlier version of this lab" not in first
    assert "an earlier version of this lab" in second


def test_a_gpu_that_lacks_a_case_is_not_offered(render: Render) -> None:
    text = "```{ladder} 13_demo\n:case: 8 x 8 float32\n```\n"
    html, warnings = render(text, files=h100(ROWS[-1:]))
    assert warnings == []
    assert "radio" not in html
    assert html.count("weft-ladder") == 1


def test_a_certain_gpu_is_shown_alone(render: Render) -> None:
    text = "```{ladder} 13_demo\n:case: no ceiling\n:gpu: nvidia-h100-80gb-hbm3\n```"
    html, warnings = render(text, files=h100(ROWS))
    assert warnings == []
    assert "radio" not in html
    assert "8.00" in html


def test_all_results_let_the_reader_choose_too(render: Render) -> None:
    html, warnings = render("```{all-results}\n```", files=h100(ROWS))
    assert warnings == []
    assert html.count("<section") == 1  # the page
    assert html.count("<details") == 1  # the lab
    assert html.count('type="radio"') == 2
    cases = {row["case"] for row in ROWS}
    assert html.count("weft-ladder") == 2 * len(cases)


def test_a_lab_of_results_is_a_closed_group_and_has_an_address(render: Render) -> None:
    html, warnings = render("```{all-results}\n```", files=h100(ROWS))
    assert warnings == []
    assert '<details class="weft-group" id="13_demo"><summary>' in html
    assert "12 rows, 2 GPUs" in html
    ids = re.findall(r' id="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    assert "13_demo/8-x-8-float32" in ids
    assert "13_demo/8-x-8-float32/padded-tile" in ids
    assert "13_demo@nvidia-h100-80gb-hbm3/no-ceiling/slow" in ids


def test_results_are_summed_up_by_gpu(render: Render) -> None:
    html, warnings = render("```{results-count}\n```", files=h100(ROWS))
    assert warnings == []
    assert "<dd>12</dd>" in html
    assert "rows in 8 cases" in html
    assert "<dd>2 of 2</dd>" in html  # cases with a baseline
    first, second = re.findall(r'"rowheader" scope="row">([^<]+)<', html)
    assert (first, second) == ("NVIDIA H200", "NVIDIA H100 80GB HBM3")


def test_equal_names_get_different_addresses() -> None:
    assert evidence.slugs(["a < b", "a > b", "A, b", "×"]) == [
        "a-b",
        "a-b-2",
        "a-b-3",
        "row",
    ]


def test_the_search_has_the_text_of_each_section_packed(
    render: Render, tmp_path: Path
) -> None:
    code = "```python\nx = 1\n```"
    render(f"One *two*.\n\n{code}\n\nThree.\n\n## Part & <\n\nFour.\n")
    packed = tmp_path / "html" / "_search"
    read = [
        json.loads(gzip.decompress((packed / name).read_bytes()))
        for name in ("book/index.bin", "index.bin")
    ]
    sections, index = read
    assert [(title, text.split()[0]) for _, title, text in sections] == [
        ("Page", "One"),
        ("Part & <", "Four."),
    ]
    assert sections[0][2].endswith("x = 1")  # code after prose
    assert index["docnames"] == ["book/index"]
    assert {"four", "three"} <= index["terms"].keys() | index["titleterms"].keys()


def test_the_index_keeps_terms_of_pages_that_are_not_written_again(
    render: Render, tmp_path: Path
) -> None:
    other = {"book/other.md": "# Other", "book/search_terms.toml": 'other = ["loom"]'}
    render("One.", files=other)
    render("Two.", keep=True)
    packed = tmp_path / "html" / "_search" / "index.bin"
    index = json.loads(gzip.decompress(packed.read_bytes()))
    assert index["docnames"] == ["book/index", "book/other"]
    assert index["indexentries"] == {"loom": [[1, "", True]]}


def test_a_page_with_groups_has_a_script_and_others_do_not(
    render: Render, tmp_path: Path
) -> None:
    html, warnings = render("```{filter}\n```\n\n```{all-results}\n```")
    assert warnings == []
    assert '<search class="weft-filter">' in html
    assert re.search(r'<label for="weft-filter">[^<]+</label>', html)
    assert 'aria-live="polite"' in html
    page = tmp_path / "html" / "book" / "index.html"
    assert evidence.SCRIPT in page.read_text()
    render("Nothing.")
    assert evidence.SCRIPT not in page.read_text()


def test_numbers_in_sentences_stay_those_of_the_reference(render: Render) -> None:
    html, _ = render(
        "Takes {measured}`13_demo | 8 x 8 float32 | torch | ms`.", files=h100(ROWS)
    )
    assert "0.475" in html
    assert "radio" not in html


def test_a_sentence_can_name_another_gpu(render: Render) -> None:
    html, warnings = render(
        "Takes {measured}`13_demo | 8 x 8 float32 | torch | ms | h100`.",
        files=h100(ROWS),
    )
    assert warnings == []
    assert "0.950" in html
    assert 'title="measured: NVIDIA H100 80GB HBM3' in html


def test_a_sentence_names_a_gpu_that_has_results(render: Render) -> None:
    _, warnings = render("{measured}`13_demo | 8 x 8 float32 | torch | ms | h100`")
    assert len(warnings) == 1
    assert "results of 13_demo on a GPU 'h100': none" in warnings[0]


def test_more_gpus_than_the_style_knows_are_refused() -> None:
    panels = [gpus.Panel(f"gpu-{k}", f"GPU {k}", "") for k in range(gpus.MOST + 1)]
    with pytest.raises(ValueError, match=r"weft\.css"):
        gpus.choice(panels, "g")
    css = (ROOT / "book" / "_static" / "weft.css").read_text()
    assert f".weft-gpu:nth-of-type({gpus.MOST})" in css


def test_cloth_reaches_as_far_as_the_share() -> None:
    for share in (0.0, 0.26, 0.5, 1.0):
        _, weft = cloth.threads(0, share)
        end = max((x + w for x, _, w, _ in weft), default=0.0)
        assert end <= share * cloth.THREADS * cloth.PITCH + 1e-9
        assert end >= share * cloth.THREADS * cloth.PITCH - cloth.PITCH


def test_cloth_alternates() -> None:
    even, odd = cloth.threads(0, 1.0)[0], cloth.threads(1, 1.0)[0]
    whole_even = {x for x, _, _, height in even if height == cloth.HEIGHT}
    whole_odd = {x for x, _, _, height in odd if height == cloth.HEIGHT}
    assert whole_even & whole_odd == set()
    assert len(whole_even | whole_odd) == cloth.THREADS


CURVE = """```{curve} 13_demo
:case: {} float32
:sizes: 2^4, 2^5
:rows: mine
:axis: elements
:alt: A line that <rises>.
It rises.
```"""


def test_a_curve_is_drawn_in_one_unit(render: Render) -> None:
    html, warnings = render(CURVE)
    assert warnings == []
    points = re.search(r'<polyline points="([^"]+)"', html)
    assert points is not None
    low, high = (float(point.split(",")[1]) for point in points[1].split())
    floor, top = curve.HEIGHT - curve.BOTTOM, curve.TOP
    assert high == pytest.approx(floor - (floor - top) * 4.5 / 5, abs=0.1)
    assert low == pytest.approx(floor - (floor - top) * 0.25 / 5, abs=0.1)
    assert ">TB/s</text>" in html
    assert 'aria-label="A line that &lt;rises&gt;."' in html
    assert "It rises." in html
    assert "NVIDIA H200" in html
    assert "<script" not in html


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (":alt: A line that <rises>.", "", "say in :alt:"),
        ("{} float32", "2^4 float32", "with {} for the size"),
        ("2^4, 2^5", "2^4", "two :sizes:"),
        ("2^4, 2^5", "2^4, 2^6", "no case '2^6 float32'"),
        (":rows: mine", ":rows: mine, yours", "no 'yours'"),
        (":rows: mine", ":rows: a, b, c, d", "at most 3 :rows:"),
    ],
)
def test_a_curve_that_cannot_be_drawn_is_a_warning(
    render: Render, old: str, new: str, words: str
) -> None:
    html, warnings = render(CURVE.replace(old, new))
    assert len(warnings) == 1
    assert words in warnings[0]
    assert "<polyline" not in html


def test_a_rate_is_what_a_curve_needs(render: Render) -> None:
    text = CURVE.replace("{} float32", "{} ceiling").replace("2^4, 2^5", "no, no")
    _, warnings = render(text.replace(":rows: mine", ":rows: slow"))
    assert len(warnings) == 1
    assert "has no rate" in warnings[0]


@pytest.mark.parametrize("most", [0.04, 0.9, 1.0, 4.7, 9.99, 10.0, 37.0, 640.0])
def test_the_numbers_of_an_axis_are_few_and_reach_the_top(most: float) -> None:
    numbers = curve.ticks(most)
    assert numbers[0] == 0
    assert numbers[-2] < most <= numbers[-1]
    assert len(numbers) <= curve.TICKS + 1


def test_names_of_lines_that_end_together_stay_apart() -> None:
    placed = curve.apart({"a": 30.0, "b": 31.0, "c": 29.0, "d": 200.0}, 18)
    assert placed == {"c": 29.0, "a": 47.0, "b": 65.0, "d": 200.0}


PHONE = 342  # pixels that a drawing has on a screen of 390
DRAWINGS = sorted((ROOT / "book" / "figures").glob("*.svg"))
NARROWS = sorted((ROOT / "book" / "figures" / "narrow").glob("*.svg"))
SVG = """<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" width="300" viewBox="0 0 300 100">
<title>old</title><defs><marker id="tip"/></defs>
<path marker-end="url(#tip)" d="M0 0"/></svg>"""


def test_a_drawing_is_inlined_with_its_own_ids() -> None:
    svg = inline_svg(SVG, "13_tile", 'A "tile"')
    assert 'id="13_tile-tip"' in svg
    assert "url(#13_tile-tip)" in svg
    assert 'aria-label="A &quot;tile&quot;"' in svg
    assert "width=" not in svg.split(">")[0]
    assert "<title>" not in svg


@pytest.mark.parametrize(
    "svg",
    [
        "<p>no</p>",
        "<svg><path/></svg>",
        '<svg viewBox="0 0 1 1"><script>1</script></svg>',
        '<svg viewBox="0 0 1 1"><image href="https://example.org/a.png"/></svg>',
    ],
)
def test_a_drawing_that_a_page_cannot_hold_is_refused(svg: str) -> None:
    with pytest.raises(ValueError, match=r"^its? "):
        inline_svg(svg, "name", "alt")


def test_a_drawing_is_wide_enough_for_its_smallest_text() -> None:
    svg = '<svg viewBox="0 0 500 90"><style>.axis { font-size: 10px }</style>'
    assert legible_width(svg + '<text font-size="12">a</text></svg>') == 550
    assert legible_width('<svg viewBox="0 0 500 90"></svg>') == 0


@pytest.mark.parametrize("path", DRAWINGS + NARROWS, ids=lambda path: path.stem)
def test_a_drawing_has_no_colours_but_the_two_dyes(path: Path) -> None:
    svg = path.read_text(encoding="utf-8")
    colours = re.findall(r'\b(?:fill|stroke|color)="(?!none|currentColor|url)', svg)
    assert colours == []
    assert set(re.findall(r'\bclass="([^"]*)"', svg)) <= {
        "warp",
        "weft",
        "words",
    }


@pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: path.stem)
def test_the_parts_of_a_drawing_can_be_read_on_a_phone(path: Path) -> None:
    svg = path.read_text(encoding="utf-8")
    widest = max((width for _, _, width, _ in windows(svg)), default=0)
    assert legible_width(svg) * widest / width_of(svg) <= PHONE


def test_a_phone_shows_the_parts_of_a_drawing_and_the_lines_between() -> None:
    svg = """<svg viewBox="0 0 400 90" data-narrow="0 9 99 40; 200 5 198 40" fill="red">
<text class="words" x="0" y="7" font-weight="600">a long</text>
<text class="words" x="0" y="70">and <tspan>so</tspan></text>
<text class="words" x="0" y="85">on</text></svg>"""
    assert windows(svg) == [(0, 9, 99, 40), (200, 5, 198, 40)]
    html = narrow_html(svg, "09_row")
    order = [
        '<p class="weft-line weft-bold">a long</p>',
        'width:min(50.0%,124px)" viewBox="0 9 99 40" fill="red"',
        '<use href="#09_row-all"/>',
        'width:min(100.0%,248px)" viewBox="200 5 198 40"',
        '<p class="weft-line">and so on</p>',
    ]
    places = [html.index(part) for part in order]
    assert places == sorted(places)
    assert 'id="09_row-all"' in inline_svg(svg, "09_row", "A row.")
    assert narrow_html(SVG, "09_row") == ""


@pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: path.stem)
def test_no_drawing_scrolls_on_a_phone(path: Path) -> None:
    svg = path.read_text(encoding="utf-8")
    again = (path.parent / "narrow" / path.name).is_file()
    assert again or windows(svg) or legible_width(svg) <= PHONE


@pytest.mark.parametrize("path", NARROWS, ids=lambda path: path.stem)
def test_what_is_drawn_again_for_a_phone_can_be_read_there(path: Path) -> None:
    whole = path.parents[1] / path.name
    assert whole in DRAWINGS
    assert windows(whole.read_text(encoding="utf-8")) == []
    assert drawn_for_a_phone(path.read_text(encoding="utf-8"), path.stem)


def test_a_phone_shows_what_is_drawn_again_for_it(render: Render) -> None:
    again = '<svg viewBox="0 0 340 90"><text id="a" font-size="{}">b</text></svg>'
    files = {"book/figures/tile.svg": SVG}
    page = "```{drawing} tile\n:alt: A tile.\n```"
    html, warnings = render(
        page, files=files | {"book/figures/narrow/tile.svg": again.format(12)}
    )
    assert warnings == []
    assert html.count("A tile.") == 1  # only the whole drawing is read out
    whole, narrow = html.split('<div class="weft-narrow" aria-hidden="true">')
    assert "weft-frame weft-whole" in whole
    assert 'style="width:min(100%,425px)"' in narrow
    assert 'id="tile-narrow-a"' in narrow

    _, warnings = render(
        page, files=files | {"book/figures/narrow/tile.svg": again.format(11)}
    )
    assert "at 328 pixels its smallest text is less than 11 high" in warnings[0]


def test_a_drawing_needs_words_for_it(render: Render) -> None:
    files = {"book/figures/tile.svg": SVG}
    html, warnings = render(
        "```{drawing} tile\n:alt: A tile.\nCaption.\n```", files=files
    )
    assert warnings == []
    assert 'aria-label="A tile."' in html
    assert "Caption." in html

    _, warnings = render("```{drawing} tile\nCaption.\n```", files=files)
    assert "say in :alt: what is seen" in warnings[0]
    _, warnings = render("```{drawing} none\n:alt: x\n```")
    assert "there is no book/figures/none.svg" in warnings[0]


def test_the_way_to_colab_is_taken_out_and_other_pictures_are_reported(
    render: Render,
) -> None:
    colab = "https://colab.research.google.com"
    html, warnings = render(f"[![Colab]({colab}/assets/badge.svg)]({colab}/github/x)")
    assert warnings == []
    assert "colab" not in html
    lab = f"{colab}/github/warp-and-weft/warp-and-weft/blob/main/labs/00.ipynb"
    html, _ = render(f"[Open]({lab}) or [read](#page).")
    assert f'href="{links.COLAB}/labs/00.ipynb"' in html
    assert 'href="#page"' in html
    _, warnings = render("![a plot](https://example.org/plot.png)")
    assert "an image from the network" in warnings[0]


def test_a_quiz_that_is_not_there_is_a_warning(render: Render) -> None:
    _, warnings = render("```{quiz} 99_none\n```")
    assert "{quiz} 99_none" in warnings[0]


def test_a_quiz_is_shown(render: Render) -> None:
    html, warnings = render("```{quiz} 05_first_kernel\n```")
    assert warnings == []
    assert html.count("<details") >= 6


def test_stamps_are_shown_and_missed(render: Render) -> None:
    stamp = {
        "device": "NVIDIA H200",
        "driver": "580.159",
        "cuda": "13.0",
        "date": "2026-08-20T10:00:00",
        "seconds": 123.4,
        "digest": "abc",
        "versions": {"numba": "0.68.1"},
    }
    notebook = nbformat.v4.new_notebook(metadata={"weft": stamp})
    files = {"solutions/13_demo.ipynb": nbformat.writes(notebook)}
    html, warnings = render("```{stamps}\n```", files=files)
    assert warnings == []
    took, _ = render("Takes {took}`NVIDIA H200`.", files=files)
    assert "Takes 2\N{NO-BREAK SPACE}minutes." in took
    for text in ("NVIDIA H200", "580.159", "2026-08-20<", "2.1 min", "numba 0.68.1"):
        assert text in html

    files = {"solutions/14_demo.ipynb": nbformat.writes(nbformat.v4.new_notebook())}
    _, warnings = render("```{stamps}\n```", files=files)
    assert "solutions/14_demo.ipynb has no stamp" in warnings[0]


def test_a_notebook_outside_the_contents_may_wait_for_its_run(tmp_path: Path) -> None:
    ran, waits = {"digest": "abc"}, {}
    (tmp_path / "_toc.yml").write_text("- file: solutions/13_demo\n", encoding="utf-8")
    shown, to_come = stamps.split(tmp_path, {"13_demo": ran, "14_demo": waits})
    assert (shown, to_come) == ({"13_demo": ran}, ["14_demo"])
    assert "14 · demo" in stamps.to_come_html(ROOT, to_come)
    assert stamps.to_come_html(ROOT, []) == ""


def test_the_outline_links_what_there_is(render: Render) -> None:
    parts = (ROOT / "book" / "outline.toml").read_text()
    files = {"book/outline.toml": parts}
    html, warnings = render("```{outline}\n```", files=files)
    assert warnings == []
    listed = sum(len(part["chapters"]) for part in tomllib.loads(parts)["parts"])
    assert listed > 36
    assert html.count("<li") == listed
    assert html.count('class="weft-coming"') == listed

    files = {"book/13_shared_memory.md": "# 13\n", "book/77_odd.md": "# 77\n"}
    html, warnings = render("```{outline}\n```", files=files)
    assert '<a href="13_shared_memory.html">' in html
    assert any("does not list 77_odd" in warning for warning in warnings)


def test_hours_are_counted_from_prose_and_lessons(render: Render) -> None:
    listing = "```python\nx = 1\n```\n"
    text = f"---\na: b\n---\n# Two words\n\n{listing}Read [this page](x.md) slowly.\n"
    assert routes.words_of(text) == 6
    stems = syllabus.names(ROOT / "chapters")
    files = {f"book/{stem}.md": "word " * 1500 for stem in stems}
    files |= {
        f"chapters/{stem}/lesson.toml": (
            ROOT / "chapters" / stem / "lesson.toml"
        ).read_text()
        for stem in stems
    }
    found = stems[5], syllabus.load(stems[5]).minutes
    html, warnings = render("{time}`05` {time}`99`", files=files)
    assert f"10 + {found[1]}" in html
    assert [w for w in warnings if "no such chapter" in w]
    html, _ = render("```{routes}\n```", files=files)
    assert html.count("<tr") == 1 + len(routes.routes())
    assert '<a href="35_mnist_cnn.html">35</a>' in html


def test_every_route_leads_through_labs_that_exist() -> None:
    for route in routes.routes():
        assert set(route.labs) <= set(syllabus.names()), route.name
        assert len(set(route.labs)) == len(route.labs), route.name


ROTATE = switches.read(ROOT / "book" / "switches" / "rotate.toml")


def test_a_chapter_that_a_text_names_is_a_link(render: Render) -> None:
    outline = """
[[parts]]
title = "Memory"
about = "Where data are."
chapters = [
  { stem = "12_rows", title = "Rows" },
  { stem = "13_tiles", title = "Tiles", pages = [{ stem = "13_more", title = "" }] },
  { stem = "14_later", title = "Later" },
]
"""
    html, _ = render(
        "As in chapter 12, and chapters 12\nand 13. Chapter 14 is not written. "
        "Chapter 12 of *A Book*, chapters 12 to 13 of it and `chapter 12` stay, "
        "[as does chapter 12](x.md)."
        "\n\n## After chapter 13",
        files={
            "book/outline.toml": outline,
            "book/12_rows.md": "# Rows\n\nThis is chapter 12; chapter 13 is next.\n",
            "book/13_tiles.md": "# Tiles\n",
            "book/13_more.md": "# More\n",
            "book/x.md": "# X\n",
        },
    )
    linked = re.findall(
        r'<a class="[^"]*weft-chapter[^"]*" href="(.*?)">(.*?)</a>', html
    )
    assert linked == [
        ("12_rows.html", "chapter 12"),
        ("12_rows.html", "chapters 12"),
        ("13_tiles.html", "13"),
    ]


def test_switches_decide_which_lines_there_are() -> None:
    code = ROTATE.code({"guard": False, "barrier": True, "rows": True, "padding": True})
    assert "if " not in code
    assert "(32, 33)" in code
    assert "syncthreads" in code
    assert len({ROTATE.code(state) for state in ROTATE.states}) == 16


def test_every_combination_of_switches_has_its_verdict() -> None:
    found = switches.judge(ROOT, ROTATE)
    kinds = {
        state: re.findall(r'data-kind="([^"]*)"', html) for state, html in found.items()
    }
    assert len(kinds) == 16
    for state, kind in kinds.items():
        on = state.split()
        if "rows" in on and "barrier" not in on:
            wanted = "race"
        elif "guard" not in on:
            wanted = "out-of-bounds"
        elif "rows" not in on:  # a thread then reads what it wrote itself
            wanted = "sectors"
        else:
            wanted = "pass" if "padding" in on else "bank-conflicts"
        assert kind == [wanted], state
        assert "in this lab" not in found[state]


def test_each_run_has_a_process_of_its_own(tmp_path: Path) -> None:
    def shown(*cells: str) -> list[str]:
        return judging.shown(cells, ROOT, tmp_path)

    html = "from IPython.display import HTML\nmine = HTML('<b>1</b>')\nmine"
    assert shown("print(2)\n3", html) == ["", "<b>1</b>"]
    with pytest.raises(judging.CellError, match="NameError: name 'mine'"):
        shown("mine")
    with pytest.raises(judging.CellError, match="ends with status 3"):
        shown("import os\nos._exit(3)")
    assert shown("open('here', 'w').close()") == [""]
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_a_switch_that_is_not_one(tmp_path: Path) -> None:
    path = tmp_path / "odd.toml"
    path.write_text(
        "code = 'gard | x = 1'\ncheck = ''\nsetup = ''\n"
        '[[switches]]\nname = "guard"\nlabel = "g"\non = true\n'
    )
    with pytest.raises(ValueError, match="there is no switch gard"):
        switches.read(path)


def test_links_to_the_published_book_lead_to_this_one(render: Render) -> None:
    link = f"[a race]({links.PUBLIC}/book/bugs/race.html)"
    html, _ = render(link)
    assert 'href="../book/bugs/race.html"' in html


def test_a_chapter_of_two_pages_has_one_lab(render: Render) -> None:
    text = """[[parts]]
title = "Memory"
about = "Bytes."
[[parts.chapters]]
stem = "16_softmax"
title = "Softmax"
pages = [{ stem = "16_wide_rows", title = "Wide rows" }]
"""
    files = {
        "book/outline.toml": text,
        "book/16_softmax.md": "# One\n\n```{outline}\n```\n",
        "book/16_wide_rows.md": "# Two\n",
        "labs/16_softmax.md": "# Lab\n",
    }
    html, warnings = render("```{outline}\n```", files=files)
    assert [w for w in warnings if "outline" in w] == []
    assert html.count("<li") == 1
    assert '<a href="16_wide_rows.html">Wide rows</a>' in html


def test_the_pages_of_a_chapter_lead_to_each_other(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "outline.toml").write_text(
        '[[parts]]\ntitle = "Memory"\nabout = ""\nchapters = [{ stem = "16_softmax", '
        'title = "Softmax", pages = [{ stem = "16_wide_rows", title = "Wide" }] }]\n'
    )
    stems = [page["stem"] for page in outline.pages_with(tmp_path, "16_wide_rows")]
    assert stems == ["16_softmax", "16_wide_rows"]
    assert outline.pages_with(tmp_path, "17_fusion")[0]["stem"] == "17_fusion"


def test_what_a_reader_opens_is_closed_at_first(render: Render) -> None:
    text = (
        "```{predict} How fast is *padded*?\n{measured}`13_demo | 8 x 8 float32 | "
        "padded <tile> | ms`\n```\n\n"
        "````{answer} The kernel of exercise 3\n```python\nx = 1\n```\n````"
    )
    html, warnings = render(text)
    assert warnings == []
    asked, answer = (part.split("</summary>") for part in html.split("<details ")[1:])
    assert asked[0].startswith('class="weft-closed weft-predict"><summary><b>Predict.')
    assert "<em>padded</em>" in asked[0]
    assert "32.1" in asked[1]
    assert "exercise 3 – write it first" in answer[0]
    assert "highlight" in answer[1].split("</details>")[0]


def test_a_computed_number_is_put_in_the_text(render: Render) -> None:
    fact = "[times]\nlab = '13_demo'\nis = \"ms('no ceiling', 'slow') / 2\"\n"
    files = {"book/index.facts.toml": f"{fact}text = '{{:.1f}}'"}
    html, warnings = render("{fact}`times` times as long, {fact}`no`.", files=files)
    assert '<span class="weft-measured">2.0</span> times' in html
    assert ["no fact 'no'" in warning for warning in warnings] == [True]


def test_solutions_are_shown_without_their_marks(render: Render) -> None:
    code = "def f(x):\n    # BEGIN SOLUTION\n    x[0] = 1\n    # END SOLUTION"
    html, warnings = render(f"```python\n{code}\n```")
    assert warnings == []
    assert "SOLUTION" not in html
    assert 'class="n"' in html  # and highlighted


def test_what_a_lab_needs_of_a_gpu() -> None:
    text = {
        name[:2]: lessons.gpu_text(syllabus.load(name)) for name in syllabus.names()
    }
    assert text["00"] == "capability 7.5"
    assert text["16"] == "capability 7.5, 6 GB, 22 SMs"
    assert text["22"] == "capability 9.x, 3 GB"
    assert text["28"] == "capability 7.5, 2 GPUs"
    assert text["33"] == "capability 8.0, 16 GB"
    assert lessons.runs_on_cpu(ROOT / "solutions" / "04_c_for_python.ipynb")
    assert not lessons.runs_on_cpu(ROOT / "solutions" / "05_first_kernel.ipynb")


def test_a_shown_kernel_is_as_a_learner_typed_it() -> None:
    typed = verdict.as_typed(
        "# verdict: race\n# It worked yesterday.\n\n@cuda.jit\n"
        "def f(x):\n    # mine\n    x[0] = 1  # <- here\n"
    )
    assert typed == "@cuda.jit\ndef f(x):\n    # mine\n    x[0] = 1"
    typed = verdict.as_typed("// verdict: leak\n// It is C.\n#include <a.h>\n")
    assert typed == "#include <a.h>"


def test_a_verdict_needs_a_kernel_and_its_check(render: Render) -> None:
    _, warnings = render("```{verdict} 05 | add | wrong\n```")
    assert "there is no chapters/05/answers/add/wrong.py" in warnings[0]
    lab = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell("import weft"),
            nbformat.v4.new_code_cell("tile = 3", metadata={"tags": ["given"]}),
            nbformat.v4.new_code_cell("def add(x): pass"),
            nbformat.v4.new_code_cell("check(\n    add,\n    spec=f)"),
        ]
    )
    cells = verdict.judging_cells(lab, "add", "def add(x): typed")
    sources = [cell.source.splitlines()[0] for cell in cells]
    assert sources == ["import weft", "tile = 3", "def add(x): typed", "check("]
    with pytest.raises(verdict.VerdictError, match="no check"):
        verdict.judging_cells(lab, "ad", "typed")


def test_sources_are_counted_in_letters() -> None:
    assert [letters(n) for n in (0, 25, 26, 27, 51, 52, 701, 702)] == [
        *("a", "z", "aa", "ab", "az", "ba", "zz", "aaa")
    ]


ICONS = (
    'var a={bars:[4,5,["navicon"],"f0c9","M0 9z"],"star-half":[1,2,[],"f089",["M1",'
    '"M2"]],search:[1,2,[128269,"magnifying-glass"],"f002","M3z"]},b=1;'
)


def test_icons_that_no_page_shows_are_left_out() -> None:
    wanted = icons.shown(['<i class="fas fa-bars">', '"fa-solid fa-magnifying-glass"'])
    kept = icons.only(ICONS, wanted)
    assert "star-half" not in kept
    assert 'bars:[4,5,["navicon"],"f0c9","M0 9z"]' in kept
    assert 'search:[1,2,[128269,"magnifying-glass"],"f002","M3z"]},b=1;' in kept


def measured_roles() -> Iterator[tuple[str, list[str]]]:
    """Yield each page's `{measured}` roles outside tables, each as its parts."""
    for page in sorted((ROOT / "book").rglob("*.md")):
        lines = page.read_text(encoding="utf8").splitlines()
        prose = " ".join(line for line in lines if not line.startswith("|"))
        for text in re.findall(r"\{measured\}`([^`]*)`", prose):
            yield page.name, [part.strip() for part in text.split("|")]


def test_less_than_a_baseline_is_written_in_per_cent() -> None:
    small = []
    for page, (lab, case, name, what, *gpu) in measured_roles():
        if what == "ratio":
            path = results.path_of(ROOT, lab, REFERENCE)
            path = results.path_with(ROOT, lab, gpu[0]) if gpu else path
            if not path.is_file():  # not measured yet: the build says so
                continue
            if float(results.text_of(results.read(path).find(case, name), what)) < 1:
                small.append(f"{page}: {name}, in {case}")
    assert small == []


@pytest.mark.parametrize(
    ("latex", "parts"),
    [
        (
            r"\frac{n}{2}",
            ["<mfrac><mrow><mi>n</mi></mrow><mrow><mn>2</mn></mrow></mfrac>"],
        ),
        (r"a < b", ["<mo>&#x0003C;</mo>"]),
        (
            r"\begin{aligned} a &= b \\ c &= d \end{aligned}",
            ["<mtable", '<mtr><mtd columnalign="right"><mi>c</mi></mtd>'],
        ),
        (r"C \mathrel{+}= A", ["<mi>C</mi><mo>&#x0002B;</mo><mo>"]),
    ],
)
def test_a_formula_becomes_mathml(latex: str, parts: list[str]) -> None:
    made = formulas.mathml(latex)
    assert made.startswith("<math ")
    assert all(part in made for part in parts), made


@pytest.mark.parametrize("latex", [r"\unknown x", r"\left( x", "a & b"])
def test_a_formula_that_mathml_has_no_word_for_is_refused(latex: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        formulas.mathml(latex)


def test_a_formula_is_put_into_the_page(render: Render) -> None:
    html, warnings = render("{math}`n^2` steps:\n\n```{math}\n\\sqrt{n}\n```")
    assert warnings == []
    assert "<msup><mi>n</mi><mn>2</mn></msup>" in html
    assert '<div class="weft-formula"><math' in html
    assert "mathjax" not in html.lower()
    _, warnings = render(r"{math}`\unknown`")
    assert any("unknown" in each for each in warnings)


def test_a_page_loads_only_what_it_uses() -> None:
    assert lean.needed("_static/weft.css", "")
    assert lean.needed("_static/copybutton.js", "<pre>x</pre>")
    assert not lean.needed("_static/copybutton.js", "<p>x</p>")
    assert not lean.needed("_static/mystnb.0a1b.css", "<p>x</p>")
    head = (
        '<link href="/fontawesome/css/all.css" rel="stylesheet" />'
        '<link rel="preload" as="font" href="/fontawesome/a.woff2" />'
        '<link href="theme.css" rel="stylesheet" />'
        '<script src="/fontawesome/js/all.min.js"></script>'
    )
    assert lean.without_fonts(head) == (
        '<link href="theme.css" rel="stylesheet" />'
        '<script defer src="/fontawesome/js/all.min.js"></script>'
    )


def test_a_page_is_edited_where_it_is_written() -> None:
    assert around.source_of("book/faq", ".md") == "book/faq.md"
    for folder in ("labs", "solutions"):
        source = around.source_of(f"{folder}/13_shared_memory", ".ipynb")
        assert source == "chapters/13_shared_memory/lab.py"
        assert (ROOT / source).is_file()


def test_a_report_has_the_page_s_address_in_a_field_of_the_form() -> None:
    address = around.report_on("https://github.com/a/b", "book/faq")
    place = f"{links.PUBLIC}/book/faq.html"
    asked = parse_qs(urlsplit(address).query)
    form = ROOT / ".github" / "ISSUE_TEMPLATE" / asked["template"][0]
    fields = [each["id"] for each in yaml.safe_load(form.read_text())["body"]]
    assert asked["place"] == [place]
    assert "place" in fields


def test_the_kill_table_leads_to_the_files_of_its_kernels() -> None:
    found = kills.kernels_of(ROOT, "race_shared") + kills.kernels_of(
        ROOT, "05_first_kernel"
    )
    shown = [cells[0] for _, cells in kills.rows(found, ROOT, "https://x/blob/main")]
    paths = [re.search('href="https://x/blob/main/([^"]*)"', cell)[1] for cell in shown]
    assert len(paths) > 10
    assert all((ROOT / path).is_file() for path in paths)
