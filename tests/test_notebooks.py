"""Every notebook of the course: its source, its executed form, its lab, its lesson.

Parametrised over chapters/*/lab.py; a new one needs no test code.
"""

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
from budget import MOST
from IPython.core.inputtransformer2 import TransformerManager

from pipeline import labs, measured, notebook
from weft import cells, lesson
from weft.bench.results import REFERENCE
from weft.lesson import syllabus

ROOT = Path(__file__).parents[1]
STEMS = notebook.stems(ROOT)
PAGES = "https://colab.research.google.com/github"

pytestmark = pytest.mark.parametrize("stem", STEMS)


@cache
def source(stem: str):
    return notebook.read_script(notebook.script(ROOT, stem))


@cache
def executed(stem: str):
    return notebook.read(notebook.solution(ROOT, stem))


@cache
def lab(stem: str):
    return notebook.read(notebook.lab(ROOT, stem))


def published(stem: str) -> None:
    """Skip a chapter that is not in the contents: nobody has run it on a GPU yet."""
    if f"solutions/{stem}\n" not in (ROOT / "_toc.yml").read_text(encoding="utf-8"):
        pytest.skip("not in the contents before it has run on a GPU")


def code(nb):
    return [cell for cell in nb.cells if cell.cell_type == "code"]


def tree(cell) -> ast.Module:
    return ast.parse(TransformerManager().transform_cell(cell.source))


def checked(cell) -> str:
    """The exercise that a cell checks, if it does."""
    return cells.checked(cell.source)


def written(cell) -> set[str]:
    """What a cell defines: functions and classes, or, in C, the name behind `%%c`."""
    if magic := re.match(r"%%(?:c|makefile) (\w+)(?:\.cu)?\n", cell.source):
        return {magic[1]}
    return {node.name for node in tree(cell).body if hasattr(node, "name")}


def exercises(stem: str) -> list[str]:
    return [exercise.name for exercise in syllabus.load(stem).exercises]


# the source


def test_first_cell_says_what_the_lab_is(stem):
    text = source(stem).cells[0].source
    assert source(stem).cells[0].cell_type == "markdown"
    assert text.startswith(f"# Solution {syllabus.load(stem).label}\n")
    config = (ROOT / "_config.yml").read_text(encoding="utf-8")
    url = re.search(r"github\.com/([\w-]+/[\w-]+)", config)[1]
    assert f"({PAGES}/{url}/blob/main/labs/{stem}.ipynb)" in text
    assert text.count(PAGES) == 1


def test_markdown_is_commonmark(stem):
    for cell in source(stem).cells:
        if cell.cell_type == "markdown":
            prose = re.sub(r"`[^`\n]+`", "", cell.source)
            assert not re.search(r"^\s*(`{3,}|:{3,})\s*\{", cell.source, re.M)
            assert not re.search(r"\{[\w:-]+\}`", cell.source), cell.source
            assert "<script" not in prose


def test_cells_are_short_lines_of_valid_code(stem):
    for cell in code(source(stem)):
        tree(cell)
        long = [line for line in cell.source.splitlines() if len(line) > 80]
        assert not long


def test_cells_are_not_empty(stem):
    assert all(cell.source.strip() for cell in source(stem).cells)
    assert {cell.cell_type for cell in source(stem).cells} == {"markdown", "code"}


MOST_LINES, MEAN_LINES, MOST_GIVEN = 450, 300, 40  # of code; DESIGN: 400


def lines(cell) -> int:
    return sum(1 for line in cell.source.splitlines() if line.strip())


def test_a_lab_is_its_exercises(stem):
    assert sum(map(lines, code(lab(stem)))) <= MOST_LINES
    for cell in code(lab(stem)):
        if not written(cell) & set(exercises(stem)):
            assert lines(cell) <= MOST_GIVEN, cell.source
    if stem == STEMS[-1]:
        total = sum(lines(cell) for each in STEMS for cell in code(lab(each)))
        assert total <= MEAN_LINES * len(STEMS)


def test_lab_is_set_up_and_ends_with_a_quiz(stem):
    text = "\n".join(cell.source for cell in code(source(stem)))
    assert f'weft.lab("{stem}")' in text
    assert any(cell.source.strip() == "quiz()" for cell in code(lab(stem)))


