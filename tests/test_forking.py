"""Submissions begin as forks of a process that none of them can reach or change."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_changed_checks import FORGED, PATCHES, SILENT
from test_confinement import run, start, told
from test_grade import EXERCISES, LAB, ROOT, answer, notebook, right
from test_poisoned_submissions import bytes_of

from grading import servers
from grading.marking import marked
from grading.paper import Paper, cells_of
from grading.processes import Fresh
from grading.record import Record
from grading.servers import Server, Starter, Starters, Unusable, possible
from grading.sitting import Limits, sit
from weft.device import toolkit
from weft.lesson import syllabus

pytestmark = pytest.mark.skipif(not possible(), reason="nothing is forked here")


@pytest.fixture(scope="module")
def kept() -> Iterator[Starter]:
    starter = Starter([LAB])
    yield starter
    starter.close()


@pytest.fixture
def starter(kept: Starter) -> Starter:
    """A starter whose servers are the same all the time."""
    start.set(kept)
    return kept


CHANGES = {
    "a built-in": "import builtins; builtins.len = lambda x: 3",
    "the package": "import weft; weft.left = 1; weft.check.left = 1",
    "a module": "import numpy as np; np.zeros = np.ones; np.left = 1",
    "a new module": "import sys, types; sys.modules['left'] = types.ModuleType('left')",
    "the path": "import sys; sys.path.insert(0, 'left')",
    "the environment": "import os; os.environ['LEFT'] = '1'; os.putenv('LEFT', '1')",
    "its folder": "import os; os.mkdir('left'); os.chdir('left')",
    "the worker": "from grading import worker; worker.judged = worker.left = None",
    "every random number": "import random, numpy as np; np.random.seed(7)",
}
LOOKS = """[
    len([]), hasattr(__import__('weft'), 'left'),
    hasattr(__import__('weft').check, 'left'), bool(np.zeros(1)[0]),
    hasattr(np, 'left'), 'left' in __import__('sys').modules,
    'left' in __import__('sys').path, 'LEFT' in __import__('os').environ,
    __import__('os').listdir('.'), __import__('os').getcwd().endswith('left'),
    hasattr(__import__('grading.worker').worker, 'left'),
]""".replace("\n", "")


def test_nothing_of_a_submission_is_left_for_the_next(starter: Starter) -> None:
    before = told(LOOKS)
    serving = starter.numbers()
    assert before[0] == 0
    assert not any(found for found in before[1:8])
    for change in CHANGES.values():
        run(change)
    assert told(LOOKS) == before
    assert starter.numbers() == serving


KILLS = {
    "itself": "import os; os.kill(os.getpid(), 9)",
    "its parent": "import os; os.kill(os.getppid(), 9)",
    "all that it can": "import os; os.kill(-1, 9)",
    "its group": "import os; os.killpg(0, 9)",
    "with an exit": "import os; os._exit(7)",
    "by a wrong address": "import ctypes; ctypes.string_at(8)",
}


@pytest.mark.parametrize("code", KILLS.values(), ids=KILLS)
def test_what_kills_its_process_leaves_the_server_alone(
    starter: Starter, code: str
) -> None:
    first = told("1")
    serving = starter.numbers()
    kinds = {mark.exercise: mark.kind for mark in run(code).marks}
    kinds.pop("double")
    assert set(kinds.values()) == {"pass"}
    assert told("1") == first
    assert starter.numbers() == serving


@pytest.mark.parametrize("patch", ["every kind is a pass", "a built-in", "forged"])
def test_a_fork_that_changes_its_check_earns_nothing(
    starter: Starter, patch: str
) -> None:
    code = (PATCHES | SILENT | {"forged": FORGED})[patch]
    assert {mark.kind for mark in run(code).marks} == {"tampered"}
    assert run("pass").points == 3  # and the next one is not the worse for it


def test_the_server_is_out_of_sight(starter: Starter) -> None:
    """Neither its socket nor another student's file is among the open ones."""
    told("1")
    links = told(
        "[__import__('os').readlink(f'/proc/self/fd/{n}') for n in range(16)"
        " if __import__('os').path.exists(f'/proc/self/fd/{n}')]"
    )
    assert not any(link.startswith("socket:") for link in links), links
    assert not any(
        str(n) in told("__import__('os').listdir('/proc')") for n in starter.numbers()
    )


def test_a_fork_has_the_seed_and_the_folder_of_its_submission(starter: Starter) -> None:
    code = (
        "import os, tempfile; raise RuntimeError(repr((os.environ['WEFT_SEED'], "
        "os.environ['HOME'] == os.getcwd() == tempfile.gettempdir())))"
    )
    for seed in ("spring", "autumn"):
        result = run(code, Limits(seconds=60, seed=seed))
        text = next(mark.text for mark in result.marks if mark.exercise == "double")
        assert text == f"RuntimeError: ('{seed}', True)"


