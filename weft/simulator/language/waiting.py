"""The calls at which a thread may have to wait, and how they are rewritten.

A function in which a thread can wait is a generator here: it yields where it waits, and
the scheduler sends it the reply. How a call can wait decides how it is rewritten:

- A barrier in a kernel, and a warp operation, is passed to the scheduler:
  `cuda.any_sync(mask, x)` becomes `(yield (any_sync, mask, (x,)))`.
- Other operations set what the thread waits for and return: `cuda.nanosleep(n)` becomes
  `(yield cuda.nanosleep(n))`.
- Some, and the device functions that can wait, are generators themselves:
  `cuda.atomic.cas(x, i, 0, 1)` becomes `(yield from cuda.atomic.cas(x, i, 0, 1))`.
- For a callee that is only known when the kernel runs, `f(x)` becomes
  `(yield from follow(f(x)))`, which works whether or not `f` can wait.
"""

import ast
from collections.abc import Callable
from enum import Enum
from types import CodeType
from typing import Any

from weft.code_objects import code_tree, nodes_of
from weft.intrinsics import registry
from weft.simulator.inference import calls
from weft.simulator.inference.expressions import Expressions, Names
from weft.simulator.inference.kinds import (
    GRID,
    Inner,
    Kind,
    Method,
    Named,
    Num,
    Outside,
    Special,
)
from weft.simulator.inference.outside import kind_of
from weft.simulator.translation import syntax

FOLLOW = "__weft_follow__"
# followed by a number, as each barrier in a kernel has its own name
BARRIER = "__weft_barrier_"
LOOPED = f"{BARRIER}in_a_loop_"  # the same for a barrier in a loop
FULL = 0xFFFFFFFF

# The number of arguments of a warp operation besides the mask.
_EXCHANGES = {
    **dict.fromkeys("shfl_sync shfl_up_sync shfl_down_sync shfl_xor_sync".split(), 2),
    **dict.fromkeys("all_sync any_sync eq_sync ballot_sync".split(), 1),
    **{"match_any_sync": 1, "match_all_sync": 1, "syncwarp": 0},
}


def exchange(name: str) -> str:
    """Return the name by which a kernel refers to a warp operation."""
    return f"__weft_{name}__"


class Wait(Enum):
    """Whether a call can wait, and in which way."""

    NEVER = "never"
    ASKS = "asks"
    GENERATOR = "generator"
    UNKNOWN = "unknown"


_CUDA = {
    **dict.fromkeys(
        (
            "syncthreads syncthreads_count syncthreads_and syncthreads_or "
            "syncwarp shfl_sync shfl_up_sync shfl_down_sync shfl_xor_sync "
            "all_sync any_sync eq_sync ballot_sync match_any_sync match_all_sync "
            "activemask nanosleep GridGroup.sync"
        ).split(),
        Wait.ASKS,
    ),
    **dict.fromkeys(
        ("atomic.cas", "atomic.exch", "atomic.compare_and_swap"), Wait.GENERATOR
    ),
}
_ATTRIBUTES = frozenset(name.rpartition(".")[2] for name in _CUDA)

# Returns whether a device function can wait with these arguments; None if unknown.
Device = Callable[[Any, tuple[Kind, ...]], bool | None]


def mark(definition: ast.FunctionDef, scope: dict[str, Any], device: Device) -> None:
    """Mark each call in a function with the way it can wait, in an attribute `wait`.

    The types of the function must have been inferred. scope: the values of the names
    that it uses from outside.
    """
    local = _local(definition)
    names = Names(scope, local, {}, None)
    unseen = Expressions(names, lambda *_: None, lambda *_: (0, None))
    found = (node for part in definition.body for node in nodes_of(part))
    for node in found:
        if not isinstance(node, ast.Call):
            continue
        if hasattr(node, "callee"):
            kind = node.callee
        else:  # in a lambda, or in unreachable code
            kind = unseen.kind(node.func) if _is_path(node.func) else None
        node.wait = _wait(node, kind, local, device)  # type: ignore[attr-defined]


def waits_in(code: CodeType, scope: dict[str, Any], device: Device) -> bool:
    """Return whether code that cannot be rewritten has a call that can wait."""
    names = {n for part in code_tree(code) for n in (*part.co_names, *part.co_freevars)}
    return bool(names & _ATTRIBUTES) or any(
        _of_kind(kind_of(scope[name]), device) is not Wait.NEVER
        for name in names & scope.keys()
    )