def test_hints_and_quiz(stem):
    lesson = syllabus.load(stem)
    assert len(lesson.quiz) == 3
    for exercise in lesson.exercises:
        assert len(exercise.hints) >= 3, exercise.name
        assert len(set(exercise.hints)) == len(exercise.hints)
    for question in lesson.quiz:
        assert all(choice.because for choice in question.choices)


def test_every_exercise_is_written_checked_and_hinted(stem):
    cells = source(stem).cells
    prose = "\n".join(cell.source for cell in cells)
    checks = [checked(cell) for cell in code(source(stem))]
    assert sorted(filter(None, checks)) == sorted(exercises(stem))
    for name in exercises(stem):
        starters = [
            cell
            for cell in code(source(stem))
            if re.search("^ *(#|//) BEGIN SOLUTION", cell.source, re.M)
            and name in written(cell)
        ]
        assert len(starters) == 1, f"{name} needs one starter cell"
        position = code(source(stem)).index(starters[0])
        assert checks.index(name) > position
        assert f'hint("{name}")' in prose


# what is derived from it


def test_notebook_is_what_its_source_gives(stem):
    text = notebook.solution(ROOT, stem).read_text(encoding="utf-8")
    assert text == notebook.dumps(notebook.build(ROOT, stem)), "make notebooks"


def test_lab_is_what_its_solution_gives(stem):
    text = notebook.lab(ROOT, stem).read_text(encoding="utf-8")
    assert text == notebook.dumps(labs.derive(ROOT, stem)), "make labs"


# An exercise that puts a kernel together, and those whose starters it tells to copy.
COPIES = {("24_attention", "flash_mma"): {"tile_scores", "soften_tiles"}}


def copied(stem: str, cell) -> set[str]:
    """The lines of other starters that the answer in a cell may repeat."""
    names = set().union(*(COPIES.get((stem, name), ()) for name in written(cell)))
    starters = [other for other in code(lab(stem)) if names & written(other)]
    lines = "\n".join(starter.source for starter in starters).splitlines()
    return {" ".join(line.split()) for line in lines}


def test_lab_holds_no_answer(stem):
    assert all(cell.execution_count is None for cell in code(lab(stem)))
    assert not any(cell.outputs for cell in code(lab(stem)))
    assert not any("solution" in c.metadata.get("tags", []) for c in lab(stem).cells)
    text = "\n".join(cell.source for cell in lab(stem).cells)
    assert "SOLUTION" not in text
    shown = {" ".join(line.split()) for line in text.splitlines()}
    for cell in code(source(stem)):
        elsewhere = shown - copied(stem, cell)
        for answer in answers(cell.source):
            telling = [line for line in answer if not IDIOM.match(line)]
            leaked = [line for line in telling or answer if line in elsewhere]
            assert not leaked, f"the lab shows this line of an answer: {leaked}"


# Lines that say how every kernel begins, not how this one is solved.
IDIOM = re.compile(
    r".{0,15}$|#|@|def |return$|else:$|cuda\.sync|fence_mbarrier_init\(\)$|"
    r"\w+(, \w+)* = cuda\.(grid|gridsize|threadIdx|blockIdx|blockDim)\b[\w.()]*|"
    r"if [\w ]+ < [\w.]+(size|shape\[\d\])( and [\w ]+ < [\w.]+shape\[\d\])*"
    r"( and \w+\[\w+\] == \w+)?:$|"
    r"for \w+ in range\(cuda\.grid\(1\), \w+\.size, cuda\.gridsize\(1\)\):$|"
    r"\w+ = cuda\.(shared|local)\.array\(|"
    r"[\w(), ]+ = \w+\.shape(\[\d\])?(, \w+\.shape(\[\d\])?)*$|"
    r"for \(size_t \w+ = 0; \w+ < [\w>-]+; \w+\+\+\)( \{)?$"
)


def answers(text: str) -> list[list[str]]:
    found = re.findall(
        r"(?:#|//) BEGIN SOLUTION\n(.*?)(?:#|//) END SOLUTION", text, re.S
    )
    return [
        [" ".join(line.split()) for line in block.splitlines() if line.strip()]
        for block in found
    ]


def pages(stem: str) -> list[str]:
    found = sorted((ROOT / "book").glob(f"{stem[:2]}_*.md"))
    return [page.read_text(encoding="utf-8") for page in found]


