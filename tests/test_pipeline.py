"""The pipeline on small notebooks: what it keeps, what it drops, what it refuses."""

import json
import os
import re
import sys
from pathlib import Path

import nbformat
import pytest

from pipeline import PipelineError, edited, execute, labs, measured, notebook
from pipeline.__main__ import main
from pipeline.machine import environment
from pipeline.wordless import wordless

STEM = "42_answer"

SCRIPT = '''\
# %% [markdown]
# # 42 · An answer

# %%
import weft

weft.lab("42_answer")

# %%
def double(x):
    """Return twice x."""
    # about 1 line
    # BEGIN SOLUTION
    return 2 * x
    # END SOLUTION


# %%
double(21)

# %% [markdown] tags=["solution"]
# Twice is once more than once.
'''

RUNNING = """\
from weft import device


def plan(labs):
    gpu = device.find()
    return {"line": gpu.name, "reason": gpu.reason, "skips": {}, "stops": [],
            "lacks": []}
"""
WEFT = """\
def lab(stem):
    print("lab", stem)
"""
DEVICE = """\
from types import SimpleNamespace


def find():
    return SimpleNamespace(
        usable=True, reason="", name="Imagined GPU", capability=(8, 6), cuda=(13, 0))


def driver_version():
    return "580.1"
"""
VERSIONS = "def installed():\n    return {'numpy': '2.4.6'}\n"
STAMP = {
    "device": "Imagined GPU",
    "capability": "8.6",
    "driver": "580.1",
    "cuda": "13.0",
    "versions": {"numpy": "2.4.6"},
}


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course of one notebook, with a `weft` that imagines a GPU."""
    for name, text in {
        f"chapters/{STEM}/lab.py": SCRIPT,
        "weft/__init__.py": WEFT,
        "weft/device.py": DEVICE,
        "weft/lesson/running.py": RUNNING,
        "weft/versions.py": VERSIONS,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "solutions").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WEFT_SIMULATOR", raising=False)
    return tmp_path


@pytest.fixture
def pipeline(capfd):
    """Call `python -m pipeline`: returns its exit status, output and errors."""

    def call(*arguments: str) -> tuple[int, str, str]:
        status = main(list(arguments))
        return status, *capfd.readouterr()

    return call


def add(course: Path, stem: str, text: str) -> None:
    path = notebook.script(course, stem)
    path.parent.mkdir()
    path.write_text(text)


def edit(course: Path, old: str, new: str) -> None:
    path = notebook.script(course, STEM)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def rebuild(course: Path):
    notebook.write(notebook.build(course, STEM), notebook.solution(course, STEM))
    return notebook.read(notebook.solution(course, STEM))


def ran(course: Path):
    """Give the code cells outputs, as a run would."""
    nb = rebuild(course)
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    for count, cell in enumerate(code, 1):
        cell.execution_count = count
        cell.outputs = [nbformat.v4.new_output("stream", text=f"output {count}\n")]
    nbformat.write(nb, notebook.solution(course, STEM))
    return nb


def texts(nb) -> list[str]:
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    return ["".join(o.get("text", "") for o in cell.outputs) for cell in code]


# notebooks


def test_a_second_build_changes_nothing(course):
    assert notebook.write(notebook.build(course, STEM), notebook.solution(course, STEM))
    first = notebook.solution(course, STEM).read_bytes()
    assert not notebook.write(
        notebook.build(course, STEM), notebook.solution(course, STEM)
    )
    assert notebook.solution(course, STEM).read_bytes() == first


def test_other_prose_keeps_outputs(course):
    ran(course)
    edit(course, "# # 42 · An answer", "# # 42 · The answer\n#\n# To everything.")
    nb = rebuild(course)
    assert texts(nb) == ["output 1\n", "output 2\n", "output 3\n"]
    assert [c.execution_count for c in nb.cells if "outputs" in c] == [1, 2, 3]
    assert "The answer" in nb.cells[0].source


def test_another_bound_of_a_claim_keeps_outputs(course):
    edit(course, "double(21)", 'table.expect("mine", at_least=1.1, times="theirs")')
    ran(course)
    edit(course, "at_least=1.1", "at_least=0.97")
    assert texts(rebuild(course)) == ["output 1\n", "output 2\n", "output 3\n"]
    edit(course, 'times="theirs"', 'times="others"')
    assert texts(rebuild(course)) == ["output 1\n", "output 2\n", ""]


def test_other_words_keep_outputs(course):
    edit(course, "Return twice x.", "Twice x.\n\n    x: a number.\n    ")
    edit(course, "double(21)", "double(21)  # an answer")
    ran(course)
    edit(course, "Twice x.", "Return twice x.")
    edit(course, "# an answer", "# the answer")
    assert texts(rebuild(course)) == ["output 1\n", "output 2\n", "output 3\n"]
    edit(course, "Return twice x.\n\n    x: a number.\n    ", "Twice x.")
    assert texts(rebuild(course)) == ["output 1\n", "", "output 3\n"]


def test_code_without_words_keeps_its_lines_and_its_strings():
    source = (
        'def f(x):\n    """Twice\n    x."""\n    # here\n    return "# no" + x  # so'
    )
    bare = 'def f(x):\n    ...\n\n\n    return "# no" + x'
    assert wordless(source) == bare
    assert wordless("%%c\nint x;  // 1") == "%%c\nint x;  // 1"


def test_code_edit_drops_that_cells_output(course):
    ran(course)
    edit(course, "return 2 * x", "return x + x")
    assert texts(rebuild(course)) == ["output 1\n", "", "output 3\n"]


def test_indentation_is_a_code_edit(course):
    ran(course)
    edit(course, "double(21)", "double( 21 )")
    assert texts(rebuild(course))[2] == ""


def test_ids_stay_when_a_cell_comes_first(course):
    before = [cell.id for cell in rebuild(course).cells]
    edit(course, "# %%\nimport weft", "# %%\nimport os\n\n# %%\nimport weft")
    after = [cell.id for cell in rebuild(course).cells]
    assert [i for i in after if i in before] == before
    assert len(after) == len(before) + 1


def test_equal_cells_have_different_ids(course):
    edit(course, "# %%\ndouble(21)", "# %%\ndouble(21)\n\n# %%\ndouble(21)")
    ids = [cell.id for cell in rebuild(course).cells]
    assert len(set(ids)) == len(ids)


def test_given_code_and_what_is_tagged_so_is_folded(course):
    long = "def given(x):\n" + "    x += 1\n" * 5 + "    return x"
    edit(course, "# %%\ndouble(21)", f'# %% tags=["given"]\n{long}\n\n# %%\ndouble(21)')
    edit(course, "# %%\nimport", '# %% tags=["folded"]\nimport')
    folded = [cell for cell in rebuild(course).cells if "jupyter" in cell.metadata]
    assert [cell.source.split()[0] for cell in folded] == ["import", "def"]
    assert all(cell.metadata.jupyter == {"source_hidden": True} for cell in folded)


def test_canonical_form_drops_what_a_frontend_adds(course):
    nb = ran(course)
    nb.metadata.widgets = {"application/vnd.jupyter.widget-state+json": {}}
    nb.metadata.toc = {"base_numbering": 1}
    nb.cells[1].metadata.execution = {"iopub.execute_input": "2026-01-02T03:04:05Z"}
    nb.cells[1].metadata.tags = ["given", "gpu", "given"]
    nb.cells[3].outputs = [
        nbformat.v4.new_output("stream", text="a"),
        nbformat.v4.new_output("stream", text="b"),
        nbformat.v4.new_output(
            "display_data",
            {"application/vnd.jupyter.widget-view+json": {}, "text/plain": "w"},
        ),
    ]
    nb = notebook.canonical(nb, {})
    assert set(nb.metadata) == {"kernelspec", "language_info", "weft"}
    assert nb.cells[1].metadata == {"tags": ["given", "gpu"]}
    assert [o.get("text", o.get("data")) for o in nb.cells[3].outputs] == [
        "ab",
        {"text/plain": "w"},
    ]


def test_size_cap(course):
    nb = ran(course)
    nb.cells[1].outputs[0].text = "x" * notebook.SIZE_CAP
    with pytest.raises(PipelineError, match=r"1\.0 MB.*smaller pictures"):
        notebook.write(nb, course / "big.ipynb")
    assert not (course / "big.ipynb").exists()


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("    # END SOLUTION\n", "", 17, "the cell ends before the answer begun in"),
        ("    # BEGIN SOLUTION\n", "", 14, "none has begun"),
        ("    return 2 * x\n", "    # BEGIN SOLUTION\n", 14, "begins inside the one"),
        ("    # BEGIN", "    x  # BEGIN", 13, "on a line of its own"),
        ("    # END", "# END", 15, "indent this marker"),
    ],
)
def test_unbalanced_markers_name_file_and_line(course, old, new, line, words):
    edit(course, old, new)
    with pytest.raises(PipelineError, match=words) as error:
        notebook.build(course, STEM)
    assert str(error.value).startswith(f"chapters/{STEM}/lab.py:{line}: ")


def test_answer_that_never_ends(course):
    path = notebook.script(course, STEM)
    path.write_text("# %%\n# BEGIN SOLUTION\nx = 1\n")
    with pytest.raises(PipelineError, match=r"lab\.py:2: this answer never ends"):
        notebook.build(course, STEM)


HOST = """\
# ---
# jupyter:
#   weft:
#     runs_on: cpu
# ---

