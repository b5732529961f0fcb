"""Compare the types of variables that the simulator infers with Numba's.

     python -m verification.kinds            compare the constructs below

Numba only infers the types, for a GPU; that takes the real package but no GPU. `apart`
asks it in another process.
"""

import argparse
import ast
import cmath
import enum
import importlib
import json
import linecache
import math
import operator
import os
import re
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np

from verification.number_types import ROOT, SHORT, real_cuda

KEPT = Path(__file__).with_name("kinds.json")
RECORD = np.dtype([("x", np.float32), ("y", np.int32), ("v", np.float32, (3,))])


class Way(enum.IntEnum):
    """An enumeration that kernels use as a global name."""

    UP = 3
    DOWN = 4


Pair = namedtuple("Pair", "first second")
TABLE, MIXED, PAIR = (1.5, 2.5), (1, 0.5), Pair(1, 2.5)
WEIGHTS = np.array([1, 2, 3], np.float32)

# The arguments of every case, by name: dtype and axes of an array, or a number.
GIVEN: dict[str, Any] = {
    **{"x": ("float32", 1), "m": ("float32", 2), "k": ("int32", 1)},
    **{"g": ("uint8", 1), "w": ("uint64", 1), "d": ("float64", 1)},
    **{"u": ("uint32", 1), "l": ("int64", 1), "z": ("complex64", 1)},
    **{"c": ("complex128", 1), "h": ("float16", 1), "p": ("record", 1)},
    **{"n": "int64", "s": "float32", "b": "boolean"},
}

