"""Checks in a page of the book: what is exported, and what is said of it there."""

import ast
import gzip
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built_book import ROOT

import weft
from weft import check
from weft.in_page import judging
from weft.in_page.judging import judge
from weft.in_page.values import NotAValue, decoded, encoded, has_array
from weft.lesson import syllabus

sys.path.insert(0, str(ROOT / "book"))
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import bundle_editor
import fetch_pyodide
from weft_book import checks, exporting
from weft_book.exporting import NotInPage, export

# Of every exercise in plain Python whose check a page could have.
IN_PAGES = {
    "01_why_gpus": ["amdahl", "gustafson", "threads_needed"],
    "02_ecosystem": ["bill"],
    "03_setup": ["global_bytes", "image_for", "least_ms", "peaks"],
    "05_first_kernel": ["blocks_for"],
    "08_warps": ["warp_of"],
    "18_gemm_tiles": ["traffic"],
    "19_gemm_registers": ["busy", "needs"],
    "20_layouts": [
        *("coalesce", "complement", "composition", "crd2idx", "local_partition"),
        *("swizzle", "thread_values"),
    ],
    "21_tensor_cores": ["owner"],
    "22_hopper_gemm": ["ring", "tile_at"],
    "24_attention": ["costs", "key_tiles"],
    "26_curand_cufft": ["torch_place"],
    "27_cudnn": ["described"],
    "30_tensors": ["expanded", "merge", "strides_for"],
    "34_diffusion": ["worth"],
    "37_decoding": ["step_costs"],
    "38_after_hopper": ["e2m1", "mx_scale", "nvfp4_scales", "scaled_dot"],
}
HEAD = re.compile(r"# verdict: ([\w-]+)\n")

Verdict = dict[str, Any]


@cache
def exercise(lab: str, name: str) -> dict[str, Any]:
    return json.loads(json.dumps(export(lab, name)))


@cache
def of_pages() -> tuple[checks.Checks, Path]:
    """What the build has made of the exercises of the pages, and the folder of it."""
    asked = tuple(sorted(set(checks.written(ROOT / "book"))))
    return checks.prepared(asked), checks.kept(asked)


def judged(source: str) -> Verdict:
    return judge(source, exercise("22_hopper_gemm", "ring"))


# Values


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        10**30,
        0.1,
        3.0,
        -0.0,
        float("inf"),
        "text",
        (1, (2, [3.5, "a"]), {}),
        {(1, 2): [None], "tuple": ()},
    ],
)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    again = decoded(json.loads(json.dumps(encoded(value))))
    assert again == value
    assert type(again) is type(value)


def test_javascript_changes_no_value() -> None:
    # There 3.0 is 3, and integers are exact up to 2^53.
    assert encoded((3.0, 2**53 + 1)) == {
        "tuple": [{"float": "3.0"}, {"int": "9007199254740993"}]
    }


def test_an_array_comes_back_with_its_type_and_shape() -> None:
    array = np.arange(6, dtype=np.float16).reshape(2, 3)
    data = json.loads(json.dumps(encoded((1, array))))
    assert has_array(data)
    again = decoded(data)[1]
    assert again.dtype == array.dtype
    assert np.array_equal(again, array)
    assert not has_array(encoded({"a": (1, 2.0)}))


@pytest.mark.parametrize("name", ["array", "number", "fields"])
def test_a_field_may_be_called_as_an_array_is_marked(name: str) -> None:
    fields = {name: encoded(3), "other": encoded((1, 2.0))}
    assert not has_array({"object": "20_layouts.layouts:Layout", "fields": fields})
    fields["other"] = encoded([np.float32(3)])
    assert has_array({"object": "20_layouts.layouts:Layout", "fields": fields})


def test_a_layout_comes_back_as_a_layout() -> None:
    layouts = weft.lab("20_layouts").layouts
    layout = layouts.parse("((2,2),8):((16,1),2)")
    assert decoded(json.loads(json.dumps(encoded((layout, 3))))) == (layout, 3)


def test_what_json_cannot_hold_is_refused() -> None:
    for value in (object(), {1, 2}, lambda: 0, np.array([object()])):
        with pytest.raises(NotAValue):
            encoded(value)


