"""The compile check: its seam with a played compiler, its words, and the real thing."""

import contextlib
import json
import math
import os
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import compiled
import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from numba import cuda, float32, int32  # isort: skip
from weft import check, compiling
from weft.checking.verdict import CheckFailed
from weft.compiling import Outcome, packing, words, worker
from weft.compiling.packing import Unpackable, pack
from weft.device import toolkit
from weft.intrinsics import load4, mma_f16

WIDTH = 4
HALF = np.float32(0.5)
LIST = [1, 2]
TABLE = np.arange(4, dtype=np.float32)
X = np.zeros(8, np.float32)


@cuda.jit(device=True)
def halved(a):
    return a * HALF


def plain(a):
    return a


# Packing


@cuda.jit
def names_much(x, out):
    tile = cuda.shared.array(WIDTH, float32)
    i = cuda.grid(1)
    tile[0] = halved(x[i]) + TABLE[0] + math.sqrt(x[i])
    four = load4(x, 0)
    out[i] = plain(tile[0] + four[0])


def test_what_a_kernel_names_is_packed_by_kind() -> None:
    job = pack(names_much, (X, X))
    kernel, device, _ = job["functions"]
    assert [f["name"] for f in job["functions"]] == ["names_much", "halved", "plain"]
    assert [f["compiled"] for f in job["functions"]] == [False, True, False]
    found = kernel["globals"]
    assert found["cuda"] == ("module", "numba.cuda")
    assert found["math"] == ("module", "math")
    assert found["halved"] == ("function", 1)
    assert found["load4"] == ("attribute", "weft.intrinsics", "load4")
    assert found["WIDTH"][0] == found["float32"][0] == found["TABLE"][0] == "value"
    assert "x" not in found
    assert device["globals"].keys() == {"HALF"}


def test_closures_recursion_and_modules() -> None:
    from numba.cuda import libdevice

    scale = np.float32(3)

    @cuda.jit(device=True)
    def down(n):
        return n if n <= 0 else down(n - 1)

    @cuda.jit
    def kernel(x):
        x[0] = scale * down(2) + libdevice.sqrtf(x[0])

    job = pack(kernel, (X,))
    free = job["functions"][0]["free"]
    assert free["libdevice"] == ("module", "numba.cuda.libdevice")
    assert free["scale"][0] == "value"
    assert free["down"] == ("function", 1)
    assert job["functions"][1]["free"]["down"] == ("function", 1)


class Own:
    value = 1


def test_what_cannot_be_sent_is_named() -> None:
    big, lock = np.zeros(100_000, np.float32), open(os.devnull)  # noqa: SIM115

    @cuda.jit
    def uses_file(x):
        x[0] = lock.fileno()

    @cuda.jit
    def uses_big(x):
        x[0] = big[0]

    with pytest.raises(Unpackable, match="`lock`, a TextIOWrapper, cannot be sent"):
        pack(uses_file, (X,))
    (sent,) = pack(uses_big, (X,))["functions"][0]["free"].values()
    assert (sent[0], sent[2]) == ("zeros", big.shape)  # the simulator has refused it
    lock.close()
    Own.__module__ = "__main__"
    thing = Own()

    @cuda.jit
    def uses_own(x):
        x[0] = thing.value

    with pytest.raises(Unpackable, match="`thing` is of a class of yours, Own"):
        pack(uses_own, (X,))


def test_arguments_are_described_by_type_and_layout() -> None:
    matrix = np.zeros((3, 4), np.float32)
    _, three, two, row, number = (
        packing.described(a)
        for a in (X, matrix.T, matrix[:, ::2], matrix[0], np.int32(3))
    )
    assert (three[2:], two[2:], row[2:]) == ((2, "F"), (2, "A"), (1, "C"))
    assert number[0] == "value"


# The seam, with a played compiler

