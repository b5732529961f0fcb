"""The widths and colours in which a page is looked at, and what is looked for."""

from typing import Any

import pytest

# What sticks out of the article to the right and cannot be scrolled to in a box.
STICKS_OUT = """() => {
  const width = document.documentElement.clientWidth;
  const boxed = (e) => {
    for (let p = e.parentElement; p && !p.matches(".bd-article"); p = p.parentElement)
      if (getComputedStyle(p).overflowX !== "visible") return true;
    return false;
  };
  return [...document.querySelectorAll(".bd-article *")]
    .filter((e) => e.getBoundingClientRect().right > width + 1 && !boxed(e))
    .map((e) => e.tagName + " " + e.textContent.trim().slice(0, 60));
}"""
# Text of drawings that is less than 11 pixels high.
SMALL_PRINT = """() => [...document.querySelectorAll(
    ".weft-drawing:not(.weft-played) svg text"
  )]
  .filter((text) => {
    const { a, b } = text.getScreenCTM();
    const size = parseFloat(getComputedStyle(text).fontSize) * Math.hypot(a, b);
    return text.textContent.trim() && size < 10.99;
  })
  .map((text) => text.textContent.trim())"""
# Of each prediction: whether a measurement follows, and whether it can be seen.
ASKED = """() => [...document.querySelectorAll(".weft-predict")].map((question) => {
  const next = question.nextElementSibling;
  if (!next) return { measured: false, seen: false };
  const rows = [...next.querySelectorAll("td, pre, svg, li")];
  const seen = rows.some((row) => row.checkVisibility({ visibilityProperty: true }));
  return { measured: !/^(P|H2|H3|UL|OL)$/.test(next.tagName) && rows.length > 0, seen };
})"""
PHONE = 360  # pixels


def looks(narrow: int, wide: int) -> list[Any]:
    """Return pairs of width and scheme: two, and the other two in the long tier."""
    long = pytest.mark.long
    return [
        (narrow, "light"),
        (wide, "dark"),
        pytest.param(narrow, "dark", marks=long),
        pytest.param(wide, "light", marks=long),
    ]
