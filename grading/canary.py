"""Answers that are known to be wrong: if one passes, a submission changed the check.

They are checked after the submission's own answers, in the same process.
"""

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from grading.paper import Paper
from weft import check
from weft.checking.verdict import Verdict

cuda: Any = importlib.import_module("numba.cuda")  # after weft is imported


def unchanged(number: int) -> int:
    """Should add one."""
    return number


@cuda.jit  # type: ignore[untyped-decorator]
def copied(x: Any, out: Any) -> None:
    """Should double."""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]


def _plain() -> Any:
    return check(unchanged, spec=lambda number: number + 1, inputs=[(1,), (2,)])


def _kernel() -> Any:
    return check(
        copied,
        spec=lambda x: 2 * x,
        inputs=lambda rng, n: (rng.random(n, np.float32),),
        sizes=[40],
        launch=lambda n: (2, 32),
    )


def unearned(shell: Any, paper: Paper) -> Iterator[str]:
    """Yield the names of wrong answers that pass: ours, and the lab's starters.

    shell: the shell in which the submission has run.
    """
    for name, checked in (("unchanged", _plain), ("copied", _kernel)):
        if _passes(checked):
            yield name
    checks = {exercise: number for number, exercise in paper.checks.items()}
    for number, exercise in paper.defines.items():
        cell = checks[exercise]
        shell.user_ns.update(dict.fromkeys(paper.values[cell]))

        def starter(cells: tuple[int, int] = (number, cell)) -> Any:
            return [shell.run_cell(paper.cells[n]).result for n in cells][-1]

        if _passes(starter):
            yield exercise


def _passes(checked: Any) -> bool:
    try:
        verdict = checked()
    except Exception:
        return False
    return isinstance(verdict, Verdict) and (verdict.kind == "pass" or bool(verdict))
