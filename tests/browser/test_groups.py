"""The pages of evidence in a browser: filtered, opened by an address, and printed."""

import re
from collections.abc import Callable

import pytest

KERNEL = "kernel-out_of_bounds-wrong_no_guard"
SHOWN = """() => [...document.querySelectorAll("details.weft-group")].flatMap(
  (all) => all.hidden ? [] : [[all.open, all.querySelectorAll(
    "tbody tr:not([hidden])").length]])"""


def shown(page: object) -> list[list]:
    """Return of each group that is not hidden whether it is open, and its rows."""
    return page.evaluate(SHOWN)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("kill_table", "transpose barrier"),
        ("results", "transpose padded"),
        ("agreement", "race shared"),
    ],
)
def test_a_filter_keeps_the_rows_with_all_words(
    open_page: Callable, site: str, name: str, words: str
) -> None:
    watched = open_page(360)
    page = watched.page
    page.goto(f"{site}/book/{name}.html")
    before = shown(page)
    assert not any(is_open for is_open, _ in before)
    total = sum(rows for _, rows in before)

    said = page.locator(".weft-filter output")
    page.get_by_role("searchbox", name=re.compile("Show only")).press_sequentially(
        words
    )
    page.wait_for_function(
        "document.querySelector('.weft-filter output').textContent.includes(' of ')"
    )
    after = shown(page)
    assert all(is_open for is_open, _ in after)
    kept = sum(rows for _, rows in after)
    assert 0 < kept < total / 4
    assert said.inner_text().startswith(f"{kept:,} of {total:,} ")

    page.locator(".weft-filter input").fill("")
    page.wait_for_function(
        "!document.querySelector('.weft-filter output').textContent.includes(' of ')"
    )
    assert shown(page) == before
    page.get_by_role("button", name="Open all").click()
    assert all(is_open for is_open, _ in shown(page))
    assert watched.errors == []


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("kill_table", KERNEL),
        ("kill_table", "negative-indices"),
        ("results", "results-13-shared-memory"),
    ],
)
def test_an_address_opens_its_group(
    open_page: Callable, site: str, name: str, address: str
) -> None:
    page = open_page().page
    page.goto(f"{site}/book/{name}.html#{address}")
    page.wait_for_function("document.querySelector('details.weft-group[open]')")
    assert page.locator("details.weft-group[open]").count() == 1
    assert page.evaluate(
        """id => {
          const target = document.getElementById(id);
          const group = document.querySelector("details.weft-group[open]");
          return group.contains(target) || target.contains(group);
        }""",
        address,
    )


def test_closed_groups_are_printed(open_page: Callable, site: str) -> None:
    page = open_page().page
    page.goto(f"{site}/book/agreement.html")
    row = page.locator("details.weft-group tbody tr").first
    assert not row.is_visible()
    page.emulate_media(media="print")
    assert row.is_visible()