# What is said


RIGHT = """\
def ring(k, stages):
    turn, stage = divmod(k, stages)
    return stage, turn % 2, 1 - turn % 2
"""


def test_a_right_function_passes() -> None:
    verdict = judged(RIGHT)
    assert verdict["ok"]
    assert verdict["state"] == "passed"
    assert verdict["title"] == "ring — passed"
    assert verdict["facts"] == ["right on 94 cases"]


def test_a_wrong_function_is_told_its_line() -> None:
    verdict = judged(RIGHT.replace("1 - turn % 2", "turn % 2"))
    assert not verdict["ok"]
    assert verdict["kind"] == "wrong-value"
    assert [place["line"] for place in verdict["places"]] == [3]
    assert "result[2] is 0 and should be 1" in verdict["text"]


def test_the_starter_is_told_to_begin_without_a_word_on_cells() -> None:
    verdict = judged(exercise("22_hopper_gemm", "ring")["starter"])
    assert verdict["state"] == "to do"
    assert "Hint" in verdict["hint"]
    assert "cell" not in verdict["text"] + verdict["hint"]


def test_an_endless_loop_is_named_by_its_line() -> None:
    verdict = judged("def ring(k, stages):\n    while True:\n        k += 1\n")
    assert verdict["kind"] == "endless-loop"
    assert verdict["places"][0]["line"] == 2
    assert verdict["read"]["address"] == "bugs/endless-loop.html"
    outside = judged("while True: pass\n")
    assert outside["kind"] == "endless-loop"
    assert outside["places"][0]["line"] == 1


def test_what_python_cannot_read_is_named_by_its_line() -> None:
    verdict = judged("def ring(k, stages):\n    return (\n")
    assert verdict["title"] == "ring — Python cannot read it"
    assert verdict["places"][0]["line"] == 2
    assert judged("x = '\0'")["kind"] == "exception"


def test_code_that_fails_by_itself_is_named_by_its_line() -> None:
    verdict = judged("import math\nmath.sqrt(-1)\n")
    assert "The code raises ValueError" in verdict["text"]
    assert verdict["places"][0]["line"] == 2
    assert judged("import sys\nsys.exit()\n")["kind"] == "exception"


def test_a_missing_function_is_asked_for_by_its_name() -> None:
    verdict = judged(RIGHT.replace("ring", "rings"))
    assert verdict["text"] == "The code defines no `ring`."


def test_a_name_that_only_the_lab_has_is_explained() -> None:
    verdict = judged("def ring(k, stages):\n    return np.divmod(k, stages)\n")
    assert "name 'np' is not defined" in verdict["text"]
    assert "`np` is there in the lab, and not in this page." in verdict["why"]


def test_a_module_that_no_page_has_is_explained() -> None:
    verdict = judged("import numpy_of_another_planet\n")
    assert verdict["places"][0]["line"] == 1
    assert "Python's own modules" in verdict["why"]


def test_an_integer_too_long_to_write_is_described() -> None:
    verdict = judged(RIGHT.replace("1 - turn % 2", "10**5000"))
    assert "is an integer of 16,610 bits and should be 1" in verdict["text"]


def test_what_the_code_prints_is_shown_up_to_a_limit() -> None:
    verdict = judged(f"print('here')\n{RIGHT}")
    assert verdict["printed"] == "here"
    talking = RIGHT.replace("    turn,", "    print('x' * 100, k, stages)\n    turn,")
    printed = judged(talking)["printed"]
    assert re.search(r"\A(x{100} \d+ \d+\n){20}… and \d+ more lines\Z", printed)


def test_a_forbidden_function_is_found_under_its_name_in_the_lab() -> None:
    source = "def coalesce(layout):\n    return layouts.coalesce(layout)\n"
    verdict = judge(source, exercise("20_layouts", "coalesce"))
    assert verdict["kind"] == "library"
    assert verdict["places"][0]["line"] == 2


def test_a_function_that_the_lab_gives_is_there() -> None:
    image_for = exercise("03_setup", "image_for")
    assert "def parts(" in image_for["code"]
    source = "def image_for(capability, images):\n    return parts(images[0])\n"
    verdict = judge(source, image_for)
    assert "('sm', (" in verdict["text"]