# What is assigned to `r`, which is read at the end: one expression or some lines.
EXPRESSIONS = """
z[i] * z[i]
z[i] * s
z[i] * 2
z[i] * 2.0
z[i] + c[i]
z[i] / k[i]
z[i] ** 2
-z[i]
abs(z[i])
abs(c[i])
z[i].real
c[i].imag
z[i] == c[i]
complex(s, s)
complex(n)
complex(s)
1j * s
1j * d[i]
cmath.exp(z[i])
cmath.sqrt(s)
p[i].x
p[i].y + 1
p[i]["x"]
p[i].x * p[i]["y"]
p[i].v
p[i].v[1]
m[i]
m[i][1]
m[i, 2:4]
m[1:]
m[:, 0]
m[i, 0]
x[2:5]
x[2:5][0]
x[:]
m[...]
m[..., 0]
m.T
m.T[0]
x.reshape(2, 2)
x.reshape((2, 2, 1))
x.view(np.int32)
x.view(np.int32)[0]
m.flat[3]
x.size
m.shape
m.shape[0]
m.ndim
m.strides[1]
len(x)
x.sum()
d.sum()
(1, 2.5)
(s, k[i])
(s, k[i])[1]
(1, 2, 3)[n]
(1, 2, 300)[n]
(s, s)[n]
(1, 2) + (s,)
(1, 2, 3)[1:]
(1, 2) == (1, 3)
1 in (1, 2)
TABLE[0]
TABLE[n]
MIXED[1]
PAIR.second
PAIR.first + s
Pair(s, n).first
WEIGHTS[n]
cuda.const.array_like(WEIGHTS)
Way.UP
Way.UP + 1
Way.UP == n
divmod(k[i], k[i])
divmod(s, k[i])
divmod(n, 3)[0]
math.frexp(s)
math.frexp(d[i])[1]
math.modf(s)
math.floor(s)
math.sqrt(k[i])
math.pow(s, 2)
math.ldexp(s, 2)
math.pi
math.pi * s
min(s, n)
min(g[i], k[i])
max(g[i], 3, s)
min((1, 2, 3))
max((s, k[i]))
sum((1, 2))
sum((s, s))
abs(k[i])
abs(g[i])
round(s)
round(s, 2)
int(s)
int(g[i])
float(k[i])
float(s)
bool(s)
pow(s, 2)
pow(k[i], k[i])
s if b else n
s if n > 2 else k[i]
(1 if b else 2.5)
(s, 1) if b else (2.5, 1)
s or n
b and n
not s
~b
~u[i]
-g[i]
-w[i]
u[i] - u[i]
w[i] + n
w[i] + 1
g[i] << 3
k[i] * k[i]
u[i] * u[i] >> 3
h[i] + h[i]
h[i] * s
h[i] * 2
n // 2
n / 2
k[i] ** 2
2 ** k[i]
s ** 2
n % 3
1 < n < 5
n is None
np.float32(n)
np.sqrt(s)
np.sqrt(k[i])
np.abs(k[i])
np.minimum(s, n)
np.pi
np.inf
np.int64(3)
np.finfo(np.float32).max
np.iinfo(np.int32).max
operator.add(s, n)
operator.mul(k[i], k[i])
operator.neg(g[i])
operator.lt(s, n)
operator.getitem(x, i)
cuda.threadIdx.x
cuda.blockDim.x * cuda.blockIdx.x
cuda.grid(1)
cuda.grid(2)
cuda.gridsize(1)
cuda.laneid
cuda.warpsize
cuda.popc(u[i])
cuda.popc(n)
cuda.clz(g[i])
cuda.ffs(k[i])
cuda.brev(w[i])
cuda.brev(k[i])
cuda.cbrt(s)
cuda.cbrt(k[i])
cuda.fma(s, s, s)
cuda.fma(d[i], s, s)
cuda.selp(b, k[i], k[i])
cuda.atomic.add(x, 0, 1)
cuda.atomic.cas(k, 0, 1, 2)
cuda.atomic.max(d, 0, s)
cuda.shared.array(4, float32)
cuda.shared.array((4, 5), int32)[0, 1]
cuda.local.array(shape=(2, 3), dtype=float64)
cuda.local.array(3, np.uint8)[0] + 1
cuda.activemask()
cuda.lanemask_lt()
cuda.syncthreads()
cuda.fp16.hadd(h[i], h[i])
cuda.fp16.hlt(h[i], h[i])
cuda.cg.this_grid().sync()
cuda.float32x4(1, 2, 3, 4).x
cuda.int32x2(1, 2).y
libdevice.rsqrtf(s)
libdevice.float_as_int(s)
libdevice.int_as_float(k[i])
uint8(n) + uint8(n)
int32(s) * 2
(lambda v: v + v)(g[i])
(lambda v, f=2.0: v * f)(s)
x.size * s
i * 2
isinstance(n, int)
len((1, 2))
k.sum()
g.sum()
k.prod()
x.mean()
k.mean()
x.prod()
x.any()
b + b
-b
(1, (s, n))[1][0]
len(m[i])
x[i:].size
n if n else s
max(s, d[i])
p["x"]
p["x"][i]
p.x
cuda.shared.array(3, p.dtype)
cuda.shared.array(3, x.dtype)
np.uint8(3) + np.uint8(4)
int32(1) // int32(2)
cuda.fp16.hfma(h[i], h[i], h[i])
h[i] * h[i] + s
uint64(1) << n
w[i] >> 3
round(k[i])
math.fabs(k[i])
math.copysign(s, n)
math.hypot(k[i], s)
math.isnan(s)
cuda.shfl_sync(-1, s, 0)
cuda.shfl_xor_sync(-1, n, 1)
cuda.shfl_sync(-1, d[i], 1)
cuda.shfl_sync(-1, cuda.threadIdx.x, 1)
cuda.ballot_sync(-1, b)
cuda.all_sync(-1, b)
cuda.match_any_sync(-1, k[i])
cuda.match_all_sync(-1, k[i])
cuda.syncthreads_count(n)
cuda.syncthreads_or(n)
cuda.atomic.exch(u, 0, 1)
cuda.atomic.inc(u, 0, 1)
cuda.atomic.compare_and_swap(k, 0, 1)
cuda.nanosleep(10)
cuda.threadfence()
s.real
n.real
z[i].conjugate()
d[i] ** 0.5
k[i] ** s
s // 2
s % 2
u[i] % 3
g[i] % g[i]
k[i] and s
x[i] if b else None
w[i] // 2
n & w[i]
~n
+g[i]
b & b
b | n
not n
(s > 0) + (s < 0)
abs(b)
x[i] is None
np.sign(s)
np.exp(h[i])
np.float64(s) * s
np.bool_(n)
bool(n) + 1
int(b)
math.log(n)
math.exp(h[i])
math.atan2(s, k[i])
cuda.selp(b, 5, 6)
cuda.fma(h[i], h[i], h[i])
min(h[i], s)
sum((k[i], k[i]))
sum((g[i], g[i]), 3)
x[0:2][1] * 2
m[0:2, 1]
m[1, ...]
m[0][1:]
x.reshape(-1)
m.reshape(4)[0]
x.strides
m.T.shape
x.nbytes
x.itemsize
WEIGHTS.shape
WEIGHTS.size
Way.DOWN.value
Way.UP if b else n
PAIR[0]
PAIR
TABLE[1:]
len(TABLE)
(s, n) + (1,)
((s, n), 1)[0][1]
cuda.blockIdx.x * 2.0
cuda.gridDim.x - 1
i % cuda.warpsize
1 if b else True
True if b else s
(k[i] < n) * s
z[i] == 1
z[i] + True
c[i] * w[i]
z[i] / z[i]
z[i] - h[i]
round(d[i])
divmod(g[i], g[i])
divmod(w[i], n)
pow(2, n)
u[i] ** 2
g[i] ** g[i]
w[i] ** 2
1 << n
n >> g[i]
u[i] ^ g[i]
u[i] == k[i]
cuda.local.array((2, 2), float32).sum()
cuda.local.array(8, np.float32)[2:4]
cuda.uchar2(1, 2).x
cuda.float4(1, 2, 3, 4).w
cuda.double2(1, 2).x
operator.truediv(n, n)
operator.floordiv(u[i], 2)
operator.pow(s, 2)
operator.not_(n)
operator.iadd(s, n)
libdevice.fast_expf(s)
libdevice.fmaf(s, s, s)
x[g[i]]
x[k[i]] + x[u[i]]
m[k[i], 0:2][0]
""".strip().splitlines()
STATEMENTS = """
r = 0
for v in x:
    r += v
---
for r in m:
    pass
---
r = s
for v in m:
    r = v[0]
---
for r in (1, 2, 300):
    pass
---
for a, r in enumerate(x):
    pass
---
for r, a in enumerate(x):
    pass
---
for a, r in zip(k, x):
    pass
---
for r in range(10):
    pass
---
for r in range(k[i]):
    pass
---
for r in range(n, 10, 2):
    pass
---
for r in range(u[i]):
    pass
---
for r in range(w[i]):
    pass
---
if b:
    r = s
else:
    r = n
---
if b:
    r = s
---
if b:
    r = s
if n > 2:
    r = 1
---
r = 0
while r < s:
    r += s
---
r = uint32(1)
for a in range(3):
    r = r * uint32(3) + a
---
r = k[i]
r += 1
---
r = g[i]
r += g[i]
---
r = s
r /= 2
---
r = n
r //= 2
---
r = w[i]
r -= 1
---
r = (1, 2)
for a in range(3):
    r = r[1], r[0] + s
---
a, r = m.shape
---
(a, r), q = (1, s), 2
---
a = r = s
---
r = None
---
f = lambda v: v * v
q = f(g[i])
r = f(s)
---
factor = s
def f(v):
    return v * factor
r = f(k[i])
---
def f(v, times=2):
    if v > 0:
        return v
    return v * times
r = f(s)
---
r = halved(k[i])
---
r = halved(s)
---
r = scaled(s, factor=n)
---
r = scaled(k[i])
---
r = several(s, k[i])
---
r = factorial(n)
---
r = signed(s)
---
r = first_of(x)
---
r = 0
for a in range(3):
    if b:
        continue
    r = s
---
for a in range(3):
    if b:
        r = a
        break
else:
    r = s
---
while True:
    r = s
    if b:
        break
---
for a in range(3):
    for q in range(3):
        r = a * s
---
x[2:5] = 1
r = x[2]
---
p[i].x = 3
r = p[i].x
---
t = cuda.threadIdx
r = t.x
---
r = (a := n // 2)
---
r = x[i]
x[i], r = r, x[i]
---
r = 1 if n else 2
r = r * s
---
i64 = k[i]
r = i64 & 1
r = r if b else s
---
a = g[i]
for q in range(3):
    a = a + 1
r = a
""".strip().split("\n---\n")

