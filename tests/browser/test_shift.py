"""Nothing jumps while a page loads, on a slow processor either."""

from typing import Any

import pytest

MOST = 0.05  # cumulative layout shift; 0.1 is where browsers begin to complain
SLOWER = 4  # times
NOTE = """window.shifts = [];
new PerformanceObserver((list) => {
  for (const shift of list.getEntries()) {
    const nodes = shift.sources.map(({ node }) => node?.className ?? node?.nodeName);
    if (!shift.hadRecentInput) window.shifts.push([shift.value, nodes]);
  }
}).observe({ type: "layout-shift", buffered: true });"""


# The filter of the results is in sight from 1000 pixels on. An address opens a group.
@pytest.mark.parametrize(
    ("name", "width", "height"),
    [
        ("book/results", 1440, 1400),
        ("book/results", 390, 844),
        ("book/results#35_mnist_cnn", 1440, 900),
        ("book/results#00_start_here", 390, 844),
        ("book/index", 390, 844),
    ],
)
def test_nothing_jumps(
    browser: Any, site: str, name: str, width: int, height: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    page.add_init_script(NOTE)
    path, at, anchor = name.partition("#")
    page.goto(f"{site}/{path}.html{at}{anchor}", wait_until="load")
    if anchor:
        page.wait_for_function(
            "(id) => Math.abs(document.getElementById(id).getBoundingClientRect().top)"
            " < innerHeight / 2 && document.getElementById(id).open",
            arg=anchor,
        )
    page.wait_for_timeout(1000)
    shifts = page.evaluate("window.shifts")
    assert sum(value for value, _ in shifts) <= MOST, shifts
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_is_light_or_dark_before_its_scripts_run(
    browser: Any, site: str, scheme: str
) -> None:
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.route("**/*.js*", lambda route: route.abort())
    page.goto(f"{site}/book/results.html", wait_until="load")
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    context.close()


def test_without_scripts_there_is_nothing_that_needs_one(
    browser: Any, site: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/book/results.html")
    assert not page.locator(".weft-filter").is_visible()
    page.goto(f"{site}/book/index.html")
    assert page.locator("#switches-double pre").is_visible()
    assert not page.locator("#switches-double fieldset").is_visible()
    context.close()
