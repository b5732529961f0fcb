"""The recordings show what the labs ask about: the same kernels, line for line."""

import ast
import dis
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import CodeType, ModuleType

import pytest

from pipeline import labs, notebook

ROOT = Path(__file__).parents[1]
RECORDINGS = ROOT / "book" / "recordings"
OF_A_MACHINE = re.compile(r"/(tmp|root|home|work)/")  # folders
FOLDER = RECORDINGS / "10_debugging"
PROFILES = RECORDINGS / "11_profiling"
C = RECORDINGS / "04_c_for_python"
DOORS = RECORDINGS / "02_ecosystem" / "doors.txt"
VARIANTS = {"mirror_once", "raises"}  # broken in another way, on purpose

sys.path.insert(0, str(RECORDINGS))

import profiled  # noqa: E402
import shell  # noqa: E402
import timed  # noqa: E402


def functions(text: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(text)
    return {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}


def starters() -> dict[str, ast.FunctionDef]:
    found = {}
    for cell in notebook.read_script(notebook.script(ROOT, "10_debugging")).cells:
        if "broken" in cell.metadata.get("tags", []):
            found |= functions(labs.undo(cell.source))
    return found


def bare(function: ast.FunctionDef) -> str:
    """The function without its decorators, which may ask for line numbers."""
    function.decorator_list = []
    return ast.unparse(function)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda p: p.stem)
def test_kernels_are_those_of_the_lab(path):
    broken = starters()
    assert len(broken) == 10
    if path.stem in VARIANTS:
        return
    for name, function in functions(path.read_text(encoding="utf-8")).items():
        if name in broken:
            assert bare(function) == bare(broken[name])


def test_profiled_kernels_are_those_of_the_lab():
    found = functions((PROFILES / "programs.py").read_text(encoding="utf-8"))
    chapter = notebook.script(ROOT, "11_profiling")
    answers = functions((chapter.parent / "kernels.py").read_text(encoding="utf-8"))
    for cell in notebook.read_script(chapter).cells:
        if "@cuda.jit" in cell.source:
            answers |= functions(cell.source)
    shared = sorted(found.keys() & answers.keys())
    assert len(shared) == 8
    for name in shared:
        assert bare(found[name]) == bare(answers[name])


def counters(upper: bool) -> dict[str, list[str]]:
    """One of the recorded tables of counters: what is counted → four values."""
    text = (PROFILES / "counters.txt").read_text(encoding="utf-8")
    rows = {}
    lines = [n for n in text.splitlines() if not n.startswith(("$", "#"))]
    middle = lines.index("")
    for line in (lines[:middle] if upper else lines[middle + 1 :])[1:]:
        label, *values = re.split(r"\s{2,}", line.strip())
        rows[label] = values
    return rows


def tables(text: str) -> list[list[list[str]]]:
    """The tables of a text that are about counters."""
    found = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    split = [[r.strip("| ").split(" | ") for r in t.splitlines()] for t in found]
    return [rows for rows in split if rows[2][0].startswith("Duration")]


def test_lab_and_page_show_what_was_recorded():
    cells = notebook.read_script(notebook.script(ROOT, "11_profiling")).cells
    (lab,) = tables("\n".join(cell.source for cell in cells))
    page = (ROOT / "book" / "11_profiling.md").read_text(encoding="utf-8")
    before, after = tables(page)
    for rows, upper in ((lab, True), (before, True), (after, False)):
        assert len(rows) == 11
        compare(rows[2:], counters(upper))


def compare(rows: list[list[str]], recorded: dict[str, list[str]]) -> None:
    """Hold rounded values against the recorded ones."""
    for label, *shown in rows:
        for value, exact in zip(shown, recorded[label], strict=True):
            *unit, value = value.lower().split()
            *of, exact = exact.replace(",", "").split()
            assert unit == of, label
            digits = len(value.partition(".")[2])
            assert f"{float(exact):.{digits}f}" == value, label


