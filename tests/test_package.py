"""What an installed `weft` contains; Colab has nothing else."""

import tomllib
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
