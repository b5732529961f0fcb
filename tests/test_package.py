"""What an installed `weft` contains; Colab has nothing else."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
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


USED = """
import weft
chapter = weft.lab("12_global_memory")
print(chapter.checks.ring(4), chapter.measure.__file__)
print(weft.lab("35_mnist_cnn").fused.__name__)
"""


def test_an_installed_package_has_what_labs_import(tmp_path: Path) -> None:
    """A wheel without answers, used far from the checkout, as on Colab."""
    source = tmp_path / "source"
    for name in ("weft", "chapters", "results"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-text"):
        shutil.copy(ROOT / name, source)
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    alone = ("--no-deps", "--no-build-isolation")
    wheels, place = tmp_path / "wheels", tmp_path / "installed"
    subprocess.run([*pip, "wheel", *alone, "-w", wheels, source], check=True)
    (wheel,) = wheels.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(place)
    assert "weft/_chapters/12_global_memory/lesson.toml" in names
    assert not [n for n in names if "answers" in n or n.endswith("/lab.py")]

    outside = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    done = subprocess.run(
        [sys.executable, "-c", USED],
        cwd=tmp_path,
        env=outside | {"PYTHONPATH": str(place), "WEFT_SIMULATOR": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert str(place) in done.stdout
    assert "weft.chapters.35_mnist_cnn.fused" in done.stdout


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