DEVICE = """
def halved(v):
    return v / 2

def scaled(v, factor=2):
    return v * factor

def several(a, b):
    return b, a

def factorial(n):
    if n < 2:
        return 1
    return n * factorial(n - 1)

def signed(v):
    if v > 0:
        return 1
    if v < 0:
        return -v
    return v

def first_of(v):
    return v[0]

def used(v):
    return 0
"""


def cases() -> list[str]:
    """Return the lines of every case."""
    return [f"r = {text}" for text in EXPRESSIONS] + STATEMENTS


def source(lines: str) -> str:
    """Return the source of a case's kernel."""
    body = ["i = cuda.grid(1)", *lines.splitlines(), "end = r", "used(end)"]
    return "\n".join(
        [f"def case({', '.join(GIVEN)}):", *(f"    {x}" for x in body), ""]
    )


def function(text: str, name: str, scope: dict[str, Any]) -> Any:
    """Return the function that a source defines, so that its source can be found."""
    file = f"<{name} {text}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    here = dict(scope)
    exec(compile(text, file, "exec"), here)
    return here[name]


def scope_of(cuda: Any) -> dict[str, Any]:
    """Return the names that the cases use. cuda: Numba's module, real or simulated."""
    import numba

    types = ("uint8", "int32", "uint32", "float32", "float64", "int64", "uint64")
    types += ("int8", "int16", "uint16")
    known: dict[str, Any] = {name: getattr(numba, name) for name in types}
    known |= {"cuda": cuda, "np": np, "math": math, "cmath": cmath}
    known |= {"operator": operator, "Way": Way, "Pair": Pair, "TABLE": TABLE}
    known |= {"MIXED": MIXED, "PAIR": PAIR, "WEIGHTS": WEIGHTS}
    known["libdevice"] = importlib.import_module("numba.cuda.libdevice")
    for part in DEVICE.strip().split("\n\n"):
        name = part.split("(")[0].removeprefix("def ")
        known[name] = cuda.jit(device=True)(function(part + "\n", name, known))
        inner = known[name].py_func
        inner.__globals__[name] = known[name]
    return known


