"""The book's pages on bugs: each example is run, and says what the page says.

`PYTHONPATH=. python tests/test_bugs.py` writes what the checks say now into the pages,
and as HTML into `verdicts.json`, which the built pages show.
"""

import ast
import json
import linecache
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weft  # noqa: F401  before Numba
from weft import compiling
from weft.checking import waiting
from weft.checking.kinds import C_CHAPTER, KINDS, PAGES, SECTIONS, TOPICS
from weft.checking.verdict import Verdict
from weft.device import toolkit
from weft.links import PUBLIC

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "book" / "bugs"
SHOWN = FOLDER / "verdicts.json"
SETUP = """\
import numpy as np
from numba import cuda, float32, int32
from weft import check
"""


def blocks(kind: str, language: str) -> list[str]:
    text = (FOLDER / f"{kind}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run(source: str, name: str, scope: dict[str, Any]) -> Any:
    """Run a cell; give the value of its last expression."""
    lines = source.splitlines(keepends=True)
    linecache.cache[name] = (len(source), None, lines, name)
    body = ast.parse(source)
    last = body.body.pop() if isinstance(body.body[-1], ast.Expr) else None
    exec(compile(body, name, "exec"), scope)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), name, "eval"), scope)


class Device:
    """A GPU on which no launch ends; otherwise the `cuda` there is."""

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cuda, name)

    def to_device(self, data: Any) -> Any:
        return data

    def event(self, timing: bool) -> Any:
        return type("Event", (), {"record": lambda s: None, "query": lambda s: False})()


class Clock:
    """A clock on which twenty seconds pass at once."""

    now = 0.0

    @classmethod
    def monotonic(cls) -> float:
        cls.now += 100
        return cls.now

    @staticmethod
    def sleep(_: float) -> None: ...


def verdict(kind: str, patch: Callable[..., None]) -> Verdict:
    """What the check says of the page's example."""
    patch("weft.lesson.passed", lambda *_: None)
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP, scope)
    example = blocks(kind, "python")[0]
    name = f"<{kind}>"
    if kind == "hang":  # which needs a GPU, and would lose it
        patch("numba.cuda", Device(scope["cuda"]))
        patch("weft.kernels.room.on_gpu", lambda: True)
        patch("weft.checking.waiting.time", Clock)
        patch("weft.kernels.full_size.launch", lambda *_: None)
    elif kind == "float64" and toolkit.find().missing:
        line = 1 + example[: example.index("* 0.1")].count("\n")
        found = compiling.Outcome([(7, 5), (10, 0)], [(name, line)])
        patch("weft.compiling.compile_kernel", lambda *_: found)
    elif kind == "local" and toolkit.find().missing:
        at = [
            1 + example[: example.index(n)].count("\n") for n in ("four[j]", "four[(")
        ]
        where = [(name, line) for line in at]
        found = compiling.Outcome([(7, 5), (10, 0)], local=where, local_bytes=16)
        patch("weft.compiling.compile_kernel", lambda *_: found)
    result: Verdict = run(example, name, scope)
    return result


@pytest.mark.parametrize("kind", PAGES)
def test_the_verdict_is_the_one_on_the_page(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = verdict(kind, monkeypatch.setattr)
    assert found.page == kind
    assert not found
    assert [repr(found) + "\n"] == blocks(kind, "text")
    assert json.loads(SHOWN.read_text(encoding="utf-8"))[kind] == found._repr_html_()


@pytest.mark.parametrize("kind", PAGES)
def test_the_cure_cures(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    example, cure = blocks(kind, "python")
    call = example[example.index("\ncheck(") :]
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP, scope)
    run(example.removesuffix(call), "<example>", scope)
    run(cure, "<cure>", scope)
    found = run(call, "<check>", scope)
    assert found, found


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_is_short_and_titled(kind: str) -> None:
    text = (FOLDER / f"{kind}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {PAGES[kind]}\n")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["The cure", "Read on"]
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert len(prose.split()) <= 300


def test_every_kind_of_verdict_has_a_page_that_exists() -> None:
    assert {p.stem for p in FOLDER.glob("*.md")} - {"index"} == PAGES.keys()
    sent_to = {kind.page for kind in KINDS.values()} | set(TOPICS.values())
    assert sent_to - {""} == PAGES.keys()
    unexplained = {
        name for name, k in KINDS.items() if not (k.page or k.heading or k.plain)
    }
    assert unexplained == set(), "give it a page, or say that it is plain"
    assert not any(k.plain and (k.page or k.heading) for k in KINDS.values())


def test_a_verdict_of_no_kind_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="'sorry' is no kind of verdict"):
        Verdict("k", "sorry")
    with pytest.raises(ValueError, match="'sorry' is no topic"):
        Verdict("k", "race", topic="sorry")


