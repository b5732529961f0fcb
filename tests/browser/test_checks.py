"""Checks in the book's pages: a reader edits, checks, stops, comes back."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from built_book import ROOT, Book
from test_access import AXE, RULES, violations

sys.path.insert(0, str(ROOT / "book" / "_ext"))
from weft_book import checks, exporting

RING = "22_hopper_gemm"
RIGHT = {
    "ring": """\
def ring(k, stages):
    turn, stage = divmod(k, stages)
    return stage, turn % 2, 1 - turn % 2
""",
    "coalesce": """\
def coalesce(layout):
    found = []
    for size, stride in modes(layout):
        if found and found[-1][0] * found[-1][1] == stride and size > 1:
            found[-1] = found[-1][0] * size, found[-1][1]
        elif size > 1:
            found.append((size, stride))
    sizes, strides = zip(*found or [(1, 0)])
    return Layout(sizes, strides)
""",
    "vector_add": """\
@cuda.jit
def vector_add(a, b, out):
    i = cuda.grid(1)

    if i < a.size:
        out[i] = a[i] + b[i]
""",
}
# Source, the kind of its verdict, and the line that is marked.
WRONG = {
    "ring": ("    return k % stages, 0, 1\n", "wrong-value", 2),
    "coalesce": ("    return layout\n", "answer", 2),
    "vector_add": (
        "    i = cuda.grid(1)\n    out[i] = a[i] + b[i]\n",
        "out-of-bounds",
        4,
    ),
}
ENDLESS = {
    "ring": ("    while True:\n        k += 1\n", 2),
    "vector_add": (
        "    i = cuda.grid(1)\n    while i < out.size:\n        out[i] = a[i] + b[i]\n",
        4,
    ),
}
PAGES = {"ring": RING, "coalesce": "20_layouts", "vector_add": "05_first_kernel"}


# Leave nothing in the article but the first two checks.
ONLY = """() => {
  const checks = [...document.querySelectorAll("[data-check]")].slice(0, 2);
  document.querySelector(".bd-article").replaceChildren(
    document.querySelector("h1"), ...checks);
}"""


class Check:
    """One check of a page."""

    def __init__(self, watched: Any, name: str) -> None:
        self.page, self.name = watched.page, name
        self.place = self.page.locator(f"#check-{name}")

    def woken(self) -> "Check":
        self.place.scroll_into_view_if_needed()
        self.place.locator(".cm-content").wait_for()
        return self

    def button(self, label: str) -> Any:
        return self.place.get_by_role("button", name=label, exact=True)

    def text(self) -> str:
        lines = self.place.locator(".cm-line").all_inner_texts()
        return "\n".join("" if line == "\n" else line for line in lines)

    def write(self, source: str) -> None:
        self.place.locator(".cm-content").focus()
        self.page.keyboard.press("ControlOrMeta+A")
        self.page.keyboard.insert_text(source)

    def write_body(self, body: str) -> None:
        before, line, _ = RIGHT[self.name].partition(f"def {self.name}")
        rest = RIGHT[self.name].removeprefix(before + line).partition("\n")[0]
        self.write(f"{before}{line}{rest}\n{body}")

    def press(self) -> Any:
        """Press Check; return the verdict once it is there."""
        self.button("Check").click()
        self.place.locator("[data-kind]").wait_for()
        return self.place.locator("[data-kind]")

    def marked(self) -> list[str]:
        return self.place.locator(".cm-gutterElement.weft-marked").all_inner_texts()


@pytest.fixture(scope="module")
def under(book: Book, serve: Callable[[Path], str]) -> str:
    """The address of the book under a path, as on GitHub's pages."""
    if not (book.html / "_static" / "check" / "files.json").is_file():
        pytest.skip("the book was built without checks: npm could not fetch Pyodide")
    return f"{serve(book.html.parent)}/{book.html.name}"


@pytest.fixture
def watched(open_page: Callable[..., Any]) -> Iterator[Any]:
    """Yield a page that must neither complain nor ask for anything elsewhere."""
    page = open_page()
    yield page
    assert page.errors == []
    assert page.left == []


def opened(watched: Any, under: str, name: str, page: str = "") -> Check:
    page = page or PAGES[name]
    watched.page.goto(f"{under}/book/{page}.html", wait_until="load")
    return Check(watched, name).woken()


def loaded(watched: Any) -> list[str]:
    """The files of checks that the page has loaded, but for its worker's."""
    names = "performance.getEntriesByType('resource').map((each) => each.name)"
    return [
        url.rsplit("/_static/check/", 1)[1].partition("?")[0]
        for url in watched.page.evaluate(names)
        if "/_static/check/" in url
    ]


@pytest.mark.parametrize("name", list(PAGES))
def test_a_wrong_and_a_right_function(watched: Any, under: str, name: str) -> None:
    check = opened(watched, under, name)
    body, kind, line = WRONG[name]
    check.write_body(body)
    verdict = check.press()
    assert verdict.get_attribute("data-kind") == kind
    assert verdict.get_by_role("button", name=f"line {line}").count() == 1
    assert check.marked() == [str(line)]
    check.write(RIGHT[name])
    assert check.press().get_attribute("data-kind") == "pass"
    assert check.marked() == []
    check.place.get_by_text("✓ passed", exact=True).wait_for()


