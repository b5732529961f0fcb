"""Compare the simulator's arithmetic with Numba's, by random programs.

     python -m verification.arithmetic 20000          against `numba.njit`, on a CPU

Both run a program on the same data, which include the edges of each type, and every
result has to be the same, bit by bit. `verification.programs` says what is drawn.
Compiling a program takes longer than all the rest, so the answers for the tests'
programs are kept, for one set of packages and one kind of processor.
"""

import argparse
import hashlib
import itertools
import json
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from verification.programs import Program, function, names, program
from weft.simulator import Fault
from weft.simulator.arithmetic import by_name
from weft.simulator.arithmetic.bits import wrap64
from weft.simulator.arithmetic.numbers import INT64
from weft.simulator.language import rewriting
from weft.simulator.translation import numbers

Results = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]
KEPT = Path(__file__).with_name("njit_answers.npz")
RECORD = Path(__file__).with_name("arithmetic.json")  # the last run of each kind


def by_simulator(one: Program) -> Results:
    from numba import cuda

    from weft.simulator import simulate

    args = one.arguments()
    simulate(function(one, True, names(cuda)), (1, 32), tuple(args))
    return args[-2], args[-1]


def overflows(one: Program) -> set[tuple[int, int]]:
    """Return where int64 cannot hold a sum, difference or product: (thread, line).

    Numba tells LLVM that this does not happen, so the result may be anything, and a
    division by it may end the process.
    """
    seen: set[tuple[int, int]] = set()
    finish, reduce = numbers.finish, by_name.reduce

    def watched(value: int) -> int:
        if not -(2**63) <= value < 2**63:
            frame = sys._getframe(1)
            while "i" not in frame.f_locals:  # in the program itself, not in a lambda
                frame = frame.f_back  # type: ignore[assignment]
            seen.add((frame.f_locals["i"], frame.f_lineno - 4))
        return wrap64(value)

    def summed(add: Callable[[Any, Any], Any], values: Any, *first: Any) -> Any:
        values = [*values]
        if all(isinstance(value, (int, np.integer)) for value in (*first, *values)):
            for sum_so_far in itertools.accumulate(map(int, (*first, *values))):
                watched(sum_so_far)
        return reduce(add, values, *first)

    numbers.finish = lambda to: watched if to is INT64 else finish(to)
    by_name.reduce = summed
    rewriting.forget()
    try:
        by_simulator(one)
    finally:
        numbers.finish, by_name.reduce = finish, reduce
        rewriting.forget()
    return seen


def calm(one: Program) -> Program:
    """Return a program without the results that int64 cannot hold; see `overflows`."""
    while True:
        bad = {at for _, at in overflows(one)}
        if not bad:
            return one
        lost: set[str] = set()  # names that have been removed
        lines: list[str] = []
        skip = False
        for at, line in enumerate(one.lines):
            inner = line.startswith(" " * 12)
            if inner and skip:
                continue
            words = set(re.findall(r"[a-z]\w*", line))
            block = _block(one.lines, at)
            if skip := bool(bad & set(block)) or bool(
                lost & {w for b in block for w in re.findall(r"[a-z]\w*", one.lines[b])}
            ):
                for b in block:
                    target = re.match(r"\s*(\w+) [-+*]?= ", one.lines[b])
                    lost |= {target[1]} if target else set()
                continue
            if words & lost:
                continue
            lines.append(line)
        one = Program(one.seed, tuple(lines), one.numbers)


def _block(lines: tuple[str, ...], at: int) -> range:
    """Return the lines of the statement that begins at a line."""
    end = at + 1
    while end < len(lines) and lines[end].startswith((" " * 12, " " * 8 + "else")):
        end += 1
    return range(at, end)


def by_njit(one: Program) -> Results:
    import numba

    args = one.arguments()
    compiled = numba.njit(error_model="numpy")(function(one, False, names()))
    compiled(*args)
    return args[-2], args[-1]