def test_a_page_gets_of_the_labs_values_those_that_answers_use() -> None:
    described = exercise("27_cudnn", "described")
    assert "ONE" in described["left_out"]  # an address, another one in each build
    assert "WARPS" not in exercise("08_warps", "warp_of")["given"]


def test_a_page_gets_no_spec_and_no_answer() -> None:
    text = json.dumps(exercise("20_layouts", "coalesce"))
    assert "def same_coalesced" in text
    assert "def random_layouts" not in text
    assert "strides.append" not in text


# What a page can have


def test_a_reason_says_why_an_exercise_is_for_the_lab_alone() -> None:
    for lab, name, reason in (
        ("22_hopper_gemm", "delivered", "uses `np`"),
        ("23_convolution_fft", "dft", "an object of builtins.complex"),
        ("20_layouts", "no_such", "checks no no_such"),
    ):
        with pytest.raises(NotInPage, match=reason):
            export(lab, name)


def test_the_pages_have_only_exercises_that_they_can_check() -> None:
    asked = functions_asked()
    assert asked
    assert [one for one in asked if one[1] not in IN_PAGES.get(one[0], [])] == []


def functions_asked() -> list[tuple[str, str]]:
    """The plain functions that the pages check."""
    return [one for one in checks.written(ROOT / "book") if not is_kernel(*one)]


def is_kernel(lab: str, name: str) -> bool:
    return name not in IN_PAGES.get(lab, [])


def test_without_numpy_the_answers_get_their_verdicts() -> None:
    exported = [exercise(lab, name) for lab, name in functions_asked()]
    trials = exporting.tried(exported)
    assert [trial.reason for trial in trials] == [""] * len(exported)
    modules = {module for trial in trials for module in trial.modules}
    assert "weft.functions.judging" in modules
    assert "weft.chapters.20_layouts.layouts" in modules
    assert not [m for m in modules if m.startswith(("weft.simulator", "weft.kernels"))]
    assert "weft.lesson" not in modules


# Kernels

KERNELS = [
    ("05_first_kernel", "vector_add"),
    ("06_grids_2d", "grid_for"),
    ("10_debugging", "block_max"),
    ("13_shared_memory", "transpose_padded"),
]
# Of these classes, only the lab's compiler finds an answer: in a page it passes.
COMPILED = ("float64", "local")
HERE = "# <- here"


def other_verdicts(asked: list[tuple[str, str]]) -> list[Any]:
    """The answers on which a page says something else than the lab, or marks less."""
    exported = [exercise(*one) for one in asked]
    typed = [list(exporting.sources(one)) for one in exported]
    found = exporting.verdicts(exported, [[s for _, s, _ in some] for some in typed])
    other = []
    for one, some, there in zip(asked, typed, found, strict=True):
        for (what, source, state), verdict in zip(some, there["verdicts"], strict=True):
            if not is_as_in_the_lab(source, state, verdict):
                other.append((*one, what, verdict.get("error") or verdict["title"]))
    return other


def is_as_in_the_lab(source: str, state: str, verdict: Verdict) -> bool:
    if "error" in verdict:
        return False
    head = HEAD.match(source)
    if head is None:
        return exporting.has_reached(state, verdict)
    if head[1] in COMPILED and verdict["ok"]:
        return judging.NOT_HERE in verdict["facts"]
    lines = {n for n, text in enumerate(source.splitlines(), 1) if HERE in text}
    marked = {place["line"] for place in verdict["places"] if place["ours"]}
    return verdict["kind"] == head[1] and lines <= marked


def test_without_numpy_kernels_get_the_verdicts_of_the_lab() -> None:
    assert other_verdicts(KERNELS) == []


@pytest.mark.long
def test_every_kernel_of_a_page_gets_the_verdicts_of_the_lab() -> None:
    asked = [one for one in checks.written(ROOT / "book") if is_kernel(*one)]
    assert len(asked) > 50
    assert other_verdicts(sorted(set(asked))) == []