# Numba


def by_numba(definitions: list[tuple[Any, tuple[Any, ...]]]) -> list[dict[str, Any]]:
    """Return the types of the functions' variables that Numba infers, as text.

    definitions: functions, with the types of their arguments. A variable has a type for
    each assignment. If Numba refuses a function, its entry is {"refused": why}.
    """
    compiler: Any = importlib.import_module("numba.cuda.compiler")
    machinery = sys.modules[compiler.PassManager.__module__]

    seen: list[Any] = []

    class Typed(Exception):
        pass

    @machinery.register_pass(mutates_CFG=False, analysis_only=True)
    class Stop(machinery.AnalysisPass):
        _name = "stop_after_inference"

        def __init__(self) -> None:
            super().__init__()

        def run_pass(self, state: Any) -> bool:
            seen.append(state.typemap)
            raise Typed

    class Inference(compiler.CUDACompiler):
        def define_pipelines(self) -> list[Any]:
            (whole,) = super().define_pipelines()
            last = next(
                k
                for k, (kind, _) in enumerate(whole.passes)
                if kind.__name__ == "NopythonTypeInference"
            )
            whole.passes[last + 1 :] = [(Stop, "stop")]
            whole._finalized = False
            whole.finalize()
            return [whole]

    descriptor: Any = importlib.import_module("numba.cuda.descriptor")
    utils: Any = importlib.import_module("numba.cuda.utils")
    target = descriptor.cuda_target
    found = []
    for fn, args in definitions:
        flags = compiler.CUDAFlags()
        flags.no_compile = True
        flags.compute_capability = (9, 0)
        try:
            with utils.numba_target_override():
                compiler.compile_extra(
                    target.typing_context,
                    target.target_context,
                    fn,
                    args,
                    None,
                    flags,
                    {},
                    pipeline_class=Inference,
                )
        except Typed:
            found.append(_by_name(seen.pop()))
        except Exception as error:
            found.append({"refused": repr(error)})
    return found


