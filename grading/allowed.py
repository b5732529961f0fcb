"""What an answer may use of Python and of packages, by the table `allowed.toml`."""

import builtins
import sys
import tomllib
from collections import defaultdict
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path

TABLE = tomllib.loads(Path(__file__).with_name("allowed.toml").read_text("utf-8"))
EXCEPTIONS = {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}
BUILTINS = EXCEPTIONS | set(TABLE["builtins"].split())
PYTHONS = set(dir(builtins))
PRIVATE, METHODS, NEVER = (
    set(TABLE[name].split()) for name in ("private", "methods", "never")
)
GIVEN = set(TABLE["given"].split())
STDLIB = set(sys.stdlib_module_names)
UNLIKELY = STDLIB - set(TABLE["harmless"].split())
MODULES = {name: set(text.split()) for name, text in TABLE["modules"].items()}
FORBIDDEN = defaultdict(
    set, {name: set(text.split()) for name, text in TABLE["forbidden"].items()}
)


def may(full: str) -> bool:
    """Return whether an answer may use an import, given by its full name."""
    parts = full.split(".")
    for size in range(len(parts), 0, -1):
        module = ".".join(parts[:size])
        if module in MODULES:
            break
    else:
        return False
    if size == len(parts):
        return True
    first, *rest = parts[size:]
    if not all(map(usual, rest)) or not usual(first):
        return first in MODULES[module] and all(map(usual, rest))
    if MODULES[module] != {"*"}:
        return first in MODULES[module]
    return first not in FORBIDDEN[module] | submodules(module)


def usual(name: str) -> bool:
    """Return whether an attribute's name is harmless: it leads to nothing else."""
    if name.startswith("_"):
        return name in PRIVATE
    return name not in NEVER and name not in UNLIKELY


@cache
def submodules(module: str) -> frozenset[str]:
    """Return the names of a package's modules; none if the module is a file."""
    first, *rest = module.split(".")
    spec = PathFinder.find_spec(first)
    folders = (spec.submodule_search_locations if spec else None) or []
    return frozenset(
        path.name.partition(".")[0]
        for folder in folders
        for path in Path(folder, *rest).glob("[!_]*")
        if path.is_dir() or path.suffix in (".py", ".so", ".pyd")
    )
