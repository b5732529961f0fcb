"""The book as it is built: every page, no network, links that lead somewhere."""

import itertools
import json
import pickle
import re
import sys
from collections.abc import Iterator
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from built_book import ROOT, Book, build_once
from PIL import Image

sys.path.insert(0, str(ROOT / "book"))
import film
from build import SHOWN, missing_pages, pages_of

from weft import links, versions
from weft.links import PUBLIC

# What a browser fetches by itself; a plain link is followed by people.
FETCHED = {
    "script": ("src",),
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "iframe": ("src",),
    "video": ("src", "poster"),
    "audio": ("src",),
    "object": ("data",),
    "embed": ("src",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}
CODE = {"pre", "code", "script", "style", "textarea", "title"}
RAW = re.compile(r"(`{3,}|:{3,})\{?\w*\}?.{0,40}|\{[a-z-]+\}`.{0,40}")
FETCHED_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "prefetch"}


class Page(HTMLParser):
    """What a page fetches, links to, and can be linked at."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.unnamed_images: list[str] = []
        self.raw: list[str] = []  # Markdown that was not understood
        self._code = 0
        self.feed(path.read_text(encoding="utf8"))

    def handle_data(self, data: str) -> None:
        if not self._code and (found := RAW.search(data)):
            self.raw.append(found[0])

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in CODE

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._code += tag in CODE
        said = {name: value or "" for name, value in attrs}
        if said.get("id"):
            self.ids.add(said["id"])
        self.fetched += [said[a] for a in FETCHED.get(tag, ()) if said.get(a)]
        if tag == "link" and FETCHED_LINKS & set(said.get("rel", "").split()):
            self.fetched.append(said["href"])
        if "url(" in said.get("style", ""):
            self.fetched += re.findall(r"url\(['\"]?([^'\")]+)", said["style"])
        if tag == "a" and said.get("href"):
            self.links.append(said["href"])
        if tag == "img" and "alt" not in said:
            self.unnamed_images.append(said.get("src", ""))


def is_remote(address: str) -> bool:
    return bool(urlsplit(address).netloc)


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return build_once(tmp_path_factory)


@pytest.fixture(scope="session")
def pages(book: Book) -> dict[Path, Page]:
    paths = sorted(book.html.rglob("*.html"))
    paths = [p for p in paths if "_static" not in p.relative_to(book.html).parts]
    lost = book.html / "404.html"  # its links are absolute: it appears at any address
    return {path: Page(path) for path in paths if path != lost}


def test_builds_without_a_warning(book: Book) -> None:
    assert book.status == 0, book.said


def test_says_how_many_pages_it_built_and_how_long_that_took(book: Book) -> None:
    said = re.search(r"(\d+) pages in \d+ s", book.said)
    assert said, book.said
    assert int(said[1]) >= len(pages_of(ROOT / "_toc.yml"))


def test_has_every_page_of_the_contents(book: Book) -> None:
    names = pages_of(ROOT / "_toc.yml")
    assert len(names) >= 15
    assert missing_pages(book.html, names) == []


def test_a_missing_page_is_noticed(book: Book, tmp_path: Path) -> None:
    (tmp_path / "empty.html").write_text("<html></html>")
    assert missing_pages(tmp_path, ["empty", "absent"]) == ["empty", "absent"]


def test_every_chapter_that_has_run_is_in_the_contents() -> None:
    names = set(pages_of(ROOT / "_toc.yml"))
    for path in ROOT.glob("solutions/[0-9]*.ipynb"):
        stamp = json.loads(path.read_text(encoding="utf-8"))["metadata"].get("weft", {})
        three = {f"{folder}/{path.stem}" for folder in ("book", "labs", "solutions")}
        assert three & names == (three if "digest" in stamp else set()), path.stem


def test_an_unchanged_page_is_not_read_again(book):
    """Sphinx takes what a page depends on for changed if it is not a file."""
    kept = book.html.parent / ".doctrees" / "environment.pickle"
    depended = pickle.loads(kept.read_bytes()).dependencies.values()
    lost = {path for paths in depended for path in paths if not (ROOT / path).is_file()}
    assert lost == set()


def test_pages_fetch_nothing_from_the_network(pages: dict[Path, Page]) -> None:
    remote = {
        path.name: [address for address in page.fetched if is_remote(address)]
        for path, page in pages.items()
    }
    assert {name: found for name, found in remote.items() if found} == {}


def test_styles_fetch_nothing_from_the_network(book: Book) -> None:
    for path in (book.html / "_static").rglob("*.css"):
        css = path.read_text(encoding="utf8")
        found = re.findall(r"(?:url\(|@import\s+)['\"]?((?:https?:)?//[^'\")\s]+)", css)
        assert found == [], path


def files_fetched(book: Book, pages: dict[Path, Page]) -> Iterator[tuple[Path, Path]]:
    for path, page in pages.items():
        for address in page.fetched:
            parts = urlsplit(address)
            within = not parts.path and parts.fragment  # a part of an inline drawing
            if not parts.netloc and parts.scheme != "data" and not within:
                yield path, (path.parent / unquote(parts.path)).resolve()


def test_what_pages_fetch_is_there(book: Book, pages: dict[Path, Page]) -> None:
    assert [pair for pair in files_fetched(book, pages) if not pair[1].is_file()] == []


def test_links_lead_somewhere(book: Book, pages: dict[Path, Page]) -> None:
    by_path = {path.resolve(): page for path, page in pages.items()}
    lost = []
    for path, page in by_path.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (
                (path.parent / unquote(parts.path)).resolve() if parts.path else path
            )
            anchor = unquote(parts.fragment)
            there = target.is_file()
            if there and anchor and target in by_path:
                there = anchor in by_path[target].ids
            if not there:
                lost.append(f"{path.relative_to(book.html.resolve())}: {link}")
    assert lost == []


def test_pictures_say_what_they_show(pages: dict[Path, Page]) -> None:
    unnamed = {path.name: page.unnamed_images for path, page in pages.items()}
    assert {name: found for name, found in unnamed.items() if found} == {}


def test_no_directive_is_left_as_text(pages: dict[Path, Page]) -> None:
    found = {path.name: page.raw for path, page in pages.items() if page.raw}
    assert found == {}


def test_chapter_lab_and_solution_lead_to_each_other(pages: dict[Path, Page]) -> None:
    stems = {path.stem for path in ROOT.glob("labs/[0-9]*.ipynb")}
    for path, page in pages.items():
        if path.stem in stems:
            for folder in {"book", "labs", "solutions"} - {path.parent.name}:
                assert f"../{folder}/{path.stem}.html" in page.links, path


def test_next_leads_past_solutions(book: Book) -> None:
    order = pages_of(ROOT / "_toc.yml")
    reading = [name for name in order if not name.startswith("solutions/")]
    arrows = re.compile(r'class="right-next"\s+href="([^"#]*)')
    for here, after in itertools.pairwise(reading[1:]):
        path = book.html / f"{here}.html"
        found = arrows.search(path.read_text(encoding="utf8"))
        assert found, here
        assert (path.parent / found[1]).resolve() == (
            book.html / f"{after}.html"
        ).resolve()


def test_a_shared_link_says_what_it_is(book: Book) -> None:
    titles = set()
    for name in pages_of(ROOT / "_toc.yml"):
        html = (book.html / f"{name}.html").read_text(encoding="utf8")
        said = dict(re.findall(r'<meta property="og:(\w+)" content="([^"]*)"', html))
        assert {"title", "description", "url", "image"} <= said.keys(), name
        picture = said["image"].rpartition("/")[2]
        assert (book.html / "_images" / "social_previews" / picture).is_file(), name
        assert 'name="description"' in html, name
        titles.add((name.partition("/")[0], re.search("<title>(.*?)</title>", html)[1]))
    assert len(titles) == len(pages_of(ROOT / "_toc.yml"))
    assert ("book", "13 · Shared memory &#8212; Warp &amp; Weft") in titles


def test_the_address_of_the_book_says_what_it_is(book: Book) -> None:
    root, page = (
        (book.html / path).read_text(encoding="utf8")
        for path in ("index.html", "book/index.html")
    )
    shown = SHOWN.findall(root)
    assert shown == SHOWN.findall(page[: page.index("</head>")])
    for said in ("<title>", 'name="description"', "og:title", 'og:image"'):
        assert sum(said in each for each in shown) == 1, said
    assert 'content="0; url=book/index.html"' in root


def test_the_first_button_opens_the_first_lab(pages: dict[Path, Page]) -> None:
    first = next(page for path, page in pages.items() if path.match("book/index.html"))
    assert f"{links.COLAB}/labs/00_start_here.ipynb" in first.links


def test_the_film_shows_today_s_verdicts(book: Book) -> None:
    page = (book.html / "book" / "index.html").read_text(encoding="utf8")
    with Image.open(film.FILM) as shown:
        assert shown.info["comment"] == film.digest(page).encode(), "run `make film`"
        assert shown.n_frames == len(film.MOVES)


def test_the_film_of_a_check_shows_today_s_verdicts(book: Book) -> None:
    if not (book.html / "_static" / "check" / "files.json").is_file():
        pytest.skip("the book was built without checks: npm could not fetch Pyodide")
    with Image.open(film.CHECKED) as shown:
        assert shown.info["comment"] == film.digest_of_check(book.html).encode()
        assert shown.n_frames == 5  # the starter, and two kernels with their verdicts


def test_the_site_has_a_map_and_says_where_a_page_is_missing(book: Book) -> None:
    places = (book.html / "sitemap.xml").read_text(encoding="utf8")
    assert f"{PUBLIC}/book/13_shared_memory.html" in places
    assert "404.html" not in places
    lost = (book.html / "404.html").read_text(encoding="utf8")
    assert 'href="/warp-and-weft/book/index.html"' in lost


def test_labs_open_in_colab(pages: dict[Path, Page]) -> None:
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    place = config["repository"]["url"].removeprefix("https://github.com/")
    colab = "https://colab.research.google.com/github"
    at = f"{colab}/{place}/blob/{versions.revision()}"
    labs = {path.stem for path in pages if path.parent.name == "labs"}
    for path, page in pages.items():
        if path.parent.name in ("book", "labs") and path.stem in labs:
            assert f"{at}/labs/{path.stem}.ipynb" in page.links, path


def test_vendored_files_are_those_of_the_pinned_packages() -> None:
    pinned = json.loads((ROOT / "package.json").read_text())["dependencies"]
    vendor = ROOT / "book" / "vendor"
    manifest = json.loads((vendor / "manifest.json").read_text())
    versions = {name: package["version"] for name, package in manifest.items()}
    assert versions == pinned

    recorded: dict[str, str] = {}
    for package in manifest.values():
        recorded |= package["files"]
    found = {
        path.relative_to(vendor).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in vendor.rglob("*")
        if path.is_file() and path != vendor / "manifest.json"
    }
    assert found == recorded
    for folder in {name.split("/")[0] for name in recorded}:
        assert f"{folder}/LICENSE" in recorded