PLAYED = """
import os, sys, time
sys.path.insert(0, {folder!r})
from worker import read, write
out, jobs = sys.stdout.buffer, sys.stdin.buffer
write(out, {hello!r})
while (job := read(jobs)) is not None:
    {then}
"""
READY = {"ready": True, "capabilities": [(7, 5)]}


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Put a script in the compiler's place: `play(then, hello)`."""
    found = toolkit.Toolkit(*(Path("x"),) * 3)

    def start(then: str, hello: Any = READY) -> None:
        script = tmp_path / "played.py"
        folder = str(Path(worker.__file__).parent)
        text = PLAYED.format(folder=folder, hello=hello, then=then)
        script.write_text(text, encoding="utf-8")
        monkeypatch.setattr(compiling, "_WORKER", script)

    monkeypatch.setattr(toolkit, "find", lambda: found)
    for name, value in (("_worker", None), ("_given_up", ""), ("_losses", 0)):
        monkeypatch.setattr(compiling, name, value)
    yield start
    if compiling._worker is not None:
        compiling._worker.end()


def test_one_process_serves_many_kernels(play: Any) -> None:
    play('write(out, {"capabilities": [(os.getpid(), 0)]})')
    first = compiling.compile_kernel(halved, (X,))
    assert first.capabilities == compiling.compile_kernel(halved, (X,)).capabilities
    assert not first.skipped