"""
IN_C = """

# %% language="c" magic_args="twice"
# int twice(int x)
# {
#     // BEGIN SOLUTION
#     return 2 * x;
#     // END SOLUTION
# }
"""


def test_a_cell_of_another_language(course):
    edit(course, SCRIPT, SCRIPT + IN_C)
    nb = rebuild(course)
    assert nb.cells[-1].source.startswith(
        "%%c twice\nint twice(int x)\n{\n    // BEGIN"
    )
    assert nb.cells[-1].metadata == {}
    lab = labs.derive(course, STEM).cells[-1].source
    assert lab == "%%c twice\nint twice(int x)\n{\n    // your code here\n}"
    edit(course, "#     // END SOLUTION\n", "")
    with pytest.raises(PipelineError, match="never ends"):
        notebook.build(course, STEM)


def test_a_notebook_without_a_gpu_runs_and_is_stamped(course, pipeline):
    edit(course, SCRIPT, HOST + SCRIPT)
    path = course / "weft" / "device.py"
    text = path.read_text().replace('reason=""', 'reason="No driver."')
    path.unlink()
    (course / "weft" / "device").mkdir()
    (course / "weft" / "device" / "__init__.py").write_text(text)
    (course / "weft" / "device" / "cpu.py").write_text(
        "def name():\n    return 'Imagined CPU'\n\n\n"
        "def versions():\n    return {'gcc': '12'}\n"
    )
    status, _, errors = pipeline("execute")
    assert status == 0, errors
    stamp = notebook.read(notebook.solution(course, STEM)).metadata.weft
    assert stamp.device == "Imagined CPU"
    assert stamp.versions == {"numpy": "2.4.6", "gcc": "12"}
    assert stamp.runs_on == "cpu"
    assert "driver" not in stamp
    lab = labs.derive(course, STEM)
    assert "accelerator" not in lab.metadata
    edit(course, "runs_on: cpu", "runs_on: tpu")
    with pytest.raises(PipelineError, match="write 'cpu'"):
        notebook.build(course, STEM)


def test_stems(course):
    assert notebook.stems(course) == [STEM]
    for name in ("42", STEM, f"chapters/{STEM}/lab.py", f"solutions/{STEM}.ipynb"):
        assert notebook.stems(course, [name]) == [STEM]
    with pytest.raises(PipelineError, match=r"no solution is called '43'.*42_answer"):
        notebook.stems(course, ["43"])


# execute


def test_execute_writes_outputs_and_stamp(course, pipeline):
    status, _, errors = pipeline("execute")
    assert status == 0, errors
    nb = notebook.read(notebook.solution(course, STEM))
    assert texts(nb)[0] == "lab 42_answer\n"
    assert nb.cells[3].outputs[0].data == {"text/plain": "42"}
    assert [c.execution_count for c in nb.cells if "outputs" in c] == [1, 2, 3]
    stamp = nb.metadata.weft
    assert stamp.items() >= STAMP.items()
    assert stamp.digest == measured.digest(course, STEM, nb)
    assert stamp.seconds > 0

    before = notebook.solution(course, STEM).read_bytes()
    assert pipeline("notebooks")[1] == f"{STEM}: notebook unchanged\n"
    assert notebook.solution(course, STEM).read_bytes() == before
    assert pipeline("stamp")[1] == (
        f"{STEM}: Imagined GPU, {stamp.date}, {stamp.seconds} s\n"
    )

    edit(course, "double(21)", "0 and bench.compare(lambda: double(22))")
    assert pipeline("notebooks")[1] == f"{STEM}: notebook written\n"
    status, _, errors = pipeline("stamp")
    assert status == 1
    assert "stale: what it measures has changed since it ran" in errors


def test_execute_elsewhere_leaves_the_course_alone(course, pipeline):
    edit(
        course,
        "double(21)",
        "import os, pathlib\n"
        'pathlib.Path(os.environ["WEFT_RESULTS"], "r.json").write_text(\n'
        '    os.environ["WEFT_DIGEST"])',
    )
    assert pipeline("execute", "--out", "away")[0] == 0
    assert not notebook.solution(course, STEM).exists()
    assert not (course / "results").exists()
    nb = notebook.read(course / "away" / "solutions" / f"{STEM}.ipynb")
    assert (course / "away" / "results" / "r.json").read_text() == measured.digest(
        course, STEM, nb
    )


CLAIM = """\
import json, os, pathlib
pathlib.Path(os.environ["WEFT_RESULTS"], "r.json").write_text("{}")
with open(os.environ["WEFT_CLAIMS"], "a") as file:
    for state in ("failed", "warned", "differs"):
        print(json.dumps({"state": state, "text": state + " here"}), file=file)
