"""What a notebook gives to its checks: a cell that changes it is told so by name."""

import ast
import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_kernels import checks, run, scope_of

import weft  # noqa: F401  before Numba

from numba import cuda  # isort: skip
from pipeline import given, notebook
from weft import cells, check, originals
from weft.checking.given import collapsed
from weft.checking.verdict import Verdict

ROOT = Path(__file__).parents[1]
CHAPTERS = ROOT / "chapters"


@pytest.fixture(autouse=True)
def _a_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    monkeypatch.setattr("weft.lesson._current", None)


def answer(lab: str, exercise: str) -> str:
    """A right answer to an exercise, without its first two lines."""
    folder = CHAPTERS / lab / "answers" / exercise
    text = next(iter(sorted(folder.glob("right_*.py")))).read_text(encoding="utf-8")
    return text.split("\n", 2)[2]


def judged(lab: str, exercise: str, cell: str) -> Verdict:
    """The verdict of a lab's own check after a learner's cell."""
    scope = scope_of(lab)
    run(cell, "<a learner's cell>", scope)
    verdict: Verdict = run(checks(lab)[exercise], "<check>", scope)
    return verdict


@pytest.mark.parametrize("lab", notebook.stems(ROOT))
def test_the_files_fit_the_solutions(lab: str) -> None:
    text = given.file(ROOT, lab).read_text(encoding="utf-8")
    assert text == given.derive(ROOT, lab), f"make notebooks LAB={lab}"


@pytest.mark.parametrize(
    ("lab", "exercise", "before", "name", "said"),
    [
        ("13_shared_memory", "reverse_blocks", "BLOCK = 1", "BLOCK", "BLOCK` is 1."),
        ("14_reduction", "sum_interleaved", "BLOCK = 1", "BLOCK", "it is 256"),
        ("13_shared_memory", "reverse_blocks", "BLOCK: int = 1", "BLOCK", "is 1."),
        ("13_shared_memory", "reverse_blocks", "BLOCK = 64.0", "BLOCK", "is 64.0"),
        ("13_shared_memory", "reverse_blocks", "for BLOCK in (1,): pass", "BLOCK", ""),
        ("13_shared_memory", "reverse_blocks", "globals()['BLOCK'] = 1", "BLOCK", ""),
        ("13_shared_memory", "reverse_blocks", "exec('BLOCK = 1')", "BLOCK", ""),
        ("13_shared_memory", "reverse_blocks", "np = 5", "np", "import numpy as np"),
        ("05_first_kernel", "blocks_for", "len = lambda x: 7", "len", "Python's own"),
        ("05_first_kernel", "blocks_for", "from math import ceil as len", "len", ""),
        ("05_first_kernel", "vector_add", "np = 5", "np", "`np` is 5."),
        ("05_first_kernel", "vector_add", "import math as np", "np", "module math"),
        (
            "18_gemm_tiles",
            "gemm_tiled",
            "@cuda.jit(device=True)\ndef launch_tiles(a, b):\n    return a * b\n",
            "launch_tiles",
            "`launch_tiles` is a device function",
        ),
        (
            "18_gemm_tiles",
            "gemm_tiled",
            "def launch_tiles(m, n, k, beta):\n    return (1, 1), (TILE, TILE)\n",
            "launch_tiles",
            "`launch_tiles` is another function",
        ),
    ],
)
def test_a_name_of_the_exercise_is_something_else(
    lab: str, exercise: str, before: str, name: str, said: str
) -> None:
    verdict = judged(lab, exercise, f"{before}\n{answer(lab, exercise)}")
    assert verdict.kind == "given", verdict
    assert f"`{name}`" in verdict.message
    assert said in verdict.message + verdict.why
    if "'" not in before:
        line = next(n for n, t in enumerate(before.splitlines(), 1) if name in t)
        assert verdict.line == line


