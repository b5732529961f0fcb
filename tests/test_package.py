"""What an installed `weft` contains; Colab has nothing else."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

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
    brought = {"ipywidgets", "traitlets", "IPython"}  # by anywidget
    there = {"torch"}  # in whose room nobody comes without it
    assert wanted <= named | brought | there
    assert "anywidget" in wanted
