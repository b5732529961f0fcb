"""Results of several GPUs in a browser: one is shown, and the reader picks which."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "book" / "_ext"))
from weft_book import gpus, measured, results

STATIC = Path(__file__).parents[2] / "book" / "_static"
NAMES = {
    "nvidia-h200": "NVIDIA H200",
    "nvidia-h100-80gb-hbm3": "NVIDIA H100 80GB HBM3",
    "nvidia-rtx-pro-6000-blackwell-server-edition": "NVIDIA RTX PRO 6000 Blackwell",
}
PAGE = """<!doctype html><html lang="en" data-theme="{theme}"><title>A page</title>
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="weft.css">
<style>body {{ margin: 1rem; background: var(--pst-color-background);
  color: var(--pst-color-text-base); min-height: 300vh }}</style>
<article class="bd-article">{body}</article><script src="gpus.js"></script></html>"""


def choice(group: str) -> str:
    """A ladder of three rows for each GPU; the later ones are longer."""
    panels = []
    for number, (gpu, name) in enumerate(NAMES.items(), 1):
        rows = tuple(
            results.Row(
                "a case", f"kernel {k}", ms=number, value=4.0, unit="TB/s", ceiling=0.9
            )
            for k in range(2 + number)
        )
        one = results.Results("13_demo", gpu, Path(), {"name": name}, rows=rows)
        panels.append(gpus.Panel(gpu, name, measured.ladder(one, "a case")))
    return gpus.choice(panels, group)


@pytest.fixture
def pages(tmp_path: Path, serve: Callable) -> str:
    for name in ("weft.css", "gpus.js"):
        (tmp_path / name).write_text((STATIC / name).read_text())
    for theme in ("light", "dark"):
        body = "<p>Before.</p>".join(choice(f"g{k}") for k in range(3))
        page = PAGE.format(theme=theme, body=body)
        (tmp_path / f"{theme}.html").write_text(page)
    return serve(tmp_path)


def shown(page: object) -> list[str]:
    """The captions that can be seen."""
    found = page.locator(".weft-gpu:visible caption .weft-fact:nth-child(2)")
    return found.all_inner_texts()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1400])
def test_what_is_picked_in_one_table_is_picked_in_all(
    open_page: Callable, pages: str, width: int, scheme: str
) -> None:
    watched = open_page(width, scheme)
    page = watched.page
    page.goto(f"{pages}/{scheme}.html")
    assert shown(page) == ["NVIDIA H200"] * 3
    last = page.locator(".weft-gpus").last
    label = last.get_by_text("NVIDIA H100 80GB HBM3").first
    label.scroll_into_view_if_needed()
    before = label.bounding_box()["y"]
    label.click()
    assert shown(page) == ["NVIDIA H100 80GB HBM3"] * 3
    assert abs(label.bounding_box()["y"] - before) < 2
    wide = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert wide <= 0
    page.reload()
    assert shown(page) == ["NVIDIA H100 80GB HBM3"] * 3
    assert watched.errors == []


def test_the_keyboard_picks_as_well(open_page: Callable, pages: str) -> None:
    page = open_page(1400).page
    page.goto(f"{pages}/light.html")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert shown(page) == ["NVIDIA H100 80GB HBM3"] * 3


def test_without_a_script_each_table_has_its_own_choice(
    browser: object, pages: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{pages}/light.html")
    assert shown(page) == ["NVIDIA H200"] * 3
    page.locator(".weft-gpus").first.get_by_text("NVIDIA H100 80GB").first.click()
    assert shown(page) == ["NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA H200"]
    context.close()
