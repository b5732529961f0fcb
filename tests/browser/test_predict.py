"""A prediction asks before the page answers: it covers the measurement after it."""

from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path.stem
    for path in (ROOT / "book").glob("[0-9][0-9]_*.md")
    if "{predict}" in path.read_text(encoding="utf-8")
    and f"book/{path.stem}\n" in (ROOT / "_toc.yml").read_text(encoding="utf-8")
)
# Of each prediction: whether a measurement follows, and whether it can be seen.
ASKED = """() => [...document.querySelectorAll(".weft-predict")].map((question) => {
  const next = question.nextElementSibling;
  if (!next) return { measured: false, seen: false };
  const rows = [...next.querySelectorAll("td, pre, svg, li")];
  const seen = rows.some((row) => row.checkVisibility({ visibilityProperty: true }));
  return { measured: !/^(P|H2|H3|UL|OL)$/.test(next.tagName) && rows.length > 0, seen };
})"""


def test_no_measurement_is_seen_before_its_prediction_is_opened(
    open_page: Callable, site: str
) -> None:
    page = open_page(390).page
    counts, told = 0, {}
    for name in PAGES:
        page.goto(f"{site}/book/{name}.html", wait_until="domcontentloaded")
        page.wait_for_function("document.readyState === 'complete'")
        asked = [each for each in page.evaluate(ASKED) if each["measured"]]
        counts += len(asked)
        told[name] = [each for each in asked if each["seen"]]
    assert {name: seen for name, seen in told.items() if seen} == {}
    assert counts > 50


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