def await_view(place: Any) -> None:
    """Wait until the window shows something; a page may scroll smoothly."""
    inside = """(part) => {
      const { top, bottom } = part.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight;
    }"""
    place.page.wait_for_function(inside, arg=place.element_handle())


def test_what_was_asked_for_is_seen_above_a_keyboard(
    open_page: Callable[..., Any], under: str
) -> None:
    watched = open_page(width=390, height=420)  # what a keyboard leaves of a phone
    check = opened(watched, under, "vector_add")
    check.write_body(WRONG["vector_add"][0])
    for number in (1, 2, 3):
        check.button("Hint").click()
        await_view(check.place.get_by_text(f"Hint {number} of 3"))
    check.button("Check").scroll_into_view_if_needed()
    await_view(check.press().locator(".weft-check-title"))


def test_a_verdict_leaves_a_reader_where_they_are(watched: Any, under: str) -> None:
    check = opened(watched, under, "vector_add")
    check.write_body(WRONG["vector_add"][0])
    check.button("Check").click()
    watched.page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    watched.page.locator("#check-vector_add:not([data-busy]) [data-kind]").wait_for()
    assert watched.page.evaluate("scrollY") == 0


def test_a_step_back_marks_its_line_in_the_editor(watched: Any, under: str) -> None:
    check = opened(watched, under, "vector_add")
    check.write_body("    i = cuda.grid(1)\n    x = a[0]\n    out[i] = x + b[i]\n")
    assert check.press().get_attribute("data-kind") == "wrong-value"
    (at_first,) = check.marked()
    step = check.place.locator(".weft-history li:visible")
    check.place.get_by_text("Step back through what led to this").click()
    assert "writes" in step.inner_text()
    assert check.marked() == ["5"]
    check.button("Back").click()
    check.button("Back").click()
    assert "reads a[0]" in step.inner_text()
    assert check.marked() == ["4"]
    check.place.get_by_text("Step back through what led to this").click()
    # Browsers tell of the closing in a later task.
    check.place.locator(".cm-gutterElement.weft-marked", has_text=at_first).wait_for()
    assert check.marked() == [at_first]


@pytest.mark.parametrize("name", list(ENDLESS))
def test_an_endless_loop_ends_by_itself(watched: Any, under: str, name: str) -> None:
    check = opened(watched, under, name)
    body, line = ENDLESS[name]
    check.write_body(body)
    verdict = check.press()
    assert verdict.get_attribute("data-kind") == "endless-loop"
    assert str(line) in check.marked()
    href = verdict.get_by_role("link").evaluate("each => each.href")
    assert href == f"{under}/book/bugs/endless-loop.html"


def test_a_reader_stops_what_does_not_end(watched: Any, under: str) -> None:
    check = opened(watched, under, "ring")

    # A single call of C that goes on and on: no line of Python is counted.
    check.write_body("    return sum(iter(int, 1))\n")
    check.button("Check").click()
    check.place.get_by_text("Checking …").wait_for()
    check.button("Stop").click()
    check.place.get_by_text("You stopped the check.").wait_for()
    check.button("Check").press("Enter")  # and Stop has the focus, by keyboard
    check.place.get_by_text("Checking …").wait_for()
    watched.page.keyboard.press("Enter")
    check.place.get_by_text("You stopped the check.").wait_for()
    check.button("Check").and_(check.place.locator(":focus")).wait_for()
    check.write(RIGHT["ring"])
    assert check.press().get_attribute("data-kind") == "pass"


def test_the_text_is_there_after_a_reload_and_after_a_reset(
    watched: Any, under: str
) -> None:
    check = opened(watched, under, "ring")
    starter = check.text()
    assert "your code here" in starter
    assert check.button("Reset").is_disabled()
    check.write(RIGHT["ring"])
    watched.page.reload(wait_until="load")
    check.woken()
    assert check.text() == RIGHT["ring"]
    check.button("Reset").click()
    assert check.text() == starter
    watched.page.reload(wait_until="load")
    check.woken()
    check.button("Undo reset").click()
    assert check.text() == RIGHT["ring"]
    check.button("Reset").wait_for()


def test_nothing_is_loaded_before_it_is_needed(watched: Any, under: str) -> None:
    page = watched.page
    page.set_viewport_size({"width": 1200, "height": 300})
    page.goto(f"{under}/book/{RING}.html", wait_until="networkidle")
    assert sorted(loaded(watched)) == ["check.css", "load.js"]
    check = Check(watched, "ring").woken()
    assert {"check.js", "editor.js", "22_hopper_gemm.ring.json"} <= set(loaded(watched))
    assert not [name for name in loaded(watched) if "worker" in name]
    assert check.button("Stop").is_disabled()
    assert not [name for name in loaded(watched) if "cases" in name]
    page.goto(f"{under}/book/17_fusion.html", wait_until="load")
    assert loaded(watched) == []


