"""The book's pages in a browser: any width, light and dark, and no network."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from looks import STICKS_OUT, looks

PAGES = (
    "book/index",
    "book/00_start_here",
    "book/05_first_kernel",
    "book/13_shared_memory",
    "labs/05_first_kernel",
    "solutions/13_shared_memory",
    "book/kill_table",
    "book/results",
    "book/agreement",
    "book/status",
    "book/gpu_support",
    "book/glossary",
    "book/bibliography",
)
CONTRAST = """(selector) => {
  const rgb = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => {
      v /= 255;
      return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const colour = rgb(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll(selector)]
    .filter((e) => e.getClientRects().length && e.textContent.trim())
    .map((e) => {
      const [a, b] = [rgb(getComputedStyle(e).color), behind(e)].map(light);
      return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.textContent.trim()];
    })
    .sort((a, b) => a[0] - b[0])[0];
}"""


@pytest.mark.parametrize(("width", "scheme"), looks(360, 1400))
def test_pages_fit_and_complain_of_nothing(
    open_page: Callable, site: str, width: int, scheme: str
) -> None:
    watched = open_page(width, scheme)
    page = watched.page
    for name in PAGES:
        page.goto(f"{site}/{name}.html")
        page.wait_for_load_state("load")
        theme = page.evaluate("document.documentElement.dataset.theme")
        assert theme == scheme, name
        wide = page.evaluate(
            "document.documentElement.scrollWidth"
            " - document.documentElement.clientWidth"
        )
        assert wide <= 0, f"{name}: {page.evaluate(STICKS_OUT)}"
        assert page.locator("h1").count() >= 1, name
    assert watched.errors == []
    assert watched.left == []


def test_every_chapter_fits_a_phone(on_a_phone: dict[str, list[Any]]) -> None:
    assert len(on_a_phone) > 40
    assert {name: wide for name, (wide, _, _) in on_a_phone.items() if wide} == {}
    assert {name: small for name, (_, small, _) in on_a_phone.items() if small} == {}


@pytest.mark.parametrize(
    "scheme", ["dark", pytest.param("light", marks=pytest.mark.long)]
)
def test_text_stands_out_from_what_is_behind_it(
    open_page: Callable, site: str, scheme: str
) -> None:
    page = open_page(1400, scheme).page
    for name in PAGES:
        page.goto(f"{site}/{name}.html")
        for selector in (".bd-article p", ".bd-article :is(td, th, li)", ".weft *"):
            worst = page.evaluate(CONTRAST, selector)
            assert worst is None or worst[0] >= 4.5, (name, selector, worst)


def test_the_browser_typesets_formulas_without_a_script(
    browser: Any, site: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/book/05_first_kernel.html")
    formula = page.locator(".weft-formula > math").first
    assert formula.bounding_box()["width"] > 100
    fraction = formula.locator("mfrac").first.bounding_box()
    assert (
        fraction["height"] > 1.5 * formula.locator("mi").first.bounding_box()["height"]
    )
    assert "\\" not in page.locator(".bd-article p").first.inner_text()
    context.close()


def test_the_theme_can_be_changed_and_is_remembered(
    open_page: Callable, site: str
) -> None:
    page = open_page(scheme="light").page
    page.goto(f"{site}/book/index.html")
    background = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(background)
    switch = page.locator("button.theme-switch-button:visible").first
    for _ in range(3):
        switch.click()
        if page.evaluate("document.documentElement.dataset.theme") == "dark":
            break
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate(background) != before
    page.goto(f"{site}/book/glossary.html")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_dark_page_is_printed_in_the_light_theme_with_all_that_is_closed(
    open_page: Callable, site: str
) -> None:
    page = open_page(1000, "dark").page
    page.goto(f"{site}/book/13_shared_memory.html")
    theme = "document.documentElement.dataset.theme"
    assert page.evaluate(theme) == "dark"
    answer = page.locator(".weft-closed pre").first
    assert not answer.is_visible()
    page.emulate_media(media="print")
    page.wait_for_function(f"{theme} === 'light'")
    assert answer.is_visible()
    worst = page.evaluate(CONTRAST, ".bd-article :is(p, td, pre span)")
    assert worst[0] >= 4.5, worst
    assert page.locator(".copybtn:visible, .prev-next-footer:visible").count() == 0
    page.emulate_media(media="screen")
    page.wait_for_function(f"{theme} === 'dark'")


def test_search_finds_a_page(open_page: Callable, site: str) -> None:
    watched = open_page()
    page = watched.page
    page.goto(f"{site}/book/index.html")
    page.keyboard.press("Control+k")
    field = page.locator("input[type=search]:focus")
    field.fill("padding")
    field.press("Enter")
    page.wait_for_url("**/search.html?*")
    results = page.locator("#search-results li a")
    results.first.wait_for()
    assert any("glossary" in a.get_attribute("href") for a in results.all())
    assert watched.left == []


def test_a_switch_shows_another_verdict(open_page: Callable, site: str) -> None:
    page = open_page(360).page
    page.goto(f"{site}/book/index.html")
    box = page.locator("#switches-rotate")
    verdict = box.locator(".weft-verdict:visible")
    assert verdict.get_attribute("data-kind") == "race"
    assert not box.get_by_text("cuda.syncthreads()").is_visible()
    box.get_by_label("wait at a barrier").check()
    assert verdict.get_attribute("data-kind") == "bank-conflicts"
    box.get_by_label("pad the tile").check()
    assert verdict.get_attribute("data-kind") == "pass"
    assert box.get_by_text("(32, 33)").is_visible()
    box.get_by_label("guard the edges").uncheck()
    assert verdict.get_attribute("data-kind") == "out-of-bounds"


def test_a_quiz_answers_without_a_script(open_page: Callable, site: str) -> None:
    page = open_page(360).page
    page.goto(f"{site}/book/05_first_kernel.html")
    choice = page.locator(".weft-quiz details").first
    feedback = choice.locator("p")
    assert not feedback.is_visible()
    choice.locator("summary").click()
    assert feedback.is_visible()
    assert re.match(r"[✓✗]", feedback.inner_text())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_wrong_kernel_and_its_verdict_are_seen_first(
    open_page: Callable, site: str, scheme: str
) -> None:
    page = open_page(1280, scheme, 800).page
    page.goto(f"{site}/book/index.html")
    title = page.locator(".bd-article h1").bounding_box()
    kernel = page.locator("#switches-double pre").bounding_box()
    verdict = page.locator("#switches-double .weft-verdict:visible")
    assert verdict.get_attribute("data-kind") == "out-of-bounds"
    box = verdict.bounding_box()
    assert title["y"] + title["height"] < kernel["y"]
    assert kernel["x"] + kernel["width"] <= box["x"]
    assert box["y"] + box["height"] <= 800
    page.get_by_label("guard the edge", exact=True).check()
    assert verdict.get_attribute("data-kind") == "pass"


def test_the_first_page_shows_verdicts_and_numbers(
    open_page: Callable, site: str
) -> None:
    page = open_page(360, "dark").page
    page.goto(f"{site}/index.html")  # leads to the first page
    page.wait_for_url("**/book/index.html")
    assert page.locator(".weft-verdict:visible").count() == 2
    assert page.locator(".weft-measured").count() >= 2
    assert page.locator(".weft-outline li a").count() >= 3
    for link in page.locator("a.weft-button").all():
        box = link.bounding_box()
        assert box["height"] >= 40  # a thumb finds it


def test_pages_open_from_a_folder_without_a_server(
    open_page: Callable, book: object
) -> None:
    page = open_page().page
    page.goto((book.html / "book" / "05_first_kernel.html").as_uri())
    page.locator("math").first.wait_for()
    assert page.locator(".weft-quiz details").count() >= 6


def test_icons_are_drawn_and_few_are_loaded(
    open_page: Callable, site: str, book: Any
) -> None:
    (script,) = book.html.glob("_static/vendor/fontawesome/*/js/all.min.js")
    assert script.stat().st_size < 150_000
    page = open_page().page
    for name in ("book/index", "labs/05_first_kernel", "search"):
        page.goto(f"{site}/{name}.html")
        page.wait_for_function("document.querySelector('svg.svg-inline--fa')")
        drawn = page.locator("svg.svg-inline--fa")
        assert drawn.count() > 5
        assert drawn.locator("animate").count() == 0, name  # a missing icon flashes