def _by_name(typemap: dict[str, Any]) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for name, kind in typemap.items():
        if not name.startswith(("$", "arg.")):
            found.setdefault(name.partition(".")[0], set()).add(numbas(kind))
    return {name: sorted(kinds) for name, kinds in found.items()}


def numbas(kind: Any) -> str:
    """Return a type of Numba's as text, as `ours` does."""
    types: Any = importlib.import_module("numba.cuda.types")
    kind = types.unliteral(kind)
    if isinstance(kind, types.Optional):
        return numbas(kind.type)
    if isinstance(kind, types.IntEnumMember):
        return numbas(kind.dtype)
    if isinstance(kind, types.Array):
        return f"[{numbas(kind.dtype)},{kind.ndim}]"
    if isinstance(kind, types.BaseTuple):
        return f"({','.join(map(numbas, kind))})"
    if isinstance(kind, types.Record):
        return "record"
    names = {str(getattr(types, long)): short for long, short in SHORT.items()}
    return names.get(str(kind), str(kind))


def apart(random: int = 0, seed: int = 0) -> list[dict[str, Any]]:
    """Return Numba's types for the cases, or for random programs; in a new process."""
    environment = {k: v for k, v in os.environ.items() if "SIM" not in k}
    more = ["--random", str(random), "--seed", str(seed)] if random else []
    done = subprocess.run(
        [sys.executable, "-m", "verification.kinds", "--numba", *more],
        cwd=ROOT,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def _asked(random: int, seed: int) -> list[dict[str, Any]]:
    """Return what `apart` returns, in the process that it starts."""
    import logging

    logging.disable()
    context: Any = real_cuda()
    types: Any = importlib.import_module("numba.cuda.types")
    numba: Any = importlib.import_module("numba")
    cuda: Any = importlib.import_module("numba.cuda")
    context.refresh()

    def of(given: Any) -> Any:
        if isinstance(given, str):
            return getattr(types, given)
        name, ndim = given
        kind = numba.from_dtype(RECORD) if name == "record" else getattr(types, name)
        return types.Array(kind, ndim, "C")

    scope = scope_of(cuda)
    if random:
        chosen = drawn(random, seed)
        args = tuple(of((a.dtype.name, a.ndim)) for a in chosen[0].arguments())
        args = tuple(
            types.Array(types.boolean, 1, "C") if a.dtype == bool else kind
            for a, kind in zip(chosen[0].arguments(), args, strict=True)
        )
        return by_numba(
            [(function(one.source(True), "program", scope), args) for one in chosen]
        )
    given = tuple(map(of, GIVEN.values()))
    return by_numba(
        [(function(source(lines), "case", scope), given) for lines in cases()]
    )


def drawn(expressions: int, seed: int) -> list[Any]:
    """Return random programs with at least `expressions` expressions in all."""
    from verification.programs import program

    found: list[Any] = []
    while sum(len(one.numbers) for one in found) < expressions:
        found.append(program(seed + len(found), wide=True))
    return found


# The simulator


def by_simulator(fn: Any, given: tuple[Any, ...]) -> dict[str, str]:
    """Return the types of a kernel's variables at its end, for such arguments."""
    from weft.simulator.inference.outside import kind_of
    from weft.simulator.inference.statements import Function
    from weft.simulator.language import binding, loops, rewriting
    from weft.simulator.translation.notes import Noting

    tree = rewriting.FoldConstants().visit(ast.parse(_text(fn)))
    scope = loops.names_of(fn)
    bound = binding.Bound.__new__(binding.Bound)
    bound._change = None
    bound._found, bound._notes, bound._noting = {}, {}, Noting.NONE
    kinds = tuple(map(kind_of, given))
    found = Function(
        tree.body[0],
        kinds,
        scope,
        (),
        lambda kind, args: bound._returned(kind.value, args),
    )
    return {name: ours(kind) for name, kind in found.variables.items()}


def _text(fn: Any) -> str:
    return "".join(linecache.getlines(fn.__code__.co_filename))


def ours(kind: Any) -> str:
    """Return a kind as text: "f32", "(i64,f32)", "[f32,2]"."""
    from weft.simulator.inference import kinds

    if isinstance(kind, kinds.Num):
        return kind.number.name
    if isinstance(kind, kinds.Arr):
        return f"[{ours(kind.element)},{kind.ndim}]"
    if isinstance(kind, kinds.Tup):
        return f"({','.join(map(ours, kind.parts))})"
    if isinstance(kind, kinds.Record):
        return "record"
    if isinstance(kind, kinds.Special):
        return {"None": "none"}.get(kind.name, kind.name)
    return "unknown" if kind is None else type(kind).__name__


def value_of(given: Any) -> Any:
    """Return an argument of a case."""
    if isinstance(given, str):
        return {"int64": 3, "float32": np.float32(1), "boolean": True}[given]
    name, ndim = given
    return np.zeros((4,) * ndim, RECORD if name == "record" else name)


def differences(numbas_types: list[dict[str, Any]]) -> list[str]:
    """Return a line on each case for which the simulator infers another type."""
    from numba import cuda

    scope = scope_of(cuda)
    given = tuple(map(value_of, GIVEN.values()))
    found = []
    for lines, known in zip(cases(), numbas_types, strict=True):
        got = by_simulator(function(source(lines), "case", scope), given).get("end")
        if "refused" in known:
            if got != "refused":
                found.append(f"{lines!r}: {got}, which Numba refuses")
        elif got not in known.get("end", ()):
            found.append(f"{lines!r}: {got}, and Numba has {known.get('end')}")
    return found


def random_differences(expressions: int, seed: int = 0) -> list[str]:
    """Return the same for random programs: for every variable at their ends."""
    from numba import cuda

    scope = scope_of(cuda)
    found = []
    chosen, answers = drawn(expressions, seed), apart(expressions, seed)
    for one, known in zip(chosen, answers, strict=True):
        fn = function(one.source(True), "program", scope)
        if "refused" in known:
            found.append(f"program {one.seed} is refused: {known['refused']}")
            continue
        for name, got in by_simulator(fn, tuple(one.arguments())).items():
            if re.match(r"r\d", name) and got not in known[name]:
                found.append(f"program {one.seed}, {name}: {got}, not {known[name]}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--numba", action="store_true", help="print Numba's types")
    given = parser.parse_args()
    if given.numba:
        print(json.dumps(_asked(given.random, given.seed)))
        return
    import weft  # noqa: F401  before Numba

    found = differences(apart())
    if given.random:
        found += random_differences(given.random, given.seed)
    print(*found, f"{len(found)} differences", sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
