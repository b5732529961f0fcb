"""Whole pages under axe, and under the Tab key: two widths, light and dark."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

AXE = Path(__file__).parent / "axe" / "axe.min.js"
PAGES = (
    "book/index.html",
    "book/05_first_kernel.html",  # figures, a table, a wide formula
    "book/10_debugging.html",  # a table, numbered lines
    "labs/00_start_here.html",
    "book/bugs/race.html",
    "book/glossary.html",
    "book/bibliography.html",
    "book/results.html",
    "book/kill_table.html",
    "search.html?q=warp",
    "404.html",
)
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
COLOURS = ["color-contrast", "link-in-text-block"]
WIDTHS = (1280, 360)
LISTS = ("book/results.html", "book/kill_table.html")  # all sections are alike
MANY, SECTIONS = 4, 13  # no chapter has more sections

# Answers are opened. Of many equal things the first few are left: axe takes a minute
# for 30,000 elements, and finds the same thing in every row.
OPENED_AND_CUT = """([many, sections]) => {
  document.querySelectorAll("details").forEach((each) => { each.open = true; });
  for (const parent of document.querySelectorAll("body *:not(math *)")) {
    const seen = {};
    for (const child of [...parent.children]) {
      const kind = child.tagName + child.className;
      seen[kind] = (seen[kind] || 0) + 1;
      if (seen[kind] > (kind === "SECTION" ? sections : many)) child.remove();
    }
  }
}"""
# The theme waits 300 ms after a page has changed before it looks at what scrolls.
SETTLED = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  await frame();
  await frame();
  await new Promise((done) => setTimeout(done, 400));
}"""
VIOLATIONS = """async (rules) => {
  const options = { runOnly: rules, resultTypes: ["violations"] };
  const found = await axe.run(document, options);
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => [id, target.join(" "), failureSummary]),
  );
}"""
# What has the focus: its name, whether it is in sight, and whether it looks it.
FOCUSED = """() => {
  const e = document.activeElement;
  const { left, right, width } = e.getBoundingClientRect();
  const marks = [e, ...e.children].map((each) => getComputedStyle(each));
  return {
    name: `${e.tagName} ${e.className} ${e.textContent.trim().slice(0, 40)}`,
    end: e === document.body,
    seen: width > 0 && right > 0 && left < document.documentElement.clientWidth,
    marked: marks.some((s) => s.outlineStyle !== "none" || s.boxShadow !== "none"),
  };
}"""


@pytest.fixture
def published(book: Any, serve: Callable[[Path], str], tmp_path: Path) -> str:
    """Serve the book below the address that its page for errors is made for."""
    (tmp_path / "warp-and-weft").symlink_to(book.html)
    return f"{serve(tmp_path)}/warp-and-weft"


def violations(page: Any, rules: list[str]) -> list[list[str]]:
    if rules == RULES:  # a colour waits for nothing
        page.evaluate(SETTLED)
    return list(page.evaluate(VIOLATIONS, rules))


@pytest.mark.parametrize(
    "name",
    [*PAGES[:4], *(pytest.param(p, marks=pytest.mark.long) for p in PAGES[4:])],
)
def test_axe_finds_nothing_on_a_whole_page(
    open_page: Callable, published: str, name: str
) -> None:
    """Run all rules in the light theme; in the dark one only colours differ."""
    watched = open_page(WIDTHS[0])
    page = watched.page
    page.goto(f"{published}/{name}")
    sections = MANY if name in LISTS else SECTIONS
    page.evaluate(OPENED_AND_CUT, [MANY, sections])
    page.add_script_tag(path=str(AXE))
    for scheme, rules in (("light", RULES), ("dark", COLOURS)):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.wait_for_function(f"document.documentElement.dataset.theme === '{scheme}'")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert violations(page, rules) == [], (scheme, width)
    assert watched.left == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_what_opens_on_a_phone(
    open_page: Callable, published: str, scheme: str
) -> None:
    page = open_page(360, scheme).page
    for opener in ("primary-toggle", "secondary-toggle", "search-button"):
        page.goto(f"{published}/book/bugs/race.html")
        page.add_script_tag(path=str(AXE))
        page.locator(f"button.{opener}:visible").first.click()
        assert violations(page, RULES) == [], opener
    page.keyboard.type("warp")
    page.locator(".weft-found li mark:visible").first.wait_for()
    assert violations(page, RULES) == [], "results of the search"


@pytest.mark.parametrize("width", WIDTHS)
def test_the_focus_is_always_seen(
    open_page: Callable, published: str, width: int
) -> None:
    page = open_page(width).page
    page.goto(f"{published}/book/bugs/race.html")
    page.evaluate(SETTLED)
    stops = []
    while len(stops) < 300:
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused["end"]:
            break
        stops.append(focused)
    assert len(stops) > 12
    assert [s["name"] for s in stops if not (s["seen"] and s["marked"])] == []
