"""What an installed `weft` contains; Colab has nothing else."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import versions

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_package_is_installed() -> None:
    found = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in ROOT.glob("weft/**/__init__.py")
    }
    setuptools = SETTINGS["tool"]["setuptools"]
    assert found == set(setuptools["packages"]) - set(setuptools["package-dir"])


def test_data_that_the_package_reads_is_installed() -> None:
    data = SETTINGS["tool"]["setuptools"]["package-data"]
    kinds = {p.suffix for p in ROOT.glob("weft/**/*") if p.is_file()} - {".py", ".pyc"}
    assert kinds <= {Path(pattern).suffix for pattern in data["weft"]}
    assert (ROOT / "results").is_dir()


def test_the_version_is_in_one_place() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev0)?", versions.__version__)
    assert SETTINGS["project"]["dynamic"] == ["version"]
    dynamic = SETTINGS["tool"]["setuptools"]["dynamic"]
    assert dynamic["version"] == {"attr": "weft.versions.__version__"}
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    base = versions.__version__.removesuffix(".dev0")
    assert f"\nversion: {base}\n" in cited


@pytest.mark.parametrize(
    ("version", "revision"), [("0.2.0", "v0.2.0"), ("0.3.0.dev0", "main")]
)
def test_a_release_is_found_by_its_tag(version: str, revision: str) -> None:
    assert versions.revision(version) == revision


def imported(path: Path) -> Iterator[str]:
    """The packages that a module cannot be imported without."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def test_what_the_package_imports_is_installed_with_it() -> None:
    wanted = {name for path in ROOT.glob("weft/**/*.py") for name in imported(path)}
    wanted -= {"weft", *sys.stdlib_module_names}
    named = {re.split("[<>=]", d)[0] for d in SETTINGS["project"]["dependencies"]}
    brought = {"IPython", "ipywidgets", "traitlets"}  # by anywidget
    there = {"torch"}  # in whose room nobody comes without it
    assert wanted <= named | brought | there
    assert "anywidget" in wanted
