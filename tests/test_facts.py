"""Numbers that pages compute: from results, from recordings, and what they claim."""

import re
import sys
from pathlib import Path

import pytest
from built_book import ROOT

sys.path.insert(0, str(ROOT / "book" / "_ext"))

from weft_book import facts, recordings

FILES = [*ROOT.glob("chapters/*/*facts.toml"), *ROOT.glob("book/*.facts.toml")]
PAGES = sorted(map(facts.page_of, FILES))
ALL = [(page, name) for page in PAGES for name in facts.read(ROOT, page)]
ROLE = re.compile(r"\{fact\}`(?:([^`:]+):)?([^`]+)`")

TABLE = """\
$ ncu programs.py
# a GPU, a date
                    stride 1  stride 16 with a hint
requests                 128        256       1,024
  a request             4.00      32.00       12.50

second              stride 1
requests                 999
"""


def said() -> set[tuple[str, str]]:
    found = set()
    for path in (ROOT / "book").glob("**/*.md"):
        for page, name in ROLE.findall(path.read_text(encoding="utf8")):
            found.add((page or path.stem, name))
    return found


@pytest.mark.parametrize(("page", "name"), ALL, ids=str)
def test_a_fact_is_true_and_said(page: str, name: str) -> None:
    fact = facts.read(ROOT, page)[name]
    if "holds" in fact:
        assert facts.compute(ROOT, page, name) is True, fact["says"]
        return
    assert facts.worded(ROOT, page, name)
    assert (page, name) in said(), "no page says it"


def test_pages_say_only_what_can_be_computed() -> None:
    assert said() <= set(ALL)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "counters.txt"
    path.write_text(TABLE)
    return path


def test_a_number_is_found_by_row_and_column(table: Path) -> None:
    assert recordings.cell(table, "a request", "stride 16") == 32
    assert recordings.cell(table, "requests", "with a hint") == 1024
    assert recordings.cell(table, "requests", "stride 1", "second") == 999
    assert recordings.match(table, r"a request +([\d.]+)") == 4


@pytest.mark.parametrize(
    ("row", "column"), [("requests", "stride 1"), ("words", "stride 1")]
)
def test_a_number_that_is_not_there_once_is_refused(table: Path, row, column) -> None:
    with pytest.raises(recordings.MissingRecord, match="numbers for row"):
        recordings.cell(table, row, column)


def course(tmp_path: Path, text: str) -> Path:
    folder = tmp_path / "chapters" / "13_page"
    folder.mkdir(parents=True)
    (folder / "facts.toml").write_text(text)
    (tmp_path / "results").mkdir()
    return tmp_path


def test_a_fact_is_worded_from_one_value_or_several(tmp_path: Path) -> None:
    root = course(
        tmp_path,
        '[a]\nis = "3 / 2"\ntext = "{:.1f} MB"\n[b]\nis = "(1, 2)"\n'
        'text = "{} of {}"\n',
    )
    assert facts.worded(root, "13_page", "a") == "1.5\N{NO-BREAK SPACE}MB"
    assert facts.worded(root, "13_page", "b").split() == ["1", "of", "2"]


def test_a_line_may_end_within_a_long_fact_but_not_before_a_unit(
    tmp_path: Path,
) -> None:
    text = """\
[a]
is = "[17, 8]"
text = "{} % longer, and {} × 8 tiles on another GPU"
"""
    worded = facts.worded(course(tmp_path, text), "13_page", "a")
    assert worded.split(" ") == [
        "17\xa0%",
        "longer,",
        "and",
        "8\xa0×\xa08\xa0tiles",
        "on",
        "another",
        "GPU",
    ]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('[a]\nis = "1"\n', "give `is` and `text`"),
        ('[a]\nis = "ms(\'c\', \'n\')"\ntext = "{}"\n', "there is no results/13_page"),
        ('[a]\nis = "find(\'x.txt\', \'a\')"\ntext = "{}"\n', "no book/recordings"),
        ('[a]\nis = "open(\'x\')"\ntext = "{}"\n', "name 'open' is not defined"),
        ('[b]\nis = "1"\ntext = "{}"\n', "no fact 'a'"),
    ],
)  # fmt: skip
def test_a_fact_that_cannot_be_computed_says_why(tmp_path, text, wrong) -> None:
    with pytest.raises(facts.MissingFact, match=re.escape(wrong)):
        facts.worded(course(tmp_path, text), "13_page", "a")
