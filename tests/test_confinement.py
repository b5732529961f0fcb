"""What runs for a submission sees only its own, and leaves nothing behind.

That holds for a process that begins with an empty Python, and for one that was forked.
What the inspector refuses is run here all the same, from the instructor's copy, as if
it had found a way past it.
"""

import ast
import os
import sys
import time
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest
from test_grade import EXERCISES, LAB, ROOT, damaged, notebook, right
from test_poisoned_submissions import bytes_of

from grading import landlock
from grading.namespaces import Apart
from grading.processes import MOST, Fresh, Running, Start, isolated, isolation
from grading.servers import Starter, possible
from grading.sitting import Limits, Result, sit

linux = pytest.mark.skipif(sys.platform != "linux", reason="of Linux")
alone = pytest.mark.skipif(isolated() is not Apart.ALL, reason="no namespaces here")
files = pytest.mark.skipif(not landlock.version(), reason="no Landlock here")


start: ContextVar[Start] = ContextVar("start")


@pytest.fixture(scope="module", params=["fresh", "forked"])
def starting(request: pytest.FixtureRequest) -> Iterator[Start]:
    """Both ways in which a submission's process begins."""
    if request.param == "fresh":
        yield Fresh
    elif not possible():
        pytest.skip("nothing is forked here")
    else:
        starter, begun = Starter([LAB]), []

        def forked(*what: Any) -> Running:
            begun.append(what)
            return starter(*what)

        yield forked
        assert starter.forks or not begun, "it was given up"
        starter.close()


@pytest.fixture(autouse=True)
def _begun(starting: Start) -> None:
    start.set(starting)


def run(code: str, limits: Limits | None = None) -> Result:
    """Run code, one line, in the process of a submission whose answers are right."""
    answers = right(*EXERCISES)
    answers["double"] += "\n    HERE = 1\n"
    paper, cells = damaged("double", code), bytes_of(notebook(answers))
    return sit(paper, "eve", cells, limits or Limits(seconds=30), start.get())


def told(expression: str) -> Any:
    """The value of an expression there, as far as it can be written down."""
    code = f"raise RuntimeError(repr({expression}))"
    text = next(m.text for m in run(code).marks if m.exercise == "double")
    assert text.startswith("RuntimeError: "), text
    return ast.literal_eval(text.removeprefix("RuntimeError: "))


def opened(*asked: tuple[str, str]) -> list[str]:
    """What happened to attempts to open a file, each with its mode."""
    code = (
        "found = []\n"
        f"    for path, mode in {list(asked)!r}:\n"
        "        try: open(path, mode).close(); found.append('opened')\n"
        "        except OSError as error: found.append(type(error).__name__)\n"
        "    raise RuntimeError(repr(found))"
    )
    text = next(m.text for m in run(code).marks if m.exercise == "double")
    result: list[str] = ast.literal_eval(text.removeprefix("RuntimeError: "))
    return result


@linux
@files
def test_files_outside_are_out_of_reach(tmp_path: Path) -> None:
    """It reads Python and the course, but no answers, and writes its own folder."""
    other = tmp_path / "ana.ipynb"
    other.write_text("{}", encoding="utf-8")
    asked = {
        (str(ROOT / "weft" / "cells.py"), "r"): "opened",
        ("/etc/hosts", "r"): "opened",
        ("own.txt", "w"): "opened",
        ("/dev/null", "w"): "opened",
        (str(other), "r"): "PermissionError",
        (str(other), "w"): "PermissionError",
        (str(tmp_path / "new"), "w"): "PermissionError",
        (str(ROOT / "sitecustomize.py"), "w"): "PermissionError",
        (str(ROOT / "weft" / "cells.py"), "a"): "PermissionError",
        (str(ROOT / "solutions" / f"{LAB}.ipynb"), "r"): "PermissionError",
        (str(ROOT / "chapters" / LAB / "lab.py"), "r"): "PermissionError",
        ("/dev/shm/left", "w"): "PermissionError",
        (str(Path.home() / ".profile"), "a"): "PermissionError",
    }
    assert dict(zip(asked, opened(*asked), strict=True)) == asked
    assert other.read_text(encoding="utf-8") == "{}"


@linux
@alone
def test_other_processes_are_out_of_sight() -> None:
    seen = told("[n for n in __import__('os').listdir('/proc') if n.isdigit()]")
    assert len(seen) <= 3, seen  # itself, and the compiler's process
    assert str(os.getpid()) not in seen


@linux
@alone
def test_the_network_is_off() -> None:
    names = told("[name for _, name in __import__('socket').if_nameindex()]")
    assert names == ["lo"]


@linux
@alone
def test_what_a_submission_starts_ends_with_it(tmp_path: Path) -> None:
    """In a session of its own, too."""
    word = f"seconds-{os.getpid()}"
    code = (
        "import os, subprocess, sys; subprocess.Popen([sys.executable, '-c', "
        f"'import time; time.sleep(99)  # {word}'], start_new_session=True)"
    )
    assert run(code).points == 3
    for _ in range(20):
        left = [p for p in Path("/proc").glob("[0-9]*/cmdline") if _has(p, word)]
        if not left:
            break
        time.sleep(0.1)
    assert left == []


def _has(path: Path, word: str) -> bool:
    try:
        return word in path.read_text(errors="replace")
    except OSError:
        return False


@linux
@alone
def test_too_many_processes_are_stopped() -> None:
    code = (
        "import os, time\n"
        "    for _ in range(400):\n"
        "        if not os.fork(): time.sleep(60)\n"
        "    time.sleep(60)"
    )
    kinds = {m.exercise: m.kind for m in run(code).marks}
    # Each of them counts with all its memory; a user's own limit may be less.
    assert kinds.pop("double") in ("processes", "memory", "error")
    assert set(kinds.values()) == {"pass"}


@linux
@alone
def test_the_memory_of_all_its_processes_counts() -> None:
    code = (
        "import os, time\n"
        "    for _ in range(3):\n"
        "        if not os.fork():\n"
        "            os.setsid(); x = bytearray(1 << 29); time.sleep(60)\n"
        "    time.sleep(60)"
    )
    kinds = {m.exercise: m.kind for m in run(code, Limits(seconds=30, memory=1)).marks}
    assert kinds.pop("double") == "memory"
    assert set(kinds.values()) == {"pass"}


@linux
def test_a_file_has_a_largest_size() -> None:
    code = "open('large', 'wb').truncate(1 << 30)"
    text = next(m.text for m in run(code).marks if m.exercise == "double")
    assert "File too large" in text


def test_what_a_system_lacks_is_said() -> None:
    said = list(isolation())
    lacks = [not isolated(), isolated() is not Apart.ALL, not landlock.version()]
    assert len(said) == sum(lacks)


def test_the_documents_promise_the_same() -> None:
    """What remains possible, and which limits there are, stands there as it is."""
    documents = [ROOT / "SECURITY.md", ROOT / "book" / "teaching.md"]
    texts = [" ".join(path.read_text(encoding="utf-8").split()) for path in documents]
    begins = "Marks for unsupervised work are evidence, not proof."
    ends = "even in a container."
    said = [text[text.index(begins) : text.index(ends)] for text in texts]
    assert said[0] == said[1]
    limits = Limits()
    assert (limits.seconds, limits.total, limits.memory) == (120, 900, 4)
    for written in ("two minutes", "15 minutes", "4 GB", f"{MOST} processes"):
        assert written in texts[1]