def test_a_verdict_does_not_change_once_it_is_made() -> None:
    found = Verdict("k", "race", "Message.")
    with pytest.raises(AttributeError):
        found.message = "Another."
    other = found.but(message="Another.")
    assert (found.message, other.message, other.kind) == (
        "Message.",
        "Another.",
        "race",
    )


def test_what_goes_wrong_in_c_is_in_its_chapter() -> None:
    chapter = (ROOT / "book" / "04_c_for_python.md").read_text(encoding="utf-8")
    assert chapter.startswith(f"# {C_CHAPTER}\n")
    for heading in {kind.heading for kind in KINDS.values()} - {""}:
        assert re.search(rf"^###? {re.escape(heading)}$", chapter, re.MULTILINE)
    shown = Verdict("swap", "double-free", "Message.")
    assert "book: C for Python programmers, “Stack and heap”" in repr(shown)
    assert f"{PUBLIC}/book/04_c_for_python.html#stack-and-heap" in shown._repr_html_()


@pytest.mark.parametrize("topic", SECTIONS)
def test_a_topic_may_send_to_a_section_of_a_chapter(topic: str) -> None:
    section = SECTIONS[topic]
    text = (ROOT / "book" / f"{section.page}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {section.chapter}\n")
    assert re.search(rf"^###? {re.escape(section.heading)}$", text, re.MULTILINE)
    assert TOPICS[topic] == ""
    shown = Verdict("converted", "type", "Message.", topic=topic)
    assert f"book: {section.chapter}, “{section.heading}”" in repr(shown)
    assert f"{PUBLIC}/book/{section.address}" in shown._repr_html_()


def test_the_index_lists_them_all() -> None:
    text = (FOLDER / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[(.*?)\]\((.*?)\.md\)", text, re.MULTILINE)
    assert {kind: title for title, kind in listed} == PAGES


def test_links_lead_to_headings() -> None:
    for path in FOLDER.glob("*.md"):
        for file, anchor in re.findall(
            r"\]\(([^)#]+\.md)(?:#([\w-]+))?\)", path.read_text(encoding="utf-8")
        ):
            target = path.parent / file
            assert target.exists(), f"{path.name}: {file}"
            headings = re.findall(
                r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE
            )
            slugs = {
                re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings
            }
            assert not anchor or anchor in slugs, f"{path.name}: {file}#{anchor}"


def test_the_link_in_a_verdict_is_the_published_page() -> None:
    config = (ROOT / "_config.yml").read_text(encoding="utf-8")
    owner, name = re.search(
        r"url: https://github.com/([\w-]+)/([\w-]+)", config
    ).groups()
    assert f"https://{owner}.github.io/{name}" == PUBLIC
    shown = Verdict("k", "race", "Message.")._repr_html_()
    assert f'<a href="{PUBLIC}/book/bugs/race.html">' in shown


def test_full_size_is_patient() -> None:
    assert waiting.LONGEST == 20


if __name__ == "__main__":
    shown = {}
    for kind in PAGES:
        with pytest.MonkeyPatch.context() as patch:
            found = verdict(kind, patch.setattr)
            said, shown[kind] = repr(found), found._repr_html_()
        path = FOLDER / f"{kind}.md"
        page = path.read_text(encoding="utf-8")
        head, rest = page.split("```text\n", 1)
        tail = rest.split("```\n", 1)[1]
        page = f"{head}```text\n{said}\n```\n{tail}"
        path.write_text(page, encoding="utf-8")
        print(said, end="\n\n\n")
    text = json.dumps(shown, indent=1, ensure_ascii=False) + "\n"
    SHOWN.write_text(text, encoding="utf-8")
