"""What Numba says when it cannot compile a kernel, in a learner's words."""

import re
from collections.abc import Callable

from weft.wording import capital, joined, rows, several

Words = tuple[str, str]  # what happened, why

NO_CONTAINERS = (
    "What a thread keeps must have a size that is known when the kernel is compiled: "
    "numbers, tuples, and arrays from `cuda.local.array` and `cuda.shared.array`."
)

# What Numba finds as a part of `cuda` alone, not where it was imported by name.
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


def explain(error: str, message: str) -> Words:
    """Word one of Numba's errors: what happened, and why a kernel cannot do it."""
    head, middle, rest = message.partition("\nThere are ")
    for pattern, *texts in _RULES:  # what follows the head is about Numba's own parts
        if found := re.search(pattern, head, re.DOTALL):
            return _worded(texts, found)
    if found := re.search(_CANDIDATES, head + middle + rest, re.DOTALL):
        return _call(found)
    said = [line.strip() for line in head.splitlines() if line.strip()]
    said = [s for s in said if not s.startswith(("Failed in", "During:", "File "))]
    return (
        "Numba cannot compile this for a GPU.",
        f"It stops with {error}: {said[0]}" if said else f"It stops with {error}.",
    )


def kind_of(written: str) -> str:
    """A Numba type as a person would call it, with its article."""
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
    """The types in 'array(float32, 1d, C), int64', one by one."""
    parts, depth = [""], 0
    for letter in arguments:
        depth += (letter in "([<") - (letter in ")]>")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def listed(things: list[str]) -> str:
    """'a, b and c', or 'nothing'."""
    return joined(things) if things else "nothing"


def _untyped(found: re.Match[str]) -> Words:
    name, kind = found[1], found[2]
    if kind == "function":
        return (
            f"`{name}` is a plain Python function.",
            "A kernel can only call functions that are compiled for the GPU: decorate "
            "it with @cuda.jit(device=True).",
        )
    if kind == "type" and name in OF_CUDA:
        return (
            f"Numba knows `{name}` only as `cuda.{name}`.",
            "Imported from `numba.cuda` by its name, it is a plain class to Numba, "
            f"which has no type for it. Write `cuda.{name}` in the kernel, after "
            "`from numba import cuda`.",
        )
    if name in ("set", "dict", "list", "str"):
        return f"A kernel cannot make a {name}.", NO_CONTAINERS
    thing = "This type" if kind == "type" else f"It is a {kind}, which"
    return f"`{name}` cannot be used in a kernel.", f"{thing} has no form on a GPU."


def _unknown_attribute(found: re.Match[str]) -> Words:
    name, owner = found[1], found[2]
    if name == "append":
        return "A kernel cannot make a list that grows.", NO_CONTAINERS
    if owner.startswith("Module("):
        module = re.search(r"'([\w.]+)'", owner)
        return _no_attribute_of(module[1] if module else "the module", name)
    if "Enum" in owner:
        return (
            f"{capital(kind_of(owner))} has no `.{name}` in a kernel.",
            "Of a class of your own, Numba compiles members and fields, no methods.",
        )
    return (
        f"{capital(kind_of(owner))} has no `.{name}` in a kernel.",
        "Is the name spelled right? Of what NumPy gives an array, a kernel has only "
        "its shape, its size, its type and its elements.",
    )


def _no_attribute_of(module: str, name: str) -> Words:
    return (
        f"There is no `{module.removeprefix('numba.')}.{name}` in a kernel.",
        "Numba compiles some of Python's functions for a GPU, not all of them.",
    )


def _numpy(found: re.Match[str]) -> Words:
    return (
        f"`np.{found[1]}` cannot be used in a kernel.",
        "It makes an array, or works on a whole one. A kernel says what one thread "
        "does with its elements.",
    )


def _unify(found: re.Match[str]) -> Words:
    name = found[3].split(".")[0]
    one, other = kind_of(found[1]), kind_of(found[2])
    return (
        f"`{name}` is {one} in one place and {other} in another.",
        "A variable of a compiled function has one type throughout.",
    )


def _index(verb: str, types: list[str], message: str) -> Words:
    """What is wrong with an index, from the types of array and index."""
    owner, index = types[0], types[1]
    many = re.search(r"cannot index array\(\w+, (\d)d.*? with (\d+) indices", message)
    if many:
        return (
            f"An array with {many[1]} dimension{'s' * (many[1] != '1')} is given "
            f"{many[2]} indices.",
            "Give one index for each of its dimensions.",
        )
    if owner.startswith(("Tuple", "UniTuple")):
        return (
            "A tuple of different types is indexed with a variable.",
            "What comes out would have no one type. An index that is a number in the "
            "source is possible.",
        )
    if owner.startswith(("DictType", "list", "List")):
        return f"A kernel cannot use {kind_of(owner)}.", NO_CONTAINERS
    if "float" in index:
        return (
            f"{capital(kind_of(owner))} is indexed with a {index}.",
            "`/` always gives a float; `//` gives an integer.",
        )
    if verb == "setitem" and len(types) > 2:
        return (
            f"An element of {kind_of(owner)} cannot become {kind_of(types[2])}.",
            "One element holds one number.",
        )
    return (
        f"{capital(kind_of(owner))} cannot be indexed with {kind_of(index)}.",
        "An index is a whole number, or as many as there are dimensions.",
    )


