"""Mutants of the right kernels: how they are made, what is known of them, a sample.

What is known is in results/mutants; a sample of it is asked again here. Both change
with the kernels and the checks: `python -m verification.mutants LAB` writes it anew.
"""

import hashlib
import time
from collections.abc import Iterator
from functools import cache
from itertools import count, groupby, pairwise
from typing import Any

import numpy as np
import pytest
from budget import cost

import weft  # noqa: F401  before Numba
from verification.corpus import ROOT
from verification.mutants import caching, facts, judging, schedules, tasks
from verification.mutants.facts import EQUIVALENT, WRONG, Cause, Fact
from verification.mutants.making import Mutant, Right, chosen, mutants, rights
from verification.mutants.nearness import right
from verification.mutants.operators import OPERATORS
from verification.mutants.ptx import plain
from weft import effort
from weft.simulator import simulate

from numba import cuda, float32  # isort: skip

FOUND = facts.read(ROOT)
LABS = sorted({fact.lab for fact in FOUND})
MOST = 800_000  # what the sample of a lab may cost; see budget.py
AGAIN = "run python -m verification.mutants"

HEAD = "@cuda.jit\ndef k(x, y, out):\n"
EXAMPLES = [
    ("off_by_one", "out[i] = 7", ["out[i] = 8", "out[i] = 6"]),
    ("other_number", "v = 0.5", ["v = 1.5"]),
    ("other_sign", "v = x & y", ["v = (x | y)"]),
    ("other_sign", "v += x", ["v -= x"]),
    ("one_operand", "v = x + y", ["v = x", "v = y"]),
    ("sides_swapped", "v = x // y", ["v = (y // x)"]),
    ("floor_for_ceiling", "v = -(-x // y)", ["v = (x // y)"]),
    ("sign_dropped", "v = -x", ["v = x"]),
    ("overwritten", "v += x", ["v = x"]),
    ("other_comparison", "v = x < y", ["v = (x <= y)", "v = (x >= y)"]),
    ("half_the_condition", "v = x and y", ["v = y", "v = x"]),
    ("or_for_and", "v = x and y", ["v = (x or y)"]),
    ("no_guard", "if x:\n        v = 1", ["if True:\n        v = 1"]),
    ("no_else", "v = x if y else 0", ["v = x if False else 0"]),
    ("other_axis", "v = cuda.blockIdx.x", ["v = cuda.blockIdx.y"]),
    ("other_position", "v = cuda.blockDim.x", ["v = cuda.gridDim.x"]),
    ("indices_swapped", "v = x[1, i]", ["v = x[i, 1]"]),
    ("neighbour", "v = x[i]", ["v = x[(i + 1)]"]),
    ("targets_swapped", "a, b = cuda.grid(2)", ["b, a = cuda.grid(2)"]),
    ("sibling", "a, b = x\n    v = a", ["a, b = x\n    v = b"]),
    ("arguments_swapped", "v = f(x, y)", ["v = f(y, x)"]),
    ("other_function", "v = min(x, y)", ["v = max(x, y)"]),
    (
        "other_shuffle",
        "v = cuda.shfl_xor_sync(m, x, 1)",
        ["v = cuda.shfl_down_sync(m, x, 1)"],
    ),
    (
        "other_distance",
        "v = cuda.shfl_xor_sync(m, x, d)",
        [
            "v = cuda.shfl_xor_sync(m, x, (d + 1))",
            "v = cuda.shfl_xor_sync(m, x, (d * 2))",
        ],
    ),
    (
        "other_mask",
        "v = cuda.any_sync(m, x)",
        ["v = cuda.any_sync(0xFFFF, x)", "v = cuda.any_sync(0x7FFFFFFF, x)"],
    ),
    ("plain_update", "cuda.atomic.add(x, 0, y)", ["x[0] = x[0] + y"]),
    (
        "plain_update",
        "v = cuda.atomic.max(x, 0, y)",
        ["v = x[0]; x[0] = max(x[0], y)"],
    ),
    ("other_type", "v = float32(x)", ["v = np.float64(x)"]),
    ("other_start", "v = float32(0)", ["v = float32(1)"]),
    ("other_start", "v = -math.inf", ["v = 0"]),
    ("dropped", "out[i] = x", ["pass"]),
    ("break_dropped", "while x:\n        break", ["while x:\n        pass"]),
    ("barrier_dropped", "cuda.syncwarp()", ["pass"]),
    ("barrier_weakened", "cuda.threadfence()", ["cuda.threadfence_block()"]),
    (
        "barrier_moved",
        "v = x\n    cuda.syncthreads()",
        ["cuda.syncthreads()\n    v = x"],
    ),
    (
        "barrier_in_branch",
        "if x:\n        v = 1\n    cuda.syncthreads()",
        ["if x:\n        v = 1\n        cuda.syncthreads()\n    pass"],
    ),
    (
        "out_of_the_block",
        "for i in x:\n        v = i\n        cuda.syncthreads()",
        ["for i in x:\n        v = i\n    cuda.syncthreads()"],
    ),
    (
        "into_the_loop",
        "v = 0\n    for i in x:\n        v += i",
        ["pass\n    for i in x:\n        v = 0\n        v += i"],
    ),
    (
        "returns_early",
        "if x:\n        v = 1\n    cuda.syncthreads()",
        ["if not x:\n        return\n    v = 1\n    cuda.syncthreads()"],
    ),
]


