"""What a reader expects: keys, a place to go on, marks, the sources of numbers."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from looks import looks

CHAPTER = "book/13_shared_memory"
KEPT = "JSON.parse(localStorage.getItem('weft-read'))"
# The right edges of what fills the column: of text, code, tables and boxes.
EDGES = """() => {
  const parts = ".weft-exchange, .weft-closed, .weft-check, .weft-quiz details, " +
    ".weft-ladder, .pst-scrollable-table-container, .highlight > pre, section > p";
  const nested = ".weft-exchange *, .weft-closed *, .weft-check *, .admonition *, " +
    "li *, .cell *, .weft-gpus *, .weft-asked, figure *";
  const edges = [...document.querySelectorAll(".bd-article :is(" + parts + ")")]
    .filter((e) => !e.matches(nested) && e.getClientRects().length)
    .map((e) => Math.round(e.getBoundingClientRect().right));
  return [...new Set(edges)].sort();
}"""

# A measurement that is covered takes no focus.
OPENED = "document.querySelectorAll('.weft-predict').forEach((e) => { e.open = true; })"


def current(page: Any) -> Any:
    return page.locator(".bd-sidebar-primary li.current > a").last


def test_arrows_turn_pages(open_page: Callable, site: str) -> None:
    page = open_page().page
    page.goto(f"{site}/{CHAPTER}.html")
    after = page.locator("a.right-next:visible")
    assert after.get_attribute("aria-keyshortcuts") == "ArrowRight"
    address = after.evaluate("link => link.href")
    page.keyboard.press("ArrowRight")
    page.wait_for_url(address)
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(f"**/{CHAPTER}.html")


def titles_and_heads(page: Any) -> tuple[list[str], list[str]]:
    """Return where the arrows that are seen lead, and where the head says."""
    ways = [("a.left-prev", "prev"), ("a.right-next", "next")]
    seen = [page.locator(f"{arrow}:visible") for arrow, _ in ways]
    assert [arrow.count() for arrow in seen] == [1, 1]
    heads = [page.locator(f"head > link[rel={rel}]") for _, rel in ways]
    where = "link => link.href"
    return [each.evaluate(where) for each in seen], [
        each.evaluate(where) for each in heads
    ]


@pytest.mark.parametrize(
    ("width", "finger", "beside"),
    [
        (1440, False, ["labs/12_global_memory", "labs/13_shared_memory"]),
        (390, False, ["book/12_global_memory", "book/14_reduction"]),
        (1024, True, ["book/12_global_memory", "book/14_reduction"]),
    ],
)
def test_where_no_lab_runs_the_arrows_lead_to_a_page_to_read(
    browser: Any, site: str, width: int, finger: bool, beside: list[str]
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, has_touch=finger, is_mobile=finger
    )
    page = context.new_page()
    page.goto(f"{site}/{CHAPTER}.html", wait_until="load")
    expected = [f"{site}/{name}.html" for name in beside]
    assert titles_and_heads(page) == (expected, expected)
    lab = page.locator(".weft-strands").get_by_role("link", name="Lab", exact=True)
    assert lab.evaluate("link => link.href") == f"{site}/labs/13_shared_memory.html"
    page.keyboard.press("ArrowRight")
    page.wait_for_url(expected[1])
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(f"{site}/{CHAPTER}.html")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(expected[0])
    context.close()


def test_a_window_that_becomes_narrow_shows_other_arrows(
    open_page: Callable, site: str
) -> None:
    page = open_page(1440).page
    page.goto(f"{site}/{CHAPTER}.html", wait_until="load")
    for width, name in ((500, "book/14_reduction"), (1440, "labs/13_shared_memory")):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(
            "(end) => document.head.querySelector('link[rel=next]').href.endsWith(end)",
            arg=f"{name}.html",
        )
        _, following = titles_and_heads(page)[0]
        assert following == f"{site}/{name}.html"


@pytest.mark.parametrize(
    "part", ["input[type=search]", ".weft-gpus > input", "pre[tabindex='0']"]
)
def test_arrows_stay_with_what_has_the_focus(
    open_page: Callable, site: str, part: str
) -> None:
    page = open_page(390).page
    page.goto(f"{site}/{CHAPTER}.html", wait_until="load")
    if part.startswith("input"):
        page.keyboard.press("Control+k")
    else:
        page.evaluate(OPENED)
        page.locator(part).first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(200)
    assert page.url == f"{site}/{CHAPTER}.html"


def test_a_modifier_leaves_an_arrow_to_the_browser(
    open_page: Callable, site: str
) -> None:
    page = open_page().page
    page.goto(f"{site}/{CHAPTER}.html")
    for keys in ("Shift+ArrowRight", "Control+ArrowRight"):
        page.keyboard.press(keys)
    page.wait_for_timeout(200)
    assert page.url == f"{site}/{CHAPTER}.html"


def test_the_first_page_leads_on_to_where_the_reader_was(
    open_page: Callable, site: str
) -> None:
    watched = open_page(390)
    page = watched.page
    page.goto(f"{site}/book/index.html")
    assert page.locator(".weft-onward").count() == 0
    page.goto(f"{site}/{CHAPTER}.html")
    page.locator("#bank-conflicts").first.scroll_into_view_if_needed()
    page.evaluate("document.getElementById('bank-conflicts').scrollIntoView()")
    page.wait_for_function(f"{KEPT}.last?.anchor === 'bank-conflicts'")
    page.goto(f"{site}/book/index.html")
    onward = page.locator(".weft-onward a")
    assert onward.inner_text() == "13 · Shared memory › Bank conflicts"
    onward.click()
    page.wait_for_url(f"**/{CHAPTER}.html#bank-conflicts")
    assert (watched.errors, watched.left) == ([], [])


def test_a_page_read_to_its_end_is_marked_and_can_be_forgotten(
    open_page: Callable, site: str
) -> None:
    page = open_page().page
    page.goto(f"{site}/{CHAPTER}.html")
    assert current(page).locator(".weft-read").count() == 0
    page.locator(".prev-next-footer").first.scroll_into_view_if_needed()
    current(page).locator(".weft-read").wait_for()
    page.goto(f"{site}/book/12_global_memory.html")
    marked = page.locator(".bd-sidebar-primary a:has(.weft-read)")
    assert [re.sub(r"\s+", " ", each) for each in marked.all_inner_texts()] == [
        "13 · Shared memory ✓ read"
    ]
    page.goto(f"{site}/book/index.html")
    page.get_by_role("button", name="Forget what I read").click()
    assert marked.count() == 0
    assert page.evaluate("localStorage.getItem('weft-read')") is None


@pytest.mark.parametrize("width", [1440, 390])
def test_the_contents_open_where_the_reader_is(
    open_page: Callable, site: str, width: int
) -> None:
    page = open_page(width).page
    page.goto(f"{site}/book/index.html", wait_until="load")
    page.goto(f"{site}/book/33_training_speed.html", wait_until="load")
    if width < 992:
        page.locator("button.primary-toggle:visible").first.click()
    page.wait_for_function(
        """() => {
      const here = [...document.querySelectorAll(".bd-sidebar-primary li.current > a")];
      const { top, bottom, left } = here.at(-1).getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight && left >= 0;
    }"""
    )


@pytest.mark.parametrize(("width", "scheme"), looks(390, 1440))
def test_a_measured_number_says_where_it_is_from(
    open_page: Callable, site: str, width: int, scheme: str
) -> None:
    page = open_page(width, scheme).page
    page.goto(f"{site}/{CHAPTER}.html", wait_until="load")
    number = page.locator("p > .weft-measured").first
    assert number.evaluate("e => getComputedStyle(e).fontWeight") == "400"
    note = page.locator(".weft-source")
    assert not note.is_visible()
    number.click()
    assert "NVIDIA H200" in note.inner_text()
    box = note.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    page.keyboard.press("Escape")
    assert not note.is_visible()
    number.focus()
    page.keyboard.press("Enter")
    assert note.is_visible()


@pytest.mark.parametrize(
    "name", [CHAPTER, "book/05_first_kernel", "book/bugs/race", "book/faq"]
)
def test_a_page_has_one_right_edge(open_page: Callable, site: str, name: str) -> None:
    page = open_page(1440).page
    page.goto(f"{site}/{name}.html", wait_until="load")
    assert len(page.evaluate(EDGES)) == 1


def test_code_has_its_line_height_and_a_sign_where_it_is_cut(
    open_page: Callable, site: str
) -> None:
    page = open_page(390).page
    page.goto(f"{site}/{CHAPTER}.html", wait_until="load")
    code = page.locator(".bd-article .highlight pre:visible").first
    style = code.evaluate(
        "e => { const s = getComputedStyle(e);"
        " return [parseFloat(s.lineHeight) / parseFloat(s.fontSize),"
        " s.backgroundImage, s.backgroundAttachment] }"
    )
    assert style[0] == pytest.approx(1.5)
    assert style[1].count("gradient") == 4
    assert style[2] == "local, local, scroll, scroll"


def test_the_page_for_errors_searches(
    open_page: Callable, book: Any, serve: Callable, tmp_path: Any
) -> None:
    (tmp_path / "warp-and-weft").symlink_to(book.html)
    watched = open_page(390)
    page = watched.page
    page.goto(f"{serve(tmp_path)}/warp-and-weft/404.html")
    page.locator(".bd-article input[type=search]").fill("bank conflict")
    hits = page.locator(".bd-article .weft-hit")
    hits.first.click()
    page.wait_for_url("**/warp-and-weft/book/13_shared_memory.html*")
    assert watched.errors == []