print("and on")"""


def test_a_claim_that_fails_stops_nothing_and_fails_the_run(course, pipeline):
    edit(course, "double(21)", CLAIM)
    status, output, errors = pipeline("execute")
    assert status == 1
    assert "ran in" in output
    assert "claims that do not hold:\n  failed here\n" in errors
    assert "to look at:\n  warned here\n" in errors
    assert "differs" not in errors
    nb = notebook.read(notebook.solution(course, STEM))
    assert texts(nb)[2] == "and on\n"
    assert nb.metadata.weft.digest == measured.digest(course, STEM, nb)
    assert (course / "results" / "r.json").read_text() == "{}"


def test_a_warning_alone_fails_nothing(course, pipeline):
    edit(course, "double(21)", CLAIM.replace('("failed", ', "("))
    assert pipeline("execute")[0] == 0


def test_one_that_fails_does_not_stop_the_others(course, pipeline):
    add(course, "43_next", SCRIPT)
    edit(course, "double(21)", "print('until here')\n1 / 0")
    status, output, errors = pipeline("execute", "42", "43", "--out", "away")
    assert status == 1
    assert "ZeroDivisionError" in errors
    assert re.search(rf"\n +[\d.]+  {STEM}  did not run to its end\n", output)
    assert re.search(r"\n +[\d.]+  43_next    ok\n", output)
    assert (course / "away" / "solutions" / "43_next.ipynb").exists()
    assert not (course / "away" / "solutions" / f"{STEM}.ipynb").exists()
    kept = json.loads((course / "away" / "failed" / f"{STEM}.ipynb").read_text())
    assert kept["cells"][3]["outputs"][0]["text"] == "until here\n"


def test_a_run_that_breaks_off_leaves_the_record_as_it_was(course, pipeline):
    record = course / "results" / "r.json"
    record.parent.mkdir()
    record.write_text("the record")
    edit(course, "double(21)", CLAIM + "\n1 / 0")
    assert pipeline("execute")[0] == 1
    assert record.read_text() == "the record"


def test_the_record_is_there_while_the_next_is_written(course, pipeline):
    record = course / "results" / "r.json"
    record.parent.mkdir()
    record.write_text('{"lab": "the record"}')
    edit(course, "double(21)", CLAIM + "\nprint(open('../results/r.json').read())")
    pipeline("execute")
    nb = notebook.read(notebook.solution(course, STEM))
    assert "the record" in texts(nb)[2]
    assert record.read_text() == "{}"


ROWS = """\
import json, os, pathlib
rows = [{"case": "2^4", "name": name} for name in NAMES]
pathlib.Path(os.environ["WEFT_RESULTS"], "r.json").write_text(
    json.dumps({"rows": rows}))"""


def measures(course: Path, *names: str) -> None:
    """Have the notebook measure rows of these names, and no others."""
    notebook.script(course, STEM).write_text(
        SCRIPT.replace("double(21)", ROWS.replace("NAMES", repr(names)))
    )


def test_results_that_would_lose_rows_are_refused_with_their_names(course, pipeline):
    measures(course, "mine", "ONNX Runtime")
    assert pipeline("execute")[0] == 0
    record = course / "results" / "r.json"
    before, stamped = record.read_text(), notebook.solution(course, STEM).read_text()
    measures(course, "mine", "new")
    status, _, errors = pipeline("execute")
    assert status == 1
    assert "results/ would lose" in errors
    assert "\n  r.json: 2^4 | ONNX Runtime\n" in errors
    assert record.read_text() == before
    assert notebook.solution(course, STEM).read_text() == stamped
    assert pipeline("execute", "--out", "away")[0] == 1
    assert "new" in (course / "away" / "failed" / "r.json").read_text()
    assert pipeline("execute", "--fewer-rows")[0] == 0
    assert "new" in record.read_text()


def test_more_rows_and_another_gpu_lose_nothing(course, pipeline):
    measures(course, "mine")
    assert pipeline("execute")[0] == 0
    measures(course, "mine", "new")
    assert pipeline("execute")[0] == 0
    record = course / "results" / "r.json"
    record.rename(course / "results" / "other-gpu.json")
    measures(course, "mine")
    assert pipeline("execute")[0] == 0


def test_a_lab_that_was_only_shown_is_not_stamped(course, pipeline):
    assert pipeline("execute")[0] == 0  # a lab that never measures is stamped
    path = notebook.solution(course, STEM)
    before = path.read_text()
    (course / "results").mkdir(exist_ok=True)
    (course / "results" / f"{STEM}.two-gpus.json").write_text('{"rows": []}')
    edit(course, "double(21)", "double(20)")
    status, output, errors = pipeline("execute")
    assert status == 0, errors
    assert "measured nothing, and is not stamped" in output
    assert path.read_text() == before


def test_simulator_writes_nothing(course, pipeline):
    edit(course, "double(21)", 'import os\nassert "WEFT_RESULTS" not in os.environ')
    status, _, errors = pipeline("execute", "--simulator")
    assert status == 0, errors
    assert not notebook.solution(course, STEM).exists()
    assert not (course / "results").exists()


def test_a_failing_cell_is_shown(course, pipeline):
    edit(course, "double(21)", "y = double(21)\nassert y == 43, y")
    status, _, errors = pipeline("execute", "--simulator")
    assert status == 1
    assert f"chapters/{STEM}/lab.py:19: cell 4" in errors
    assert "    assert y == 43, y" in errors
    assert "AssertionError: 42" in errors
    assert "\x1b" not in errors


def test_a_slow_cell_is_stopped(course):
    edit(course, "double(21)", "import time\ntime.sleep(60)")
    with pytest.raises(PipelineError, match=r"(?s)time\.sleep.*took longer"):
        execute.execute(course, STEM, course, simulator=True, timeout=1)


def test_a_killed_kernel_is_reported(course):
    edit(course, "double(21)", "import os\nos._exit(1)")
    with pytest.raises(PipelineError, match=r"(?s)os\._exit.*killed its kernel"):
        execute.execute(course, STEM, course, simulator=True)


def test_outputs_hold_no_stderr_and_name_no_machine(course, pipeline):
    edit(
        course,
        "double(21)",
        "import os, warnings\nwarnings.warn('beware')\nprint(os.getcwd(), object())",
    )
    status, _, errors = pipeline("execute")
    assert status == 1
    assert "wrote to stderr" in errors
    assert "beware" in errors
    text = texts(notebook.read(notebook.solution(course, STEM)))[2]
    assert text == "solutions <object object at 0x…>\n"


def test_no_gpu_is_said_before_anything_runs(course, pipeline):
    path = course / "weft" / "device.py"
    path.write_text(path.read_text().replace('reason=""', 'reason="No driver."'))
    status, _, errors = pipeline("execute")
    assert status == 1
    assert errors.startswith("No driver.\n")
    assert "add --simulator" in errors


# labs


def made(course: Path) -> Path:
    rebuild(course)
    labs.write_lab(course, STEM)
    return notebook.lab(course, STEM)


def test_what_an_answer_mends_is_put_back(course):
    edit(
        course,
        "    # BEGIN SOLUTION\n    return 2 * x\n    # END SOLUTION\n",
        "    # BEGIN SOLUTION\n    # was: if x:\n    # was:     return 3 * x\n"
        "    return 2 * x\n    # END SOLUTION\n",
    )
    cell = nbformat.read(made(course), as_version=4).cells[2]
    assert cell.source.splitlines()[2:] == [
        "    # about 1 line",
        "    if x:",
        "        return 3 * x",
    ]


def test_an_answer_that_only_adds_leaves_no_trace():
    source = "a = 1\n# BEGIN SOLUTION\n# was:\nb = 2\n# END SOLUTION"
    assert labs.undo(source) == "a = 1"
    plain = source.replace("# was:\n", "")
    assert labs.undo(plain) == plain


def test_lab_has_stubs_instead_of_answers(course):
    ran(course)
    path = made(course)
    nb = notebook.read(path)
    assert [cell.source for cell in nb.cells][2:] == [
        'def double(x):\n    """Return twice x."""\n    # about 1 line\n'
        "    # your code here\n    pass",
        "double(21)",
    ]
    assert texts(nb) == ["", "", ""]
    assert nb.metadata.weft == {"lab": STEM, "digest": edited.lab_digest(nb.cells)}
    assert not labs.write_lab(course, STEM)


def test_a_released_lab_opens_and_installs_its_release():
    button = f"[Open](https://{labs.COLAB_LINK}main/labs/05.ipynb)"
    cell = f"try:\n    %pip install -q git+https://{labs.COURSE}\n    import weft"
    assert labs.at_revision(button, "main") == button
    assert labs.at_revision(cell, "main") == cell
    assert "/blob/v0.2.0/labs/05.ipynb" in labs.at_revision(button, "v0.2.0")
    pinned = labs.at_revision(cell, "v0.2.0").splitlines()
    assert pinned[1] == f"    %pip install -q git+https://{labs.COURSE}@v0.2.0"


def test_lab_refuses_a_stale_solution(course):
    rebuild(course)
    edit(course, "double(21)", "double(22)")
    with pytest.raises(PipelineError, match="make notebooks first"):
        labs.derive(course, STEM)


def type_something(nb):
    nb.cells[2].source = nb.cells[2].source.replace("pass", "return x + x")


def run_a_cell(nb):
    nb.cells[1].outputs = [nbformat.v4.new_output("stream", text="lab 42_answer")]


def delete_a_cell(nb):
    del nb.cells[0]


def strip_metadata(nb):
    del nb.metadata["weft"]


@pytest.mark.parametrize(
    "change", [type_something, run_a_cell, delete_a_cell, strip_metadata]
)
def test_a_learners_copy_is_never_overwritten(course, pipeline, change):
    path = made(course)
    nb = nbformat.read(path, as_version=4)
    change(nb)
    nbformat.write(nb, path)
    before = path.read_bytes()
    edit(course, "# # 42", "# # No. 42")
    rebuild(course)

    status, _, errors = pipeline("labs")
    assert status == 1
    assert f"labs/{STEM}.ipynb is left as it is" in errors
    assert f"rename the file to my_{STEM}.ipynb, as `make update` does" in errors
    assert path.read_bytes() == before

    path.unlink()
    assert pipeline("labs")[0] == 0
    assert "No. 42" in path.read_text()


def test_a_broken_file_is_not_overwritten_either(course):
    path = made(course)
    path.write_text("<<<<<<< HEAD\n")
    with pytest.raises(PipelineError, match="cannot be read as a notebook of ours"):
        labs.write_lab(course, STEM)


def test_an_untouched_lab_saved_by_jupyter_is_replaced(course):
    path = made(course)
    nb = nbformat.read(path, as_version=4)
    nb.metadata.language_info = {"name": "python", "version": "3.13.0"}
    nb.cells.append(nbformat.v4.new_code_cell(""))
    nbformat.write(nb, path)
    assert edited.edited(path) is None
    assert labs.write_lab(course, STEM)


# nbval


@pytest.fixture
def running(course):
    """Change what the machine lacks: `running(skips={...}, reason="No driver.")`."""

    def change(**values) -> None:
        text = f"def plan(labs):\n    return {PLAN | values!r}\n"
        (course / "weft" / "lesson" / "running.py").write_text(text)

    return change


PLAN = {"line": "Imagined GPU", "reason": "", "skips": {}, "stops": [], "lacks": []}
NO_GPU = {"line": "simulator (no driver)", "reason": "No driver."}


def test_nbval_skips_what_this_gpu_cannot_run(course, pipeline, running):
    conftest = Path(__file__).parents[1] / "solutions" / "conftest.py"
    (course / "solutions" / "conftest.py").write_text(conftest.read_text())
    add(course, "43_hopper", SCRIPT)
    edit(course, "double(21)", "assert double(21) == 43")
    assert pipeline("notebooks")[0] == 0
    running(skips={"43_hopper": "it needs wgmma"})
    status, output, _ = pipeline("nbval")
    assert status == 1
    assert "1 failed, 2 passed" in output
    assert "assert double(21) == 43" in output
    first, *_, skipped, last = output.splitlines()
    assert first == "nbval: Imagined GPU"
    assert skipped == "skipped: 43_hopper: it needs wgmma"
    assert last == "nbval: Imagined GPU: 1 run, with failures, 1 skipped"


def test_nbval_is_green_where_all_is_skipped(course, pipeline, running):
    assert pipeline("notebooks")[0] == 0
    running(skips={STEM: "it needs 2 GPUs"})
    status, output, _ = pipeline("nbval")
    assert status == 0
    assert output.endswith("nbval: Imagined GPU: 0 passed, 1 skipped\n")


def test_without_a_gpu_nbval_fails_and_says_simulator_first_and_last(
    course, pipeline, running
):
    assert pipeline("notebooks")[0] == 0
    running(**NO_GPU)
    status, output, errors = pipeline("nbval")
    assert status == 1
    assert output.splitlines()[0] == "nbval: simulator (no driver)"
    assert "simulator" in errors.splitlines()[-1]
    assert "--simulator" in errors
    status, output, errors = pipeline("nbval", "--simulator")
    assert status == 0, errors
    assert output.splitlines()[0] == "nbval: simulator (no driver)"
    assert output.splitlines()[-1] == (
        "nbval: simulator (no driver): 1 passed, 0 skipped"
    )


def test_a_solution_for_the_cpu_needs_no_gpu(course, pipeline, running):
    edit(course, SCRIPT, HOST + SCRIPT)
    assert pipeline("notebooks")[0] == 0
    running(**NO_GPU)
    assert pipeline("nbval")[0] == 0


@pytest.mark.parametrize("verb", ["nbval", "execute"])
def test_what_is_missing_is_said_before_anything_runs(course, pipeline, running, verb):
    edit(course, "double(21)", "open('it-ran', 'w').close()")
    assert pipeline("notebooks")[0] == 0
    running(stops=["no gcc: lab 42 needs it"], lacks=["no onnx: lab 42 needs it"])
    status, output, errors = pipeline(verb)
    assert status == 1
    assert "no onnx" in output
    assert errors == "no gcc: lab 42 needs it\n"
    assert not (course / "solutions" / "it-ran").exists()


def test_execute_skips_what_this_gpu_cannot_run(course, pipeline, running):
    add(course, "43_hopper", SCRIPT)
    running(skips={"43_hopper": "it needs wgmma"})
    status, output, errors = pipeline("execute")
    assert status == 0, errors
    assert "43_hopper: skipped: it needs wgmma\n" in output
    assert not notebook.solution(course, "43_hopper").exists()


def test_a_share_is_every_nth_solution(course, pipeline):
    for number in (43, 44, 45):
        add(course, f"{number}_next", SCRIPT)
    assert pipeline("notebooks")[0] == 0
    status, output, _ = pipeline("nbval", "--share", "2/3")
    assert status == 0
    assert "43_next.ipynb" in output
    assert output.endswith("1 passed, 0 skipped\n")
    assert pipeline("nbval", "--share", "4/3")[2].startswith("--share 4/3: write 2/4")


def test_programs_of_python_packages_are_found():
    first = environment(Path("/here"))["PATH"].split(os.pathsep)[0]
    assert Path(first) == Path(sys.executable).parent


def test_nbval_fails_the_cell_whose_claim_does_not_hold(course, pipeline):
    conftest = Path(__file__).parents[1] / "solutions" / "conftest.py"
    (course / "solutions" / "conftest.py").write_text(conftest.read_text())
    body = CLAIM.replace(
        CLAIM.splitlines()[1], "assert 'WEFT_RESULTS' not in os.environ"
    )
    edit(course, "double(21)", body + "\n\n# %%\nprint('the last cell')")
    assert pipeline("notebooks")[0] == 0
    status, output, _ = pipeline("nbval")
    assert status == 1
    assert "1 failed, 3 passed" in output
    assert "failed here" in output
    assert "to look at: warned here" in output


def test_json_is_canonical(course):
    text = notebook.dumps(rebuild(course))
    loaded = json.loads(text)
    assert (
        text == json.dumps(loaded, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    )
