"""Film two checks in the book's pages, for the README.

    python book/film.py      after `make book`, in Chromium

On the landing page, switches of a kernel are moved one at a time until the check
accepts it. On a phone, a kernel of chapter 5 is written, first without its guard. Each
film keeps a digest of what it shows, so a test can tell when it is out of date.
"""

import functools
import hashlib
import http.server
import io
import json
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from stills import NAMES

ROOT = Path(__file__).resolve().parent.parent
HTML = ROOT / "_build" / "html"
PAGE = HTML / "book" / "index.html"
FILM = ROOT / "book" / "_static" / "switches.gif"
MOVES = ("", "barrier", "guard", "guard", "padding")  # a frame after each
WIDTH, HEIGHT = 1000, 520  # CSS pixels of the kernel's box; it may be higher
FRAME, LAST = 3000, 5000  # ms
COLOURS = 48
BOX = "#switches-rotate"
CHECKED = ROOT / "book" / "_static" / "check.gif"
PHONE = {"width": 390, "height": 844}
LAB, EXERCISE = "05_first_kernel", "vector_add"
UNGUARDED = """\
@cuda.jit
def vector_add(a, b, out):
    i = cuda.grid(1)

    out[i] = a[i] + b[i]
"""
GUARDED = """\
@cuda.jit
def vector_add(a, b, out):
    i = cuda.grid(1)

    if i < out.size:
        out[i] = a[i] + b[i]
"""


def filmed(page: str) -> str:
    """Return the part of the landing page that the film shows."""
    start = page.index(f'id="{BOX[1:]}"')
    return page[start : page.index("</section>", start)]


def digest(page: str) -> str:
    return hashlib.sha256(filmed(page).encode()).hexdigest()[:16]


def frames(browser: Any, address: str) -> list[Image.Image]:
    """Open the page, move the switches, and return what the box looks like."""
    page = browser.new_page(viewport={"width": 1280, "height": 1600})
    page.goto(f"{address}/book/index.html")
    page.evaluate("document.fonts.ready")
    box = page.locator(BOX)
    size = f"width: {WIDTH}px; max-width: none; min-height: {HEIGHT}px"
    box.evaluate("(box, size) => box.setAttribute('style', size)", size)
    found = []
    for name in MOVES:
        if name:
            box.locator(f"input[value={name}]").click()
        page.mouse.move(0, 0)
        found.append(Image.open(io.BytesIO(box.screenshot())).convert("RGB"))
    page.close()
    return found


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder; yield its address. From files, a page loads no Python or font."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def digest_of_check(html: Path) -> str:
    """What the film of a check depends on: the exercise, and the verdicts on it."""
    from weft.in_page.judging import judge

    folder = html / "_static" / "check"
    shown = (folder / f"{LAB}.{EXERCISE}.json").read_text("utf-8")
    exercise = json.loads((folder / f"{LAB}.{EXERCISE}.cases.json").read_text("utf-8"))
    said = [shown, *(judge(source, exercise) for source in (UNGUARDED, GUARDED))]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def checked(browser: Any, address: str) -> list[Image.Image]:
    """Write a wrong and a right kernel on a phone; return what the check looks like."""
    page = browser.new_page(viewport=PHONE, device_scale_factor=2, has_touch=True)
    page.set_default_timeout(600_000)
    page.goto(f"{address}/book/{LAB}.html")
    box = page.locator(f"#check-{EXERCISE}")
    box.scroll_into_view_if_needed()
    editor = box.locator(".cm-content")
    editor.wait_for()

    def picture() -> Image.Image:
        editor.evaluate("each => each.blur()")  # no cursor, which blinks
        return Image.open(io.BytesIO(box.screenshot())).convert("RGB")

    found = [picture()]
    for source in (UNGUARDED, GUARDED):
        editor.focus()
        page.keyboard.press("ControlOrMeta+A")
        page.keyboard.insert_text(source)
        found.append(picture())
        box.get_by_role("button", name="Check", exact=True).click()
        box.locator("[data-kind]").wait_for()
        found.append(picture())
    page.close()
    return found


def joined(found: list[Image.Image]) -> list[Image.Image]:
    """Return the frames in one size and one palette, with the page's colour below."""
    width, height = (max(image.size[axis] for image in found) for axis in (0, 1))
    whole = []
    for image in found:
        canvas = Image.new("RGB", (width, height), image.getpixel((0, 0)))
        canvas.paste(image, (0, 0))
        whole.append(canvas)
    strip = Image.new("RGB", (width, height * len(whole)))
    for number, canvas in enumerate(whole):
        strip.paste(canvas, (0, number * height))
    palette = strip.quantize(COLOURS)
    return [
        canvas.quantize(palette=palette, dither=Image.Dither.NONE) for canvas in whole
    ]


def main() -> int:
    from playwright.sync_api import sync_playwright

    path = os.environ.get("CHROMIUM")
    path = path or next(filter(None, map(shutil.which, NAMES)), None)
    if not path or not PAGE.is_file():
        print("Chromium is needed (apt install chromium), and the book: `make book`")
        return 1
    with sync_playwright() as playwright:
        chrome = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        with served(HTML) as address:
            text = PAGE.read_text(encoding="utf8")
            save(FILM, frames(chrome, address), digest(text))
            save(CHECKED, checked(chrome, address), digest_of_check(HTML))
        chrome.close()
    return 0


def save(film: Path, found: list[Image.Image], about: str) -> None:
    """Write a film of some frames, with a digest of what it shows."""
    first, *others = joined(found)
    times = [FRAME] * len(others) + [LAST]
    first.save(
        film,
        save_all=True,
        append_images=others,
        duration=times,
        loop=0,
        comment=about.encode(),
    )
    print(f"{film.relative_to(ROOT)}: {film.stat().st_size // 1024} KB")


if __name__ == "__main__":
    sys.exit(main())
