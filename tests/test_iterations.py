"""Requests of random kernels against lanes that a model runs in lockstep.

In the model, a warp is a set of lanes that goes through a program once: the lanes that
take a branch do so together, and all are together again after it, and after a loop.
"""

import linecache
from collections import defaultdict
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

import weft  # noqa: F401  before Numba
from weft.counters import count, rows_of
from weft.simulator import record
from weft.simulator.trace.requests import grouped

from numba import cuda, int32  # isort: skip

Program = list[Any]
WARP = range(32)
SIZE = 4096

NUMBERS = st.tuples(*[st.integers(0, 5)] * 4)
TESTS = st.tuples(NUMBERS, st.integers(2, 5), st.integers(1, 4))
ACCESS = st.tuples(st.sampled_from(["load", "call"]), NUMBERS)
CHOSEN = st.tuples(st.just("choose"), TESTS, NUMBERS)
LEAVE = st.tuples(st.sampled_from(["continue", "break"]), TESTS)
TURNS = st.one_of(st.integers(1, 3), TESTS)


def blocks(inner: Any) -> Any:
    part = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.tuples(st.just("if"), TESTS, part, part),
        st.tuples(st.sampled_from(["for", "while"]), TURNS, part),
    )


STEPS = st.recursive(st.one_of(ACCESS, CHOSEN, LEAVE), blocks, max_leaves=8)


def written(numbers: Any, depth: int) -> str:
    """An index or a condition as text: of the lane, and of the loops around."""
    names = ["t", "k1", "k2", "1"]
    used = [names[0], *names[1 : 1 + min(depth, 2)], names[3]]
    each = zip(numbers, used, strict=False)
    return " + ".join(f"{n} * {name}" for n, name in each)


def valued(numbers: Any, depth: int, lane: int, turns: list[int]) -> int:
    values = [lane, *turns[: min(depth, 2)], 1]
    return sum(n * value for n, value in zip(numbers, values, strict=False))


def text_of(test: Any, depth: int) -> str:
    numbers, modulus, below = test
    return f"({written(numbers, depth)}) % {modulus} < {below}"


def lines_of(program: Program, depth: int, indent: str, names: Any) -> list[str]:
    """The program as lines of a kernel; `names` gives those of its accesses."""
    made: list[str] = []
    for kind, *of in program:
        if kind == "load":
            made.append(f"total += x{next(names)}[{written(of[0], depth)}]")
        elif kind == "call":
            made.append(f"total += called(y, int32({written(of[0], depth)}))")
        elif kind == "choose":
            load = f"x{next(names)}[{written(of[1], depth)}]"
            made.append(f"total += {load} if {text_of(of[0], depth)} else 0")
        elif kind == "if":
            made.append(f"if {text_of(of[0], depth)}:")
            made += lines_of(of[1], depth, "    ", names)
            made.append("else:")
            made += lines_of(of[2], depth, "    ", names)
        elif kind in ("continue", "break"):
            if depth:
                made += [f"if {text_of(of[0], depth)}:", f"    {kind}"]
        else:
            turns, var = of[0], f"k{depth + 1}"
            many = str(turns)
            if not isinstance(turns, int):
                numbers, modulus, _ = turns
                many = f"({written(numbers, depth)}) % {modulus}"
            body = lines_of(of[1], depth + 1, "    ", names)
            if kind == "for":
                made += [f"for {var} in range({many}):", *(body or ["    pass"])]
            else:
                made += [f"{var} = -1", f"while {var} + 1 < {many}:"]
                made += [f"    {var} += 1", *body]
    return [indent + line for line in made or ["pass"]]


