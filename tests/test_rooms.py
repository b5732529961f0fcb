"""The seam between the core and the kinds of exercise, and the way imports point."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import weft  # noqa: F401  before Numba
from weft import check, streams
from weft.checking.limits import LIMITS, validated
from weft.dispatch import ROOMS, room_of

from numba import cuda  # isort: skip

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "weft"

# From the ground up: a file imports its own floor's package and floors below it.
FLOORS = [
    {
        *("cells", "code_objects", "doing", "effort", "errors", "markup", "meaning"),
        *("originals", "own_classes", "places", "python_errors", "store"),
        *("tracebacks", "units", "versions", "wording"),
    },
    {"backend", "timing", "links", "starters", "chapters"},
    {"device"},
    {"intrinsics", "torch_stream"},
    {"simulator", "launching", "tensor_maps"},
    {"sanitizer", "counters", "templates", "stack_maps"},
    {"compiling", "lesson"},
    {"checking", "bench"},
    {"kernels"},
    {"programs"},
    {
        *("functions", "streams", "c", "torch_ops", "triton_programs", "libraries"),
        *("ranks", "tile_programs"),
    },
    {"captures", "cuda_cpp"},
    {"dispatch", "in_page", "tracing"},
    {"diagnosis", "exploring", "sharing"},
    {""},  # weft/__init__.py
]
FLOOR = {name: height for height, names in enumerate(FLOORS) for name in names}


def room(path: Path) -> str:
    """The room of a file: the first part of its path in the package."""
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "" if part == "__init__" else part


def imported(path: Path) -> Iterator[str]:
    """The rooms that a file imports, those inside functions included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("weft"):
            _, _, rest = (node.module or "").partition(".")
            if rest:
                yield rest.partition(".")[0]
            else:
                yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("weft."):
                    yield alias.name.split(".")[1]
                elif alias.name == "weft":
                    yield ""


def test_every_room_has_a_floor() -> None:
    rooms = {room(path) for path in PACKAGE.rglob("*.py")}
    assert rooms <= FLOOR.keys(), "give the new room a floor in FLOORS"


def test_imports_point_down() -> None:
    upward = [
        f"{path.relative_to(ROOT)} imports {other or 'weft'}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if room(path)
        for other in imported(path)
        if other != room(path) and FLOOR.get(other, 0) >= FLOOR[room(path)]
    ]
    assert upward == []


PACKAGES = ("weft", "pipeline", "grading", "installing", "exams", "verification")


def named(node: ast.AST) -> Iterator[str]:
    """The modules, or names in modules, that a piece of code imports."""
    match node:
        case ast.ImportFrom(module=str(module), names=names):
            yield from (f"{module}.{alias.name}" for alias in names)
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.Call(
            func=ast.Name("import_module") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(str(module)), *_],
        ):
            yield module


def modules(root: Path) -> dict[str, set[str]]:
    """The modules of the packages, and which of them each imports, wherever it does.

    Inside functions and for the types alone as well: a circle is one there too. `weft`
    itself, which only hands names on, is left out.
    """
    paths = {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path
        for package in PACKAGES
        for path in sorted((root / package).rglob("*.py"))
    }
    return {
        module: {
            each
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            for name in named(node)
            for each in [name if name in paths else name.rpartition(".")[0]]
            if each in paths
        }
        - {module, "weft"}
        for module, path in paths.items()
        if module != "weft"
    }


def test_one_file_imports_what_cutile_keeps_to_itself() -> None:
    files = {
        path.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if any(name.startswith("cuda.tile._") for name in named(node))
    }
    assert files == {"cutile.py"}


def circular(imports: dict[str, set[str]]) -> dict[str, set[str]]:
    """The modules that import each other in a circle, and those that need them."""
    left = imports
    while done := {name for name, others in left.items() if not others & left.keys()}:
        left = {name: others for name, others in left.items() if name not in done}
    return left


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circular(modules(ROOT)) == {}


@pytest.mark.parametrize(
    "back",
    [
        "from weft.a import x",
        "def f():\n    from weft import a",
        "if TYPE_CHECKING:\n    from weft.a import x",
        "def f():\n    return import_module('weft.a')",
    ],
)
def test_a_circle_is_seen_wherever_the_import_is(back: str, tmp_path: Path) -> None:
    (tmp_path / "weft").mkdir()
    (tmp_path / "weft" / "a.py").write_text("from weft.b import y\n")
    (tmp_path / "weft" / "b.py").write_text(f"{back}\n")
    assert circular(modules(tmp_path)).keys() == {"weft.a", "weft.b"}