def of(operator: str, source: str) -> list[str]:
    """The bodies that an operator makes of one."""
    found = mutants(Right("00", "k", "solution", f"{HEAD}    {source}\n"))
    start = len(HEAD) + 4
    return [m.source[start:].rstrip() for m in found if m.operator == operator]


@pytest.mark.parametrize(("operator", "source", "made"), EXAMPLES)
def test_what_each_operator_makes(operator: str, source: str, made: list[str]) -> None:
    assert of(operator, source) == made


def test_every_operator_has_an_example() -> None:
    shown = {name for name, _, _ in EXAMPLES}
    assert shown | {"other_range"} == set(OPERATORS)
    assert len(of("other_range", "for i in range(x, y, z):\n        v = i")) == 4


def test_names_are_stable_and_a_larger_choice_contains_a_smaller_one() -> None:
    one = next(r for r in rights("13_shared_memory") if r.name == "solution")
    found = list(mutants(one))
    names = [m.label for m in found]
    assert len(set(names)) == len(names)
    few, many = chosen(found, 10), chosen(found, 30)
    assert [m.label for m in many[:10]] == [m.label for m in few]
    operators = [m.operator for m in few]
    assert len(set(operators)) == 10  # all ways to change a kernel come in turn


# What tells right from wrong


@cuda.jit
def counts(out):
    out[0] = out[0] + 1