def _call(found: re.Match[str]) -> Words:
    """What is wrong with a call, from the function's name and its arguments."""
    name = re.sub(r"^(<built-in function|<function|<class|<intrinsic) ?", "", found[1])
    name = name.split(" at ")[0].strip("<>' ")
    written = split(found[2])
    if name in ("getitem", "setitem"):
        return _index(name, written, found.string)
    types = [kind_of(t) for t in written]
    if name in ("shared.array", "local.array"):
        return _shape(found)
    if name in _OPERATORS:
        return (
            f"`{_OPERATORS[name]}` does not work between {listed(types)}.",
            "A kernel computes with numbers; of an array, take one element.",
        )
    if name in ("empty", "zeros", "ones", "sort", "array", "arange", "full"):
        return _numpy_of(name)
    if name == "str":
        return "A kernel cannot make strings.", NO_CONTAINERS
    return (
        f"`{name.split('.')[-1]}` does not take {listed(types)}.",
        "It exists in a kernel, but for other types.",
    )


def _numpy_of(name: str) -> Words:
    found = re.match("(.*)", name)
    assert found
    return _numpy(found)


def _shape(_: re.Match[str]) -> Words:
    return (
        "The shape of this array is not known when the kernel is compiled.",
        "It must be a number, or a name outside the kernel that holds one; not a "
        "parameter. With a shape of 0 the launch decides how many bytes there are.",
    )


def _build(found: re.Match[str]) -> Words:
    made = {"map": "dict"}.get(found[1], found[1])
    return f"A kernel cannot make a {made}.", NO_CONTAINERS


def _wrong_count(_: re.Match[str]) -> Words:
    return "This call has the wrong number of arguments.", ""


def _unpack(found: re.Match[str]) -> Words:
    return (
        f"{several(int(found[2]), 'value')} cannot be unpacked into {found[1]} names.",
        "A shape has as many entries as the array has dimensions.",
    )


_CANDIDATES = r"Function\((<.*?>)\) found for signature:.*?>>> \w+\((.*?)\)\s*\n"

# A pattern of Numba's message; what happened and why, or the function that says it.
_RULES = rows(r"""
NameError: name '(\w+)' is not defined
    `{found[1]}` is not defined.
    Neither the kernel nor the notebook has given this name a value. Is it spelled as
      where it was made, and has that cell been run?
Untyped global name '(\w+)':.*?<class '(?:\w+\.)*(\w+)'>
    _untyped
^module '(?!numba\.(?:cuda\.)?core)(?:numba\.)?([\w.]+)' has no attribute '(\w+)'
    There is no `{found[1]}.{found[2]}`.
    Is the name spelled right?
Unknown attribute '(\w+)' of type (.*?)(?:\n|$)
    _unknown_attribute
set_try_status|[Uu]nsupported.*\btry\b|SETUP_FINALLY|exception handl
    A kernel cannot catch exceptions: it has no `try`.
    On a GPU nothing is raised. Test beforehand, with `if`.
must have void return type
    The kernel returns a value.
    A kernel returns nothing: its results go into an output array.
lowering \"\$?[\w.]+ = global\(\w+: \[
    A list from outside cannot be used in a kernel.
    A tuple can, and so can a NumPy array, as a constant.
NRT required.*build_(list|map|set|string)
    _build
NRT required
    This line needs memory that a kernel cannot ask for.
    {containers}
Cannot unify (.*?) and (.*?) for '([\w.$]+)'
    _unify
'wrong tuple length.*?expected (\d+), got (\d+)'
    _unpack
^[\"']?<ufunc '(\w+)'>
    Numba has no `np.{found[1]}` for a GPU.
    Of NumPy's functions it compiles a few for a GPU. Those of `math` are all there, and
      `abs`, `min` and `max` are Python's own.
unsupported NumPy function 'numpy\.(\w+)'
    _numpy
Cannot cast (?:Int)?Enum<.*?>\((\w+)\) to (\w+)
    A member of {found[1]} cannot become {kind}.
    Numba compares members of an enum, and takes those of an IntEnum as an index or an
      integer. It has no conversion to a float: name a number.
Cannot cast (\w*Tuple\(.*?\)) to (\w+)
    A tuple cannot become {kind}.
    An index into an array with one dimension is a number: `i`, not `(i,)`.
RequireLiteralValue|must be a constant|RequireConstValue
    Something here must be known when the kernel is compiled, and is not.
    Write the number itself, or the name of one outside the kernel.
not enough values to unpack|missing a required argument|too many positional
    _wrong_count
""")
_FUNCTIONS: dict[str, Callable[[re.Match[str]], Words]] = {
    each.__name__: each
    for each in (
        _untyped, _unknown_attribute, _build, _unify, _unpack, _numpy, _wrong_count,
    )
}  # fmt: skip


def _worded(texts: list[str], found: re.Match[str]) -> Words:
    """What a rule says of an error."""
    if len(texts) == 1:
        return _FUNCTIONS[texts[0]](found)
    kind = kind_of(found[2]) if "{kind}" in texts[0] else ""
    message, why = (
        text.format(found=found, kind=kind, containers=NO_CONTAINERS) for text in texts
    )
    return message, why
