"""A prediction asks before the page answers: it covers the measurement after it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path.stem
    for path in (ROOT / "book").glob("[0-9][0-9]_*.md")
    if "{predict}" in path.read_text(encoding="utf-8")
    and f"book/{path.stem}\n" in (ROOT / "_toc.yml").read_text(encoding="utf-8")
)


def test_no_measurement_is_seen_before_its_prediction_is_opened(
    on_a_phone: dict[str, list[Any]],
) -> None:
    asked = {name: on_a_phone[name][2] for name in PAGES}
    measured = {name: [e for e in of if e["measured"]] for name, of in asked.items()}
    seen = {name: [e for e in of if e["seen"]] for name, of in measured.items()}
    assert {name: of for name, of in seen.items() if of} == {}
    assert sum(map(len, measured.values())) > 50


def test_a_reader_predicts_or_is_shown(open_page: Callable, site: str) -> None:
    watched = open_page(1280)
    page = watched.page
    page.goto(f"{site}/book/13_shared_memory.html", wait_until="load")
    question = page.locator(".weft-predict:has(+ .weft-asked)").first
    row = page.locator(".weft-predict + .weft-asked").first.locator("tr").nth(1)
    assert not row.is_visible()
    show = page.locator(".weft-show").first
    show.click()
    row.wait_for()
    assert question.get_attribute("open") is not None
    assert question.locator("summary").evaluate("e => e === document.activeElement")
    assert not show.is_visible()
    question.locator("summary").press("Enter")
    row.wait_for(state="hidden")
    page.emulate_media(media="print")
    assert row.is_visible()
    assert watched.errors == []


def test_without_a_script_a_measurement_is_shown(browser: object, site: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/book/13_shared_memory.html")
    assert page.locator(".weft-predict + .weft-gpus tr").nth(1).is_visible()
    context.close()