def _local(definition: ast.FunctionDef) -> set[str]:
    """Return the names bound in a function, or in functions inside it."""
    found = set()
    for node in nodes_of(definition):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.FunctionDef) and node is not definition:
            found.add(node.name)
    return found


def _is_path(node: ast.expr) -> bool:
    """Return whether a node is a name, or a dotted name such as `cuda.atomic.cas`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _wait(node: ast.Call, kind: Kind, local: set[str], device: Device) -> Wait:
    """Return how a call can wait. kind: the kind of the function called."""
    if hasattr(node, "device"):
        return _of_device(device(*node.device))
    if kind is not None and not isinstance(kind, Special):
        return _of_kind(kind, device)
    if isinstance(node.func, ast.Attribute):
        known = node.func.attr not in _ATTRIBUTES
        return Wait.NEVER if known else Wait.UNKNOWN
    outside = isinstance(node.func, ast.Name) and node.func.id not in local
    return Wait.NEVER if outside else Wait.UNKNOWN


def _of_kind(kind: Kind, device: Device) -> Wait:
    if isinstance(kind, Named):
        name = ".".join(kind.path[1:])
        return _CUDA.get(name, Wait.NEVER) if kind.path[0] == "cuda" else Wait.NEVER
    if isinstance(kind, Method):
        syncs = kind.owner == GRID and kind.name == "sync"
        return Wait.ASKS if syncs else Wait.NEVER
    if isinstance(kind, Inner):
        return Wait.UNKNOWN
    if not isinstance(kind, Outside):
        return Wait.NEVER
    operation = registry.of(kind.value)
    if operation is not None:
        return Wait.GENERATOR if operation.waits else Wait.NEVER
    if calls.is_device(kind):  # called in a way that hides its arguments
        return _of_device(device(kind.value, ()))
    return Wait.NEVER


def _of_device(waits: bool | None) -> Wait:
    if waits is None:  # it calls itself
        return Wait.UNKNOWN
    return Wait.GENERATOR if waits else Wait.NEVER


class GiveWay(ast.NodeTransformer):
    """Makes the calls that can wait (see `mark`) yield to the other threads."""

    def __init__(self, kernel: bool) -> None:
        self._kernel, self._functions, self._loops, self._barriers = kernel, 0, 0, 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self._functions += 1
        self.generic_visit(node)
        self._functions -= 1
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self._loops += 1
        self.generic_visit(node)
        self._loops -= 1
        return node

    visit_While = visit_For  # type: ignore[assignment]
    visit_Lambda = visit_FunctionDef  # type: ignore[assignment]

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        wait = getattr(node, "wait", Wait.NEVER)
        if wait is Wait.ASKS:
            return syntax.placed(ast.Yield(self._told(node) or node), node)
        if wait is Wait.GENERATOR:
            return syntax.placed(ast.YieldFrom(node), node)
        if wait is Wait.UNKNOWN:
            return syntax.placed(ast.YieldFrom(syntax.call(FOLLOW, [node], node)), node)
        return node

    def _told(self, node: ast.Call) -> ast.expr | None:
        """Return what to yield instead of a call, or None to yield the call."""
        kind, args = getattr(node, "callee", None), node.args
        if not isinstance(kind, Named) or len(kind.path) != 2 or node.keywords:
            return None
        called, direct = kind.path[1], self._kernel and self._functions == 1
        if called == "syncthreads" and direct and not args:
            self._barriers += 1
            where = LOOPED if self._loops else BARRIER
            return syntax.name(f"{where}{self._barriers}", node)
        mask = args[0] if args else ast.Constant(FULL)
        if isinstance(mask, ast.Constant):
            whole = type(mask.value) is int
        else:
            whole = is_whole(getattr(mask, "seen", None))
        starred = any(isinstance(arg, ast.Starred) for arg in args)
        if _EXCHANGES.get(called) != max(len(args) - 1, 0) or starred or not whole:
            return None
        masked = ast.BinOp(mask, ast.BitAnd(), ast.Constant(FULL))
        given = ast.Tuple(args[1:], ast.Load())
        return ast.Tuple(
            [syntax.name(exchange(called), node), masked, given], ast.Load()
        )


def is_whole(kind: Kind) -> bool:
    return isinstance(kind, Num) and kind.whole