def test_a_kernel_that_passes_is_told_what_the_lab_adds() -> None:
    data = exercise("05_first_kernel", "vector_add")
    source = exporting.cell_of("05_first_kernel", "vector_add")
    verdict = judge(source, data)
    assert verdict["ok"]
    assert verdict["facts"][0].startswith("right in the simulator: 4 sizes")
    assert verdict["facts"][-1] == judging.NOT_HERE
    assert data["left_out"]
    assert "lambda" not in json.dumps(data)


def test_a_page_does_not_name_what_only_a_lab_has() -> None:
    source = (
        "@cuda.jit\n"
        "def vector_add(a, b, out):\n"
        "    i = cuda.grid(1)\n"
        "    if i < out.size:\n"
        "        out[i] = a[i] * a[i] + b[i] * b[i]\n"
    )
    verdict = judge(source, exercise("05_first_kernel", "vector_add"))
    assert verdict["kind"] == "wrong-value"
    assert "explore" not in json.dumps(verdict)


def test_lines_that_are_not_the_readers_are_not_marked() -> None:
    data = exercise("05_first_kernel", "launch_for")
    assert "def halve" in data["code"]
    source = "def launch_for(n):\n    return 1, 0\n"
    (place,) = judge(source, data)["places"]
    assert (place["line"], place["ours"]) == (2, True)


# A Python that begins with a snapshot has what was read before, and no files.
AS_FROM_A_SNAPSHOT = """
import json, pathlib, sys
sys.path.insert(0, sys.argv[1])
from weft.in_page.judging import judge, read_files
source, exercise = json.load(sys.stdin)
judge("", exercise)
read_files()
for file in pathlib.Path(sys.argv[1]).rglob("*.*"):
    file.unlink()
print(judge(source, exercise)["text"] or "passed")
"""


def said_without_files(source: str, data: dict[str, Any], folder: Path) -> str:
    """The verdict on a source, of a Python whose files are gone once it has begun."""
    (trial,) = exporting.tried([data], few_sources=True)
    ours = [module for module in trial.modules if module.startswith("weft")]
    checks.zip_modules(ours, folder / "modules.zip")
    with zipfile.ZipFile(folder / "modules.zip") as packed:
        packed.extractall(folder)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", AS_FROM_A_SNAPSHOT, folder],
        input=json.dumps([source, data]),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_modules_come_with_the_tables_that_they_read(tmp_path: Path) -> None:
    ring = exercise("22_hopper_gemm", "ring")
    said = said_without_files("while True: pass", ring, tmp_path)
    assert re.match(r"This code has run .* lines of Python", said)


def test_the_functions_that_a_kernel_calls_can_be_read(tmp_path: Path) -> None:
    one = ("09_atomics", "atomic_max_float")
    said = said_without_files(exporting.cell_of(*one), exercise(*one), tmp_path)
    assert said == "passed\n"


def test_an_explanation_that_needs_numpy_keeps_the_exercise_out() -> None:
    data = exercise("22_hopper_gemm", "ring") | {
        "explains": {"module": "22_hopper_gemm.checks", "source": "import numpy\n"}
    }
    (trial,) = exporting.tried([data])
    assert "No module named 'numpy'" in trial.reason


@pytest.mark.long
def test_every_plain_exercise_is_in_the_list_or_has_a_reason() -> None:
    found: dict[str, list[str]] = {}
    for (lab, name), reason in exporting.survey().items():
        if not reason:
            found.setdefault(lab, []).append(name)
    assert found == IN_PAGES


def test_modules_travel_without_docstrings_and_keep_their_lines() -> None:
    source = '''"""What it is for.

More of it.
"""

class Wrong(Exception):
    """Only a docstring."""

def half(x):
    """Return half of x."""
    text = """kept"""
    return x / 2, text
'''
    found = checks.without_docstrings(source)
    assert found.count("\n") == source.count("\n")
    assert ast.get_docstring(ast.parse(found)) is None
    assert [line for line in found.split("\n") if line] == [
        "class Wrong(Exception):",
        "    pass",
        "def half(x):",
        '    text = """kept"""',
        "    return x / 2, text",
    ]