def test_a_builtin_of_the_exercise_is_the_answer_itself() -> None:
    """The reference is `len(range(...))`, so this would be compared with itself."""
    cell = "def len(x):\n    return 7\n\ndef blocks_for(n):\n    return len(())\n"
    verdict = judged("05_first_kernel", "blocks_for", cell)
    assert verdict.kind == "given", verdict
    assert "`len` is another function, not Python's own `len`" in verdict.message


def test_builtins_that_the_check_does_not_need_are_the_learners() -> None:
    cell = f"sum = max = 5\n{answer('05_first_kernel', 'blocks_for')}"
    assert judged("05_first_kernel", "blocks_for", cell)


def test_an_import_of_the_exercise_is_gone() -> None:
    cell = answer("05_first_kernel", "vector_add") + "\ndel np\n"
    verdict = judged("05_first_kernel", "vector_add", cell)
    assert verdict.kind == "given", verdict
    assert "`np` is not there" in verdict.message


def test_a_name_of_the_exercise_given_again_is_fine() -> None:
    cell = f"BLOCK = 64\nTILE = 5\n{answer('13_shared_memory', 'reverse_blocks')}"
    assert judged("13_shared_memory", "reverse_blocks", cell)


def test_another_layout_of_the_same_function_is_fine() -> None:
    one = "def f(a,\n      b):\n    return a + b"
    assert collapsed(one) == collapsed("def f(a, b):\n    return a  + b\n")
    assert collapsed(one) != collapsed("def f(a, b):\n    return a - b\n")


@cuda.jit
def right(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


@cuda.jit(device=True)
def gemm(a, b):
    return a + b


def added(**options: Any) -> Verdict:
    defaults: dict[str, Any] = {
        "spec": lambda a, b: a + b,
        "inputs": lambda rng, n: (rng.random(n, np.float32),) * 2,
        "sizes": [1, 31, 100],
        "launch": lambda n: (max(1, -(-n // 32)), 32),
    }
    return check(right, **(defaults | options))


def test_a_function_of_a_check_that_is_none() -> None:
    assert added()
    for field, value, said in (
        ("spec", gemm, "`gemm`, a device function"),
        ("spec", 0, "0, not a function"),
        ("launch", 5, "5, not a function"),
        ("out", right, "`right`, a kernel"),
    ):
        verdict = added(**{field: value})
        assert verdict.kind == "given", verdict
        assert f"The `{field}` of this check is" in verdict.message
        assert said in verdict.message


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (np.random, "default_rng"),
        (np, "isclose"),
        (np, "float32"),
        (np.linalg, "norm"),
    ],
)
def test_a_library_that_was_changed(
    module: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not originals.replaced()
    monkeypatch.setattr(module, name, lambda *_, **__: 0)
    verdict = added()
    assert verdict.kind == "given"
    assert f"`{module.__name__}.{name}`" in verdict.message
    monkeypatch.undo()


def functions(cell: str) -> list[ast.FunctionDef]:
    """The functions that a cell defines."""
    tree = cells.parse(cell)
    return [n for n in tree.body if isinstance(n, ast.FunctionDef)] if tree else []


def parameters(function: ast.FunctionDef) -> int:
    return len(function.args.args)


@pytest.mark.parametrize("lab", notebook.stems(ROOT))
def test_no_function_that_the_lab_shows_is_an_answer(lab: str) -> None:
    """Each is pasted under the name of each exercise that has as many parameters."""
    path = notebook.lab(ROOT, lab)
    shown = [c.source for c in notebook.read(path).cells if c.cell_type == "code"]
    exercises = checks(lab)
    begun = {
        function.name: function
        for cell in shown
        for function in functions(cell)
        if function.name in exercises
    }
    others = [
        function
        for cell in shown
        for function in functions(cell)
        if function.name not in exercises
    ]
    for name, exercise in begun.items():
        for function in others:
            if parameters(function) != parameters(exercise):
                continue
            renamed = copy.deepcopy(function)
            renamed.name = name
            try:
                verdict = judged(lab, name, ast.unparse(renamed))
            except (NameError, ValueError):  # it needs another cell, or is no operator
                continue
            assert not verdict, f"`{function.name}` of the lab passes as `{name}`"
