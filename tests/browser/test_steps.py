"""The steps that led to a fault: a slider, buttons, keys; a list without scripts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from weft.checking.history import Step
from weft.checking.verdict import Verdict
from weft.places import Place

AXE = Path(__file__).with_name("axe") / "axe.min.js"
STORE, LOAD = (Place("k", n, text) for n, text in ((4, "t[i] = x"), (5, "y = t[j]")))
VERDICT = Verdict(
    "k",
    "race",
    "Thread 1 is early.",
    past=[
        Step(STORE, "thread 0", "writes 2 to `t[0]`", "`t[0]`: nothing yet → 2"),
        Step(LOAD, "thread 0", "reads `t[1]`: nothing yet"),
        Step(STORE, "thread 1", "writes 3 to `t[1]`"),
    ],
)
PAGE = (
    '<!doctype html><html lang="en"><title>Verdict</title>'
    '<meta name="viewport" content="width=device-width">'
    "<style>:root { color-scheme: light dark }"
    "body { background: Canvas; color: CanvasText }</style>"
    f"<main><h1>Verdict</h1>{VERDICT._repr_html_()}</main>"
)


def seen(page: Any) -> list[str]:
    """The steps that are in sight, and the lines that are marked."""
    page.locator("details").wait_for()
    steps = page.locator(".weft-history li:visible").all_inner_texts()
    marked = page.locator("[aria-current=step]").all_inner_texts()
    return [step.partition("\n")[0] for step in steps] + [
        line.partition("\n")[0] for line in marked
    ]


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1200, "dark")])
def test_steps_back_from_the_fault(
    open_page: Callable[..., Any], width: int, scheme: str
) -> None:
    watched = open_page(width=width, scheme=scheme)
    page = watched.page
    page.set_content(PAGE)
    assert page.locator("li:visible").count() == 0, "it is closed at first"
    page.get_by_text("Step back through what led to this").click()
    assert seen(page) == ["line 4: thread 1 writes 3 to t[1]", "line 4"]
    assert page.locator("li:visible").get_by_text("Thread 1 is early.").count() == 1

    back, forward = (page.get_by_role("button", name=n) for n in ("Back", "Forward"))
    slider = page.get_by_role("slider", name="Step")
    assert forward.is_disabled()
    back.click()
    assert seen(page) == ["line 5: thread 0 reads t[1]: nothing yet", "line 5"]
    assert slider.get_attribute("aria-valuetext") == "step 2 of 3"
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert seen(page) == ["line 4: thread 0 writes 2 to t[0]", "line 4"]
    assert back.is_disabled()
    page.keyboard.press("End")
    assert seen(page)[0] == "line 4: thread 1 writes 3 to t[1]"

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run({ resultTypes: ['violations'] })")
    assert [each["id"] for each in found["violations"]] == []
    assert watched.errors == []


def test_without_scripts_there_is_a_list(browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.set_content(PAGE)
        page.get_by_text("Step back through what led to this").click()
        assert page.locator("li:visible").count() == len(VERDICT.past)
        assert page.locator("input:visible, button:visible").count() == 0
    finally:
        context.close()