def test_the_map_names_every_room() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = FLOOR.keys() - {""}
    assert [name for name in sorted(rooms) if f"`{name}`" not in text] == []


def functions() -> Iterator[tuple[str, int, ast.FunctionDef]]:
    """Every function of the package: where it is, its lines, its tree."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                where = f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
                yield where, (node.end_lineno or 0) - node.lineno + 1, node


def test_no_function_is_longer_than_80_lines() -> None:
    assert [where for where, lines, _ in functions() if lines > 80] == []


def test_a_function_of_20_lines_has_a_docstring() -> None:
    long = [(where, node) for where, lines, node in functions() if lines >= 20]
    assert [where for where, node in long if not ast.get_docstring(node)] == []


# Verdicts carry facts: nothing reads a sentence to decide what to do

SENTENCES = {"message", "why", "hint", "headline", "premise", "explanation", "when"}
READING = {
    *("count", "endswith", "find", "index", "partition", "removeprefix"),
    *("removesuffix", "replace", "rpartition", "split", "startswith"),
}


def is_sentence(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in SENTENCES


def reads_a_sentence(node: ast.AST) -> bool:
    """Whether code looks for something in the words of a verdict, or of the like."""
    match node:
        case ast.Compare(ops=ops, comparators=compared):
            found = zip(ops, compared, strict=True)
            return any(
                isinstance(o, ast.In | ast.NotIn) and is_sentence(c) for o, c in found
            )
        case ast.Call(func=ast.Attribute(value=said, attr=attr)) if attr in READING:
            return is_sentence(said)
        case ast.Call(func=ast.Attribute(value=ast.Name("re")), args=args):
            return any(map(is_sentence, args))
    return False


@pytest.mark.parametrize(
    "code",
    [
        '"Only what" in verdict.why',
        'failed.verdict.message.partition(": ")',
        're.search("times", difference.hint)',
    ],
)
def test_code_that_reads_a_sentence_is_seen(code: str) -> None:
    assert any(map(reads_a_sentence, ast.walk(ast.parse(code))))


def test_no_code_decides_by_the_words_of_a_verdict() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno} {ast.unparse(node)}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if reads_a_sentence(node)
    ]
    assert found == []


# What an exercise may be given


def twice(x):
    return 2 * x


def test_a_mistyped_argument_is_an_error() -> None:
    with pytest.raises(ValueError, match="tolerence means nothing for a plain"):
        check(twice, spec=twice, inputs=[(1,)], tolerence=1e-3)


@pytest.mark.parametrize("name", ["sizes", "full", "out", "limits", "constants"])
def test_what_a_plain_function_has_no_use_for_is_an_error(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} means nothing for a plain function"):
        check(twice, spec=lambda x: 2 * x, inputs=[(1,)], **{name: (1,)})


def test_a_kernel_without_a_launch_is_told_so() -> None:
    kernel = cuda.jit(lambda x, out: None)
    with pytest.raises(ValueError, match="launch is missing or empty"):
        check(kernel, spec=twice, inputs=lambda rng, n: np.ones(n), sizes=[4])


def test_a_device_function_is_checked_as_a_function() -> None:
    function = cuda.jit(device=True)(twice)
    assert type(room_of(function, {})).__name__ == "Functions"


def test_a_mistyped_limit_is_an_error() -> None:
    with pytest.raises(ValueError, match='no limit; did you mean "sectors"'):
        validated("add", "a kernel", {"sector": 4})
    with pytest.raises(ValueError, match="is a limit of host code"):
        validated("add", "a kernel", {"overlap": 2})
    with pytest.raises(ValueError, match='"sector" is no limit'):
        validated("add", "a kernel", {"otherwise": {"sector": 4}})
    with pytest.raises(ValueError, match="overlp"):
        streams.check(
            twice,
            spec=twice,
            inputs=lambda rng, n: (np.ones(n),),
            given=lambda bench, x: (x,),
            sizes=[8],
            limits={"overlp": 1.5},
        )


def test_every_limit_belongs_to_a_room() -> None:
    rooms = ("kernels", "functions", "streams", "c", "torch_ops", "triton_programs")
    rooms += ("libraries", "ranks")
    known = {importlib.import_module(f"weft.{r}.room").ROOM.what for r in rooms}
    assert {limit.room for limit in LIMITS.values()} <= known


def test_the_last_room_takes_everything() -> None:
    assert room_of(object(), {}).what == "a plain function"
    assert ROOMS[-1] == "weft.functions"