@cuda.jit
def reverses(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    out[t] = tile[63 - t]


def runs(kernel: Any, order: str, *arrays: Any) -> Any:
    grid = 4 if kernel is counts else 1
    simulate(kernel, (grid, 64), arrays, make_run=schedules.SCHEDULES[order])
    return arrays[-1]


def test_an_update_is_lost_where_threads_are_interrupted() -> None:
    assert runs(counts, "", np.zeros(1, np.int32)) == [256]
    assert runs(counts, "interrupted", np.zeros(1, np.int32)) < [256]


@pytest.mark.parametrize("order", schedules.SCHEDULES)
def test_a_missing_barrier_shows_in_every_order(order: str) -> None:
    x = np.arange(64, dtype=np.float32)
    out = runs(reverses, order, x, np.zeros_like(x))
    assert not np.array_equal(out, x[::-1])


def test_nearness_is_relative_to_each_element() -> None:
    wanted = np.array([1.0, 1e-5])
    got = wanted.astype(np.float32)
    assert right(got, wanted, 1e-4, noise=0)
    got[1] = 0
    assert not right(got, wanted, 1e-4, noise=0)
    assert right(got, wanted, 1e-4, noise=1e-5 / 4)  # as far off as the right ones


def test_a_number_that_stands_for_infinity_is_no_measure_of_the_others() -> None:
    wanted = np.array([np.finfo(np.float32).min, -265.3558], np.float32)
    got = wanted.copy()
    got[1] = -265.35583
    assert right(got, wanted, 1e-3, noise=3e-5)
    got[1] = -200
    assert not right(got, wanted, 1e-3, noise=3e-5)


def test_time_is_up_for_what_computes_and_not_for_what_waits() -> None:
    with judging.within(0.05):
        time.sleep(0.2)
    with pytest.raises(judging.TimeIsUp), judging.within(0.05):
        sum(1 for _ in count())


def test_two_compilations_are_the_same_but_for_names_and_lines() -> None:
    one = ".loc 1 3 0\nmov.u64 %rd1, _ZN8__main__1kB2v1E;\n.file 1 x\n"
    other = "\t.loc\t1 9 0\nmov.u64 %rd1, _ZN8__main__1jB2v2E; // here\n"
    assert plain(one) == plain(other)
    assert plain(one) != plain(other.replace("%rd1", "%rd2"))


# What is known, and what follows


def fact(check: str, values: str, ptx: str = "other", **more: Any) -> Fact:
    return Fact("00_lab/k/solution/dropped@3.0", check, (3,), values, ptx, **more)


def test_what_is_true_of_a_mutant() -> None:
    wrong = "wrong: value at 7"
    assert fact("pass", wrong).truth == WRONG
    assert fact("pass", wrong).survives
    assert fact("pass", "right", "refused: TypingError").truth == WRONG
    assert fact("race", wrong, "same").truth == EQUIVALENT
    assert fact("race", "right").contested
    assert not fact("sectors", "right").contested
    assert fact("sectors", "right").costly
    assert fact("pass", "right", gpu="wrong: hangs").truth == WRONG
    said = Cause("refused", "Fences", "…", ("00_lab/*/dropped@*",), WRONG)
    assert said.covers("00_lab/k/solution/dropped@3.0")
    assert fact("race", "right", cause=said).truth == WRONG


def test_the_score() -> None:
    found = facts.score(
        [
            fact("race", "wrong: value at 7"),
            fact("pass", "wrong: value at 7"),
            fact("pass", "right"),
            fact("pass", "right", "same"),
        ]
    )
    counts = found.wrong, found.rejected, found.right, found.equivalent
    assert counts == (2, 1, 1, 1)
    assert found.share == 0.5


def test_what_a_check_says_of_wrong_answers_may_be_reworded() -> None:
    check = "def same(x):\n    return x\n\n{}check(f, same=checks.same{})"
    reason = "def why(x):\n    return '' if x else f'{x}: too many'\n\n"
    bare = caching.without_reasons(check.format("", ""))
    said = check.format(reason, ", because=checks.why")
    assert caching.without_reasons(said) == bare
    assert caching.without_reasons(said.replace("return x", "return not x")) != bare
    in_c = "int twice(int x) { return 2 * x; }"
    assert caching.without_reasons(in_c) == in_c


@pytest.mark.parametrize("lab", LABS)
def test_what_is_known_belongs_to_these_kernels(lab: str) -> None:
    of = facts.digests(ROOT, lab)
    changed = [
        exercise
        for exercise, group in groupby(rights(lab), key=lambda r: r.exercise)
        if of.get(exercise) != caching.of_exercise(list(group))
    ]
    if lab in facts.BEHIND:
        assert changed, f"{lab} has been scored: take it out of facts.BEHIND"
    else:
        assert not changed, f"{changed} changed: {AGAIN} {lab}"


def test_nearly_all_wrong_mutants_are_rejected() -> None:
    assert len(FOUND) > 3_000
    assert facts.score(FOUND).share >= 0.99


def test_no_mutant_that_compiles_to_the_same_is_refused() -> None:
    same = [f for f in FOUND if f.truth == EQUIVALENT]
    assert same
    assert [f.name for f in same if f.contested and not f.cause] == []


def test_what_is_accepted_or_refused_against_the_facts_is_explained() -> None:
    loose = [f.name for f in FOUND if (f.survives or f.contested) and not f.cause]
    assert loose == [], "verification/mutants/explained.toml says nothing of these"
    for cause in facts.causes(ROOT):
        for pattern in cause.mutants:
            alone = Cause(cause.part, "", "", (pattern,))
            of_it = [f for f in FOUND if alone.covers(f.name)]
            needed = [f for f in of_it if f.survives or f.refused]
            assert needed, f"{pattern} needs no explanation any more"


# A sample, asked again


def sample(lab: str) -> Iterator[Fact]:
    """The lab's mutants, of each exercise in turn, in a random order that stays."""

    def number(one: Fact) -> bytes:
        return hashlib.sha256(f"sample {one.name}".encode()).digest()

    rows: dict[str, list[Fact]] = {}
    for one in sorted((f for f in FOUND if f.lab == lab), key=number):
        rows.setdefault(one.exercise, []).append(one)
    for k in range(max(map(len, rows.values()))):
        yield from (row[k] for row in rows.values() if k < len(row))


@cache
def of_kernel(whole: Right) -> dict[str, Mutant]:
    return {mutant.label: mutant for mutant in mutants(whole)}


@pytest.mark.long
@pytest.mark.parametrize("lab", LABS)
def test_a_sample_is_judged_as_before(lab: str) -> None:
    whole = {right.label: right for right in rights(lab)}
    done: dict[str, int] = {}
    for known in sample(lab):
        kernel = known.name.rpartition("/")[0]
        if kernel not in whole or known.survives or known.contested:
            continue
        mutant = of_kernel(whole[kernel]).get(known.name)
        if mutant is None:
            continue
        with effort.counted() as counted:
            try:
                task = tasks.task(mutant.of, mutant.source)
                said = judging.verdict(task, lab, known.exercise)["check"]
            except tasks.NotTyped:
                said = "exception"
        accepted = said == "pass"
        assert accepted != known.refused, f"{known.name}: {said}, not {known.check}"
        done = {k: done.get(k, 0) + counted[k] for k in {*done, *counted}}
        if cost(done) > MOST:
            break
    assert done


def test_the_settings_of_a_trial_come_from_the_exercise() -> None:
    from verification.mutants.settings import Setting, settings

    asked = {"sizes": [64, 100], "spec": abs}
    groups = [list(group) for group in settings(asked, "no_such_exercise")]
    assert groups[0] == [Setting((100,)), Setting((64,))]
    unlisted = [setting.size for setting in groups[1]]
    assert (101,) in unlisted
    assert (100,) not in unlisted
    assert {s.launch for s in groups[3]} == {"one block more", "half the blocks"}
    for one, other in pairwise(groups[2]):
        assert one.data != other.data
