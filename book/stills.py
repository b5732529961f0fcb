"""Draw the still picture of every figure in the book's pages, in Chromium.

    python book/stills.py [--check]

A still is what a figure shows in its first state, less its controls. It is drawn by
the figure's own module, so it must be drawn anew when that changes: --check says
which ones must, and ends with status 1.
"""

import argparse
import functools
import http.server
import json
import os
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "book" / "_ext")]

from weft_book.play import FIGURES, STILLS, still_path, written  # noqa: E402

WIDTH = 704  # CSS pixels: the column of text on a wide screen
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
RENDER = """async ([name, state, width]) => {
  const { default: figure } = await import(`/${name}.js`);
  const el = document.createElement("div");
  el.style.width = `${width}px`;
  document.body.replaceChildren(el);
  figure.render({
    model: { get: () => state, set() {}, on() {}, off() {}, save_changes() {} },
    el,
  });
  const drawn = el.querySelector(".weft-figure");
  drawn.querySelector(".controls").remove();
  const seen = drawn.querySelector(".seen");
  for (const { name } of [...seen.attributes]) if (name !== "class")
    seen.removeAttribute(name);
  drawn.querySelector(".said").removeAttribute("role");
  for (const part of drawn.querySelectorAll("[data-pick]"))
    part.removeAttribute("data-pick");
  for (const part of drawn.querySelectorAll("[hidden]")) part.remove();
  return drawn.outerHTML;
}"""


class Files(http.server.SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path != "/":
            return super().do_GET()
        page = b'<!doctype html><link rel="stylesheet" href="/figures.css"><body>'
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def modules() -> Iterator[str]:
    """Serve the figures' modules; give the address."""
    handler = functools.partial(Files, directory=str(ROOT / FIGURES))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


LONG = re.compile(r"-?\d+\.\d{4,}(?:e-\d+)?")  # a coordinate or an angle


def rounded(html: str) -> str:
    """Round long numbers: their last digits differ from processor to processor."""
    return LONG.sub(lambda found: f"{round(float(found[0]), 3) + 0:.10g}", html)


def drawn(page: Any, name: str, state: dict[str, Any]) -> str:
    """Draw one still on a page that was opened at `modules()`."""
    return rounded(page.evaluate(RENDER, [name, state, WIDTH])) + "\n"


def draw_all(browser: Any) -> dict[Path, str]:
    """Draw the stills that the book's pages need; return path -> HTML."""
    stills = {}
    with modules() as address:
        page = browser.new_page(viewport={"width": 1000, "height": 900})
        page.goto(address)
        for name, state in written(ROOT):
            stills[still_path(ROOT, name, state)] = drawn(page, name, state)
        page.close()
    return stills


def out_of_date(stills: dict[Path, str]) -> list[str]:
    """Return the names of stills that are missing, differ, or are no longer used."""
    there = {
        path: path.read_text(encoding="utf8") for path in (ROOT / STILLS).glob("*")
    }
    paths = there.keys() | stills.keys()
    return sorted(p.name for p in paths if there.get(p) != stills.get(p))


def main() -> int:
    parser = argparse.ArgumentParser(description="Draw the figures' still pictures.")
    parser.add_argument("--check", action="store_true", help="draw nothing; compare")
    args = parser.parse_args()
    from playwright.sync_api import sync_playwright

    path = os.environ.get("CHROMIUM")
    path = path or next(filter(None, map(shutil.which, NAMES)), None)
    if not path:
        print("Chromium is needed to draw the stills: apt install chromium")
        return 1
    with sync_playwright() as playwright:
        chrome = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        stills = draw_all(chrome)
        chrome.close()
    old = out_of_date(stills)
    if args.check:
        print(json.dumps(old))
        return bool(old)
    folder = ROOT / STILLS
    folder.mkdir(parents=True, exist_ok=True)
    for name in old:
        (folder / name).unlink(missing_ok=True)
    for still, html in stills.items():
        still.write_text(html, encoding="utf8")
    print(f"{len(stills)} stills, {len(old)} of them new or changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
