"""Random programs on numbers of every type, drawn by a seeded generator.

Operations that a CPU and a GPU may treat differently are not drawn: shifts by 64 and
more, floats converted to integers that cannot hold them. Nor are functions to which
`njit` gives types of its own (`floor`, `ceil` and `trunc` give integers on a CPU),
floats in `min` and `max`, which treat a NaN differently, and loops that turn an
unsigned number into a signed one: their types depend on the order in which Numba visits
the branches.
"""

import itertools
import linecache
import math
import operator
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.simulator.arithmetic.numbers import (
    BOOL,
    FLOAT64,
    INT64,
    NUMBERS,
    Number,
    rule_of_one,
    rule_of_two,
    unified,
)

COUNT = 24  # values in each array
BATCH = 20  # results of one program
DRAWN = {n: number for n, number in NUMBERS.items() if n not in ("f16", "c64", "c128")}
ARRAYS = {f"x_{name}": number for name, number in DRAWN.items()}
STORES = {f"s_{name}": NUMBERS[name] for name in ("u8", "i32", "u32", "f32")}
SYMBOLS = {
    **{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//"},
    **{"mod": "%", "lshift": "<<", "rshift": ">>"},
    **{"and_": "&", "or_": "|", "xor": "^"},
}
COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
CASTS = {n: number.dtype.name for n, number in DRAWN.items() if n != "b"}
LITERALS = {
    INT64: ("0", "1", "2", "3", "7", "31", "255", "256", "1000", "2654435761", "-1"),
    FLOAT64: ("0.5", "2.0", "-1.5", "1e10", "0.1"),
    BOOL: ("True", "False"),
}


def data(number: Number, seed: int) -> np.ndarray[Any, Any]:
    """Return numbers of a type: its edges, small ones and random ones."""
    rng = np.random.default_rng([seed, list(NUMBERS.values()).index(number)])
    if number.kind == "b":
        return rng.integers(0, 2, COUNT).astype(bool)
    if number.kind == "f":
        some = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-3, 3.0, 16777217.0, -2.5, 1e6]
        rest = rng.normal(0, 100, COUNT - len(some))
        return np.array([*some, *rest], number.dtype)
    low, high = (
        int(v) for v in (np.iinfo(number.dtype).min, np.iinfo(number.dtype).max)
    )
    some = [low, low + 1, -1, 0, 1, 2, 3, 127, 128, 255, high // 2, high - 1, high]
    fitting = [v for v in some if low <= v <= high]
    small = rng.integers(0, min(high, 100), COUNT, dtype=np.int64)
    wild = rng.integers(low, high, COUNT, dtype=number.dtype, endpoint=True)
    mixed = [*fitting, *small[:5].tolist(), *wild.tolist()][:COUNT]
    return rng.permutation(np.array(mixed, number.dtype))


Typed = tuple[str, Number]


class Writer:
    """Draws expressions, each with its type by Numba's rules."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._variables: list[Typed] = []
        self._serial = itertools.count()

    def _pick(self, choices: Any) -> Any:
        return self._random.choice(list(choices))

    def leaf(self, whole: bool = False) -> Typed:
        """Draw an element, a variable, a literal or the thread's number."""
        choice = self._random.random()
        if choice < 0.55:
            fitting = [n for n, k in ARRAYS.items() if not whole or k.kind in "iu"]
            name = self._pick(fitting)
            return f"{name}[i]", ARRAYS[name]
        known = [v for v in self._variables if not whole or v[1].kind in "iu"]
        if choice < 0.7 and known:
            found: Typed = self._pick(known)
            return found
        if choice < 0.8:
            return "i", INT64
        number = INT64 if whole else self._pick(LITERALS)
        return self._pick(LITERALS[number]), number

    def expression(self, depth: int) -> Typed:
        """Draw an expression with operations nested at most `depth` deep."""
        if depth == 0 or self._random.random() < 0.1:
            return self.leaf()
        make: Callable[[int], Typed | None] = self._pick(
            [self._binary] * 8
            + [self._compared, self._unary, self._cast, self._choice, self._extreme]
            + [self._function, self._power]
        )
        return make(depth - 1) or self.leaf()

    def _binary(self, depth: int) -> Typed | None:
        name = self._pick(SYMBOLS)
        (a, of_a), (b, of_b) = self.expression(depth), self.expression(depth)
        if name in ("lshift", "rshift"):
            if of_b.kind not in "iu" or of_a.kind == "f":
                return None
            b, of_b = f"({b} & 31)", _joined("and_", of_b, INT64)
        if not re.search(r"[a-z]", a + b):
            return None  # Python computes it before Numba sees it
        rule = rule_of_two(name, of_a, of_b)
        if rule is None or "f16" in (n.name for n in (*rule.results, *rule.operands)):
            return None
        return f"({a} {SYMBOLS[name]} {b})", rule.result

    def _compared(self, depth: int) -> Typed:
        (a, _), (b, _) = self.expression(depth), self.expression(depth)
        return f"({a} {self._pick(COMPARISONS.values())} {b})", BOOL

    def _unary(self, depth: int) -> Typed | None:
        a, number = self.expression(depth)
        name, symbol = self._pick([("neg", "-"), ("invert", "~"), ("pos", "+")])
        if name == "invert" and a in ("True", "False"):
            return None  # Python computes it before Numba sees it
        rule = rule_of_one(name, number)
        return None if rule is None else (f"({symbol}{a})", rule.result)

    def _cast(self, depth: int) -> Typed:
        a, number = self.expression(depth)
        to = NUMBERS[self._pick(CASTS)]
        if number.kind == "f" and to.whole:
            a = f"({a} if {a} > 0.0 and {a} < 100.0 else 1.0)"
        return f"{CASTS[to.name]}({a})", to

    def _choice(self, depth: int) -> Typed | None:
        (a, of_a), (b, of_b) = self.expression(depth), self.expression(depth)
        test, _ = self._compared(0)
        number = unified(of_a, of_b)
        return None if number.name == "f16" else (f"({a} if {test} else {b})", number)

    def _extreme(self, depth: int) -> Typed | None:
        (a, of_a), (b, of_b) = self.expression(depth), self.expression(depth)
        if not (of_a.kind in "iu" and of_b.kind in "iu"):
            return None
        return f"{self._pick(['min', 'max'])}({a}, {b})", unified(of_a, of_b)

    def _function(self, depth: int) -> Typed | None:
        a, number = self.expression(depth)
        name = self._pick(["abs", "int", "float", "bool", "math.sqrt", "math.fabs"])
        if name == "math.fabs" and number.kind != "f":
            return None  # njit's result for an integer keeps a sign
        if name == "abs" and number.kind == "b":
            return None
        if name == "float" and number.kind == "b":
            return None
        if name == "int" and number.kind == "f":
            a = f"({a} if {a} > 0.0 and {a} < 100.0 else 1.0)"
        rule = rule_of_one(name.removeprefix("math."), number)
        return None if rule is None else (f"{name}({a})", rule.result)

    def _power(self, depth: int) -> Typed | None:
        a, number = self.expression(depth)
        if number.kind == "b" or not re.search(r"[a-z]", a):
            return None
        rule = rule_of_two("pow", number, INT64)
        if rule is None or rule.result.kind == "f":
            return None
        return f"({a} ** {self._pick([0, 1, 2, 3, 5])})", rule.result

    # Statements

    def statement(self, indent: str) -> list[str]:
        """Draw a few lines that give a variable several types, or go through memory."""
        return self._pick(
            [self._branch, self._loop, self._early, self._memory, self._plain]
        )(indent)  # type: ignore[no-any-return]

    def _new(self) -> str:
        return f"v{next(self._serial)}"

    def _plain(self, indent: str) -> list[str]:
        name = self._new()
        text, number = self.expression(2)
        self._variables.append((name, number))
        return [f"{indent}{name} = {text}"]

    def _branch(self, indent: str) -> list[str]:
        name, (test, _) = self._new(), self._compared(1)
        (a, of_a), (b, of_b) = self.expression(1), self.expression(1)
        self._variables.append((name, unified(of_a, of_b)))
        return [
            f"{indent}if {test}:",
            f"{indent}    {name} = {a}",
            f"{indent}else:",
            f"{indent}    {name} = {b}",
        ]

    def _early(self, indent: str) -> list[str]:
        """Draw a variable that a branch may change."""
        name, (test, _) = self._new(), self._compared(1)
        (a, of_a), (b, of_b) = self.expression(1), self.expression(1)
        self._variables.append((name, unified(of_a, of_b)))
        return [
            f"{indent}{name} = {a}",
            f"{indent}if {test}:",
            f"{indent}    {name} = {b}",
        ]

    def _loop(self, indent: str) -> list[str]:
        name, turn = self._new(), self._new()
        start, number = self.expression(0)
        step, of_step = self.leaf()
        op = self._pick(["add", "sub", "mul"])
        seen = number
        for _ in range(4):  # until the loop keeps the variable's type
            rule = rule_of_two(op, seen, of_step)
            if rule is None or rule.result.name == "f16":
                return self._plain(indent)
            mixed = seen.kind == "b" or "u" in (seen.kind, of_step.kind)
            if mixed and rule.result.kind == "i":
                return self._plain(indent)
            seen = unified(seen, rule.result)
        self._variables.append((name, seen))
        how = self._pick(["for", "while", "break"])
        lines = [f"{indent}{name} = {start}"]
        change = f"{name} {SYMBOLS[op]}= {step}"
        if how == "for":
            lines += [f"{indent}for {turn} in range(3):", f"{indent}    {change}"]
        elif how == "while":
            lines += [
                f"{indent}{turn} = 0",
                f"{indent}while {turn} < 4:",
                f"{indent}    {turn} += 1",
                f"{indent}    if {turn} == 2:",
                f"{indent}        continue",
                f"{indent}    {change}",
            ]
        else:
            lines += [
                f"{indent}for {turn} in range(5):",
                f"{indent}    {change}",
                f"{indent}    if {turn} > i:",
                f"{indent}        break",
            ]
        return lines

    def _memory(self, indent: str) -> list[str]:
        """Draw a store to an array of a narrower type, and a load from it."""
        name = self._new()
        array = self._pick(STORES)
        number = STORES[array]
        text, of_text = self.expression(1)
        if number.whole and of_text.kind == "f":
            text = f"({text} if {text} > 0.0 and {text} < 100.0 else 1.0)"
        more, of_more = self.leaf(whole=True)
        op = "+" if number.whole and of_more.whole else self._pick("+*")
        self._variables.append((name, number))
        return [
            f"{indent}{array}[i] = {text}",
            f"{indent}{array}[i] {op}= {more}",
            f"{indent}{name} = {array}[i]",
        ]


class Wider(Writer):
    """Also draws tuples, loops over them, inner functions and short names."""

    def expression(self, depth: int) -> Typed:
        if depth and self._random.random() < 0.3:
            make: Callable[[int], Typed | None] = self._pick(
                [
                    *(self._part, self._among, self._either, self._chain),
                    *(self._least, self._parts_of, self._total, self._called),
                    self._module,
                ]
            )
            found = make(depth - 1)
            if found is not None and found[1].name != "f16":
                return found
        return super().expression(depth)

    def statement(self, indent: str) -> list[str]:
        make: Any = self._pick(
            [super().statement] * 4
            + [self._swapped, self._paths, self._each, self._numbered, self._changed]
        )
        return make(indent)  # type: ignore[no-any-return]

    def _part(self, depth: int) -> Typed:
        """Draw an element of a tuple whose elements have different types."""
        parts = [self.expression(depth) for _ in range(3)]
        at = self._random.randrange(3)
        return f"({', '.join(text for text, _ in parts)})[{at}]", parts[at][1]

    def _among(self, depth: int) -> Typed:
        """Draw one of several numbers of a type, chosen by a variable."""
        name = self._pick(ARRAYS)
        return f"({name}[i], {name}[i - i])[i & 1]", ARRAYS[name]

    def _either(self, depth: int) -> Typed | None:
        (a, of_a), (b, of_b) = self.expression(depth), self.expression(depth)
        test, _ = self._compared(0)
        pair = f"(({a}, {b}) if {test} else ({b}, {a}))"
        return f"{pair}[{self._random.randrange(2)}]", unified(of_a, of_b)

    def _chain(self, depth: int) -> Typed:
        (a, _), (b, _), (c, _) = (self.expression(depth) for _ in range(3))
        one, two = (self._pick(COMPARISONS.values()) for _ in range(2))
        return f"({a} {one} {b} {two} {c})", BOOL

    def _least(self, depth: int) -> Typed | None:
        parts = [self.expression(depth) for _ in range(3)]
        if not all(number.kind in "iu" for _, number in parts):
            return None
        text = ", ".join(text for text, _ in parts)
        name = self._pick(["min({})", "max({})", "min(({}))", "max(({}))"])
        number = unified(unified(parts[0][1], parts[1][1]), parts[2][1])
        return name.format(text), number

    def _parts_of(self, depth: int) -> Typed | None:
        a, number = self.expression(depth)
        name = "frexp"  # njit does not have modf
        rule = rule_of_one(name, number)
        if rule is None or number.kind != "f":
            return None
        at = self._random.randrange(2)
        return f"math.{name}({a})[{at}]", rule.results[at]

    def _total(self, depth: int) -> Typed | None:
        (a, of_a), (b, of_b) = self.expression(depth), self.expression(depth)
        if "u" in of_a.kind + of_b.kind or of_a is not of_b:
            return None
        rule = rule_of_two("add", INT64, of_a)
        again = None if rule is None else rule_of_two("add", rule.result, of_b)
        return None if again is None else (f"sum(({a}, {b}))", again.result)

    def _called(self, depth: int) -> Typed | None:
        a, number = self.expression(depth)
        name = self._pick(["add", "mul", "sub"])
        rule = rule_of_two(name, number, number)
        if rule is None:
            return None
        return f"(lambda v: v {SYMBOLS[name]} v)({a})", rule.result

    def _module(self, depth: int) -> Typed | None:
        (a, of_a), (b, of_b) = self.expression(depth), self.expression(depth)
        name = self._pick(["add", "mul", "sub", "and_", "or_"])
        rule = rule_of_two(name, of_a, of_b)
        return None if rule is None else (f"operator.{name}({a}, {b})", rule.result)

    # Statements

    def _swapped(self, indent: str) -> list[str]:
        """Draw a tuple that a loop hands on, and whose parts so get one type each.

        A Boolean or an unsigned number is not paired with another kind: what Numba
        makes of these depends on their types in the first iteration.
        """
        name, turn = self._new(), self._new()
        (a, of_a), (b, of_b) = self.expression(1), self.expression(1)
        if of_a.kind != of_b.kind and {"b", "u"} & {of_a.kind, of_b.kind}:
            return self._plain(indent)
        number = unified(of_a, of_b)
        first, second = self._new(), self._new()
        self._variables += [(first, number), (second, number)]
        return [
            f"{indent}{name} = ({a}, {b})",
            f"{indent}for {turn} in range(3):",
            f"{indent}    {name} = ({name}[1], {name}[0])",
            f"{indent}{first} = {name}[0]",
            f"{indent}{second} = {name}[1]",
        ]

    def _paths(self, indent: str) -> list[str]:
        """Draw a tuple whose parts have other types on another path."""
        name, (test, _) = self._new(), self._compared(1)
        (a, of_a), (b, of_b) = self.expression(1), self.expression(1)
        (c, of_c), (d, of_d) = self.expression(1), self.expression(1)
        first, second = self._new(), self._new()
        self._variables += [(first, unified(of_a, of_c)), (second, unified(of_b, of_d))]
        return [
            f"{indent}if {test}:",
            f"{indent}    {name} = ({a}, {b})",
            f"{indent}else:",
            f"{indent}    {name} = ({c}, {d})",
            f"{indent}{first} = {name}[0]",
            f"{indent}{second} = {name}[1]",
        ]

    def _each(self, indent: str) -> list[str]:
        """Draw a sum over a tuple of floats."""
        name, turn = self._new(), self._new()
        self._variables.append((name, FLOAT64))
        return [
            f"{indent}{name} = {self._pick(['0', '0.5', 'x_i32[i]'])}",
            f"{indent}for {turn} in (x_f32[i], x_f32[i - i]):",
            f"{indent}    {name} += {turn}",
        ]

    def _numbered(self, indent: str) -> list[str]:
        name, place, turn = self._new(), self._new(), self._new()
        self._variables.append((name, INT64))
        array = self._pick(["x_i8[i]", "x_i16[i]", "x_u8[i]"])
        return [
            f"{indent}{name} = 0",
            f"{indent}for {place}, {turn} in enumerate(({array}, {array})):",
            f"{indent}    {name} += {place} * {turn}",
        ]

    def _changed(self, indent: str) -> list[str]:
        """Draw a name that gets a value on one path before it gets one on all."""
        name, (test, _) = self._new(), self._compared(1)
        (a, _), (b, of_b) = self.expression(1), self.expression(1)
        self._variables.append((name, of_b))
        return [
            f"{indent}if {test}:",
            f"{indent}    {name} = {a}",
            f"{indent}{name} = {b}",
        ]


def _joined(name: str, a: Number, b: Number) -> Number:
    rule = rule_of_two(name, a, b)
    assert rule is not None
    return rule.result


@dataclass(frozen=True)
class Program:
    """A random program: the lines in the loop over `i`, and its results' types."""

    seed: int
    lines: tuple[str, ...]
    numbers: tuple[Number, ...]

    def source(self, gpu: bool) -> str:
        """Return the source of the function for `njit`, or of the kernel."""
        names = ", ".join([*ARRAYS, *STORES, "whole", "real"])
        head = [f"def program({names}):"]
        if gpu:
            head += ["    i = cuda.grid(1)", f"    if i < {COUNT}:"]
        else:
            head += [f"    for i in range({COUNT}):"]
        return "\n".join([*head, *self.lines, ""])

    def results(self) -> list[int]:
        """Return the numbers of the program's results; some may have been left out."""
        found = (re.match(r" {8}r(\d+) = ", line) for line in self.lines)
        return [int(one[1]) for one in found if one]

    def arguments(self) -> list[np.ndarray[Any, Any]]:
        """Return the data, and arrays for the results, as int64 and as float64."""
        given = [data(number, self.seed) for number in ARRAYS.values()]
        scratch = [np.zeros(COUNT, number.dtype) for number in STORES.values()]
        shape = len(self.numbers), COUNT
        return [
            *given,
            *scratch,
            np.zeros(shape, np.int64),
            np.zeros(shape, np.float64),
        ]


def program(seed: int, wide: bool = False, results: int = BATCH) -> Program:
    """Return the program of a seed. wide: with all that `Wider` draws."""
    writer = Wider(seed) if wide else Writer(seed)
    indent = " " * 8
    lines: list[str] = []
    numbers: list[Number] = []
    for k in range(results):
        if k % 4 == 0:
            lines += writer.statement(indent)
        text, number = writer.expression(3)
        numbers.append(number)
        lines.append(f"{indent}r{k} = {text}")
        if number.kind != "f":
            lines.append(f"{indent}whole[{k}, i] = r{k}")
        lines.append(f"{indent}real[{k}, i] = r{k}")
    return Program(seed, tuple(lines), tuple(numbers))


def function(one: Program, gpu: bool, names: dict[str, Any]) -> Any:
    """Return a program's function, so that its source can be found."""
    source, file = one.source(gpu), f"<program {one.seed}, {'gpu' if gpu else 'cpu'}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    scope = dict(names)
    exec(compile(source, file, "exec"), scope)
    return scope["program"]


def names(cuda: Any = None) -> dict[str, Any]:
    import numba

    types = {name: getattr(numba, name) for name in CASTS.values()}
    return {"math": math, "operator": operator, "cuda": cuda, **types}
