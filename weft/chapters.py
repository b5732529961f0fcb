"""The chapters of the course: where their files are, and their modules.

`chapters/NN_topic/` has the exercises of a chapter (`lesson.toml`), and modules that
its lab imports: `checks`, `measure`, `kernels`. A checkout has this folder beside the
package, an installed package inside it.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType

from weft import originals

_PACKAGE = Path(__file__).resolve().parent


def folder() -> Path:
    """Return the folder of all chapters."""
    checkout = _PACKAGE.parent / "chapters"
    return checkout if checkout.is_dir() else _PACKAGE / "_chapters"


# Makes the folders importable, as `weft.chapters.12_global_memory.measure`.
__path__ = [str(folder())]


def names(where: Path | None = None) -> list[str]:
    """Return the folder names of all chapters that have a lesson, in order."""
    found = (where or folder()).glob("[0-9][0-9]_*/lesson.toml")
    return sorted(file.parent.name for file in found)


def plain(module: str) -> str:
    """Return a module's name, without the package and chapter if it is in a chapter.

    For the module `layouts` of a chapter, this is "layouts".
    """
    return module.split(".", 3)[3] if module.startswith(f"{__name__}.") else module


def origin(file: str) -> str:
    """Describe where a line outside the learner's cell is: in a module or another cell.

    >>> origin(str(folder() / "24_attention" / "kernels.py")), origin("<cell>")
    ("in the chapter's `kernels.py`", 'of another cell')
    """
    path = Path(file)
    if folder() in path.parents:
        return f"in the chapter's `{path.name}`"
    return "of another cell"


class Chapter:
    """The modules of a chapter as attributes, each imported when it is first used."""

    def __init__(self, stem: str) -> None:
        self.stem = stem

    def __getattr__(self, name: str) -> ModuleType:
        """Import the chapter's module `name`. Raises AttributeError if it has none."""
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            found = import_module(f"{__name__}.{self.stem}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{self.stem}.{name}":
                raise
            text = f"chapter {self.stem} has no module {name!r}"
            raise AttributeError(text) from None
        originals.watch(found.__name__)
        return found

    def __dir__(self) -> list[str]:
        files = sorted(path.stem for path in (folder() / self.stem).glob("*.py"))
        return [name for name in files if name != "lab"]

    def _ipython_display_(self) -> None:
        """Show nothing, so that `weft.lab(...)` can be the last line of a cell."""
