"""Check that the names a notebook defines for its checks are unchanged.

The spec, the data and the launch of an exercise take their constants and functions from
the notebook, as the learner's cell does. A cell that rebinds such a name changes the
exercise. The names that belong to each check are in `chapters/*/given.json`, derived
from the labs.
"""

import ast
import builtins
import hashlib
import inspect
import json
import linecache
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from weft import lesson, originals
from weft.checking.verdict import Failed, Verdict, common
from weft.lesson import syllabus
from weft.meaning import is_device_function, is_kernel, python_function
from weft.places import Note, Place
from weft.starters import source_function
from weft.wording import kind_of

Names = Mapping[str, list[str]]
originals.watch("numpy.random", "numpy.linalg", "numpy.fft")
GONE = object()  # stands for the value of a name that is missing
# an exercise's functions, besides the one that makes its inputs
FUNCTIONS = ("spec", "launch", "out")


def collapsed(text: str) -> str:
    """Return a digest of source text that ignores spaces and line breaks."""
    return hashlib.sha256("".join(text.split()).encode()).hexdigest()[:16]


def refuse_changed(exercise: Any) -> None:
    """Raise `Failed` if the notebook has changed names that the exercise needs."""
    name, thing = exercise.name, exercise.written_by_learner
    if found := originals.replaced():
        raise Failed(common.verdict(name, "replaced", function=found[0]))
    function = source_function(thing)
    if function is not None:
        for each, is_now, was in changed(name, function.__globals__):
            raise Failed(no_longer(name, function, each, is_now, was))
    for field in FUNCTIONS:
        value = getattr(exercise, field, None)
        theirs = field == "launch" and value is thing  # written by the learner
        if value is not None and not theirs and not is_function(value):
            raise Failed(no_function(name, function, field, value))


def is_function(value: Any) -> bool:
    return callable(value) and not is_kernel(value)


@cache
def of_lab(lab: str) -> tuple[Mapping[str, list[str]], Names]:
    """Return the names that each check of a lab needs, and their definitions."""
    file = syllabus.folder() / lab / "given.json"
    if not file.is_file():
        return {}, {}
    read = json.loads(file.read_text(encoding="utf-8"))
    return read["checks"], read["names"]


def changed(
    exercise: str, scope: Mapping[str, Any]
) -> list[tuple[str, Any, tuple[str, str]]]:
    """Return an exercise's names that no longer have the notebook's definitions.

    Each comes with its value and its definition: a kind ("value", "def", "import" or
    "builtin") and a text. A name that is missing from `scope` counts only if it should
    be imported.
    """
    lab = lesson.current()
    checks, names = of_lab(lab) if lab else ({}, {})
    found = []
    for name in checks.get(exercise, ()):
        what, text = names[name]
        if name not in scope and what == "import":
            found.append((name, GONE, (what, text)))
        elif name in scope and not is_still(scope[name], what, text, scope):
            found.append((name, scope[name], (what, text)))
    # A value computed from another one has changed with it, so sort the other one
    # first.
    order = ("builtin", "import", "value", "def")
    return sorted(found, key=lambda one: (order.index(one[2][0]), len(one[2][1])))


def is_still(value: Any, what: str, text: str, scope: Mapping[str, Any]) -> bool:
    """Return whether a name still has the notebook's definition.

    A value or an import that cannot be evaluated here counts as unchanged.
    """
    if what == "builtin":
        return value is getattr(builtins, text, None)
    if what == "import":
        return is_import(value, *text.partition(":")[::2])
    if what == "def":
        inner = value if isinstance(value, FunctionType) else python_function(value)
        if inner is None:
            return False
        try:
            return collapsed(inspect.getsource(inner)) == text
        except (OSError, TypeError):
            return False
    try:
        again = eval(text, dict(scope))
    except Exception:  # it is computed from a missing name
        return True
    return type(again) is type(value) and bool(np.all(np.equal(again, value)))


def is_import(value: Any, module: str, name: str) -> bool:
    """Return whether a value is the module `module`, or its attribute `name`.

    Also returns True if the module cannot be imported here.
    """
    try:
        found = import_module(module)
    except ImportError:
        return True
    if not name:
        return isinstance(value, ModuleType) and value.__name__ == found.__name__
    try:
        return value is getattr(found, name)
    except AttributeError:
        return value is import_module(f"{module}.{name}")


def no_longer(
    exercise: str, function: FunctionType, name: str, value: Any, was: tuple[str, str]
) -> Verdict:
    """Return the verdict on a name that no longer has the notebook's definition."""
    what, text = was
    if what == "value":
        text = text if len(text) <= 60 else "something else"
    elif what == "import":
        module, _, part = text.partition(":")
        text = f"from {module} import {part}" if part else f"import {module}"
        if name not in (part, module):
            text += f" as {name}"
    places, now = assignments(function, name), described(value)
    return common.verdict(exercise, what, places, needed=name, now=now, was=text)


def described(value: Any) -> str:
    """Describe a value, or the kind of thing it is, in a phrase."""
    if value is GONE:
        return "not there"
    if is_kernel(value):
        return "a device function" if is_device_function(value) else "a kernel"
    if isinstance(value, FunctionType):
        return "another function"
    if isinstance(value, ModuleType):
        return f"the module {value.__name__}"
    if isinstance(value, (bool, int, float, str, np.generic, tuple)):
        return f"{value!r}" if len(repr(value)) <= 40 else kind_of(value)
    return kind_of(value)


def assignments(function: FunctionType, name: str) -> list[Note]:
    """Return up to three lines of the learner's cell that bind a name."""
    file = function.__code__.co_filename
    lines = linecache.getlines(file)
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        return []
    found = []
    for node in ast.walk(tree):
        if gives(node, name):
            line = int(getattr(node, "lineno", 1))
            text = lines[line - 1].strip()
            found.append((Place(function.__name__, line, text, file=file), ""))
    return found[:3]


def gives(node: ast.AST, name: str) -> bool:
    """Return whether a node of a syntax tree binds `name`."""
    match node:
        case ast.Name(id=stored, ctx=ast.Store()):
            return stored == name
        case ast.FunctionDef(name=stored) | ast.ClassDef(name=stored):
            return stored == name
        case ast.alias(name=module, asname=stored):
            return (stored or module) == name
    return False


def no_function(
    exercise: str, function: FunctionType | None, field: str, value: Any
) -> Verdict:
    """Return the verdict on a check whose own function has been replaced.

    field: the argument of the check that should be a function, but is `value`.
    """
    now = described(value)
    name = getattr(value, "__name__", None)
    if name is None and function is not None:
        names = (n for n, v in function.__globals__.items() if v is value)
        name = next((n for n in names if not n.startswith("_")), None)
    known = f"`{name}`, {now}" if name else now
    places = assignments(function, name) if name and function else []
    return common.verdict(exercise, "no-function", places, field=field, now=known)
