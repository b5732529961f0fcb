"""What is tapped on a phone or a tablet is large enough for a finger."""

from typing import Any

import pytest

LEAST = 40  # CSS pixels, either way
CHAPTER = "book/13_shared_memory"
TAPPED = {  # page -> what is tapped there
    "book/index": [
        ".bd-header-article .btn:not(.dropdown-item)",
        ".weft-switches label",
        ".weft-outline li a",
    ],
    CHAPTER: [
        ".bd-header-article .btn:not(.dropdown-item)",
        ".weft-strands a",
        ".weft-gpus > label",
        ".weft-quiz summary",
        ".weft-closed > summary",
        ".highlight button.copybtn",
        ".weft-figure .choice label",
        ".weft-figure button",
        ".weft-figure .toggle",
        ".weft-figure input[type=range]",
    ],
    "solutions/13_shared_memory": [".cell_output .weft > details > summary"],
}
SMALL = """([selector, least]) => {
  const seen = [...document.querySelectorAll(selector)].filter(
    (e) => e.checkVisibility({ visibilityProperty: true }),
  );
  const small = seen
    .map((e) => [e.getBoundingClientRect(), e.textContent.trim()])
    .filter(([{ width, height }]) => Math.min(width, height) < least - 0.1)
    .map(([{ width, height }, words]) => [selector, width, height, words.slice(0, 30)]);
  return [seen.length, small];
}"""
OPEN = "document.querySelectorAll('.weft-predict').forEach((e) => { e.open = true; })"


def wake(page: Any) -> None:
    """Show all that a page covers, and its figures, which wake when they are near."""
    page.evaluate(OPEN)
    for place in page.locator("[data-figure]").all():
        place.scroll_into_view_if_needed()
        place.locator(".controls").wait_for(state="attached")


@pytest.mark.parametrize(("width", "finger"), [(390, True), (390, False), (1024, True)])
def test_what_is_tapped_has_room_for_a_finger(
    browser: Any, site: str, width: int, finger: bool
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 844}, has_touch=finger, is_mobile=finger
    )
    page = context.new_page()
    for name, selectors in TAPPED.items():
        page.goto(f"{site}/{name}.html", wait_until="load")
        wake(page)
        for selector in selectors:
            found, small = page.evaluate(SMALL, [selector, LEAST])
            assert found, (name, selector)
            assert small == [], name
    context.close()


def test_the_contents_of_a_phone_have_room_for_a_finger(
    browser: Any, site: str
) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    for side in ("primary", "secondary"):
        page.goto(f"{site}/{CHAPTER}.html", wait_until="load")
        page.locator(f"button.{side}-toggle:visible").first.tap()
        page.locator(f".bd-sidebar-{side} nav a:visible").first.wait_for()
        links = f".bd-sidebar-{side} nav :is(a, .toctree-toggle)"
        found, small = page.evaluate(SMALL, [links, LEAST])
        assert found > 10
        assert small == []
    context.close()


def test_a_mouse_needs_less_room(browser: Any, site: str) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{site}/{CHAPTER}.html", wait_until="load")
    wake(page)
    for part in (".weft-gpus > label", ".weft-quiz summary"):
        assert page.locator(part).first.bounding_box()["height"] < LEAST
    page.close()