def test_the_modules_are_few() -> None:
    asked = tuple(sorted(set(checks.written(ROOT / "book"))))
    folder = checks.prepared(asked).folder
    if folder is None:
        pytest.skip("Pyodide is not at hand")
    with zipfile.ZipFile(folder / "modules.zip") as packed:
        names = packed.namelist()
    assert "weft/__init__.py" not in names
    assert "weft/_chapters/20_layouts/layouts.py" in names
    assert "weft/simulator/arithmetic/number_types.json" in names
    assert (folder / "modules.zip").stat().st_size < 450_000


# What a page loads before it is used


def test_checks_add_few_bytes_to_their_page() -> None:
    """300: the elements that load the script. Half of the rest is starters."""
    loader = (checks.SOURCES / "load.js").read_bytes()
    style = (checks.SOURCES / "check.css").read_bytes()
    for page in sorted((ROOT / "book").glob("*.md")):
        htmls = [
            checks.html_of(shown(*one), "../", works=True)
            for one in checks.on_page(page.read_text(encoding="utf-8"))
        ]
        sent = (loader, style, "".join(htmls).encode())
        size = sum(map(len, sent)) + 300
        packed = sum(len(gzip.compress(part)) for part in sent) + 300
        assert size <= 7_000, (page.name, size)
        assert packed <= 2_500, (page.name, packed)


def shown(lab: str, name: str) -> dict[str, Any]:
    """What a page has of an exercise before it is used."""
    described = next(e for e in syllabus.load(lab).exercises if e.name == name)
    starter = exporting.starter(exporting.cell_of(lab, name))
    return {"chapter": lab, "name": name, "title": described.title, "starter": starter}


def test_a_page_without_pyodide_has_the_starter_and_a_link() -> None:
    html = checks.html_of(exercise("22_hopper_gemm", "ring"), "../", works=False)
    assert "data-check" not in html
    assert "JavaScript" not in html
    assert 'href="../labs/22_hopper_gemm.html"' in html
    assert "def ring(k, stages):" in unescape(html)


def test_a_package_with_another_digest_is_refused(tmp_path: Path) -> None:
    package = tmp_path / "pyodide.tgz"
    package.write_bytes(b"something else")
    _, integrity = fetch_pyodide.pinned()
    with pytest.raises(fetch_pyodide.NoPyodide, match="not the one that is pinned"):
        fetch_pyodide.refuse_other(package, integrity)


def test_without_npm_the_reason_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(fetch_pyodide, "ROOT", tmp_path)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(fetch_pyodide.NoPyodide, match="npm is not installed"):
        fetch_pyodide.fetch()


def test_the_bundle_names_what_is_in_it() -> None:
    about = json.loads((checks.SOURCES / "package.json").read_text())
    lock = json.loads((checks.SOURCES / "package-lock.json").read_text())["packages"]
    assert lock[""]["dependencies"] == about["dependencies"]
    assert lock[""]["devDependencies"] == about["devDependencies"]
    head, _, _ = (checks.SOURCES / "editor.js").read_text("utf8").partition("*/")
    for name, version in about["dependencies"].items():
        assert f"{name} {version}" in head
    assert "MIT" in head


