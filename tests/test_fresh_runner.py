"""What another machine measured can be committed: the book builds with its results."""

import io
import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from built_book import ROOT
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

sys.path.insert(0, str(ROOT / "book" / "_ext"))

from weft_book import facts, results

PAGES = ("02_ecosystem", "32_extensions", "results", "status")
ABSENT = re.compile(r"ONNX|C\+\+|nvcc")  # rows of a machine that lacks these
QUOTED = re.compile(r"\{measured\}`([^`]+)`")


def of_another_gpu(record: Path, name: str) -> dict:
    """Return what this GPU would measure on a machine that lacks some tools."""
    data = json.loads(record.read_text(encoding="utf-8"))
    data["device"] |= {"name": name, "sms": 114}
    data["rows"] = [row for row in data["rows"] if not ABSENT.search(row["name"])]
    return data


OTHER_GPUS = pytest.param("NVIDIA L4", marks=pytest.mark.long), "NVIDIA H100 PCIe"


@pytest.fixture(scope="module", params=OTHER_GPUS)
def course(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The course with one more GPU in results/; the second is another H100."""
    root = tmp_path_factory.mktemp("course")
    for name in ("_toc.yml", "chapters", "labs", "requirements.txt", "solutions"):
        (root / name).symlink_to(ROOT / name)
    (root / "book").mkdir()
    for path in (ROOT / "book").iterdir():
        if path.suffix != ".md" or path.stem in PAGES:
            (root / "book" / path.name).symlink_to(path)
    shutil.copytree(ROOT / "results", root / "results")
    slug = re.sub(r"\W+", "-", request.param.lower())
    lost = 0
    for record in sorted((ROOT / "results").glob("[0-9]*.nvidia-h200.json")):
        data = of_another_gpu(record, request.param)
        lost += len(json.loads(record.read_text())["rows"]) - len(data["rows"])
        lab = record.name.split(".")[0]
        (root / "results" / f"{lab}.{slug}.json").write_text(json.dumps(data))
    assert lost, "no such rows: the machine lacks nothing"
    return root


def test_every_fact_of_the_book_stays_as_it_is(course: Path) -> None:
    files = [*ROOT.glob("chapters/*/*facts.toml"), *ROOT.glob("book/*.facts.toml")]
    for page in map(facts.page_of, files):
        for name, fact in facts.read(ROOT, page).items():
            word = facts.compute if "holds" in fact else facts.worded
            assert word(course, page, name) == word(ROOT, page, name), (page, name)


def test_every_number_that_a_page_quotes_is_found(course: Path) -> None:
    for page in (ROOT / "book").glob("*.md"):
        for quoted in QUOTED.findall(" ".join(page.read_text().split())):
            parts = [part.strip() for part in quoted.split(" | ")]
            if len(parts) == 5:
                lab, case, name, _, gpu = parts
                results.read(results.path_with(course, lab, gpu)).find(case, name)


def test_the_pages_that_show_all_gpus_build(course: Path, tmp_path: Path) -> None:
    warnings = io.StringIO()
    contents = "\n".join(PAGES)
    index = f"# All\n\n```{{toctree}}\n{contents}\n```\n"
    (course / "book" / "index.md").write_text(index)
    with patch_docutils(), docutils_namespace():
        app = Sphinx(
            srcdir=course,
            confdir=None,
            outdir=tmp_path / "html",
            doctreedir=tmp_path / "doctrees",
            buildername="html",
            confoverrides={
                "extensions": ["myst_nb", "weft_book"],
                "master_doc": "book/index",
                "exclude_patterns": ["labs", "solutions", "chapters"],
                "nb_execution_mode": "off",
                "html_theme": "basic",
            },
            status=None,
            warning=warnings,
        )
        app.build(filenames=[str(course / "book" / f"{page}.md") for page in PAGES])
    said = [line for line in warnings.getvalue().splitlines() if "[weft" in line]
    assert said == []
    html = (tmp_path / "html" / "book" / "results.html").read_text()
    assert "NVIDIA H200" in html