class Lockstep:
    """The requests of a program, by the name of the array: the indices of each."""

    def __init__(self, program: Program) -> None:
        self.requests: dict[str, list[list[int]]] = defaultdict(list)
        self.names = iter(range(1000))
        self._named: dict[int, int] = {}
        self._name(program, 0)
        self.run(program, set(WARP), {lane: [] for lane in WARP}, 0)

    def _name(self, program: Program, depth: int) -> None:
        for step in program:
            if step[0] in ("load", "choose"):
                self._named[id(step)] = next(self.names)
            for part in step[1:]:
                if isinstance(part, list):
                    self._name(part, depth)

    def holds(self, test: Any, depth: int, lanes: set[int], turns: Any) -> set[int]:
        numbers, modulus, below = test
        return {
            lane
            for lane in lanes
            if valued(numbers, depth, lane, turns[lane]) % modulus < below
        }

    def touch(
        self, name: str, numbers: Any, depth: int, lanes: set[int], turns: Any
    ) -> None:
        if lanes:
            each = [valued(numbers, depth, lane, turns[lane]) for lane in sorted(lanes)]
            self.requests[name].append(each)

    def run(
        self, program: Program, lanes: set[int], turns: Any, depth: int
    ) -> tuple[set[int], set[int]]:
        """Run a block; the lanes that come to its end, and those that `break`."""
        left: set[int] = set()
        for step in program:
            kind, *of = step
            if kind == "load":
                self.touch(f"x{self._named[id(step)]}", of[0], depth, lanes, turns)
            elif kind == "call":
                self.touch("y", of[0], depth, lanes, turns)
            elif kind == "choose":
                some = self.holds(of[0], depth, lanes, turns)
                self.touch(f"x{self._named[id(step)]}", of[1], depth, some, turns)
            elif kind == "if":
                some = self.holds(of[0], depth, lanes, turns)
                one, gone = self.run(of[1], some, turns, depth)
                two, more = self.run(of[2], lanes - some, turns, depth)
                lanes, left = one | two, left | gone | more
            elif kind in ("continue", "break"):
                if depth:
                    gone = self.holds(of[0], depth, lanes, turns)
                    lanes = lanes - gone
                    left |= gone if kind == "break" else set()
            else:
                self.loop(of[0], of[1], lanes, turns, depth)
        return lanes, left

    def loop(
        self, many: Any, body: Program, lanes: set[int], turns: Any, depth: int
    ) -> None:
        wanted = dict.fromkeys(lanes, many)
        if not isinstance(many, int):
            numbers, modulus, _ = many
            for lane in lanes:
                wanted[lane] = valued(numbers, depth, lane, turns[lane]) % modulus
        alive = set(lanes)
        for turn in range(5):
            alive = {lane for lane in alive if turn < wanted[lane]}
            now = {lane: [*turns[lane][:depth], turn] for lane in alive}
            _, gone = self.run(body, set(alive), now, depth + 1)
            alive -= gone


def compiled(program: Program, arrays: int) -> Any:
    names = iter(range(1000))
    body = "\n".join(lines_of(program, 0, "    ", names))
    given_ = ", ".join([f"x{k}" for k in range(arrays)] + ["y", "out"])
    source = (
        "@cuda.jit(device=True)\ndef called(y, at):\n    return y[at]\n\n"
        f"@cuda.jit\ndef kernel({given_}):\n    t, total = cuda.threadIdx.x, 0\n"
        f"{body}\n    out[t] = total\n"
    )
    name = f"<iterations {hash(source)}>"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    scope = {"cuda": cuda, "int32": int32}
    exec(compile(source, name, "exec"), scope)
    return scope["kernel"], source


def arrays_of(program: Program) -> int:
    found = 0
    for kind, *of in program:
        found += kind in ("load", "choose")
        found += sum(arrays_of(part) for part in of if isinstance(part, list))
    return found


@settings(max_examples=examples(150))
@given(st.lists(STEPS, min_size=1, max_size=4), st.booleans())
def test_requests_are_those_of_lanes_in_lockstep(program: Program, rows: bool) -> None:
    program = numbered(program)
    many = arrays_of(program)
    kernel, source = compiled(program, many)
    args = *(np.zeros(SIZE, np.int32) for _ in range(many + 1)), np.zeros(32, np.int32)
    trace, _ = record(kernel, (1, 32), args, rows=rows)
    wanted = Lockstep(program).requests
    found = [n for n in count(trace) if n.array != "out"]
    told: dict[str, Any] = {}
    for n in found:  # `called` may be compiled for several types
        own = np.array([n.requests, n.lanes, n.sectors, n.divergent])
        told[n.array] = told.get(n.array, 0) + own
    assert {name: tuple(each.tolist()) for name, each in told.items()} == {
        name: (
            len(each),
            sum(map(len, each)),
            sum(len({4 * i // 32 for i in one}) for one in each),
            sum(len(one) < 32 for one in each),
        )
        for name, each in wanted.items()
    }, source
    for line in (n for n in found if n.array != "y"):
        mine = rows_of(trace, line)
        groups = grouped(trace, mine, np.zeros_like(mine))
        first = np.unique(groups.request, return_index=True)[1]
        at = (trace.address[groups.rows] - trace.bases[line.array]) // 4
        each = [sorted(part) for part in parted(at, groups.request)]
        assert each == [sorted(one) for one in wanted[line.array]], source
        assert groups.time[first].tolist() == list(range(len(each)))


def parted(values: Any, by: Any) -> list[list[int]]:
    return [values[by == k].tolist() for k in range(int(by.max()) + 1)]


def numbered(program: Program) -> Program:
    """A copy in which no two steps are the same object."""
    return [
        tuple(numbered(p) if isinstance(p, list) else p for p in step)
        for step in program
    ]