@pytest.mark.long
def test_the_bundle_is_made_of_its_source(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    try:
        made = bundle_editor.bundle(tmp_path)
    except subprocess.CalledProcessError:
        pytest.skip("npm cannot fetch the packages")
    assert made == (checks.SOURCES / "editor.js").read_text("utf8")


# The same in Pyodide, which node runs


def typed(lab: str, name: str) -> Iterator[tuple[str, str, str]]:
    """What might be typed: what it is, the source, and the kind it gets natively."""
    data = exercise(lab, name)
    for what, source, _ in exporting.sources(data):
        head = HEAD.match(source)
        kinds = {"the lab's answer": "pass", "the starter": "begin"}
        yield what, source, head[1] if head else kinds[what]


@pytest.mark.long
def test_in_pyodide_every_answer_gets_the_verdict_it_gets_here(tmp_path: Path) -> None:
    asked = [(lab, name) for lab, names in IN_PAGES.items() for name in names]
    each = [list(typed(*one)) for one in asked]
    found = in_pyodide(tmp_path, asked, [[s for _, s, _ in some] for some in each])
    other = []
    for one, some, verdicts in zip(asked, each, found, strict=True):
        for (what, source, kind), there in zip(some, verdicts, strict=True):
            here = judge(source, exercise(*one))
            if known(there) != known(here) or not is_same(kind, here):
                other.append((*one, what, kind, here["kind"], there["kind"]))
    assert other == []


@pytest.mark.long
def test_in_pyodide_kernels_get_the_verdicts_of_the_lab(tmp_path: Path) -> None:
    """Python is newer there than here, and with it what it makes of a kernel."""
    asked = sorted({one for one in checks.written(ROOT / "book") if is_kernel(*one)})
    each = [list(exporting.sources(exercise(*one))) for one in asked]
    found = in_pyodide(tmp_path, asked, [[s for _, s, _ in some] for some in each])
    other = [
        (*one, what, verdict["title"])
        for one, some, verdicts in zip(asked, each, found, strict=True)
        for (what, source, state), verdict in zip(some, verdicts, strict=True)
        if not is_as_in_the_lab(source, state, verdict)
    ]
    assert other == []


def in_pyodide(
    folder: Path, asked: list[tuple[str, str]], sources: list[list[str]]
) -> list[list[Verdict]]:
    """The verdicts of Pyodide, which node runs."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    try:
        pyodide = fetch_pyodide.fetch()
    except fetch_pyodide.NoPyodide as reason:
        pytest.skip(str(reason))
    exported = [exercise(*one) for one in asked]
    trials = exporting.tried(exported, few_sources=True)
    modules = {module for trial in trials for module in trial.modules}
    ours = sorted(module for module in modules if module.startswith("weft"))
    checks.zip_modules(ours, folder / "modules.zip")
    pairs = zip(exported, sources, strict=True)
    text = json.dumps([{"exercise": one, "sources": some} for one, some in pairs])
    (folder / "asked.json").write_text(text)
    script = Path(__file__).with_name("judge_in_node.mjs")
    done = subprocess.run(
        ["node", script, pyodide, folder / "modules.zip", folder / "asked.json"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: list[list[Verdict]] = json.loads(done.stdout.splitlines()[-1])
    return found


def known(verdict: Verdict) -> Verdict:
    """A verdict without what Python says: each version has words of its own."""
    return verdict | {"text": ""} if verdict["kind"] == "exception" else verdict


def is_same(kind: str, verdict: Verdict) -> bool:
    """Whether a page's verdict is the lab's. What a page lacks, nobody can borrow."""
    borrowed = kind == "library" and "is not defined" in verdict["text"]
    return verdict["kind"] == kind or borrowed


def test_the_lab_and_the_page_say_the_same() -> None:
    """Of a wrong answer the lab's check, and the page's, give one verdict."""
    wrong = "def ring(k, stages):\n    return k // stages, 0, 1\n"
    scope: dict[str, Any] = {}
    exec(wrong, scope)
    page = judged(wrong)
    checks_of_lab = weft.lab("22_hopper_gemm").checks
    lab = check(
        scope["ring"],
        spec=checks_of_lab.rings,
        inputs=[(k, s) for s in (3, 1, 2, 4, 7) for k in (*range(16), 100, 101)],
        because=checks_of_lab.wrong_ring,
        without=("checks",),
    )
    assert page["text"] == lab.message
    assert page["kind"] == lab.kind
    assert page["why"] == lab.explanation


def test_a_page_names_the_line_on_which_a_nan_arises() -> None:
    source = (
        "@cuda.jit\n"
        "def vector_add(a, b, out):\n"
        "    i = cuda.grid(1)\n"
        "    if i < out.size:\n"
        "        nothing = a[i] - a[i]\n"
        "        share = nothing / nothing\n"
        "        out[i] = a[i] + b[i] + share\n"
    )
    data = exercise("05_first_kernel", "vector_add")
    (there,) = exporting.verdicts([data], [[source]])
    (verdict,) = there["verdicts"]
    marked = {place["line"]: place["note"] for place in verdict["places"]}
    assert marked == {7: "stored here", 6: "share becomes NaN here"}
