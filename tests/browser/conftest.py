"""A real browser for the tests in this folder, with the network cut off."""

import contextlib
import functools
import http.server
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from built_book import Book, build_once
from looks import ASKED, PHONE, SMALL_PRINT, STICKS_OUT

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NEEDED = "these tests drive a real browser: install Chromium (apt install chromium)"

PATIENCE = 600_000  # ms; only what hangs takes so long, on any machine

MakePage = Callable[..., "Watched"]


def chromium() -> str | None:
    """Return the path of a Chromium: $CHROMIUM, or one that is installed."""
    asked = os.environ.get("CHROMIUM")
    return asked or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    path = chromium()
    if path is None:
        if os.environ.get("CI"):
            pytest.fail(f"{NEEDED}; in CI they must not be skipped")
        pytest.skip(NEEDED)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # The pages are ours, and a container has no user namespaces for a sandbox.
        # One process for all of them is started, and compiles their scripts, only once.
        # Names and addresses of other machines are found nowhere.
        elsewhere = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        args = ["--no-sandbox", "--process-per-site", elsewhere]
        chrome = playwright.chromium.launch(executable_path=path, args=args)
        yield chrome
        chrome.close()


class Watched:
    """A page, with what went wrong on it: errors, and requests that left here."""

    def __init__(self, page: object) -> None:
        self.page = page
        self.errors: list[str] = []
        self.left: list[str] = []
        self.origins: set[str] = set()
        page.on("console", self.note_message)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self.note_request)

    def note_message(self, message: object) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def note_request(self, request: object) -> None:
        parts = urlsplit(request.url)
        self.origins.add(f"{parts.scheme}://{parts.netloc}")
        if parts.scheme in ("data", "blob", "file") or parts.hostname == "127.0.0.1":
            return
        self.left.append(request.url)


@pytest.fixture(scope="session")
def window(browser: object) -> object:
    """Return a page that stays open, so that the process of all pages does."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.route("**/*", lambda route: route.fulfill(body="", content_type="text/html"))
    page.goto("http://127.0.0.1/")
    return page


@pytest.fixture
def open_page(window: object) -> Iterator[MakePage]:
    """Return a function that opens a new page of a width and a colour scheme.

    What its pages have stored is forgotten after the test.
    """
    with opening(window) as make:
        yield make


@contextlib.contextmanager
def opening(window: object) -> Iterator[MakePage]:
    """Yield a function that opens pages; close them, and forget what they stored."""
    made: list[Watched] = []
    others = set(window.context.pages)

    def make(width: int = 1400, scheme: str = "light", height: int = 900) -> Watched:
        page = window.context.new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        made.append(Watched(page))
        return made[-1]

    yield make
    for page in window.context.pages:
        if page not in others:
            page.close()
    window.context.clear_cookies()
    session = window.context.new_cdp_session(window)
    for origin in {origin for watched in made for origin in watched.origins}:
        asked = {"origin": origin, "storageTypes": "all"}
        session.send("Storage.clearDataForOrigin", asked)
    session.detach()


@pytest.fixture(scope="module")
def dark_page(window: object) -> Iterator[Watched]:
    """Return a page for tests that look at one address each, and change nothing.

    A new page takes as long as all that they do.
    """
    with opening(window) as make:
        yield make(scheme="dark")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path != "/favicon.ico":  # a page may have none
            super().do_GET()
            return
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[Path], str]]:
    """Return a function that serves a folder and gives its address."""
    servers = []

    def start(folder: Path) -> str:
        handler = functools.partial(Quiet, directory=str(folder))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return build_once(tmp_path_factory)


@pytest.fixture(scope="session")
def site(book: Book, serve: Callable[[Path], str]) -> str:
    if not (book.html / "index.html").is_file():
        pytest.fail(f"the book was not built:\n{book.said}")
    return serve(book.html)


@pytest.fixture(scope="session")
def on_a_phone(window: object, site: str, book: Book) -> dict[str, list[object]]:
    """What there is on every page of the book on a phone, by the page's name.

    That is what sticks out, what is printed too small, and what predictions cover.
    Several tests ask; to open all pages takes most of their time.
    """
    found = {}
    with opening(window) as make:
        page = make(PHONE).page
        for path in sorted((book.html / "book").glob("*.html")):
            page.goto(f"{site}/book/{path.name}", wait_until="load")
            looked = [page.evaluate(each) for each in (STICKS_OUT, SMALL_PRINT, ASKED)]
            found[path.stem] = looked
    return found