@pytest.mark.parametrize("folder", ["10_debugging", "11_profiling"])
def test_recordings_name_no_folders(folder):
    for path in (RECORDINGS / folder).glob("*.txt"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith("$ ") or path.stem == "tools", path.name
        assert "# NVIDIA" in text, path.name
        foreign = "/tmp/", "/root/", "/home/", "site-packages", "\x1b"
        assert not any(each in text for each in foreign), path.name


def test_the_c_that_was_timed_is_that_of_the_lab():
    cells = notebook.read_script(notebook.script(ROOT, "04_c_for_python")).cells
    (lab,) = [c.source for c in cells if c.source.startswith("%%c sums\n")]
    assert lab.split("\n", 1)[1].strip() == (C / "sums.c").read_text().strip()


def test_recordings_of_c_name_the_processor_and_no_folders():
    for path in C.glob("*.txt"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith("$ "), path.name
        assert re.search(r"^# .+, \d{4}-\d\d-\d\d\n# gcc \d", text, re.M), path.name
        assert not OF_A_MACHINE.search(text), path.name


def test_a_recorder_runs_its_programs_elsewhere_and_cuts_the_name(tmp_path):
    (tmp_path / "say.c").write_text("int x;\n")
    (tmp_path / "say.txt").write_text("what it said before\n")
    with shell.copied(tmp_path, ".c") as folder:
        assert [path.name for path in folder.iterdir()] == ["say.c"]
        assert shell.run("ls $PWD/*; echo $LC_ALL $N", folder, N="1") == "say.c\nC 1\n"
        assert "No such file" in shell.run("cat gone", folder)
    assert not folder.exists()


def test_records_of_doors_are_those_that_the_lab_shows():
    recorded = DOORS.read_text(encoding="utf-8").split("\n\n", 1)[1]
    cells = notebook.read_script(notebook.script(ROOT, "02_ecosystem")).cells
    (shown,) = [c.source for c in cells if c.source.startswith("## 3 · Read a record")]
    lines = [n for n in shown.splitlines() if n.startswith("    ")]
    assert lines == [f"    {n}" for n in recorded.splitlines() if n]


COUNTED = (
    *("12_global_memory", "14_reduction", "15_scan"),
    *("16_softmax", "17_fusion", "18_gemm_tiles"),
    *("19_gemm_registers", "23_convolution_fft"),
)
RAW = """\
# NVIDIA H200, 2026-11-22
==PROF== Connected to process 1175 (/usr/bin/python3.12)
launch: read 1
==PROF== Disconnected from process 1175
"ID","Kernel Name","Block Size","Grid Size","dram__bytes_read.sum","warps.sum"
"","","","","byte","warp"
"0","watched::mark[v1,cw51cXT](Array<int, 1, C>)","(1, 1, 1)","(1, 1, 1)","0","1"
"1","lab12::strided_read[v2,cw51](x)","(256, 1, 1)","(4,096, 1, 1)","134,265,088","512"
"""


def part(folder: str, name: str) -> ModuleType:
    """Import one of the two scripts of a folder; their names are the same in all."""
    path = RECORDINGS / folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{name}_{folder}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_page_of_ncu_is_read():
    row = profiled.only(profiled.found(RAW))["read 1"]
    assert profiled.number(row, "dram__bytes_read.sum", "warps.sum") == 134_265_600
    lines = {"read, MB": profiled.value("dram__bytes_read.sum", over=1e6, digits=1)}
    lines["a warp"] = profiled.value("dram__bytes_read.sum", over="warps.sum")
    shown = profiled.table({"read 1": row}, ["read 1"], lines).splitlines()
    assert [n.split() for n in shown] == [
        *(["read", "1"], ["read,", "MB", "134.3"], ["a", "warp", "262,236"]),
    ]
    assert {len(n) for n in shown} == {profiled.WIDTH}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"134,265,088"', '"n/a"', "dram__bytes_read.sum is 'n/a'"),
        ("launch: read 1\n", "", "0 launches, 1 marks"),
        ('"0","watched::mark', '"0","watched::other', "in front of the first mark"),
        (RAW[RAW.index('"ID"') :], "==ERROR== no such metric", "no such metric"),
        ('"1","lab12::strided_read', '"1","mark', "2 marks"),
        (RAW[RAW.index('"1","lab12') :], "", "one kernel expected"),
    ],
)
def test_what_ncu_did_not_count_is_not_written(old, new, said):
    assert old in RAW

    def read_bytes(text):
        row = profiled.only(profiled.found(text))["read 1"]
        return profiled.number(row, "dram__bytes_read.sum")

    with pytest.raises(ValueError, match=said):
        read_bytes(RAW.replace(old, new))