def refused_by_numba(one: Program) -> bool:
    """Return whether Numba cannot type a program.

    The programs are drawn without regard to branches that a constant excludes.
    """
    import numba
    from numba.core.errors import TypingError

    given = tuple(map(numba.typeof, one.arguments()))
    try:
        numba.njit(error_model="numpy")(function(one, False, names())).compile(given)
    except TypingError:
        return True
    return False


def computed_by() -> str:
    """Return what an answer of njit depends on, besides the program."""
    packages = [version(name) for name in ("numba", "llvmlite", "numpy")]
    return " ".join([*packages, platform.machine()])


def key(one: Program) -> str:
    """Return a key for a program, its data, and what computes it here."""
    known = repr((computed_by(), one.source(False), one.seed))
    return hashlib.sha256(known.encode()).hexdigest()[:32]


def keep(programs: list[Program]) -> None:
    """Write njit's answers to `KEPT`."""
    answers: dict[str, Any] = {"by": np.array(computed_by())}
    for one in programs:
        answers[key(one)] = np.stack([x.view(np.int64) for x in by_njit(one)])
    np.savez_compressed(KEPT, **answers)


def note(kind: str, **what: Any) -> None:
    """Write a run to `RECORD` instead of the last one of its kind."""
    runs = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    runs[kind] = what | {"by": computed_by(), "date": time.strftime("%Y-%m-%d")}
    RECORD.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")


def by_gpu(one: Program) -> Results:
    from numba import cuda

    args = one.arguments()
    cuda.jit(function(one, True, names(cuda)))[1, 32](*args)
    return args[-2], args[-1]


def differences(one: Program, reference: Callable[[Program], Results]) -> Iterator[str]:
    """Yield a line on each result in which the simulator differs from Numba."""
    ours, theirs = by_simulator(one), reference(one)
    for k in one.results():
        number = one.numbers[k]
        whole = number.whole and not np.array_equal(ours[0][k], theirs[0][k])
        real = not np.array_equal(ours[1][k], theirs[1][k], equal_nan=True)
        if not (whole or real):
            continue
        kind = 0 if whole else 1
        bad = np.flatnonzero(
            (ours[kind][k] != theirs[kind][k])
            & ~((ours[kind][k] != ours[kind][k]) & (theirs[kind][k] != theirs[kind][k]))
        )
        at = int(bad[0])
        text = next(t for t in one.lines if t.strip().startswith(f"r{k} =")).strip()
        yield (
            f"program {one.seed}, i = {at}: {ours[kind][k][at]!r}, and Numba has "
            f"{theirs[kind][k][at]!r} ({number}): {text}"
        )


def main() -> None:
    """Draw programs, compare the results, and exit with 1 if any differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("expressions", type=int)
    parser.add_argument("--gpu", action="store_true", help="compare with a GPU")
    parser.add_argument("--keep", action="store_true", help="write njit's answers")
    parser.add_argument("--record", action="store_true", help="write down the run")
    parser.add_argument("--wide", action="store_true", help="also tuples and more")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    given = parser.parse_args()
    drawn: list[Program] = []
    reference = by_gpu if given.gpu else by_njit
    found = done = 0
    seed = given.seed
    while done < given.expressions:
        try:
            one = calm(program(seed, given.wide))
        except Fault as fault:
            if not refused_by_numba(program(seed, given.wide)):
                found += 1
                print(f"program {seed}: {fault}", flush=True)
            seed += 1
            continue
        drawn.append(one)
        for words in differences(one, reference):
            found += 1
            print(words, flush=True)
        done += len(one.results())
        seed += 1
    print(f"{done:,} expressions of {seed - given.seed} programs, {found} differences")
    if given.record and not given.gpu:
        note(
            "wide" if given.wide else "narrow",
            expressions=done,
            differences=found,
            first=given.seed,
            programs=seed - given.seed,
        )
    if given.keep:
        keep(drawn)
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
