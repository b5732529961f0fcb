"""The last check of an exercise as a file: whole, and harmless to whoever opens it."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import weft

from numba import cuda  # isort: skip
from weft import check, share, shared
from weft.errors import LearnerError

ROOT = Path(__file__).parents[1]
EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"


@cuda.jit
def shifted(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i + 1]


@cuda.jit
def doubled(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + x[i]


def checked(kernel):
    return check(
        kernel,
        spec=lambda x: 2 * x,
        inputs=lambda rng, n: rng.random(n, np.float32),
        sizes=[64, 100],
        launch=lambda n: (-(-n // 32), 32),
    )


@pytest.fixture
def file(tmp_path):
    checked(doubled)
    share("doubled", tmp_path / "doubled.weft.json")
    return tmp_path / "doubled.weft.json"


def test_what_is_shared_comes_back(tmp_path):
    verdict = checked(shifted)
    assert not verdict
    path = tmp_path / "ana.json"
    assert str(path) in share(shifted, path)
    found = shared(path)
    assert found.verdict == verdict
    assert repr(verdict) in repr(found)
    assert "out[i] = x[i + 1]" in found.code
    assert found.exercise == "shifted"


def test_a_kernels_trace_comes_along(file):
    found = shared(file)
    assert found.verdict
    title, _, table, facts = found.trace
    assert title == "doubled[2, 32]"
    assert any("out[i] = x[i] + x[i]" in cell for row in table for cell in row)
    assert any("global memory" in fact for fact in facts)
    assert "doubled[2, 32]" in found._repr_html_()


def test_a_plain_function_has_no_trace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def third(n):
        return n // 3

    check(third, spec=lambda n: n // 2, inputs=[(9,), (3,)])
    share(third)
    found = shared("third.weft.json")
    assert found.trace is None
    assert found.verdict.kind == "wrong-value"
    assert "return n // 3" in found.code


def test_a_cell_of_a_notebook_comes_whole(tmp_path):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    cell = "HALF = 2\n\ndef halved(n):\n    return n // HALF"
    shell.run_cell("import weft\nfrom weft import check")
    shell.run_cell(cell)
    shell.run_cell("check(halved, spec=lambda n: n // 2, inputs=[(4,), (9,)])")
    path = tmp_path / "halved.json"
    share("halved", path)
    assert shared(path).code.strip() == cell
    assert str(tmp_path) not in path.read_text()


def test_no_path_of_the_author_is_in_the_file(file):
    assert str(Path.home()) not in file.read_text()
    assert "/" not in json.loads(file.read_text())["verdict"]["message"]


def test_what_has_not_been_checked_cannot_be_shared(tmp_path):
    with pytest.raises(LearnerError, match="run its check first"):
        share("never_checked")
    checked(doubled)
    with pytest.raises(LearnerError, match="Name another file"):
        share("doubled", tmp_path / "none" / "file.json")


def poisoned(thing):
    """The same data, with HTML in every text that may be any."""
    match thing:
        case dict():
            closed = ("kind", "topic")
            return {k: v if k in closed else poisoned(v) for k, v in thing.items()}
        case list():
            return [poisoned(part) for part in thing]
        case str():
            return EVIL
    return thing


def test_nothing_in_a_file_runs(file, tmp_path):
    given = json.loads(file.read_text())
    path = tmp_path / "evil.json"
    path.write_text(json.dumps(poisoned(given)))
    page = shared(path).page()
    for html in (page, shared(path)._repr_html_()):
        assert "<script" not in html
        assert "<img" not in html
    assert "default-src 'none'" in page


@pytest.mark.parametrize(
    "change",
    [
        {"warp-and-weft-share": 2},
        {"code": 3},
        {"verdict": None},
        {"verdict": {"kind": "pass"}},
        {"trace": {"title": "", "subtitle": "", "table": [["a"], []], "facts": []}},
    ],
)
def test_a_file_that_is_not_one_is_refused(file, tmp_path, change):
    path = tmp_path / "other.json"
    path.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(LearnerError, match=r"^other.json was not written by"):
        shared(path)


@pytest.mark.parametrize("content", [b"", b"\xff", b"[" * 90_000, b"{}", b"3"])
def test_a_damaged_file_is_refused(tmp_path, content):
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(LearnerError, match="was not written by"):
        shared(path)
    with pytest.raises(LearnerError, match="cannot be read"):
        shared(tmp_path / "none.json")


def test_it_becomes_a_page_without_a_notebook(file):
    done = subprocess.run(
        [sys.executable, "-m", "weft.sharing", str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("<!doctype html>")
    assert "passed" in done.stdout
    assert weft.share is share