def test_a_fork_gives_the_marks_of_a_new_process(starter: Starter) -> None:
    paper = Paper(LAB, ROOT / "labs" / f"{LAB}.ipynb")
    handed_in = [
        right(*EXERCISES),
        {},
        answer("double", "wrong_square") | answer("add_index", "wrong_no_guard"),
    ]
    for answers in handed_in:
        cells = bytes_of(notebook(answers))
        fresh, forked = (
            sit(paper, "ana", cells, Limits(), begin) for begin in (Fresh, starter)
        )
        assert forked.marks == fresh.marks
        assert forked.answers == fresh.answers
    assert starter.forks


def in_tiers() -> Iterator[object]:
    """Yield the labs; in the fast tier, the one that needs magics of the shell."""
    for lab in syllabus.names():
        marks = [] if lab.startswith("04") else [pytest.mark.long]
        yield pytest.param(lab, marks=marks)


@pytest.mark.parametrize("lab", list(in_tiers()))
def test_the_solution_of_a_lab_passes_in_a_fork(lab: str) -> None:
    paper = Paper(lab, ROOT / "labs" / f"{lab}.ipynb")
    solved = (ROOT / "solutions" / f"{lab}.ipynb").read_bytes()
    starters = Starters(paper)
    try:
        result = sit(paper, "ana", solved, Limits(seconds=600), starters.mine())
        assert {m.exercise: m.kind for m in result.marks if not m.passed} == {}
        assert starters.mine().forks or lab.startswith("02")  # its modules have threads
    finally:
        starters.close()


@pytest.mark.skipif(bool(toolkit.find().missing), reason="no CUDA compiler here")
def test_a_forked_compiler_finds_double_precision() -> None:
    lab, name = "11_profiling", "cube_roots32"
    paper = Paper(lab, ROOT / "labs" / f"{lab}.ipynb")
    solved = cells_of(ROOT / "solutions" / f"{lab}.ipynb")
    kernel = next(cell for cell in solved if f"def {name}(" in cell)
    starter = Starter([lab, *paper.modules()])
    try:
        for constant, kind in (("1.0", "float64"), ("float32(1)", "pass")):
            changed = kernel.replace("float32(1)", constant)
            cells = [
                changed if f"def {name}(" in cell else cell for cell in paper.cells
            ]
            result = sit(paper, "ana", bytes_of(cells), Limits(), starter)
            kinds = {mark.exercise: mark.kind for mark in result.marks}
            assert kinds[name] == kind, result.marks
        assert len(starter.numbers()) == 2
    finally:
        starter.close()


THREAD = "import threading, time\nthreading.Thread(target=time.sleep, args=[9]).start()"
DRIVER = """
import mmap, pathlib
path = pathlib.Path(__file__).with_name("libcuda.so.1")
path.write_bytes(b"0" * 4096)
file = path.open("rb")
kept = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
"""


@pytest.mark.parametrize(
    ("source", "why"), [(THREAD, "it has threads"), (DRIVER, "the driver of a GPU")]
)
def test_a_process_that_must_not_fork_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, why: str
) -> None:
    """A lab whose modules start a thread, or load the driver, is graded as well."""
    (tmp_path / "harm.py").write_text(source, encoding="utf-8")
    begun = servers.environment

    def environment(home: str, seed: str) -> dict[str, str]:
        return begun(home, seed) | {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}

    monkeypatch.setattr(servers, "environment", environment)
    with pytest.raises(Unusable, match=why):
        Server("submissions", [LAB, "harm"])
    starter = Starter([LAB, "harm"])
    start.set(starter)
    assert run("pass").points == 3
    assert not starter.forks


def test_a_server_that_is_gone_is_done_without() -> None:
    starter = Starter([LAB])
    start.set(starter)
    try:
        assert run("pass").points == 3
        for number in starter.numbers():
            os.kill(number, 9)
        assert run("pass").points == 3
        assert not starter.forks
    finally:
        starter.close()


def test_nothing_is_forked_where_it_could_be_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(servers, "possible", lambda: False)
    starter = Starter([LAB])
    start.set(starter)
    assert run("pass").points == 3
    assert not starter.numbers()


def test_a_few_submissions_begin_with_an_empty_python(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Servers are started where there are more submissions than processes."""
    asked: list[Any] = []

    def mine(starters: Starters) -> Any:
        asked.append(starters)
        return Fresh

    monkeypatch.setattr(Starters, "mine", mine)
    paper = Paper(LAB, ROOT / "labs" / f"{LAB}.ipynb")
    paths = {}
    for name in "ab":
        paths[name] = tmp_path / f"{name}.ipynb"
        paths[name].write_bytes(bytes_of([]))
    list(marked(paper, paths, Limits(), 2, Record(None)))
    assert asked == []
    list(marked(paper, paths, Limits(), 1, Record(None)))
    assert len(asked) == 2


def test_modules_that_a_lab_imports() -> None:
    for lab in syllabus.names()[:3]:
        paper = Paper(lab, ROOT / "labs" / f"{lab}.ipynb")
        assert {"weft", "numba", "numba.cuda"} <= paper.modules()


@pytest.mark.skipif(sys.platform != "linux", reason="of Linux")
def test_a_server_ends_with_the_grader() -> None:
    server = Server("submissions", [LAB])
    server._control.close()
    assert server._process.wait(60) == 0
    server.close()
