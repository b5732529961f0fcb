"""Numbers in a kernel that stand in the place of names, found by trying.

With a name in its place the kernel works: then the number is to blame.
"""

import ast
import inspect
import itertools
import linecache
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from weft.checking.source import global_names, tree_of

ALONE, TOGETHER = 8, 12  # tries of one number, and of several
WIDE = {"load4", "load4_cs", "load4_nc", "store4", "store4_cs", "copy4_async"}
SHAPE = "(shape)"  # no variable is called so

Constants = Mapping[str, Any]


@dataclass(frozen=True)
class Number:
    """A number in a kernel, and the names whose value it was.

    `bounds` is the variable of the loop that it bounds, SHAPE for a side of an array,
    '' for any other number.
    """

    line: int  # from the function's first, which is 0
    column: int
    value: int
    names: tuple[str, ...]
    bounds: str


Chosen = Mapping[Number, str]  # the name to stand where a number was


def numbers_in(function: FunctionType, old: Constants) -> list[Number]:
    """The numbers in the source of `function` that are values of `old`.

    Those that bound a loop or an array come first, for there one looks first. The 4 of
    a kernel that moves four numbers at a time is not one of them.
    """
    tree, first = tree_of(function), function.__code__.co_firstlineno
    bounds = {id(node): what for node, what in bounds_in(tree)}
    is_wide = not WIDE.isdisjoint(global_names(function))
    fours = set(map(id, operands(tree))) if is_wide else None
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or type(node.value) is not int:
            continue
        names = tuple(name for name in old if old[name] == node.value)
        what = bounds.get(id(node), "")
        if fours is not None and node.value == 4 and (not what or id(node) in fours):
            continue
        if names:
            at = node.lineno - first, node.col_offset
            found.append(Number(*at, node.value, names, what))
    return sorted(found, key=lambda n: (not n.bounds, n.line, n.column))


def bounds_in(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """What stands in the `range` of a loop, but for its step, and in shapes.

    A loop along what a call gave back is left out: nobody chose how much that is.
    """
    given = {name for node in ast.walk(tree) for name in given_back(node)}
    for node in ast.walk(tree):
        match node:
            case ast.For(
                target=ast.Name(what), iter=ast.Call(func=ast.Name("range"), args=args)
            ):
                if walks(node, what, given):
                    continue
                parts = args[:2]
            case ast.Call(func=ast.Attribute(attr="array"), args=[shape, *_]):
                parts, what = [shape], SHAPE
            case _:
                continue
        for part in parts:
            yield from ((inner, what) for inner in ast.walk(part))


def operands(tree: ast.AST) -> Iterator[ast.AST]:
    """What is added, multiplied or divided, as 4 in `4 * x` and in `int32(4) * x`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp):
            for side in (node.left, node.right):
                yield side
                yield from side.args if isinstance(side, ast.Call) else ()


def given_back(node: ast.AST) -> list[str]:
    """The name that this statement gives to the result of a call; not to an array."""
    match node:
        case ast.Assign(targets=[ast.Name(name)], value=ast.Call(func=called)):
            return [] if getattr(called, "attr", "") == "array" else [name]
    return []


def walks(loop: ast.For, variable: str, given: set[str]) -> bool:
    """Whether a loop has an index such as `v[e]`, of what a call gave back."""
    for node in ast.walk(loop):
        match node:
            case ast.Subscript(value=ast.Name(name), slice=ast.Name(index)):
                if index == variable and name in given:
                    return True
    return False


def culprits(
    numbers: Sequence[Number], new: Constants, works: Callable[[Chosen], bool]
) -> list[Number]:
    """Of the numbers those that have to be names, [] if that does not help."""
    alone = [{number: name} for number in numbers for name in number.names]
    for one in alone[:ALONE]:
        if works(one):
            return list(one)
    several = (way for way in ways(numbers, new) if len(way) > 1)
    for chosen in itertools.islice(several, TOGETHER):
        if works(chosen):
            for number in list(chosen):
                fewer = {n: name for n, name in chosen.items() if n is not number}
                if fewer and works(fewer):
                    chosen = fewer
            return list(chosen)
    return []


def ways(numbers: Sequence[Number], new: Constants) -> Iterator[dict[Number, str]]:
    """Names for several numbers: for those of bounds, for the others, for all.

    The bounds of a variable get one name or stay as they are, wherever it runs; a side
    of an array gets the name with the largest value, as it may be too long.
    """

    def choices(mine: Sequence[Number], *, leave: bool) -> Iterator[dict[Number, str]]:
        groups: dict[tuple[str, int], list[Number]] = {}
        for number in mine:
            groups.setdefault((number.bounds, number.value), []).append(number)
        options = []
        for (what, _), group in groups.items():
            names: Sequence[str] = group[0].names
            if what == SHAPE:
                names = [max(names, key=lambda name: new[name])]
            options.append([*names, ""] if leave else names)
        found = sorted(itertools.product(*options), key=lambda way: way.count(""))
        for way in found:
            named = zip(groups.values(), way, strict=True)
            yield {n: name for group, name in named if name for n in group}

    bounds = [n for n in numbers if n.bounds]
    others = [n for n in numbers if not n.bounds]
    if bounds:
        yield from itertools.islice(choices(bounds, leave=True), TOGETHER // 2)
    if others:
        yield from itertools.islice(choices(others, leave=False), TOGETHER // 4)
    if bounds and others:
        yield from choices(numbers, leave=False)


def mended(function: FunctionType, chosen: Chosen) -> Any:
    """The kernel with names in the place of some numbers."""
    lines = textwrap.dedent(inspect.getsource(function)).splitlines(keepends=True)
    for number in sorted(chosen, key=lambda n: (n.line, n.column), reverse=True):
        text = lines[number.line].encode()
        end = number.column
        while text[end : end + 1].isalnum() or text[end : end + 1] == b"_":
            end += 1  # such as 16, 0x10 or 1_6
        name = chosen[number].encode()
        lines[number.line] = (text[: number.column] + name + text[end:]).decode()
    file = f"<{function.__name__}, mended>"
    source = "".join(lines)
    linecache.cache[file] = (len(source), None, lines, file)
    scope = dict(function.__globals__)
    exec(compile(source, file, "exec"), scope)
    return scope[function.__name__]