def test_a_table_that_does_not_fit_is_refused():
    row = profiled.only(profiled.found(RAW))["read 1"]
    lines = {"bytes": profiled.value("dram__bytes_read.sum")}
    with pytest.raises(ValueError, match="no room"):
        profiled.table({"read 1": row}, ["read 1"], lines, each=11)


@pytest.mark.parametrize("folder", COUNTED)
def test_counters_are_written_in_tables(folder, monkeypatch):
    record = part(folder, "record")
    row = dict.fromkeys(record.METRICS, "1,234.5")
    row |= {"Kernel Name": "void f<1024, EPT<16>>(T1)", "Block Size": "(8, 64, 1)"}
    every = type("Every", (dict,), {"__missing__": lambda *_: row})()
    alone = type("Every", (dict,), {"__missing__": lambda *_: [row]})()
    monkeypatch.setattr(record, "only", lambda *_: every)
    text = record.write(alone)
    assert all(len(line) <= profiled.WIDTH for line in text.splitlines())
    assert not any(line.endswith(" ") for line in text.splitlines())


@pytest.mark.parametrize("folder", COUNTED)
def test_counted_kernels_are_the_labs_and_nothing_is_timed(folder):
    path = ROOT / "chapters" / folder / "lab.py"
    source, wanted = path.read_text(encoding="utf-8"), part(folder, "programs").WANTED
    places = profiled.places(folder, wanted)
    here = [name for name in wanted if places[name] == "lab"]
    parts = profiled.statements(source, str(path), here)
    steps = (step for code in parts for step in dis.get_instructions(code))
    run = {step.argval for step in steps if step.opname == "LOAD_NAME"}
    assert not run & {"check", "bench", "compare", "quiz", "hint"}
    with pytest.raises(ValueError, match="defines no nothing_of_this_name"):
        profiled.statements(source, str(path), ["nothing_of_this_name"])
    with pytest.raises(ValueError, match="defines no nothing_of_this_name"):
        profiled.places(folder, ["nothing_of_this_name"])


def constants(code: CodeType) -> set[object]:
    """The constants of a code object, of those in it, and of their tuples."""
    found = set()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= constants(constant)
        else:
            found |= set(constant if isinstance(constant, tuple) else [constant])
    return found


@pytest.mark.parametrize("folder", ["18_gemm_tiles", "19_gemm_registers"])
def test_a_counted_rung_has_its_name_in_the_lab(folder, monkeypatch):
    record, asked = part(folder, "record"), set()
    row = dict.fromkeys(record.METRICS, "1") | {"Kernel Name": "gemm"}
    named = type("Named", (dict,), {"__missing__": lambda _, n: asked.add(n) or row})()
    monkeypatch.setattr(record, "only", lambda *_: named)
    record.write({})
    files = (ROOT / "chapters" / folder).glob("*.py")
    texts = {str(path): path.read_text(encoding="utf-8") for path in files}
    parts = [compile(text, path, "exec") for path, text in texts.items()]
    assert len(asked) >= 7
    assert asked <= set().union(*map(constants, parts))


@pytest.mark.parametrize(
    "path", sorted(RECORDINGS.glob("*/counters.txt")), ids=lambda p: p.parent.name
)
def test_counters_say_what_made_them_and_are_shown(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("$ ncu ")
    assert "\n# NVIDIA" in text
    assert not OF_A_MACHINE.search(text)
    if text.startswith(profiled.COMMAND):  # or it is from before there was `record`
        assert max(map(len, text.splitlines())) <= profiled.WIDTH


def experiment(right=lambda name: None) -> timed.Experiment:
    launches = {"library": lambda: None, "mine": lambda: None}
    return timed.Experiment(
        *("4 x 4", lambda: launches, "library", right),
        registers={"library": None, "mine": 40}.get,
    )


def test_timed_variants_are_written_in_a_table():
    text = timed.table(experiment(), {"library": 2.0, "mine": 0.5})
    head, library, mine = text.splitlines()
    assert head.split() == ["4", "x", "4", "ms", "speed", "registers"]
    assert library.split() == ["library", "2", "1.000"]
    assert mine.split() == ["mine", "0.5", "4.000", "40"]
    assert len(head) == len(mine) == timed.WIDTH


def test_a_name_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="a name of"):
        timed.table(experiment(), {"library": 2.0, "m" * 50: 0.5})


