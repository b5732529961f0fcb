"""A Python that has what a page of the book has: the standard library, and `weft`.

python without_numpy.py import KIND < modules  whether each can be, in such an exercise
python without_numpy.py judge < exercises  judge sources; see `exporting.verdicts`
"""

import importlib.abc
import json
import os
import sys
import traceback
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ALLOWED = {*sys.stdlib_module_names, "weft"}


class OnlyOurs(importlib.abc.MetaPathFinder):
    """Refuses what is neither the standard library's nor ours."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ALLOWED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def prepare() -> None:
    """Make `weft` a package without its `__init__`, which chooses a GPU."""
    sys.meta_path.insert(0, OnlyOurs())
    package = types.ModuleType("weft")
    package.__path__ = [str(ROOT / "weft")]
    sys.modules["weft"] = package


def judged(exercise: dict, sources: list) -> dict:
    """The verdicts on some sources of an exercise, and the modules that are there.

    Where the check itself fails, the result has its error and no verdict.
    """
    from weft.in_page.judging import judge

    found = []
    for source in sources:
        try:
            found.append(judge(source, exercise))
        except Exception:
            last = traceback.format_exc().strip().splitlines()[-1]
            found.append({"error": last})
    return {"verdicts": found, "modules": imported()}


def imported() -> list:
    """The modules that are there: ours, and the standard library's public ones."""
    names = (name for name in sys.modules if not name.startswith("_"))
    return sorted(name for name in names if name.partition(".")[0] in ALLOWED)


def can_import(module: str) -> bool:
    """Whether a module can be imported: a fork tries, so that none finds another's."""
    child = os.fork()
    if not child:
        sys.stdout = sys.stderr  # what a module prints is no answer
        try:
            importlib.import_module(module)
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def main(command: str, *rest: str) -> None:
    prepare()
    if command == "import":
        from weft.in_page.judging import ROOMS

        ROOMS[rest[0]]()
        for line in sys.stdin:
            print(int(can_import(line.strip())), flush=True)
        return
    asked = json.load(sys.stdin)
    found = [judged(each["exercise"], each["sources"]) for each in asked]
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
