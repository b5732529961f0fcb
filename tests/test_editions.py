"""Two versions of the book side by side: each page has a link to the other version."""

import importlib.util
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[1]
spec = importlib.util.spec_from_file_location("editions", ROOT / "book/editions.py")
editions = importlib.util.module_from_spec(spec)
spec.loader.exec_module(editions)


def book(folder: Path, version: str, *pages: str) -> Path:
    for page in pages:
        path = folder / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f'<article class="bd-article"><h1>{page}</h1></article>'
            f'<footer><p class="weft-version">Version {version}: '
            '<a href="changes.html">what has changed</a></p></footer>'
        )
    (folder / "_static").mkdir()
    (folder / "_static" / "part.html").write_text("<p>no page</p>")
    return folder


def links(page: Path) -> dict[str, Path]:
    """Return the links of a page, by text, as files."""
    soup = BeautifulSoup(page.read_text(), "html.parser")
    return {
        a.get_text(): (page.parent / a["href"]).resolve() for a in soup.find_all("a")
    }


@pytest.fixture
def joined(tmp_path):
    newest = book(tmp_path / "new", "0.2.0", "index.html", "book/a.html", "book/b.html")
    older = book(tmp_path / "old", "0.1.0", "index.html", "book/a.html", "book/c.html")
    editions.join(newest, older, "0.1.0")
    return newest


def test_a_page_leads_to_itself_in_the_other_version(joined):
    new, old = joined / "book" / "a.html", joined / "0.1.0" / "book" / "a.html"
    assert links(new)["version 0.1.0"] == old
    assert links(old)["the newest version"] == new
    assert "This is version 0.1.0" in old.read_text()
    assert "This is version" not in new.read_text()


def test_a_page_that_the_other_version_lacks_leads_to_its_first_page(joined):
    assert links(joined / "book" / "b.html")["version 0.1.0"] == (
        joined / "0.1.0" / "index.html"
    )
    old = joined / "0.1.0" / "book" / "c.html"
    assert links(old)["a newer one"] == joined / "index.html"


def test_files_that_are_no_pages_stay_as_they_are(joined):
    for folder in (joined, joined / "0.1.0"):
        assert (folder / "_static" / "part.html").read_text() == "<p>no page</p>"


def test_a_version_is_not_added_twice(joined, tmp_path):
    before = (joined / "index.html").read_text()
    with pytest.raises(FileExistsError):
        editions.join(joined, tmp_path / "old", "0.1.0")
    assert (joined / "index.html").read_text() == before


@pytest.mark.parametrize(
    ("tags", "own", "found"),
    [
        ([], "main", ""),
        (["v0.9.0", "v0.10.0", "v0.10.0-rc1", "nightly"], "main", "v0.10.0"),
        (["v0.1.0", "v0.2.0"], "v0.2.0", "v0.1.0"),
        (["v0.1.0"], "v0.1.0", ""),
    ],
)
def test_the_other_version_is_the_last_release(tags, own, found):
    assert editions.last_release(tags, own) == found
