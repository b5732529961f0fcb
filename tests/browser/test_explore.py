"""`explore` in JupyterLab: a learner's own kernel in the figures of the book."""

import sys
from collections.abc import Callable
from pathlib import Path

import nbformat

sys.path.insert(0, str(Path(__file__).parent))
from test_jupyterlab import Server, jupyterlab, run_all  # noqa: F401

AXE = Path(__file__).parent / "axe" / "axe.min.js"
SETUP = """
import weft
import numpy as np
from numba import cuda, float32
from weft import explore
from weft.exploring import choose, figure
"""
KERNEL = """
@cuda.jit
def turn(x, out):
    tile = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = x[ty, tx]
    cuda.syncthreads()
    out[ty, tx] = tile[tx, ty]

x = np.ones((32, 32), np.float32)
explore(turn)[1, (32, 32)](x, np.zeros_like(x))
"""

STEPS = """
@cuda.jit
def skip(x, step, out):
    i = cuda.grid(1)
    out[i] = x[step * i]

explore(skip)[1, 32](np.ones(256, np.float32), choose(1, 8), np.zeros(32, np.float32))
"""


def test_a_kernel_is_explored_in_jupyterlab(
    open_page: Callable,
    jupyterlab: Server,  # noqa: F811
) -> None:
    book = ['figure("warp_access", stride=2)', 'figure("banks")']
    cells = [SETUP, KERNEL, *book, STEPS]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell.strip()) for cell in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(notebook, jupyterlab.folder / "labs" / "explored.ipynb")
    watched = open_page(width=1300, height=1400)
    page = watched.page
    page.goto(jupyterlab.of("labs/explored.ipynb"))
    page.locator(".jp-CodeCell").first.wait_for()
    page.get_by_role("button", name="| Idle").wait_for()
    run_all(page)

    figures = page.locator(".weft-figure")
    figures.nth(3).wait_for()
    mine, access, _, steps = figures.all()
    # Each figure has a copy of its code, and yet its own groups of choices.
    chosen = "all => all.map(f => f.querySelectorAll('input:checked').length)"
    assert page.locator(".weft-figure fieldset").evaluate_all(chosen) == [1] * 5
    # The costliest access comes first: the column of the tile.
    assert mine.locator(".here pre").inner_text() == "    out[ty, tx] = tile[tx, ty]"
    assert mine.locator(".numbers").inner_text().split()[:2] == ["32", "passes"]
    mine.get_by_role("button", name="out: 4 sectors").click()
    assert mine.locator(".numbers").inner_text().split()[:2] == ["4", "sectors"]
    focused = "document.activeElement.textContent"
    assert "out: 4 sectors" in page.evaluate(focused)
    mine.get_by_role("slider").press("End")
    assert "block 0, warp 31" in mine.locator(".range").inner_text()

    assert access.locator(".numbers").inner_text().split()[:2] == ["8", "sectors"]
    stride = access.get_by_role("slider").first
    stride.press("End")
    assert access.locator(".numbers").inner_text().split()[:2] == ["32", "sectors"]

    steps.get_by_role("button", name="x: 4 sectors").wait_for()
    control = page.locator(".jupyter-widgets [role=slider]")  # a parameter of the run
    control.press("ArrowRight")
    steps.get_by_role("button", name="x: 32 sectors").wait_for()
    assert page.locator(".widget-readout").inner_text() == "8"

    page.add_script_tag(path=str(AXE))
    found = page.evaluate("axe.run('.weft-figure', { resultTypes: ['violations'] })")
    serious = [v["id"] for v in found["violations"] if v["impact"] == "serious"]
    assert serious == []
    assert watched.left == []
