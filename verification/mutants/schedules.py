"""Launches in the simulator with other orders of threads than the usual one.

A GPU promises no order, so a kernel must be right in each of these. They have none of
the sanitizer's checks: only the results count.
"""

import ast
import copy
import random
from types import FunctionType
from typing import Any

from weft.simulator.limits import Dim
from weft.simulator.running.meetings import Meetings
from weft.simulator.running.scheduler import Run
from weft.simulator.running.threads import PAUSE, Thread
from weft.simulator.translation import syntax

PAUSES = (1, 1, 1, 2, 8)
PATIENCE = 60_000  # iterations without progress, after which a loop counts as endless
BETWEEN = "__between__"  # a kernel calls it where another thread may come in between


class Forwards(Run):
    """Runs threads in the simulator's own order."""

    patience = PATIENCE


class Backwards(Run):
    """Runs the last thread of the last block first."""

    patience = PATIENCE

    def __init__(
        self, fn: FunctionType, grid: Dim, block: Dim, dynamic_shared: int = 0
    ) -> None:
        super().__init__(fn, grid, block, dynamic_shared, backwards=True)

    def _resume(self, threads: list[Thread]) -> None:
        super()._resume(threads[::-1])


class Gaps(ast.NodeTransformer):
    """Puts a call of `BETWEEN` around every statement that reads or writes elements.

    A statement that does both becomes two: `x[i] = y[j]` reads, gives way, and writes.
    A single call, such as an atomic operation, is not interrupted.
    """

    def __init__(self) -> None:
        self._values = 0

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for field in ("body", "orelse"):
            statements = getattr(node, field, None)
            if isinstance(statements, list) and isinstance(node, ast.stmt):
                found = [part for each in statements for part in self._apart(each)]
                setattr(node, field, found)
        return node

    def _apart(self, node: ast.stmt) -> list[ast.stmt]:
        """Return a statement with the calls before, between and after its accesses."""
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
            old = copy.deepcopy(node.target)
            old.ctx = ast.Load()
            value = syntax.two(old, node.op, node.value, node)
            node = syntax.placed(ast.Assign([node.target], value), node)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            self._values += 1
            name = f"__value_{self._values}__"
            read = syntax.assign(name, node.value, node)
            node.value = syntax.name(name, node)
            return [*self._apart(read), node]
        simple = isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr))
        after = [_between(node, True)] if simple and _reads(node) else []
        return [_between(node, False), node, *after]


def _reads(node: ast.AST) -> bool:
    """Return whether a statement reads an element."""
    return any(
        isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Load)
        for part in ast.walk(node)
    )


def _between(node: ast.stmt, loaded: bool) -> ast.stmt:
    """Return a call that may give way, written like an operation that always can."""
    return syntax.statements(f"{BETWEEN}.nanosleep({int(loaded)})", node)[0]


class Interrupted(Run):
    """Runs threads in random order, often interrupted between two accesses."""

    patience = PATIENCE
    seed = 1
    change = Gaps

    def __init__(
        self, fn: FunctionType, grid: Dim, block: Dim, dynamic_shared: int = 0
    ) -> None:
        self.random = random.Random(self.seed)
        super().__init__(fn, grid, block, dynamic_shared, self.random.random() < 0.5)
        self._delays: dict[Thread, int] = {}  # turns that a thread still waits

    def notes(self) -> dict[str, Any]:
        return {BETWEEN: self}

    def nanosleep(self, loaded: int) -> None:
        """Perhaps let other threads run; loaded: the current one has just read."""
        self.sometimes(bool(loaded))

    def sometimes(self, loaded: bool) -> None:
        """Perhaps let the others run first, sometimes for many turns."""
        if self.random.random() < 0.3:
            self.wait_for(self.random.choice(PAUSES))

    def wait_for(self, turns: int) -> None:
        """Let the others run for so many turns."""
        self._delays[self.current] = turns - 1
        self.pause()

    def _resume(self, threads: list[Thread]) -> None:
        mixed = [thread for thread in threads if not self._delayed(thread)]
        self.random.shuffle(mixed)
        super()._resume(mixed)

    def _delayed(self, thread: Thread) -> bool:
        """Return whether a thread keeps waiting."""
        left = self._delays.get(thread, 0)
        if not left or thread.waiting is not PAUSE:
            return False
        self._delays[thread] = left - 1
        return True

    def _advance(self, meetings: Meetings, more: bool) -> None:
        """Usually begin another block before those that have begun go on."""
        if not more or self.random.random() >= 0.7:
            super()._advance(meetings, more)


class Stepwise(Interrupted):
    """Runs all blocks at once, each thread one load further at a time."""

    def _advance(self, meetings: Meetings, more: bool) -> None:
        if not more:
            super()._advance(meetings, more)

    def sometimes(self, loaded: bool) -> None:
        if loaded:
            self.wait_for(1)


class Apart(Interrupted):
    """Runs one warp, usually the first, as far as possible, while the others wait."""

    change = None

    def _resume(self, threads: list[Thread]) -> None:
        if not threads:
            return
        others = self.random.random() < 0.2
        first = self.random.choice(threads) if others else threads[0]
        ahead = []
        for thread in threads:
            if (thread.block, thread.warp) == (first.block, first.warp):
                ahead.append(thread)
            else:
                thread.waiting = PAUSE  # it goes on later, with the same reply
        Run._resume(self, ahead)


SCHEDULES = {
    "": Forwards,
    "backwards": Backwards,
    "interrupted": Interrupted,
    "stepwise": Stepwise,
    "a warp ahead": Apart,
}
