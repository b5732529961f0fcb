"""Pages of evidence in a browser: addresses open groups, and a box filters rows."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from looks import looks

PAGES = ("book/kill_table", "book/results", "book/agreement")
AXE = Path(__file__).with_name("axe") / "axe.min.js"
OPEN = "[...document.querySelectorAll('.weft-group[open]')].map((g) => g.id)"
SHOWN = {
    "book/kill_table": "race_shared",
    "book/results": "13_shared_memory",
    "book/agreement": "counters/race_shared",
}
# Groups that are closed have no part in this, and would take axe long.
READABLE = """async () => {
  document.querySelectorAll(".weft-place:not(:has([open]))").forEach((g) => g.remove());
  const include = [[".weft-findings"], [".weft-filter"], [".weft-place:has([open])"]];
  const found = await axe.run({ include }, { resultTypes: ["violations"] });
  return found.violations.filter((v) => /serious|critical/.test(v.impact));
}"""
# The groups of which no row can be seen.
UNSEEN = """() => [...document.querySelectorAll(".weft-group")]
  .filter((group) => ![...group.querySelectorAll("tbody tr, .weft-names > li")]
    .some((row) => row.checkVisibility()))
  .map((group) => group.id)"""
# Whether a group is the first that can be seen, and open.
FIRST_SEEN = """(id) => {
  const groups = [...document.querySelectorAll(".weft-group")];
  return groups.find((group) => group.checkVisibility())?.matches(`#${id}[open]`);
}"""
# How far below the top of the window something is.
TOP = "(id) => document.getElementById(id).getBoundingClientRect().top"


def filtered(page: Any, text: str) -> list[int]:
    """Type into the box; return how many rows it says there are: [12, 340]."""
    said = page.locator(".weft-filter output")
    before = said.inner_text()
    page.get_by_label("Filter the rows").fill(text)
    page.wait_for_function(
        "(before) => document.querySelector('.weft-filter output')"
        ".textContent !== before",
        arg=before,
    )
    found = re.fullmatch(r"(?:([\d,]+) of )?([\d,]+) rows", said.inner_text())
    assert found, said.inner_text()
    return [int(part.replace(",", "")) for part in found.groups() if part]


def rows(page: Any) -> Any:
    return page.locator(".weft-group tbody tr:not(.total):visible")


@pytest.mark.parametrize("name", PAGES)
def test_groups_are_closed_and_the_box_counts_what_it_finds(
    open_page: Callable, site: str, name: str
) -> None:
    watched = open_page(360)
    page = watched.page
    page.goto(f"{site}/{name}.html")
    assert rows(page).count() == 0
    assert page.evaluate(OPEN) == []
    count, total = filtered(page, "sum")
    assert 0 < count < total
    listed = page.locator(".weft-group .weft-names > li:visible").count()
    assert rows(page).count() + listed == count
    assert filtered(page, "sum zyx") == [0, total]
    assert page.locator(".weft-group:visible").count() == 0
    page.keyboard.press("Escape")
    assert page.get_by_label("Filter the rows").input_value() == ""
    assert page.evaluate(OPEN) == []
    assert page.locator(".weft-group:visible").count() > 10
    assert watched.errors == []


@pytest.mark.parametrize(
    ("page_name", "address", "group"),
    [
        ("kill_table_00_19", "13_shared_memory", "13_shared_memory"),
        ("kill_table", "race_shared/wrong_ballot_as_a_barrier", "race_shared"),
        ("results", "13_shared_memory", "13_shared_memory"),
        ("results", "results-13-shared-memory", "13_shared_memory"),
        ("results", "13_shared_memory/two-naive-kernels/torch", "13_shared_memory"),
        ("agreement", "counters/race_shared", "counters/race_shared"),
    ],
)
def test_an_address_opens_its_group(
    open_page: Callable, site: str, page_name: str, address: str, group: str
) -> None:
    watched = open_page(1280)
    page = watched.page
    page.goto(f"{site}/book/{page_name}.html#{address}")
    page.wait_for_function("document.querySelector('.weft-group[open]')")
    assert page.evaluate(OPEN) == [group]
    assert 0 <= page.evaluate(TOP, address) < 450
    # The same address once more, after the reader has closed the group.
    page.locator(f"[id='{group}'] > summary").click(position={"x": 5, "y": 15})
    page.wait_for_function("!document.querySelector('.weft-group[open]')")
    page.locator(f".weft-place:has(> [id='{group}']) > .headerlink").click()
    page.wait_for_function("document.querySelector('.weft-group[open]')")
    assert page.evaluate(OPEN) == [group]
    assert watched.errors == []


def test_an_address_of_another_gpu_shows_that_gpu(
    open_page: Callable, site: str
) -> None:
    page = open_page(1280).page
    row = "13_shared_memory@nvidia-h100-80gb-hbm3/two-naive-kernels/torch"
    page.goto(f"{site}/book/results.html#{row}")
    page.locator(f"[id='{row}']").wait_for()
    assert page.evaluate(OPEN) == ["13_shared_memory"]


def test_an_address_is_shown_though_the_filter_hides_it(
    open_page: Callable, site: str
) -> None:
    page = open_page(1280).page
    page.goto(f"{site}/book/kill_table.html")
    filtered(page, "softmax")
    page.evaluate("location.hash = '#race_shared/wrong_ballot_as_a_barrier'")
    page.locator("[id='race_shared/wrong_ballot_as_a_barrier']").wait_for()
    assert page.get_by_label("Filter the rows").input_value() == ""


def test_the_keyboard_filters_opens_and_links(open_page: Callable, site: str) -> None:
    page = open_page(1280).page
    page.goto(f"{site}/book/agreement.html")
    page.get_by_label("Filter the rows").focus()
    page.keyboard.type("ballot")
    page.wait_for_function(FIRST_SEEN, arg="race_shared")
    page.keyboard.press("Tab")
    while page.evaluate("!document.activeElement.matches('.headerlink')"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash").startswith("#race_shared")
    row = page.locator("[id='race_shared/wrong_ballot_as_a_barrier']")
    row.locator(".headerlink").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**#race_shared/wrong_ballot_as_a_barrier")


@pytest.mark.parametrize("name", PAGES)
def test_without_a_script_everything_is_there(
    browser: object, site: str, name: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/{name}.html")
    assert not page.locator(".weft-filter").is_visible()
    group = page.locator(".weft-group").nth(2)
    group.locator("summary").click(position={"x": 5, "y": 15})
    assert group.locator("tbody tr").first.is_visible()
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_rows_are_elements_only_once_they_are_shown(
    open_page: Callable, site: str, name: str
) -> None:
    page = open_page(1280).page
    page.goto(f"{site}/{name}.html")
    count = "document.querySelectorAll('*').length"
    assert page.evaluate(count) < 10_000
    assert page.locator(".weft-group tr").count() == 0
    filtered(page, "sum")
    shown = page.locator(".weft-group[open]").count()
    assert shown > 0
    assert page.locator(".weft-group:has(tr, li)").count() == shown


@pytest.mark.parametrize("name", PAGES)
def test_all_groups_are_printed(open_page: Callable, site: str, name: str) -> None:
    page = open_page(1000).page
    page.goto(f"{site}/{name}.html")
    assert len(page.evaluate(UNSEEN)) == page.locator(".weft-group").count() > 10
    page.emulate_media(media="print")
    page.wait_for_function(f"({UNSEEN})().length === 0")
    assert not page.locator(".weft-filter").is_visible()


@pytest.mark.parametrize(("width", "scheme"), looks(360, 1280))
def test_open_groups_fit_and_can_be_read_by_all(
    open_page: Callable, site: str, width: int, scheme: str
) -> None:
    page = open_page(width, scheme).page
    for name in PAGES:
        page.goto(f"{site}/{name}.html#{SHOWN[name]}")
        page.wait_for_function("document.querySelector('.weft-group[open]')")
        wide = "document.documentElement.scrollWidth - innerWidth"
        assert page.evaluate(wide) <= 0, name
        page.add_script_tag(path=str(AXE))
        found = page.evaluate(READABLE)
        said = [(each["id"], each["nodes"][0]["html"][:200]) for each in found]
        assert said == [], name
