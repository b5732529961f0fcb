"""The search finds first what explains, as a reader types, and transfers little."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from looks import looks

sys.path.insert(0, str(Path(__file__).parents[2] / "book" / "_ext"))

from weft_book.searching import terms_of

ROOT = Path(__file__).parents[2]
PATIENCE = 200  # looks, 50 ms apart, for what is on its way
MOST = 300_000  # bytes of one search, on a server that compresses nothing
# What learners type, and the page that must be first or second.
TYPED = {
    "index out of range": "bugs/out-of-bounds",
    "illegal memory access": "bugs/out-of-bounds",
    "data race in shared memory": "bugs/race",
    "kernel hangs": "bugs/hang",
    "deadlock": "bugs/barrier",
    "bank conflict": "13_shared_memory",
    "bank confl": "13_shared_memory",
    "padding": "13_shared_memory",
    "matrix transpose": "13_shared_memory",
    "warp shuffle": "08_warps",
    "tensor core": "21_tensor_cores",
    "tensor co": "21_tensor_cores",
    "how to install": "03_setup",
    "docker container": "03_setup",
    "why is my kernel slow": "11_profiling",
    "cuda error": "10_debugging",
    "softmax backward": "16_softmax",
    "layer normalization": "17_registers",
    "matrix multiplication": "18_gemm_tiles",
    "flash attention": "24_attention",
    "atomic add": "09_atomics",
    "grid-stride loop": "05_first_kernel",
    "prefix sum": "15_scan",
    "torch.compile": "33_training_speed",
    "blockDim": "05_first_kernel",
    "cuda.blockDim.x": "05_first_kernel",
    "threadIdx": "05_first_kernel",
    "float64 slow": "bugs/float64",
    "exercise solutions": "faq",
    "how long does it take": "faq",
    "no gpu": "simulator",
    "occupancy": "11_profiling",
    "uncoalesced": "bugs/sectors",
    "kv cache": "37_decoding",
    "cublas column major": "25_cublas",
    "TypingError": "bugs/type",
    "NameError": "faq",
    "convolution padding": "23_convolution_fft",
}
FIRST = """async (queries) => {
  const found = [];
  for (const query of queries)
    found.push((await weftSearch(query)).slice(0, 5).map(({ page }) => page));
  return found;
}"""


def found(open_page: Callable, site: str, queries: list[str]) -> list[list[str]]:
    page = open_page().page
    page.goto(f"{site}/search.html")
    return page.evaluate(FIRST, queries)


def asked(page: Any, query: str) -> Any:
    """Type a query into the dialog of the page that is open; return its results."""
    page.keyboard.press("Control+k")
    page.locator("input[type=search]:focus").press_sequentially(query)
    shown = page.locator(f".weft-found[data-query={query!r}]")
    shown.locator(".weft-hit").first.wait_for()
    return shown


def test_a_term_finds_its_page_first(open_page: Callable, site: str) -> None:
    wanted = {
        term: f"book/{place.partition('#')[0]}"
        for place, terms in terms_of(ROOT).items()
        for term in terms
    }
    got = found(open_page, site, list(wanted))
    lost = {
        term: pages
        for (term, page), pages in zip(wanted.items(), got, strict=True)
        if pages[:1] != [page]
    }
    assert lost == {}


def test_what_learners_type_finds_the_page_that_explains(
    open_page: Callable, site: str
) -> None:
    got = found(open_page, site, list(TYPED))
    lost = {
        query: pages
        for (query, page), pages in zip(TYPED.items(), got, strict=True)
        if f"book/{page}" not in pages[:2]
    }
    assert lost == {}


def test_solutions_are_not_found(open_page: Callable, site: str) -> None:
    got = found(open_page, site, ["padding", "vector_add", "transpose_fast", "warp"])
    assert not [page for pages in got for page in pages if page.startswith("sol")]


@pytest.mark.parametrize(("width", "scheme"), looks(390, 1440))
def test_results_come_while_one_types(
    open_page: Callable, site: str, width: int, scheme: str
) -> None:
    watched = open_page(width, scheme)
    page = watched.page
    page.goto(f"{site}/book/08_warps.html")
    shown = asked(page, "bank confl")
    hits = shown.locator(".weft-hit")
    assert hits.count() == 10
    assert hits.first.inner_text() == "13 · Shared memory"
    assert hits.nth(1).inner_text() == "Bug · Bank conflicts"
    assert shown.get_by_role("status").inner_text().startswith("The best 10 of ")
    excerpt = shown.locator("li").first.locator("p:not(:empty)")
    excerpt.locator("mark").first.wait_for()  # each comes when its page has come
    assert "bank" in excerpt.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    box = shown.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert box["y"] + box["height"] <= 900
    shown.locator("a.weft-more").click()
    page.wait_for_url("**/search.html?q=bank*")
    assert (watched.errors, watched.left) == ([], [])


def test_keys_choose_a_result(open_page: Callable, site: str) -> None:
    page = open_page().page
    page.goto(f"{site}/book/08_warps.html")
    hits = asked(page, "bank confl").locator(".weft-hit")
    field = "document.activeElement.name"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert hits.nth(1).evaluate("hit => hit === document.activeElement")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.evaluate(field) == "q"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    assert page.evaluate(field) == "q"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/book/13_shared_memory.html")
    marked = page.locator("span.highlighted").first
    marked.wait_for(state="attached")
    assert "bank" in marked.text_content().lower()


@pytest.mark.parametrize("query", ["tensor core", "kernel", "shared memory"])
def test_a_search_transfers_little(open_page: Callable, site: str, query: str) -> None:
    page = open_page(1440).page
    page.goto(f"{site}/book/faq.html", wait_until="networkidle")
    done: list[Any] = []
    page.on("requestfinished", lambda one: done.append(one))
    shown = asked(page, query)
    filled = shown.locator("li p:not(:empty)")
    filled.first.wait_for()

    def texts() -> int:
        return sum(bool(re.search("/_search/(book|labs)/", one.url)) for one in done)

    before, now = (0, 0), (texts(), filled.count())
    for _ in range(PATIENCE):
        if before == now and now[0] == now[1]:
            break
        page.wait_for_timeout(100)
        before, now = now, (texts(), filled.count())
    assert 1 <= now[0] == now[1] < 10  # those in sight

    shown.locator("li").last.scroll_into_view_if_needed()
    shown.locator("li").last.locator("p:not(:empty)").wait_for()
    page.wait_for_load_state("networkidle")
    assert len(done) <= 12  # the index, what stems words, and ten texts
    sizes = {one.url: len(one.response().body()) for one in done}
    assert sum(sizes.values()) < MOST, sizes


def test_the_page_of_results_shows_more_when_asked(
    open_page: Callable, site: str
) -> None:
    page = open_page().page
    page.goto(f"{site}/search.html?q=warp")
    hits = page.locator("#search-results .weft-hit")
    hits.first.wait_for()
    assert hits.count() == 10
    page.get_by_role("button", name="10 more").click()
    assert hits.count() == 20
    assert hits.nth(10).evaluate("hit => hit === document.activeElement")
    field = page.locator("main input[type=search]")
    field.fill("zyzzyva")
    page.get_by_text("No page has").wait_for()
    assert hits.count() == 0
    field.fill("occupancy")
    page.wait_for_url("**/search.html?q=occupancy")
    field.press("Enter")
    assert hits.first.evaluate("hit => hit === document.activeElement")


def test_a_book_in_a_folder_can_be_searched(book: Any, open_page: Callable) -> None:
    page = open_page().page
    page.goto((book.html / "book" / "08_warps.html").as_uri())
    hits = asked(page, "atomic add").locator(".weft-hit")
    assert hits.first.inner_text() == "09 · Atomics"
    assert page.locator(".weft-found li p").count() == 0
