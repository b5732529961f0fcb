"""Numba's compile errors, reworded for learners."""

import re
from typing import Any

from weft.wording import Words, capital, joined, several

words = Words(__file__)
Said = tuple[str, str]  # what happened, why

_CANDIDATES = r"Function\((<.*?>)\) found for signature:.*?>>> \w+\((.*?)\)\s*\n"

# What Numba supports only as a member of `cuda`, not imported by name.
OF_CUDA = frozenset(
    (
        "threadIdx blockIdx blockDim gridDim laneid warpsize shared local "
        "const atomic activemask nanosleep syncwarp threadfence "
        "threadfence_block threadfence_system lanemask_lt match_all_sync "
        "match_any_sync popc brev clz ffs fma cbrt selp"
    ).split()
)

_OPERATORS = dict(
    zip(
        "add sub mul truediv floordiv mod pow lshift rshift and_ or_ xor".split()
        + "lt le gt ge eq ne neg not_".split(),
        "+ - * / // % ** << >> & | ^ < <= > >= == != - not".split(),
        strict=True,
    )
)


def explain(error: str, message: str) -> Said:
    """Return two texts about one of Numba's errors: what happened, and why."""
    head, middle, rest = message.partition("\nThere are ")
    if fits := words.matching(head):  # the rest is about Numba's internals
        return _worded(*fits)
    if found := re.search(_CANDIDATES, head + middle + rest, re.DOTALL):
        return _call(found)
    said = [line.strip() for line in head.splitlines() if line.strip()]
    said = [s for s in said if not s.startswith(("Failed in", "During:", "File "))]
    if len(said) > 1 and said[0].endswith(":"):  # the signature follows
        said[0] += f" {said[1].removeprefix('>>> ')}"
    return _said("unknown", said=f"{error}: {said[0]}" if said else f"{error}.")


def _said(row: str, **told: Any) -> Said:
    """Return the two texts of a row, what happened and why, filled in."""
    containers = words.rows["containers"]["why"]
    found = words(row, containers=containers, **told)
    return found["message"], found["why"]


def _worded(row: str, found: re.Match[str]) -> Said:
    """Return the texts of a row, filled in for one of Numba's errors."""
    if row == "untyped":
        return _untyped(found[1], found[2])
    if row == "unknown-attribute":
        return _unknown_attribute(found[1], found[2])
    if row == "build":
        return _said("cannot-make", made={"map": "dict"}.get(found[1], found[1]))
    if row == "unpack":
        return _said(row, found=found, values=several(int(found[2]), "value"))
    first, second = (*map(kind_of, found.groups()[:2]), "", "")[:2]
    return _said(row, found=found, first=first, second=second)


def kind_of(written: str) -> str:
    """Return a Numba type in plain words, with an article."""
    written = written.strip()
    if found := re.match(r"array\((\w+), (\d)d", written):
        return f"an array of {found[1]}"
    if found := re.match(r"Literal\[(\w+)\]\((.*)\)$", written):
        return f"the string {found[2]!r}" if found[1] == "str" else f"the {found[2]}"
    if found := re.match(r"(?:Int)?Enum<.*>\((\w+)\)", written):
        return f"a member of {found[1]}"
    for start, name in (
        ("DictType", "a dict"),
        ("list", "a list"),
        ("reflected list", "a list"),
        ("List", "a list"),
        ("set", "a set"),
        ("Tuple", "a tuple"),
        ("UniTuple", "a tuple"),
        ("unicode_type", "a string"),
        ("none", "None"),
        ("Optional", "a value that may be None"),
        ("slice", "a slice"),
        ("Function", "a function"),
        ("type(CUDADispatcher", "a device function"),
        ("Module", "a module"),
    ):
        if written.startswith(start):
            return name
    if found := re.match(r"class\((\w+)\)", written):
        return f"the type {found[1]}"
    return f"{'an' if written[:1] in 'aeiou' else 'a'} {written}"


def split(arguments: str) -> list[str]:
    """Split types, as in 'array(float32, 1d, C), int64', at the outermost commas."""
    parts, depth = [""], 0
    for letter in arguments:
        depth += (letter in "([<") - (letter in ")]>")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def listed(things: list[str]) -> str:
    """Format a list as 'a, b and c', or as 'nothing' if it is empty."""
    return joined(things) if things else "nothing"


def _untyped(name: str, kind: str) -> Said:
    if kind == "function":
        return _said("plain-function", name=name)
    if kind == "type" and name in OF_CUDA:
        return _said("only-of-cuda", name=name)
    if name in ("set", "dict", "list", "str"):
        return _said("cannot-make", made=name)
    thing = "This type" if kind == "type" else f"It is a {kind}, which"
    return _said("no-form", name=name, thing=thing)


def _unknown_attribute(name: str, owner: str) -> Said:
    if name == "append":
        return _said("append")
    if owner.startswith("Module("):
        module = re.search(r"'([\w.]+)'", owner)
        plain = module[1].removeprefix("numba.") if module else "the module"
        return _said("not-of-module", module=plain, name=name)
    row = "not-of-enum" if "Enum" in owner else "not-of-value"
    return _said(row, Owner=capital(kind_of(owner)), name=name)


def _index(verb: str, types: list[str], message: str) -> Said:
    """Explain what is wrong with an index, from the types of the array and index."""
    owner, index = types[0], types[1]
    many = re.search(r"cannot index array\(\w+, (\d)d.*? with (\d+) indices", message)
    if many:
        dimensions = several(int(many[1]), "dimension")
        return _said("index-count", dimensions=dimensions, many=many[2])
    if owner.startswith(("Tuple", "UniTuple")):
        return _said("variable-into-tuple")
    kind = kind_of(owner)
    if owner.startswith(("DictType", "list", "List")):
        return _said("container", owner=kind)
    if "float" in index:
        return _said("float-index", Owner=capital(kind), type=index)
    if verb == "setitem" and len(types) > 2:
        return _said("element", owner=kind, value=kind_of(types[2]))
    return _said("index", Owner=capital(kind), value=kind_of(index))


def _call(found: re.Match[str]) -> Said:
    """Explain what is wrong with a call, from the function's name and its arguments."""
    name = re.sub(r"^(<built-in function|<function|<class|<intrinsic) ?", "", found[1])
    name = name.split(" at ")[0].strip("<>' ")
    written = split(found[2])
    if name in ("getitem", "setitem"):
        return _index(name, written, found.string)
    types = listed([kind_of(t) for t in written])
    if name in ("shared.array", "local.array"):
        return _said("shape")
    if name in _OPERATORS:
        return _said("operator", sign=_OPERATORS[name], types=types)
    if name in ("empty", "zeros", "ones", "sort", "array", "arange", "full"):
        return _said("numpy", found=["", name])
    if name == "str":
        return _said("strings")
    return _said("call", name=name.split(".")[-1], types=types)