def test_a_process_that_is_there_already_is_used(play: Any) -> None:
    play('write(out, {"capabilities": [(os.getpid(), 0)]})')
    with subprocess.Popen(
        [sys.executable, str(compiling._WORKER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        compiling.adopt(*(os.dup(p.fileno()) for p in (process.stdin, process.stdout)))
        process.stdin.close()
        outcome = compiling.compile_kernel(halved, (X,))
        assert outcome.capabilities == [(process.pid, 0)]
        assert compiling._worker
        compiling._worker.end()
        assert process.wait(60) == 0


def test_a_process_that_dies_is_replaced_three_times(
    play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    play("sys.exit(3)")
    for _ in range(3):
        outcome = compiling.compile_kernel(halved, (X,))
        assert outcome.unverified == "the compiler ended unexpectedly"
    assert compiling._given_up
    monkeypatch.setattr(compiling, "Worker", no_process)
    assert compiling.compile_kernel(halved, (X,)).unverified == compiling._given_up


def no_process(command: list[str]) -> None:
    raise AssertionError(f"another process was started: {command}")


def test_a_process_that_hangs_is_ended(
    play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    play("time.sleep(60)")
    monkeypatch.setattr(compiling, "PATIENCE", 0.2)
    assert "said nothing" in compiling.compile_kernel(halved, (X,)).unverified
    assert compiling._worker is None


def test_a_process_that_cannot_start_says_why(play: Any) -> None:
    play("pass", {"ready": False, "why": "OSError: no libnvvm"})
    assert compiling.compile_kernel(halved, (X,)).skipped == "OSError: no libnvvm"


def test_noise_on_its_output_is_no_answer(play: Any) -> None:
    play('print("hello, world"); sys.stdout.flush()')
    assert "unexpectedly" in compiling.compile_kernel(halved, (X,)).unverified


def test_it_ends_with_this_process(play: Any) -> None:
    play("pass")
    compiling.warm_up()
    running = compiling._worker
    assert running is not None
    running.end()
    assert running._process.poll() is not None


def test_without_a_toolkit_nothing_is_started(
    play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolkit, "find", toolkit.Toolkit)
    outcome = compiling.compile_kernel(halved, (X,))
    assert outcome.skipped == "no CUDA compiler here (NVRTC and NVVM)"
    assert compiling._worker is None


# The stage of a check


@cuda.jit
def scale(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * 0.5


def verdict(monkeypatch: pytest.MonkeyPatch, outcome: Outcome, **limits: Any) -> Any:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    monkeypatch.setattr(compiling, "warm_up", lambda: None)
    monkeypatch.setattr(compiling, "compile_kernel", lambda *_: outcome)
    return checked(**limits)


def checked(**limits: Any) -> Any:
    return check(
        scale,
        spec=lambda x: x / 2,
        inputs=lambda rng, n: rng.random(n, np.float32),
        sizes=[40],
        launch=lambda n: (2, 32),
        limits=limits,
    )


FILE, FIRST = __file__, scale.py_func.__code__.co_firstlineno
BOTH = [(7, 5), (10, 0)]


def test_a_pass_says_for_what_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = verdict(monkeypatch, Outcome(BOTH))
    assert "compiles for compute capability 7.5 and 10.0" in passed.facts
    skipped = verdict(monkeypatch, Outcome(skipped="no CUDA compiler here"))
    assert skipped
    assert "not compiled: no CUDA compiler here" in skipped.facts


def test_float64_is_a_remark_and_with_a_limit_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leak = Outcome(BOTH, [(FILE, FIRST + 4)])
    passed = verdict(monkeypatch, leak)
    line = f"computes in float64 on line {FIRST + 4}: `out[i] = x[i] * 0.5`"
    assert passed
    assert line in passed.facts
    failed = verdict(monkeypatch, leak, float64=0)
    assert failed.kind == "float64"
    assert failed.line == FIRST + 4
    assert verdict(monkeypatch, leak, float64=1)


def test_lines_of_a_given_helper_are_not_shown_beside_the_learners(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cell = tmp_path / "cell.py"
    cell.write_text(
        "def given(x):\n    return x + x\n\ndef scan_warps(x):\n    x *= x\n"
    )
    mine, given, solved = (FILE, FIRST + 4), (str(cell), 2), (str(cell), 5)
    monkeypatch.setattr("weft.lesson._current", "15_scan")
    failed = verdict(monkeypatch, Outcome(BOTH, [mine, given]), float64=0)
    assert [place.line for place, _ in failed.places] == [FIRST + 4]
    assert "on 1 line, and so does `given`, of another cell." in failed.message
    failed = verdict(monkeypatch, Outcome(BOTH, [mine, given, solved]), float64=0)
    assert [place.text for place, _ in failed.places][1:] == ["x *= x"]
    assert failed.places[1][1].endswith("in `scan_warps`, of another cell")
    alone = verdict(monkeypatch, Outcome(BOTH, [given]), float64=0)
    assert [place.text for place, _ in alone.places] == ["return x + x"]
    assert "on 1 line." in alone.message


def test_local_memory_is_a_remark_and_with_a_limit_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spilt = Outcome(BOTH, local=[(FILE, FIRST + 2), (FILE, FIRST + 4)], local_bytes=64)
    passed = verdict(monkeypatch, spilt)
    assert passed
    assert "local memory in PTX: 64 bytes per thread" in passed.facts
    failed = verdict(monkeypatch, spilt, local=0)
    assert failed.kind == "local"
    assert "64 bytes of each thread are in local memory" in failed.message
    assert failed.line == FIRST + 4  # the one with an index
    assert verdict(monkeypatch, spilt, local=64)
    assert verdict(monkeypatch, Outcome(BOTH), local=0)


def test_what_numba_refuses_is_worded(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Outcome(
        error="TypingError",
        message="NameError: name 'foo' is not defined",
        place=(FILE, FIRST + 2),
    )
    failed = verdict(monkeypatch, refused)
    assert failed.kind == "type"
    assert failed.places[0][0].text == "i = cuda.grid(1)"
    assert failed.message == "`foo` is not defined."
    assert "Numba cannot compile it for a GPU" in failed.title


def test_what_nothing_has_compiled_is_no_pass_where_it_matters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a compiler it is a fact; with one that was not asked, a verdict."""
    lost = Outcome(unverified="the compiler said nothing for 30 s")
    passed = verdict(monkeypatch, lost)
    assert passed
    assert "not compiled: the compiler said nothing for 30 s" in passed.facts
    assert any("nothing here has shown" in fact for fact in passed.facts)
    for limits, said in (
        ({"float64": 0}, "double precision"),
        ({"local": 0}, "local memory"),
        ({"float64": 0, "local": 0}, "double precision and local memory"),
    ):
        failed = verdict(monkeypatch, lost, **limits)
        assert failed.kind == "unverified"
        assert said in failed.message
        assert "run this check again" in failed.why
        assert verdict(monkeypatch, Outcome(skipped=compiling.NO_COMPILER), **limits)


@pytest.mark.parametrize("limit", ["float64", "local"])
@pytest.mark.parametrize("switch", ["WEFT_VERIFIED", "WEFT_STRICT"])
def test_without_a_compiler_a_learner_passes_and_a_mark_does_not(
    monkeypatch: pytest.MonkeyPatch, limit: str, switch: str
) -> None:
    lacking = Outcome(skipped=compiling.NO_COMPILER)
    passed = verdict(monkeypatch, lacking, **{limit: 0})
    assert passed
    what = {"float64": "double precision", "local": "local memory"}[limit]
    assert passed.facts[-1] == (
        f"unverified: how much {what} it uses. "
        "To install the compilers: `pip install nvidia-cuda-nvrtc nvidia-nvvm`"
    )
    assert "unverified" not in str(verdict(monkeypatch, lacking))

    monkeypatch.setattr(compiling, "compile_kernel", lambda *_: lacking)
    monkeypatch.setenv(switch, "1")
    strict = pytest.raises(CheckFailed, match=r"(?s)right here.*can say")
    with strict if switch == "WEFT_STRICT" else contextlib.nullcontext():
        failed = checked(**{limit: 0})
        assert failed.kind == "unverified"
        assert what in failed.message


def test_an_error_without_a_place_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = verdict(monkeypatch, Outcome(error="LoweringError", message="no such op"))
    assert failed.kind == "type"
    assert "It stops with LoweringError" in failed.why


def test_an_error_of_numbas_own_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = verdict(monkeypatch, Outcome(error="CudaSupportError", message="driver"))
    assert passed
    assert "not compiled: Numba stopped with CudaSupportError" in passed.facts


# Words

NO_MATCH = """No implementation of function Function({fn}) found for signature:

 >>> {call}

There are 12 candidate implementations:
 - Of which 12 did not match due to:
 Overload of function 'x': File: <numerous>: Line N/A.
  Rejected as the implementation raised a specific error:
    NumbaTypeError: {more}
"""


def no_match(fn: str, call: str, more: str = "no") -> str:
    return NO_MATCH.format(fn=fn, call=call, more=more)


ARRAY = "array(float32, 1d, C)"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("NameError: name 'foo' is not defined", "`foo` is not defined."),
        (
            "Untyped global name 'f': Cannot determine Numba type of "
            "<class 'function'>",
            "`f` is a plain Python function.",
        ),
        (
            "Untyped global name 'set': Cannot determine Numba type of <class 'type'>",
            "A kernel cannot make a set.",
        ),
        ("module 'math' has no attribute 'sine'", "There is no `math.sine`."),
        (
            "module 'numba.cuda' has no attribute 'syncthread'",
            "There is no `cuda.syncthread`.",
        ),
        (
            "Unknown attribute 'w' of type Dim3\n\nFile ...",
            "A Dim3 has no `.w` in a kernel.",
        ),
        (
            "Unknown attribute 'append' of type list(undefined)<iv=None>",
            "A kernel cannot make a list that grows.",
        ),
        (
            "'CUDACallConv' object has no attribute 'set_try_status'",
            "A kernel cannot catch exceptions: it has no `try`.",
        ),
        ("CUDA kernel must have void return type.", "The kernel returns a value."),
        (
            'NRT required but not enabled\nDuring: lowering "d = build_list(items=[])"',
            "A kernel cannot make a list.",
        ),
        (
            'During: lowering "$44load_global.5 = global(G: [1, 2, 3])"',
            "A list from outside cannot be used in a kernel.",
        ),
        (
            f"Cannot unify float64 and {ARRAY} for 's.2', defined at x.py (24)",
            "`s` is a float64 in one place and an array of float32 in another.",
        ),
        (
            "('wrong tuple length for $6load_attr.1: ', 'expected 2, got 1')",
            "1 value cannot be unpacked into 2 names.",
        ),
        (
            "Use of unsupported NumPy function 'numpy.sum' or unsupported use",
            "`np.sum` cannot be used in a kernel.",
        ),
        (
            no_match("<built-in function getitem>", f"getitem({ARRAY}, float64)"),
            "An array of float32 is indexed with a float64.",
        ),
        (
            no_match(
                "<built-in function setitem>",
                f"setitem({ARRAY}, UniTuple(int64 x 2), float32)",
                f"cannot index {ARRAY} with 2 indices: UniTuple(int64 x 2)",
            ),
            "An array with 1 dimension is given 2 indices.",
        ),
        (
            no_match(
                "<built-in function setitem>", f"setitem({ARRAY}, int64, {ARRAY})"
            ),
            "An element of an array of float32 cannot become an array of float32.",
        ),
        (
            no_match(
                "<built-in function setitem>",
                "setitem(DictType[undefined,undefined]<iv={}>, int64, float32)",
            ),
            "A kernel cannot use a dict.",
        ),
        (
            no_match("<built-in function add>", f"add({ARRAY}, unicode_type)"),
            "`+` does not work between an array of float32 and a string.",
        ),
        (
            no_match(
                "<function shared.array at 0x7f2>", "array(int64, class(float32))"
            ),
            "The shape of this array is not known when the kernel is compiled.",
        ),
        (
            no_match("<function sort at 0x7f>", f"sort({ARRAY})"),
            "`np.sort` cannot be used in a kernel.",
        ),
        (no_match("<class 'str'>", "str(int64)"), "A kernel cannot make strings."),
        (
            no_match("<built-in function sqrt>", f"sqrt({ARRAY})"),
            "`sqrt` does not take an array of float32.",
        ),
        (
            'Cannot cast UniTuple(int64 x 1) to int64: %".27" = insertvalue [1 x i64]',
            "A tuple cannot become an int64.",
        ),
        ("module 'numba.cuda.core.ir' has no attribute 'x'", "Numba cannot compile"),
        ("", "Numba cannot compile this for a GPU."),
    ],
)
def test_words(message: str, said: str) -> None:
    what, why = words.explain("TypingError", f"Failed in cuda mode pipeline\n{message}")
    if message.startswith(("module", "'CUDA")):
        what, why = words.explain("AttributeError", message)
    assert what.startswith(said)
    assert "numba." not in what
    assert why or "arguments" in what


def test_lines_of_float64_in_ptx() -> None:
    ptx = textwrap.dedent(
        """
        .file	1 "/tmp/kernel.py"
        .file	2 "/numba/builtins.py"
        .reg .f64 	%fd<24>;
        .loc	1 7 0
        ld.global.f32 	%f1, [%rd1];
        .loc	1 8 0
        cvt.f64.f32 	%fd1, %f1;
        .loc	2 99 0, function_name $L__info_string0, inlined_at 1 9 4
        @%p1 max.f64 	%fd2, %fd1, 0d0;
        .loc	2 99 0
        mul.f64 	%fd2, %fd1, 0d0;
        .loc	1 0 0
        add.f64 	%fd2, %fd1, 0d0;
        """
    )
    kernel, files = "/tmp/kernel.py", {"/tmp/kernel.py"}
    both = {(kernel, 8), (kernel, 9)}
    assert worker.float64_lines(ptx, files, {(kernel, 8)}) == both
    assert worker.float64_lines(ptx, files, set()) == {(kernel, 9)}  # 8 only converts
    signs = ptx.replace("cvt.f64.f32 \t%fd1, %f1", "abs.f64 \t%fd1, %fd3")
    assert worker.float64_lines(signs, files, set()) == {(kernel, 9)}
    copies = ptx.replace("cvt.f64.f32 \t%fd1, %f1", "mov.f64 \t%fd1, %fd3")
    assert worker.float64_lines(copies, files, {(kernel, 8)}) == {(kernel, 9)}
    converts = ptx.replace("max.f64", "max.f32")
    assert worker.float64_lines(converts, files, set()) == {(kernel, 8)}


# The real thing

TOOLKIT = pytest.mark.skipif(
    bool(toolkit.find().missing), reason="NVRTC and NVVM are not installed"
)


def outcome_of(kernel: Any, *args: Any) -> Outcome:
    outcome = compiling.compile_kernel(kernel, args)
    assert not outcome.skipped
    return outcome


def line_of(kernel: Any, text: str) -> int:
    import inspect

    lines, first = inspect.getsourcelines(kernel.py_func)
    return first + next(k for k, line in enumerate(lines) if text in line)


@TOOLKIT
def test_a_kernel_with_all_it_names_compiles() -> None:
    outcome = outcome_of(names_much, X, X)
    assert outcome.error == "TypingError"  # calls a plain function
    assert words.explain(outcome.error, outcome.message)[0].startswith("`plain` is")

    @cuda.jit
    def without(x, n, out):
        tile = cuda.shared.array(WIDTH, float32)
        i = cuda.grid(1)
        tile[0] = halved(x[i]) + TABLE[0] + math.sqrt(x[i])
        a, b, _, _ = load4(x, 0)
        cuda.syncthreads()
        out[i] = tile[0] + a + max(b, float32(n))

    outcome = outcome_of(without, X, 3, X)
    assert outcome.capabilities[0] == (7, 5)
    assert not outcome.doubles


@TOOLKIT
def test_float64_is_found_where_it_is_computed() -> None:
    @cuda.jit
    def leaks(x, n, out):
        i = cuda.grid(1)
        a = x[i] * 0.1
        b = max(x[i], 0.0)
        c = float32(n) / float32(3)
        d = x[i] / n
        out[i] = a + b + c + d

    lines = {line for _, line in outcome_of(leaks, X, np.int32(2), X).doubles}
    wanted = {line_of(leaks, t) for t in ("0.1", "0.0", "x[i] / n", "out[i]")}
    assert lines == wanted


@TOOLKIT
def test_an_array_with_an_unknown_index_lies_in_local_memory() -> None:
    @cuda.jit
    def unknown(x, n, out):
        kept = cuda.local.array(8, float32)
        for k in range(n):
            kept[k] = x[k]
        for k in range(n):
            out[k] = kept[n - 1 - k]

    @cuda.jit
    def known(x, n, out):
        kept = cuda.local.array(8, float32)
        for k in range(8):
            kept[k] = x[k] if k < n else float32(0)
        for k in range(8):
            if k < n:
                out[k] = kept[7 - k]

    outcome = outcome_of(unknown, X, np.int32(2), X)
    assert outcome.local_bytes == 32
    assert (__file__, line_of(unknown, "kept[k] = x[k]")) in outcome.local
    assert outcome_of(known, X, np.int32(2), X).local_bytes == 0


@TOOLKIT
def test_a_conversion_is_not_blamed_on_a_line_that_it_was_lifted_to() -> None:
    @cuda.jit
    def leaks(x, out):
        i = cuda.grid(1)

        if i < x.size:
            y = 1.0
            for _ in range(20):
                y = (2.0 * y + x[i] / (y * y)) / 3.0
            out[i] = y

    lines = {line for _, line in outcome_of(leaks, X, X).doubles}
    assert lines == {line_of(leaks, "2.0 * y")}


@TOOLKIT
@pytest.mark.parametrize(
    ("body", "line", "said"),
    [
        ("d = {}\n    d[0] = x[0]", "d[0] = x[0]", "A kernel cannot use a dict."),
        ("s = [x[0]]\n    out[0] = s[0]", "s = [x[0]]", "A kernel cannot make a list."),
        ("out[x[0]] = 1", "out[x[0]] = 1", "An array of float32 is indexed with a"),
        ("out[0] = x", "out[0] = x", "An element of an array of float32 cannot"),
        (
            "cuda.atomic.add(out, (0,), x[0])",
            "cuda.atomic.add",
            "A tuple cannot become an int64.",
        ),
        ("out[0] = nowhere", "out[0] = nowhere", "`nowhere` is not defined."),
        ("out[0] = math.sine(x[0])", "math.sine", "There is no `math.sine`."),
        ("out[0] = LIST[0]", "LIST[0]", "A list from outside cannot be used"),
        ("out[0] = np.sort(x)[0]", "np.sort", "`np.sort` cannot be used in a kernel."),
        (
            "s = cuda.shared.array(x.size, float32)\n    out[0] = s[0]",
            "cuda.shared.array",
            "The shape of this array is not known when",
        ),
        (
            "try:\n        out[0] = 1\n    except Exception:\n        pass",
            "",
            "A kernel cannot catch exceptions",
        ),
    ],
)
def test_refusals_of_the_real_compiler(
    body: str, line: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "cell.py"
    path.write_text(f"def kernel(x, out):\n    {body}\n", encoding="utf-8")
    scope = {"cuda": cuda, "np": np, "math": math, "float32": float32, "LIST": LIST}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
    outcome = outcome_of(scope["kernel"], X, X)
    assert words.explain(outcome.error, outcome.message)[0].startswith(said)
    assert outcome.place is not None
    if line:
        text = path.read_text(encoding="utf-8").splitlines()[outcome.place[1] - 1]
        assert line in text


@TOOLKIT
def test_the_real_compiler_starts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome_of(scale, X, X)
    serving = compiling._worker
    monkeypatch.setattr(compiling, "Worker", no_process)
    outcome_of(scale, X, X)
    assert compiling._worker is serving


# Compiles each job twice: as it does, and beginning anew for each capability. Prints
# how often Numba began, and the instructions of each PTX, in no order.
TWICE = """
import importlib.util, json, pickle, re, sys
spec = importlib.util.spec_from_file_location("compiler", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
compiler = module.Compiler()
begun, again = module.Compiler.ptx, compiler.again
told = []

def ptx(*args):
    counts[0] += 1
    return noted(begun(compiler, *args))

def noted(text):
    if text:
        name = r"^\\s+(?:@!?%\\w+\\s+)?([a-z][\\w.:]+)"
        found.append(sorted(re.findall(name, text, re.M)))
    return text

compiler.ptx = ptx
for job in pickle.load(sys.stdin.buffer):
    for way in (lambda *args: noted(again(*args)), lambda *_: ""):
        compiler.again, counts, found = way, [0], []
        answer = compiler.answer(job)
        told.append([counts[0], found, repr(answer)])
print(json.dumps(told))
"""


@cuda.jit
def much_arithmetic(x, n, out):
    tile = cuda.shared.array(WIDTH, float32)
    i = cuda.grid(1)
    tile[0] = math.tanh(x[i]) + math.exp(x[i]) / math.sqrt(x[i])
    cuda.syncthreads()
    cuda.atomic.add(out, 0, cuda.shfl_xor_sync(0xFFFFFFFF, halved(tile[0]), 1))
    cuda.atomic.max(out, 1, max(tile[0], float32(n)) ** 2)


@cuda.jit
def on_tensor_cores(x, n, out):
    a, b = cuda.local.array(4, int32), cuda.local.array(2, int32)
    c = cuda.local.array(4, float32)
    for k in range(2):
        a[k] = a[k + 2] = b[k] = int32(n)
        c[k] = c[k + 2] = x[k]
    mma_f16(c, a, b)
    out[0] = c[0]


@TOOLKIT
def test_what_numba_makes_is_compiled_for_both_capabilities() -> None:
    """It is made anew only where an intrinsic asks for the capability."""
    args = (X, 3, X)
    jobs = [pack(kernel, args) for kernel in (much_arithmetic, on_tensor_cores)]
    done = subprocess.run(
        [sys.executable, "-c", TWICE, worker.__file__],
        env={k: v for k, v in os.environ.items() if "CUDASIM" not in k},
        input=pickle.dumps(jobs),
        capture_output=True,
        check=True,
    )
    once, each, tensor_cores, each_of_these = json.loads(done.stdout)
    assert "'capabilities': [(7, 5), (10, 0)]" in once[2]
    assert (once[0], each[0], len(once[1])) == (1, 2, 2)
    assert once[1:] == each[1:]
    assert tensor_cores[0] == each_of_these[0] == 2
    assert tensor_cores[1:] == each_of_these[1:]
    assert tensor_cores[1][0] != tensor_cores[1][1]


# What the tests keep of its answers


def test_the_tests_ask_for_a_kernel_once(tmp_path: Path) -> None:
    asked = []

    class Compiler:
        def __init__(self, command: list[str]) -> None:
            asked.append(command)

        def ask(self, job: Any) -> Any:
            asked.append(job)
            return {"local_bytes": len(asked)}

    def ask(kernel: Any, *args: Any) -> int:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiled, "_Worker", Compiler)
            patch.setattr(compiled, "_running", None)
            worker = compiled.keep(tmp_path)(["python"])
            return worker.ask(pack(kernel, args))["local_bytes"]

    def scaled(by: float) -> Any:
        def scale(x, out):
            i = cuda.grid(1)
            out[i] = x[i] * by

        return scale

    first = ask(scaled(2.0), X, X)
    assert ask(scaled(2.0), X, X) == first
    assert len({first, ask(scaled(3.0), X, X), ask(scaled(2.0), X, X[::2])}) == 3
    assert ask(halved, X, X) != ask(scale, X, X)


def test_an_error_of_numbas_keeps_the_signature_that_it_is_about() -> None:
    found = "No implementation of function f found for signature:\n \n >>> f(str)\n"
    assert words.explain("TypingError", found)[1].endswith("for signature: f(str)")
