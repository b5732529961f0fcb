"""A check cannot be fooled: every way round it that we could think of is refused."""

import ast
import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from IPython.core.inputtransformer2 import TransformerManager

import weft  # noqa: F401  before Numba

from numba import cuda, float32, int32  # isort: skip
from pipeline import notebook
from weft import check
from weft.checking.cases import SEED, unseen_size
from weft.checking.source import seed as seed_of
from weft.checking.verdict import Verdict

ROOT = Path(__file__).parents[1]
SIZES = [1, 31, 100]


@pytest.fixture(autouse=True)
def _a_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)


def vectors(rng: Any, n: int) -> tuple[Any, Any]:
    return rng.random(n, np.float32), rng.random(n, np.float32)


def added(kernel: Any, **options: Any) -> Verdict:
    """The verdict on a kernel that should add two vectors."""
    defaults: dict[str, Any] = {
        "spec": lambda a, b: a + b,
        "inputs": vectors,
        "sizes": SIZES,
        "launch": lambda n: (max(1, -(-n // 32)), 32),
    }
    return check(kernel, **(defaults | options))


@cuda.jit
def right(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


def test_the_right_kernel_passes() -> None:
    assert added(right)


def test_constant_outputs() -> None:
    @cuda.jit
    def half(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = float32(1)

    assert added(half).kind == "wrong-value"


def test_sizes_known_beforehand() -> None:
    @cuda.jit
    def knows(a, b, out):
        i = cuda.grid(1)
        n = out.size
        if n != 1 and n != 31 and n != 100:
            return
        if i < n:
            out[i] = a[i] + b[i]

    verdict = added(knows)
    assert verdict.kind == "unwritten"
    assert "which the check does not list" in verdict.when


def test_answers_known_beforehand() -> None:
    """The data of the listed sizes are the same every time, and so can be written down.

    Those of the other size belong to the source, and change when they are put into it.
    """
    answers = np.zeros((101, 100), np.float32)
    for n in SIZES:
        a, b = vectors(np.random.default_rng([SEED, n]), n)
        answers[n, :n] = a + b

    @cuda.jit
    def knows(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = answers[out.size, i]

    verdict = added(knows)
    assert verdict.kind == "wrong-value"
    assert "which the check does not list" in verdict.when
    assert added(knows, unseen=False)


def test_the_spec_or_numpy_called_on_the_host() -> None:
    def spec(a: Any, b: Any) -> Any:
        return a + b

    @cuda.jit
    def calls_spec(a, b, out):
        result = spec(a, b)
        for i in range(out.size):
            out[i] = result[i]

    @cuda.jit
    def calls_numpy(a, b, out):
        np.add(a, b, out)

    @cuda.jit
    def whole_arrays(a, b, out):
        out[:] = a + b

    @cuda.jit
    def converts(a, b, out):
        total = np.asarray(a) + np.asarray(b)
        out[0] = total[0]

    for kernel in (calls_spec, calls_numpy, whole_arrays, converts):
        verdict = added(kernel, spec=spec)
        assert verdict.kind == "type", verdict
        assert verdict.line


def test_inputs_written_in_any_way() -> None:
    @cuda.jit
    def direct(a, b, out):
        a[0] = 0

    @cuda.jit
    def through_a_view(a, b, out):
        view = a.reshape(a.size)
        view[0] = 0

    @cuda.jit
    def as_other_type(a, b, out):
        bits = a.view(int32)
        bits[0] = 0

    @cuda.jit
    def by_slice(a, b, out):
        a[0:1] = 0

    @cuda.jit
    def atomically(a, b, out):
        cuda.atomic.add(a, 0, float32(1))

    for kernel in (direct, through_a_view, as_other_type, by_slice, atomically):
        assert added(kernel).kind == "input-written", kernel.__name__


def test_nothing_done() -> None:
    @cuda.jit
    def idle(a, b, out):
        pass

    @cuda.jit
    def returns(a, b, out):
        return

    assert added(idle).kind == "unwritten"
    assert added(returns).kind == "unwritten"
    assert not added(idle, out=lambda a, b: np.zeros_like(a))


def test_nothing_launched() -> None:
    def verdict(launch: Any) -> Verdict:
        return check(
            launch,
            kernel=right,
            spec=lambda a, b: a + b,
            inputs=vectors,
            sizes=SIZES,
        )

    assert verdict(lambda n: (-(-n // 32), 32))
    assert verdict(lambda n: (0, 32)).kind == "launch"
    assert verdict(lambda n: None).kind == "launch"
    assert verdict(lambda n: {1: (1, 32), 31: (1, 32), 100: (4, 32)}[n]).kind == (
        "exception"
    )


def test_exceptions_caught() -> None:
    @cuda.jit
    def swallows(a, b, out):
        i = cuda.grid(1)
        try:
            out[i] = a[i] + b[i]
        except:  # noqa: E722
            out[i] = 0

    @cuda.jit(device=True)
    def helper(a, b, out, i):
        try:
            out[i] = a[i] + b[i]
        finally:
            return  # noqa: B012

    @cuda.jit
    def through_a_device_function(a, b, out):
        helper(a, b, out, cuda.grid(1))

    for kernel in (swallows, through_a_device_function):
        verdict = added(kernel)
        assert verdict.kind == "type"
        assert "no `try`" in verdict.message
        assert verdict.places[0][0].text == "try:"


def test_cuda_changed_behind_the_back(monkeypatch: pytest.MonkeyPatch) -> None:
    @cuda.jit
    def inside(a, b, out):
        cuda.grid = 0
        out[0] = 1

    assert added(inside).kind == "type"

    @cuda.jit
    def waits(a, b, out):
        tile = cuda.shared.array(32, float32)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        if i < out.size:
            tile[t] = a[i] + b[i]
        cuda.syncthreads()
        if i < out.size:
            out[i] = tile[t] + (tile[t ^ 1] - tile[t ^ 1])

    monkeypatch.setattr(cuda, "syncthreads", lambda: None, raising=False)
    monkeypatch.setattr(cuda, "grid", lambda n: 0, raising=False)
    assert added(right)  # a run has a `cuda` of its own
    assert added(waits, sizes=[32, 64])


STATE = np.zeros(4, np.int32)
SEEN: list[int] = []


def test_nothing_is_kept_from_one_launch_to_the_next() -> None:
    @cuda.jit
    def counts_in_an_array(a, b, out):
        STATE[0] = STATE[0] + 1
        out[0] = 1

    @cuda.jit
    def counts_in_a_list(a, b, out):
        SEEN.append(1)
        out[0] = 1

    @cuda.jit
    def counts_in_a_name(a, b, out):
        global COUNT
        COUNT = 1
        out[0] = 1

    for kernel in (counts_in_an_array, counts_in_a_list, counts_in_a_name):
        assert added(kernel).kind == "type", kernel.__name__
    assert not STATE.any()
    assert not SEEN


def test_the_host_is_out_of_reach() -> None:
    @cuda.jit
    def looks_at_frames(a, b, out):
        frame = sys._getframe(1)
        out[0] = frame.f_lineno

    @cuda.jit
    def evaluates(a, b, out):
        eval("print(1)")
        out[0] = 1

    @cuda.jit
    def below_the_surface(a, b, out):
        data = out._data
        data[0] = a._data[0] + b._data[0]

    assert added(looks_at_frames).kind == "type"
    assert added(evaluates).kind == "type"
    assert added(below_the_surface).kind == "type"


@pytest.mark.parametrize(
    "body",
    [
        'operator.attrgetter("_data")(a)[i] + b[i]',
        'operator.methodcaller("__array__")(a)[i] + b[i]',
        'op.attrgetter("_data")(a)[i] + b[i]',
        "getter(a)[i] + b[i]",
        "reader(a)[i] + b[i]",
        'getattr(a, "_data")[i] + b[i]',
        "type(a)._data.fget(a)[i] + b[i]",
        "a.__class__.__mro__[0](a)[i]",
        "a.T.__array__()[i] + b[i]",
        'float("{0._data[0]}".format(a)) + b[i]',
        'float("%s" % a._data[i]) + b[i]',
        "float(form(a)) + b[i]",
        "np.lib.stride_tricks.as_strided(a)[i] + b[i]",
        "np.vectorize(float)(a)[i] + b[i]",
        "np.ctypeslib.as_array(a)[i] + b[i]",
        'numba.sys.modules["builtins"].getattr(a, "_data")[i]',
        'numba.core.sys.modules["builtins"].getattr(a, "_data")[i]',
        'functools.partial(getattr, a)("_data")[i] + b[i]',
        'type("Own", (), dict(x=1)).x + a[i] + b[i]',
        "(lambda x: x._data[i])(a) + b[i]",
        "outside(a)[i] + b[i]",
        "helper(a, i) + b[i]",
    ],
)
def test_the_raw_array_is_out_of_reach(body: str, tmp_path: Path) -> None:
    """Whatever Python has to look into objects, a kernel does not have it."""
    text = f"""
import functools, numba, numpy as np, operator, operator as op
from numba import cuda

getter, reader = operator.attrgetter("_data"), functools.partial(getattr, name="_data")
form = "{{0._data[0]}}".format
outside = lambda x: x._data
helper = cuda.jit(device=True)(lambda x, i: x._data[i])

@cuda.jit
def reaches(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = {body}
"""
    file = tmp_path / "cell.py"
    file.write_text(text, encoding="utf-8")
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, str(file), "exec"), scope)
    verdict = added(scope["reaches"])
    assert verdict.kind == "type", verdict
    assert verdict.line


def test_classes_are_not_looked_into() -> None:
    @cuda.jit
    def matches(a, b, out):
        i = cuda.grid(1)
        Array = type(a)
        match a:
            case Array(_data=data):
                out[i] = data[i] + b[i]

    @cuda.jit
    def numbers(a, b, out):
        i = cuda.grid(1)
        match i < out.size:
            case True:
                out[i] = a[i] + b[i]

    assert added(matches).message == "A kernel cannot match classes."
    assert added(numbers)


BY_EXEC = """
def made(a, b, out):
    i = cuda.grid(1)
    try:
        out[i] = a[i] + b[i]
    except Exception:
        pass
"""


def test_a_kernel_without_source() -> None:
    scope: dict[str, Any] = {"cuda": cuda, "float32": float32}
    exec(BY_EXEC, scope)
    verdict = added(cuda.jit(scope["made"]))
    assert verdict.kind == "type"
    assert "The source of `made` cannot be read." in verdict.message
    assert "`def` in a cell" in verdict.why

    exec("def twice(x):\n    return x + x", scope)
    twice = cuda.jit(device=True)(scope["twice"])

    @cuda.jit
    def calls_it(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = twice(a[i]) - a[i] + b[i]

    assert "The source of `twice`" in added(calls_it).message


def test_a_lambda_is_read_as_code() -> None:
    add = cuda.jit(device=True)(lambda x, y: x + y)
    lists = cuda.jit(device=True)(lambda x, y: [x, y][0])

    @cuda.jit
    def calls(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = add(a[i], b[i])

    @cuda.jit
    def calls_lists(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = lists(a[i], b[i])

    assert added(calls), added(calls)
    assert "a list" in added(calls_lists).message


def test_what_the_inputs_remember() -> None:
    """A kernel cannot reach what the functions of its check keep."""
    kept: list[Any] = []

    def inputs(rng: Any, n: int) -> Any:
        kept[:] = vectors(rng, n)
        return kept[0], kept[1]

    @cuda.jit
    def reads_kept(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = kept[0][i] + kept[1][i]

    assert added(reads_kept, inputs=inputs).kind == "type"


def test_plain_functions_that_know_the_answers() -> None:
    def listed(n, t):
        return {(1, 256): 1, (256, 256): 1, (300, 32): 10}.get((n, t), 0)

    def verdict(function: Any, **options: Any) -> Verdict:
        cases = [(1, 256), (256, 256), (300, 32)]
        return check(function, spec=lambda n, t: -(-n // t), inputs=cases, **options)

    assert verdict(lambda n, t: -(-n // t))
    assert verdict(listed).kind == "wrong-value"
    assert verdict(listed, unseen=False)


def test_plain_functions_cannot_spoil_the_inputs() -> None:
    def spoils(x):
        x[:] = 0
        return x

    verdict = check(spoils, spec=lambda x: x, inputs=lambda rng: [(rng.random(5),)])
    assert verdict.kind == "wrong-value"


# Tiny, ragged and unequal sizes


def test_sizes_of_nought_and_one() -> None:
    @cuda.jit
    def first_comes_free(a, b, out):
        i = cuda.grid(1)
        if i == 0 or i < out.size:
            out[i] = a[i] + b[i]

    assert added(right, sizes=[0, 1, 5])
    assert added(first_comes_free, sizes=[0, 1, 5]).kind == "out-of-bounds"


@pytest.mark.parametrize(
    ("sizes", "fits"),
    [
        ([1, 31, 100], lambda n: 1 < n < 100 and n != 31),
        ([128, 1000, 1], lambda n: 1 < n < 1000 and n != 128),
        ([64, 256, 1024], lambda n: n in (128, 512)),
        ([64, 192, 320], lambda n: n in (128, 256)),
        ([(32, 32), (5, 40), (64, 96)], lambda s: 5 <= s[0] <= 64 and s[1] <= 96),
        ([(8, 8), (64, 64)], lambda s: s in ((16, 16), (32, 32))),
        ([(100, 3), (10, 3)], lambda s: 10 < s[0] < 100 and s[1] == 3),
        ([7], lambda n: n == 7),
        ([()], lambda s: s == ()),
        ([(4, "f4"), (9, "f4")], lambda s: s is None),
    ],
)
def test_the_unlisted_size_fits_the_listed_ones(sizes: Any, fits: Any) -> None:
    for number in (0, 1, 2**64 - 1, *(7**k for k in range(20))):
        assert fits(unseen_size(sizes, number)), number


def test_it_depends_on_the_source_alone() -> None:
    def one(n, t):
        return n // t

    def two(n, t):
        return n // t + 0

    assert seed_of(one) == seed_of(one) != seed_of(two)


def literal_sizes(lab: str) -> list[tuple[str, list[Any], str]]:
    """The exercises of a lab that list sizes: name, sizes, and the launch's source."""
    script = notebook.read_script(notebook.script(ROOT, lab))
    found = []
    for cell in script.cells:
        if cell.cell_type != "code" or "check(" not in cell.source:
            continue
        text = TransformerManager().transform_cell(cell.source)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "check":
                given = {k.arg: k.value for k in node.keywords}
                name = ast.unparse(node.args[0])
                if "sizes" in given:
                    try:
                        sizes = ast.literal_eval(given["sizes"])
                    except ValueError:
                        continue
                    launch = given.get("launch")
                    found.append((name, sizes, ast.unparse(launch) if launch else ""))
    return found


@pytest.mark.parametrize("lab", notebook.stems(ROOT))
def test_every_lab_checks_several_and_unequal_sizes(lab: str) -> None:
    for name, sizes, launch in literal_sizes(lab):
        if sizes == [()]:
            continue  # a tile of one shape, in which all words are random
        assert len(sizes) >= 2, f"{name}: one size alone may be right by chance"
        if isinstance(sizes[0], tuple) and len(sizes[0]) > 1:
            for a, b in itertools.combinations(range(len(sizes[0])), 2):
                unequal = any(size[a] != size[b] for size in sizes)
                assert unequal, f"{name}: {a} and {b} are equal"
        if "-(-" in launch and all(isinstance(size, int) for size in sizes):
            ragged = any(size % 32 for size in sizes)
            assert ragged, f"{name}: every size fills its warps"
