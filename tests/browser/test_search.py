"""The search finds first what explains: every term of the book, and typed questions."""

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "book" / "_ext"))

from weft_book.searching import terms_of

ROOT = Path(__file__).parents[2]
# What learners type, and the page that must be first or second.
TYPED = {
    "index out of range": "bugs/out-of-bounds",
    "illegal memory access": "bugs/out-of-bounds",
    "data race in shared memory": "bugs/race",
    "kernel hangs": "bugs/hang",
    "deadlock": "bugs/barrier",
    "bank conflict": "13_shared_memory",
    "padding": "13_shared_memory",
    "matrix transpose": "13_shared_memory",
    "warp shuffle": "08_warps",
    "tensor core": "21_tensor_cores",
    "how to install": "03_setup",
    "docker container": "03_setup",
    "why is my kernel slow": "11_profiling",
    "cuda error": "10_debugging",
    "softmax backward": "16_softmax",
    "layer normalization": "17_fusion",
    "matrix multiplication": "18_gemm_tiles",
    "flash attention": "24_attention",
    "atomic add": "09_atomics",
    "grid-stride loop": "05_first_kernel",
    "prefix sum": "15_scan",
    "torch.compile": "33_training_speed",
}
FIRST = """(queries) => queries.map((query) => {
  history.replaceState(null, "", "?q=" + encodeURIComponent(query));
  return Search._performSearch(...Search._parseQuery(query)).reverse()
    .slice(0, 5).map(([page]) => page);
})"""


def found(open_page: Callable, site: str, queries: list[str]) -> list[list[str]]:
    page = open_page().page
    page.goto(f"{site}/search.html?q=warp")
    page.locator("#search-results li a").first.wait_for()
    return page.evaluate(FIRST, queries)


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
