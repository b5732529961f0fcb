"""`explore` on kernels whose accesses are known; figures as single modules."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from counting import lines_run

import weft

from numba import cuda, float32  # isort: skip
from weft import effort
from weft.counters import count
from weft.exploring import choose, explore, figure, names
from weft.exploring.accesses import state_of
from weft.exploring.linking import FOLDER, linked
from weft.simulator import record


@cuda.jit
def transpose(x, out):
    tile = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)

    if row < x.shape[0] and col < x.shape[1]:
        tile[ty, tx] = x[row, col]
    cuda.syncthreads()

    row = cuda.blockIdx.x * 32 + ty
    col = cuda.blockIdx.y * 32 + tx
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = tile[tx, ty]


def shapes(m: int, n: int) -> tuple[Any, Any]:
    return np.ones((m, n), np.float32), np.zeros((n, m), np.float32)


def test_explore_is_what_weft_exports() -> None:
    assert weft.explore is explore


def test_the_state_is_what_the_counters_say() -> None:
    trace, _ = record(transpose, ((2, 2), (32, 32)), shapes(40, 50))
    state = state_of(trace, transpose.py_func)
    lines = count(trace)
    assert len(state["accesses"]) == len(lines) == 4
    for access, line in zip(state["accesses"], lines, strict=True):
        assert (access["array"], access["store"]) == (line.array, line.store)
        assert access["requests"] == line.requests
        assert access["ideal"] * line.requests == pytest.approx(line.ideal)
        spent = line.ideal + line.conflicts if line.shared else line.sectors
        assert access["per"] * line.requests == pytest.approx(spent)
    code = dict(state["code"])
    chosen = state["accesses"][state["chosen"]]
    assert chosen["array"] == "tile"
    assert code[chosen["line"]].strip() == "out[row, col] = tile[tx, ty]"
    json.dumps(state)  # what goes to the browser


def test_requests_have_their_lanes_and_addresses() -> None:
    @cuda.jit
    def scale(x):
        for i in range(cuda.threadIdx.x, x.size, 48):
            x[i] *= 2

    trace, _ = record(scale, (1, 48), (np.zeros(100, np.float32),))
    access = state_of(trace, scale.py_func)["accesses"][0]
    shown = [(r["warp"], r["time"], len(r["lanes"])) for r in access["shown"]]
    assert shown == [(0, 0, 32), (0, 1, 32), (0, 2, 4), (1, 0, 16), (1, 1, 16)]
    assert access["shown"][2]["addresses"] == [384, 388, 392, 396]
    assert access["requests"] == 5


def test_a_full_block_runs_once_and_its_state_is_small() -> None:
    with effort.counted() as done:
        shown = explore(transpose)[1, (32, 32)](*shapes(32, 32))
    assert (done["launches"], done["threads"], done["accesses"]) == (1, 1024, 4096)
    assert len(json.dumps(shown.state)) < 100_000  # characters


def test_a_state_takes_few_lines_of_python_per_access() -> None:
    trace, _ = record(transpose, (1, (32, 32)), shapes(32, 32), rows=True)
    lines = lines_run(lambda: state_of(trace, transpose.py_func))
    assert lines < 10 * len(trace)  # 3.6 lines for each of 4,096 accesses


def test_arguments_hold_the_result() -> None:
    x, out = np.arange(12, dtype=np.float32).reshape(3, 4), np.zeros((4, 3), np.float32)
    explore(transpose)[1, (32, 32)](x, out)
    assert (out == x.T).all()


def test_without_widgets_a_table_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    with_widgets = explore(transpose)[1, (32, 32)](*shapes(32, 32))
    monkeypatch.delitem(sys.modules, "weft.exploring.widget")
    monkeypatch.setitem(sys.modules, "anywidget", None)
    shown = explore(transpose)[1, (32, 32)](*shapes(32, 32))
    assert "tile read, 32 requests, 32 passes each (1 at best)" in repr(shown)
    assert "<td" in shown._repr_html_()
    data, _ = with_widgets._repr_mimebundle_()
    assert data["text/plain"] == repr(shown)
    assert data["text/html"] == shown._repr_html_()


def test_what_a_notebook_keeps_is_small_and_enough() -> None:
    shown = explore(transpose)[1, (32, 32)](*shapes(32, 32))
    html = shown._repr_mimebundle_()[0]["text/html"]
    assert len(html) < 20_000  # characters
    found = re.search(r'data-figure="trace".*?json">(.*?)</script>', html)
    assert found is not None
    kept = json.loads(found[1])
    assert kept["code"] == [list(line) for line in shown.state["code"]]
    assert [len(a["shown"]) for a in kept["accesses"]] == [6, 6, 6, 6]
    assert [a["requests"] for a in kept["accesses"]] == [32, 32, 32, 32]
    book = figure("warp_access", stride=2)._repr_mimebundle_()[0]["text/html"]
    assert 'data-figure="warp_access"' in book
    assert '{"stride":2}' in book


@cuda.jit
def laps(x, step, out):
    for i in range(cuda.grid(1) * step, x.size, cuda.gridsize(1) * step):
        out[i] += x[i]


def test_parameters_of_a_run_are_controls() -> None:
    x, out = np.ones(256, np.float32), np.zeros(256, np.float32)
    shown = explore(laps)[choose(1, 2), 32](x, choose(1, 8), out)
    assert list(shown.controls) == ["blocks", "step"]
    assert out.tolist() == [1.0] * 256
    assert [a["requests"] for a in shown.figure.state["accesses"]] == [8, 8, 8]
    assert shown.figure.state["accesses"][0]["per"] == 4

    shown.figure.state = shown.figure.state | {"chosen": 2}
    shown.controls["step"].value = 8
    state = shown.figure.state
    assert [a["requests"] for a in state["accesses"]] == [1, 1, 1]
    assert (state["accesses"][0]["per"], state["chosen"]) == (32, 2)
    shown.controls["blocks"].value = 2
    assert [a["requests"] for a in shown.figure.state["accesses"]] == [1, 1, 1]
    shown.controls["step"].value = 1
    first = shown.figure.state["accesses"][0]["shown"]
    assert {request["block"] for request in first} == {0, 1}
    assert out.tolist() == [1.0] * 256  # only the first launch is the learner's
    kept = shown._repr_mimebundle_()
    assert 'data-figure="trace"' in kept["text/html"]
    assert "jupyter.widget-view" in " ".join(kept)


def test_a_choice_that_breaks_the_kernel_says_so() -> None:
    @cuda.jit
    def shift(x, by):
        x[cuda.grid(1) + by] = 1

    shown = explore(shift)[1, 32](np.zeros(40, np.float32), choose(0, 9))
    before = shown.figure.state
    shown.controls["by"].value = 9
    assert "x[40]" in shown.children[1].value
    assert shown.figure.state == before
    shown.controls["by"].value = 0
    assert shown.children[1].value == ""


def test_a_choice_needs_something_to_choose_from() -> None:
    with pytest.raises(ValueError, match="give it the values"):
        choose(3)


def test_a_kernel_without_accesses_is_explored() -> None:
    @cuda.jit
    def idle(x):
        pass

    shown = explore(idle)[1, 32](np.zeros(4, np.float32))
    assert shown.state["accesses"] == []
    advice = "Once the kernel has some, run this cell again."
    assert repr(shown) == f"idle: no access to an array was seen. {advice}"
    assert repr(shown) in shown._repr_mimebundle_()[0]["text/html"]


def test_an_unknown_figure_is_refused() -> None:
    with pytest.raises(ValueError, match="there are all_reduce, banks, barrier"):
        figure("warp_acces")


def test_a_linked_figure_is_one_module(tmp_path: Path) -> None:
    node = shutil.which("node")
    assert "trace" in names()
    for name in names():
        code = linked(name)
        assert 'from "./' not in code
        module = tmp_path / f"{name}.mjs"
        module.write_text(code, encoding="utf8")
        if node:
            run = f"const m = await import({json.dumps(str(module))});"
            run += "if (typeof m.default.render !== 'function') process.exit(3);"
            command = [node, "--input-type=module", "--eval", run]
            subprocess.run(command, check=True)


def test_no_module_fetches_from_elsewhere() -> None:
    for path in FOLDER.glob("*.js"):
        code = path.read_text(encoding="utf8")
        hosts = set(code.split("http")[1:])
        assert all("www.w3.org" in host[:30] for host in hosts), path.name