def test_a_variant_that_computes_something_else_is_not_timed():
    def right(name: str) -> None:
        assert name == "library", name

    with pytest.raises(AssertionError, match="mine"):
        timed.timed(experiment(right))


TIMED = [*RECORDINGS.glob("*/factors.txt"), *RECORDINGS.glob("*/norms.txt")]


@pytest.mark.parametrize(
    "path", sorted(TIMED), ids=lambda p: f"{p.parent.name}-{p.stem}"
)
def test_times_say_what_made_them_and_are_shown(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"$ python3 {path.stem}.py\n")
    assert "\n# NVIDIA" in text
    assert not OF_A_MACHINE.search(text)
    assert max(map(len, text.splitlines())) <= timed.WIDTH
    shown = f"recordings/{path.parent.name}/{path.name}"
    pages = RECORDINGS.parent.glob(f"{path.parent.name[:2]}_*.md")
    assert any(shown in page.read_text("utf-8") for page in pages)
    source = path.with_suffix(".py").read_text(encoding="utf-8")
    for line in text.splitlines():
        name = re.split(r"  +", line)[0]
        numbers = re.search(r"  \d", line)
        assert not numbers or name in source or "early fragments" in name, name


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("27_cudnn/beside.txt", "python3 beside.py"),
        ("28_multi_gpu/mesh.txt", "torchrun --nproc-per-node=4 mesh.py"),
        ("33_training_speed/initial.txt", "python3 initial.py"),
    ],
)
def test_a_recorded_table_says_what_made_it_and_is_shown(file, command):
    path = RECORDINGS / file
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"$ {command}\n# ")
    assert not OF_A_MACHINE.search(text)
    pages = RECORDINGS.parent.glob(f"{path.parent.name[:2]}_*.md")
    assert any(f"recordings/{file}" in page.read_text("utf-8") for page in pages)


@pytest.mark.long
def test_four_ranks_store_what_the_recorded_table_says():
    pytest.importorskip("torch")
    folder = RECORDINGS / "28_multi_gpu"
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*command, "--nproc-per-node=4", "mesh.py"],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert not done.returncode, done.stderr[-2000:]
    table = (folder / "mesh.txt").read_text(encoding="utf-8")
    assert done.stdout.splitlines()[1:] == table.splitlines()[2:]


def test_the_shares_of_cudnns_other_operations_are_those_of_their_times():
    text = (RECORDINGS / "27_cudnn" / "beside.txt").read_text(encoding="utf-8")
    tables = [part.splitlines() for part in text.split("\n\n")[1:]]
    assert len(tables) == 5
    for head, *lines in tables:
        assert head.endswith("of copy")
        rows = [line.split()[-3:] for line in lines]
        copy = float(rows[0][1])
        for megabytes, ms, share in rows:
            assert megabytes == rows[0][0]
            assert share == f"{100 * copy / float(ms):.0f}%"


@pytest.mark.parametrize(
    "path", sorted((RECORDINGS / "switches").glob("*.txt")), ids=lambda p: p.stem
)
def test_what_switches_print_says_what_made_it_and_is_shown(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# PyTorch ")
    assert "\n$ " in text
    assert "Traceback" not in text
    assert not OF_A_MACHINE.search(text)
    assert max(map(len, text.splitlines())) <= 88
    page = (RECORDINGS.parent / "switches.md").read_text(encoding="utf-8")
    assert f"recordings/switches/{path.name}" in page


def test_the_recorded_instructions_are_what_triton_makes_of_the_lab():
    """Counts, layouts and the inner loop of lab 29, where this is the same Triton."""
    from weft.device import for_triton

    if for_triton.missing() or importlib.metadata.version("triton") != "3.7.1":
        pytest.skip("recorded with another Triton")
    path = RECORDINGS / "29_triton" / "record.py"
    spec = importlib.util.spec_from_file_location("record_29", path)
    record = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(record)
    for name, text in record.recordings().items():
        assert (path.parent / name).read_text(encoding="utf-8") == text, name
