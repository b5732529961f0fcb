"""Whole pages, as axe-core sees them: at two widths, light and dark."""

from collections.abc import Callable
from pathlib import Path

import pytest

AXE = Path(__file__).parent / "axe" / "axe.min.js"
RULES = "wcag2a", "wcag2aa", "wcag21a", "wcag21aa"
RUN = """rules => axe.run(document, {
  resultTypes: ["violations"],
  runOnly: { type: "tag", values: rules },
})"""
# One of each kind: the landing page, a chapter with live figures and formulas, a lab,
# a bug page, lists of several kinds, and Sphinx's own page.
PAGES = (
    *("book/index", "book/05_first_kernel", "labs/05_first_kernel"),
    *("book/bugs/bank-conflicts", "book/status", "book/gpu_support"),
    *("book/glossary", "book/bibliography", "search"),
)
# Colours are what dark pages add; the rest of a page is the same.
DARK = "book/index", "book/05_first_kernel", "book/bugs/bank-conflicts"


def violations(page: object) -> list[tuple[str, str]]:
    """Return what axe-core objects to on an open page: rule, and first element."""
    page.add_script_tag(path=str(AXE))
    found = page.evaluate(RUN, list(RULES))["violations"]
    return [(rule["id"], rule["nodes"][0]["html"][:120]) for rule in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_has_nothing_against_whole_pages(
    open_page: Callable, site: str, width: int, scheme: str
) -> None:
    page = open_page(width, scheme).page
    for name in PAGES if scheme == "light" else DARK:
        page.goto(f"{site}/{name}.html")
        assert violations(page) == [], name


def test_axe_would_have_something_against_a_page_without_names(
    open_page: Callable, site: str
) -> None:
    page = open_page().page
    page.goto(f"{site}/search.html")
    page.evaluate("document.body.append(document.createElement('button'))")
    assert [rule for rule, _ in violations(page)] == ["button-name"]
