"""The book opened from a folder, without a server."""

from collections.abc import Callable
from typing import Any

import pytest
from built_book import Book


@pytest.mark.parametrize(
    "page", ["12_global_memory", "05_first_kernel", "13_shared_memory", "11_profiling"]
)
def test_figures_play_in_a_page_from_a_folder(
    book: Book, open_page: Callable[..., Any], page: str
) -> None:
    watched = open_page()
    watched.page.goto((book.html / "book" / f"{page}.html").as_uri())
    places = watched.page.locator("[data-figure]").all()
    assert places
    for place in places:
        place.scroll_into_view_if_needed()
        place.locator(".weft-figure .controls").wait_for(state="attached")
        assert place.get_attribute("data-alive") is not None
    assert watched.left == []
    assert [e for e in watched.errors if "figure" in e.lower()] == []