def shown_at_once(stem: str) -> set[str]:
    """The lines of a chapter's pages that no {answer} keeps closed."""
    text = "\n".join(pages(stem))
    text = re.sub(r"(?ms)^(`{3,}|:{3,})\{answer\}.*?^\1$", "", text)
    return {" ".join(line.split()) for line in text.splitlines()}


def test_pages_ask_for_a_prediction(stem):
    assert all("{predict}" in page for page in pages(stem))


# The first kernels of all, which the page explains line by line.
SHOWN = {("00_start_here", "double"), ("05_first_kernel", "vector_add")}


def test_page_keeps_most_of_each_answer_closed(stem):
    shown = shown_at_once(stem)
    for cell in code(source(stem)):
        if (stem, *(written(cell) & set(exercises(stem)))) in SHOWN:
            continue
        lines = [
            line
            for answer in answers(cell.source)
            for line in answer
            if not IDIOM.match(line) and not line.startswith("# was:")
        ]
        printed = [line for line in lines if line in shown]
        assert len(printed) <= 0.7 * len(lines), f"put in an {{answer}}: {printed}"


def test_stamp_and_results_belong_to_this_code(stem):
    published(stem)
    stamp = executed(stem).metadata.weft
    digest = measured.digest(ROOT, stem, source(stem))
    on_cpu = "runs_on" in stamp
    where = "here" if on_cpu else "on a GPU"
    assert stamp.get("digest") == digest, f"run it {where}: make execute LAB={stem}"
    gpu = set() if on_cpu else {"capability", "driver", "cuda"}
    assert stamp.keys() - {"runs_on", "refreshed"} == gpu | {
        *("device", "versions", "date", "seconds", "digest"),
    }
    assert stamp.device, "it ran in the simulator"
    assert {"python", "numba", "numpy"} <= stamp.versions.keys()
    assert "gcc" in stamp.versions or not on_cpu
    rows = {}
    for path in (ROOT / "results").glob(f"{stem}.*.json"):
        found = json.loads(path.read_text())
        gpu = path.name.split(".")[1]
        rows[gpu] = {(row["case"], row["name"]) for row in found["rows"]}
        if gpu == REFERENCE:
            assert found["digest"] == digest, path.name
    # Another GPU may have run an earlier version, as long as no row of it is gone.
    for gpu, found in rows.items():
        assert found <= rows[REFERENCE], f"{gpu}: {found - rows[REFERENCE]}"


def test_what_is_beside_the_exercises_is_folded(stem):
    within = False
    for cell in lab(stem).cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            within = cell.source.startswith(labs.MORE)
            assert within == cell.metadata.get("jp-MarkdownHeadingCollapsed", False)
        hidden = within and cell.cell_type == "code"
        assert not (hidden and checked(cell)), "an exercise that nobody sees"
        assert not (hidden and "quiz()" in cell.source), "a quiz that nobody sees"


def test_no_cell_needs_what_is_folded(stem):
    """A learner who goes from cell to cell runs none below a folded heading."""
    within, folded, seen = False, set(), set()
    for cell in lab(stem).cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            within = cell.source.startswith(labs.MORE)
        if cell.cell_type != "code" or cell.source.startswith("%%"):
            continue
        names = [node for node in ast.walk(tree(cell)) if isinstance(node, ast.Name)]
        made = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        if within:
            folded |= made
        else:
            seen |= made | written(cell)
            needed = {name.id for name in names} & folded - seen
            assert not needed, f"{needed} in {cell.source}"


def test_no_exercise_has_its_code_folded(stem):
    first, *others = code(lab(stem))
    assert first.metadata["jupyter"] == {"source_hidden": True}
    assert first.source.startswith(labs.FIRST)
    for cell in others:
        if checked(cell) or written(cell) & set(exercises(stem)):
            assert "jupyter" not in cell.metadata, cell.source


def test_the_quiz_is_the_lessons(stem):
    quiz = lesson.quiz(stem)
    shown = [
        output.data
        for cell in executed(stem).cells
        if cell.source == "quiz()"
        for output in cell.outputs
    ]
    now = {"text/html": quiz._repr_html_(), "text/plain": repr(quiz)}
    assert shown == [now], f"make refresh labs LAB={stem}"


