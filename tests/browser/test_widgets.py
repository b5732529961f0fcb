"""A page with a widget's state shows the widget, with no kernel and no network."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
from built_book import ROOT

ESM = """
export default {
  render({ model, el }) {
    const button = document.createElement("button");
    button.className = "picks";
    const show = () => { button.textContent = `picks: ${model.get("picks")}`; };
    button.onclick = () => { model.set("picks", model.get("picks") + 1); };
    model.on("change:picks", show);
    show();
    el.append(button);
  },
};
"""
MODEL, LAYOUT = "aa" * 16, "bb" * 16


def widget_notebook() -> nbformat.NotebookNode:
    view = {
        "application/vnd.jupyter.widget-view+json": {
            "version_major": 2,
            "version_minor": 1,
            "model_id": MODEL,
        },
        "text/plain": "Picks()",
    }
    state = {
        LAYOUT: {
            "model_name": "LayoutModel",
            "model_module": "@jupyter-widgets/base",
            "model_module_version": "2.0.0",
            "state": {},
        },
        MODEL: {
            "model_name": "AnyModel",
            "model_module": "anywidget",
            "model_module_version": "~0.11.*",
            "state": {
                "_model_module": "anywidget",
                "_model_module_version": "~0.11.*",
                "_model_name": "AnyModel",
                "_view_module": "anywidget",
                "_view_module_version": "~0.11.*",
                "_view_name": "AnyView",
                "_view_count": None,
                "_dom_classes": [],
                "_anywidget_id": "picks",
                "_esm": ESM,
                "layout": f"IPY_MODEL_{LAYOUT}",
                "picks": 3,
            },
        },
    }
    cell = nbformat.v4.new_code_cell(
        "Picks()",
        execution_count=1,
        outputs=[nbformat.v4.new_output("display_data", view)],
    )
    bundle = {"version_major": 2, "version_minor": 0, "state": state}
    return nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_markdown_cell("# Picks"), cell],
        metadata={
            "language_info": {"name": "python", "pygments_lexer": "ipython3"},
            "widgets": {"application/vnd.jupyter.widget-state+json": bundle},
        },
    )


def test_a_widget_lives_without_kernel_and_network(
    open_page: Callable, serve: Callable[[Path], str], tmp_path: Path
) -> None:
    source = tmp_path / "source"
    for name in ("book/_static", "book/_ext", "book/vendor", "weft"):
        shutil.copytree(ROOT / name, source / name)
    for name in ("_config.yml", "book/build.py", "book/references.bib"):
        shutil.copyfile(ROOT / name, source / name)
    (source / "_toc.yml").write_text(
        "format: jb-book\nroot: book/picks\nchapters:\n- file: book/more\n"
    )
    (source / "book" / "more.md").write_text("# More\n\nA second page.\n")
    nbformat.write(widget_notebook(), source / "book" / "picks.ipynb")
    built = subprocess.run(
        [sys.executable, "book/build.py"], cwd=source, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stdout + built.stderr

    watched = open_page()
    page = watched.page
    page.goto(serve(source / "_build" / "html") + "/book/picks.html")
    button = page.locator("button.picks")
    button.wait_for()
    assert button.inner_text() == "picks: 3"
    button.click()
    assert button.inner_text() == "picks: 4"
    assert watched.left == []
