"""Film the kernel with switches on the landing page, for the README.

    python book/film.py      after `make book`, in Chromium

Switches are moved one at a time until the check accepts the kernel. The picture keeps
a digest of what it shows, so a test can tell when it is out of date.
"""

import hashlib
import io
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from PIL import Image
from stills import NAMES

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "_build" / "html" / "book" / "index.html"
FILM = ROOT / "book" / "_static" / "switches.gif"
MOVES = ("", "barrier", "guard", "guard", "padding")  # a frame after each
WIDTH, HEIGHT = 1000, 520  # CSS pixels of the kernel's box; it may be higher
FRAME, LAST = 3000, 5000  # ms
COLOURS = 48
BOX = ".weft-switches"


def filmed(page: str) -> str:
    """Return the part of the landing page that the film shows."""
    start = page.index('class="weft-exchange weft-switches"')
    return page[start : page.index("</section>", start)]


def digest(page: str) -> str:
    return hashlib.sha256(filmed(page).encode()).hexdigest()[:16]


def frames(browser: Any) -> list[Image.Image]:
    """Open the page, move the switches, and return what the box looks like."""
    page = browser.new_page(viewport={"width": 1280, "height": 1600})
    page.goto(PAGE.as_uri())
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
        first, *others = joined(frames(chrome))
        chrome.close()
    times = [FRAME] * len(others) + [LAST]
    first.save(
        FILM,
        save_all=True,
        append_images=others,
        duration=times,
        loop=0,
        comment=digest(PAGE.read_text(encoding="utf8")).encode(),
    )
    print(f"{FILM.relative_to(ROOT)}: {FILM.stat().st_size // 1024} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