def test_outputs_are_fit_to_publish(stem):
    published(stem)
    cells = code(executed(stem))
    assert [c.execution_count for c in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        for output in cell.outputs:
            assert output.output_type != "error", cell.source
            assert output.get("name") != "stderr", output.text
            for mime, text in output.get("data", {"text": output.get("text")}).items():
                found = FOREIGN.search(f"{mime}\n{text}")
                assert found is None or mime == "image/png", found[0]


# Directories of a machine, addresses of objects, tracebacks, a kernel's widgets.
FOREIGN = re.compile(
    r"(?<![\w.])/(home|root|Users|tmp|mnt|opt|work|content)/\w|ipykernel_\d|"
    r"\bat 0x[0-9a-f]{6}|Traceback \(most recent|vnd\.jupyter\.widget"
)


# running it, without a GPU


class Player:
    """A process that plays notebooks, each in a fork of its own; see run_cells.py."""

    def __init__(self, compiled: Path) -> None:
        self._compiled = compiled
        self._process: subprocess.Popen[str] | None = None

    def play(self, stem: str, folder: str, only: Sequence[int] = ()) -> list[dict]:
        """Run cells of a notebook, by default all; none may end in an error."""
        with tempfile.TemporaryDirectory() as scratch:
            report = Path(scratch, "report.json")
            asked = {
                "notebook": str(ROOT / folder / f"{stem}.ipynb"),
                "report": str(report),
                "compiled": str(self._compiled),
                "strict": folder == "solutions",
                "cells": list(only),
            }
            server = self._server()
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write(json.dumps(asked) + "\n")
            server.stdin.flush()
            assert server.stdout.readline().strip() == "0", f"{stem}: see its stderr"
            found: list[dict] = json.loads(report.read_text())
        for cell in found:
            assert cell["error"] is None, f"cell {cell['cell'] + 1}: {cell['error']}"
        return found

    def _server(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            env = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
            env |= {
                "WEFT_SIMULATOR": "1",
                "PYTHONPATH": str(ROOT),
                "MPLBACKEND": "Agg",
            }
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    str(Path(__file__).with_name("run_cells.py")),
                    "--serve",
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=ROOT,
                env=env,
                text=True,
            )
        return self._process

    def end(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait()


@pytest.fixture(scope="session")
def player(compiled: Path) -> Iterator[Player]:
    found = Player(compiled)
    yield found
    found.end()


def verdicts(cells: list[dict], nb) -> dict[str, dict]:
    report = {cell["cell"]: cell for cell in cells}
    return {
        checked(cell): report[number]
        for number, cell in enumerate(nb.cells)
        if cell.cell_type == "code" and checked(cell)
    }


def test_every_starter_tells_the_learner_to_begin(stem, player):
    needed = [
        number
        for number, cell in enumerate(lab(stem).cells)
        if cell.cell_type == "code" and is_needed(stem, cell)
    ]
    found = verdicts(player.play(stem, "labs", needed), lab(stem))
    assert sorted(found) == sorted(exercises(stem))
    for name, verdict in found.items():
        assert verdict["passed"] is False, name
        if name in mended(stem):
            assert verdict["kind"] not in ("pass", "begin"), name
        else:
            assert verdict["kind"] == "begin", f"{name}: {verdict['text']}"


def is_needed(stem: str, cell) -> bool:
    """Whether a cell of a lab is its setup, is given, an exercise, or checks one."""
    given = "given" in cell.metadata.get("tags", [])
    if given or cell.source.startswith(labs.FIRST) or checked(cell):
        return True
    return bool(written(cell) & set(exercises(stem)))


@pytest.mark.long
def test_a_lab_runs_to_its_end_before_anything_is_written(stem, player):
    assert player.play(stem, "labs")


def mended(stem: str) -> set[str]:
    """Exercises whose starter runs, and is wrong on purpose: tagged `broken`."""
    return {
        name
        for cell in code(lab(stem))
        if "broken" in cell.metadata.get("tags", [])
        for name in written(cell)
    }


def test_every_solution_passes_in_the_simulator(stem, player):
    found = verdicts(player.play(stem, "solutions"), executed(stem))
    assert sorted(found) == sorted(exercises(stem))
    for name, verdict in found.items():
        assert verdict["passed"] is True, f"{name}: {verdict['text']}"
        assert verdict["cost"] <= MOST, f"{name} does too much: {verdict['done']}"