def test_python_starts_without_a_snapshot(watched: Any, under: str) -> None:
    said: list[str] = []
    watched.page.on("console", lambda message: said.append(message.text))
    watched.page.route(
        "**/python.snapshot", lambda route: route.fulfill(status=200, body="broken")
    )
    check = opened(watched, under, "vector_add")
    check.write(RIGHT["vector_add"])
    assert check.press().get_attribute("data-kind") == "pass"
    assert any("snapshot does not load" in text for text in said)


def test_a_check_is_done_by_keyboard_alone(watched: Any, under: str) -> None:
    check = opened(watched, under, "ring")
    keyboard = watched.page.keyboard
    check.place.locator(".cm-content").focus()
    keyboard.press("Tab")  # who passes through is not held
    assert check.button("Check").evaluate("each => each === document.activeElement")
    keyboard.press("Shift+Tab")
    check.write_body("")
    keyboard.press("ControlOrMeta+End")
    keyboard.press("Tab")  # who writes indents
    keyboard.insert_text("return 0, 0, 1")
    assert check.text().endswith("    return 0, 0, 1")
    keyboard.press("Shift+Enter")
    check.place.locator("[data-kind=wrong-value]").wait_for()
    keyboard.press("Escape")
    keyboard.press("Tab")
    assert check.button("Check").evaluate("each => each === document.activeElement")
    keyboard.press("Enter")
    check.place.locator("[data-kind=wrong-value]").wait_for()
    check.button("Check").and_(check.place.locator(":focus")).wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_a_check_that_is_used(
    open_page: Callable[..., Any], under: str, scheme: str
) -> None:
    watched = open_page(390, scheme)
    check = opened(watched, under, "coalesce")
    check.write_body("    print(layout)\n    return layout\n")
    check.button("Hint").click()
    check.press()
    page = watched.page
    page.evaluate(ONLY)  # axe takes long for a page
    page.add_script_tag(path=str(AXE))
    assert violations(page, RULES) == []
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) <= 0


HEAD = re.compile(r"# verdict: ([\w-]+)\n")
# What a compiler finds, and answers that borrow what a page lacks.
FOR_THE_LAB = ("float64", "local", "library")


@pytest.mark.long
def test_every_check_of_every_page_tells_right_from_wrong(
    watched: Any, under: str, book: Book
) -> None:
    """With the lab's answer, and with the first wrong one that its lab has."""
    other = []
    for page in sorted((ROOT / "book").glob("*.md")):
        for lab, name in checks.on_page(page.read_text(encoding="utf-8")):
            watched.page.goto(f"{under}/book/{page.stem}.html", wait_until="load")
            check = Check(watched, name).woken()
            file = book.html / "_static" / "check" / f"{lab}.{name}.cases.json"
            missing = json.loads(file.read_text("utf-8"))["left_out"]
            for source, kind in two_answers(lab, name, set(missing)):
                check.write(source)
                found = check.press().get_attribute("data-kind")
                if found != kind:
                    other.append((page.stem, name, kind, found))
    assert other == []


def two_answers(lab: str, name: str, missing: set[str]) -> Iterator[tuple[str, str]]:
    """The lab's answer, and a wrong one, each with its verdict.

    missing: names that the lab has and the page has not.
    """
    yield exporting.cell_of(lab, name), "pass"
    folder = ROOT / "chapters" / lab / "answers" / name
    for path in sorted(folder.glob("wrong_*.py")):
        source = path.read_text(encoding="utf-8")
        kind = HEAD.match(source)[1]
        if kind not in FOR_THE_LAB and not exporting.names_in(source) & missing:
            yield source, kind
            return


def test_hints_come_one_by_one(watched: Any, under: str) -> None:
    check = opened(watched, under, "ring")
    for number in (1, 2, 3):
        check.button("Hint").click()
        check.place.get_by_text(f"Hint {number} of 3").wait_for()
    assert check.button("Hint").is_disabled()


def test_without_javascript_there_is_the_starter_and_a_link(
    browser: Any, under: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{under}/book/{RING}.html")
    place = page.locator("#check-ring")
    assert "def ring(k, stages):" in place.inner_text()
    assert place.get_by_role("link", name="lab 22").count() == 1
    context.close()


def test_storage_that_is_refused_is_no_error(watched: Any, under: str) -> None:
    refuse = """for (const name of ["getItem", "setItem"]) {
      const plain = Storage.prototype[name];
      Storage.prototype[name] = function (key, ...rest) {
        if (key.startsWith("weft-check/")) throw new Error("refused");
        return plain.call(this, key, ...rest);
      };
    }"""
    watched.page.add_init_script(refuse)
    check = opened(watched, under, "ring")
    check.write(RIGHT["ring"])
    check.button("Reset").click()
    check.button("Undo reset").click()
    assert check.text() == RIGHT["ring"]


def test_what_the_build_says_of_the_files_is_so(book: Book, under: str) -> None:
    folder = book.html / "_static" / "check"
    about = json.loads((folder / "files.json").read_text())
    for way in ("plain", "snapshot"):
        if way in about:
            assert about[way]["total"] > 1_000_000
            assert about[way]["mb"] < 15
    assert (folder / "pyodide" / "LICENSE").is_file()
