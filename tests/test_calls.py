"""A fault in a function that a kernel calls: whose line it is, and where the call."""

import linecache

import numpy as np
import pytest

import weft
from weft import chapters
from weft.simulator import Fault, simulate

from numba import cuda, float32  # isort: skip

GIVEN = """\
@cuda.jit(device=True)
def put(cells, value):
    cells[cuda.threadIdx.x // 32] = value


@cuda.jit(device=True)
def total(value):
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, step)
    return value


@cuda.jit(device=True)
def block_total(value):
    cells = cuda.shared.array(2, float32)
    value = total(value)
    if cuda.threadIdx.x % 32 == 0:
        put(cells, value)
    cuda.syncthreads()
    return cells[0] + cells[1]


@cuda.jit(device=True)
def wait_for(x):
    while x[0] >= float32(0):
        pass


@cuda.jit(device=True)
def element(x, i):
    return x[i]


@cuda.jit(device=True)
def wrong_sum(out, i, value):
    out[i] = value + float32(1)


@cuda.jit(device=True)
def far_apart(x, i):
    return x[i * 8 % 64]


@cuda.jit(device=True)
def meet():
    cuda.syncthreads()
"""

KERNEL = """\
@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    {body}
"""


def cell(source, name, scope):
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), scope)
    return scope


def kernel(body, apart=True):
    """The kernel with this body, its functions in another cell or in the same."""
    scope = {"cuda": cuda, "float32": float32}
    text = KERNEL.format(body=body.replace("\n", "\n    "))
    if apart:
        cell(GIVEN, "<cell 1>", scope)
        return cell(text, "<cell 2>", scope)["kernel"]
    return cell(f"{GIVEN}\n\n{text}", "<cell 3>", scope)["kernel"]


def verdict(body, monkeypatch, apart=True, **options):
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    return weft.check(
        kernel(body, apart),
        spec=lambda x: np.full_like(x, x.sum()),
        inputs=lambda rng, n: (rng.integers(0, 9, n).astype(np.float32),),
        sizes=[64],
        launch=lambda n: (1, n),
        unseen=False,
        **options,
    )


def test_an_endless_loop_of_a_given_function_is_shown_after_the_learners_line(
    monkeypatch,
):
    found = verdict("wait_for(x)", monkeypatch)
    assert found.kind == "endless-loop"
    assert said(found) == [
        (4, "never comes back from `wait_for`"),
        (25, "the loop, in `wait_for`, of another cell"),
    ]


def said(found):
    return [(place.line, note) for place, note in found.places]


def test_a_race_is_in_the_given_function_and_each_of_its_calls_is_named(monkeypatch):
    body = "a = block_total(x[i])\nb = block_total(x[i])\nout[i] = a + b"
    found = verdict(body, monkeypatch)
    assert found.kind == "race"
    lines, notes = zip(*said(found), strict=True)
    assert lines == (3, 18, 5, 20, 4)
    assert notes[0].endswith("in `put`, of another cell")
    assert notes[1] == "called here, in `block_total`, of another cell"
    assert notes[3].endswith("in `block_total`, of another cell")
    assert notes[2] == notes[4] == "called here"


def test_one_call_for_both_sides_of_a_race_is_shown_once(monkeypatch):
    body = "cells = cuda.shared.array(64, float32)\nput(cells, x[i])\nout[i] = x[i]"
    assert said(verdict(body, monkeypatch)) == [
        (3, "written by thread 0, in `put`, of another cell"),
        (
            3,
            "written by thread 1, with nothing in between to make either wait, "
            "in `put`, of another cell",
        ),
        (5, "called here"),
    ]


@pytest.mark.parametrize(
    ("body", "kind", "line", "function", "call"),
    [
        ("out[i] = element(x, i + 1)", "out-of-bounds", 31, "element", 4),
        ("out[i] = element(x, i - 1)", "negative-index", 31, "element", 4),
        ("wrong_sum(out, i, x[i])", "wrong-value", 36, "wrong_sum", 4),
        (
            "cells = cuda.shared.array(64, float32)\nout[i] = element(cells, i)",
            "uninitialised",
            31,
            "element",
            5,
        ),
        ("if i < 8:\n    out[i] = total(x[i])", "warp", 9, "total", 5),
        (
            "if i < 32:\n    meet()\nelse:\n    cuda.syncthreads()",
            "barrier",
            46,
            "meet",
            5,
        ),
        ("out[i] = element(x, i)[0]", "exception", 4, "", 0),
    ],
    ids=lambda value: value if isinstance(value, str) and "-" in value else "",
)
def test_whose_line_it_is_and_who_called(body, kind, line, function, call, monkeypatch):
    found = verdict(body, monkeypatch)
    assert found.kind == kind, repr(found)
    notes = said(found)
    if not function:
        assert notes[0] == (line, "")
        return
    mine = [k for k, (_, note) in enumerate(notes) if f"in `{function}`, of" in note]
    assert notes[mine[0]][0] == line
    own_first = kind in ("wrong-value", "uninitialised")
    after = -1 if own_first else 1  # a learner's own lines come first
    note = "called here; reads x" if kind == "wrong-value" else "called here"
    assert notes[mine[0] + after] == (call, note)
    assert f"in `{function}`, of another cell" in repr(found)


def test_a_cost_names_the_call_as_well(monkeypatch):
    body = "far_apart(x, i)\nout[i] = block_total(x[i])"
    found = verdict(body, monkeypatch, limits={"sectors": 5})
    assert found.kind == "sectors"
    (line, note), call = said(found)
    assert line == 41
    assert note.endswith("in `far_apart`, of another cell")
    assert call == (4, "called here")


def test_a_function_of_the_same_cell_is_not_of_another(monkeypatch):
    found = verdict("out[i] = element(x, i + 1)", monkeypatch, apart=False)
    assert [note for _, note in said(found)] == ["in `element`", "called here"]


def test_a_line_of_the_kernel_is_shown_with_its_index(monkeypatch):
    assert said(verdict("out[i] = x[i + 1]", monkeypatch)) == [(4, "`i` is 63")]


def test_a_launch_outside_of_a_check_says_so_too():
    x = np.ones(32, np.float32)
    with pytest.raises(Fault) as caught:
        simulate(kernel("out[i] = element(x, i + 1)"), (1, 32), (x, x.copy()))
    assert "line 31 of `element`: return x[i]" in str(caught.value)
    assert "line 4: out[i] = element(x, i + 1)" in str(caught.value)


def test_a_function_of_the_chapter_is_looked_for_in_its_module():
    file = chapters.folder() / "24_attention" / "kernels.py"
    assert chapters.origin(str(file)) == "in the chapter's `kernels.py`"
    assert chapters.origin("<ipython-input-3>") == "of another cell"
