"""Kernels in CUDA C++: run on the CPU thread by thread, and what is said of them."""

from contextlib import nullcontext

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from weft import check  # isort: skip
from weft.c import cell  # isort: skip
from weft.checking.verdict import Failed  # isort: skip
from weft.cuda_cpp import compiler, on_gpu, running  # isort: skip
from weft.device import toolkit  # isort: skip

SIGNATURE = "__global__ void twice(const float *x, float *out, int n)\n{\n"
INDEX = "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
TWICE = f"{SIGNATURE}{INDEX}    if (i < n)\n        out[i] = 2 * x[i];\n}}\n"

needs_nvrtc = pytest.mark.skipif(
    not on_gpu.has_nvrtc(), reason="NVRTC is not installed"
)


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)


def judged(text, **more):
    """The verdict on a kernel that is to double `x`."""
    written, _ = cell("c", "twice.cu", text)
    arguments = {
        "prototype": "void twice(const float *x, float *out, int n)",
        "spec": lambda x: 2 * x,
        "inputs": lambda rng, n: (rng.random(n, np.float32),),
        "call": lambda x, out: (x, out, np.int32(x.size)),
        "sizes": [64, 100, 1],
        "launch": lambda n: (-(-n // 32), 32),
    }
    return check(written, **arguments | more)


def body(*lines):
    """The verdict on a kernel with the index, and with these lines after it."""
    return judged(
        SIGNATURE + INDEX + "".join(f"    {line}\n" for line in lines) + "}\n"
    )


def test_right():
    verdict = judged(TWICE)
    assert verdict
    assert verdict.facts[0].startswith("right on 4 cases, one thread after another")


def test_a_plain_signature_may_be_for_c_and_call_other_functions():
    half = "__device__ float half(float a)\n{\n    return a / 2;\n}\n\n"
    text = TWICE.replace("2 *", "4 * half(1) *").replace("__glo", 'extern "C" __glo')
    assert judged(half + text)


def test_an_access_past_the_end_has_its_line_index_and_thread():
    verdict = body("out[i] = 2 * x[i];")
    assert verdict.kind == "out-of-bounds"
    assert verdict.line == 5
    assert (verdict.thread, verdict.block) == ((4,), (3,))
    assert verdict.message.startswith("The line reads `x[100]`; `x` has 100 elements")
    assert verdict.when == "size 100"
    assert "The launch has 128 threads for 100 elements" in verdict.why


def test_a_write_past_the_end_is_told_from_a_read():
    verdict = body("out[i + n] = 1;")
    assert verdict.message.startswith("The line writes `out[96]`"), verdict


@pytest.mark.parametrize(
    ("lines", "kind", "says"),
    [
        (["if (i < n)", "    out[n - i] = 0;"], "out-of-bounds", "`out[64]`"),
        (["if (i < n)", "    out[i] = x[i - 1];"], "negative-index", "`x[-1]`"),
        (["out[i + 1000000000LL] = 1;"], "out-of-bounds", "no array"),
        (
            ["if (i < 32)", "    out[i] = 2 * x[i];"],
            "unwritten",
            "`out[32]`, nor 31 others.",
        ),
        (["out[0] = 2 * x[0];"], "race", "both write `out[0]`"),
        (["if (i < n)", "    out[i] = 3 * x[i];"], "wrong-value", "1.5 times"),
        (["while (i >= 0)", "    out[0] = 1;"], "endless-loop", "did not end"),
        (["i += 2147483647;", "i += 2147483647;"], "signed-overflow", "2147483647"),
        (["float *p = nullptr;", "*p = x[0];"], "null", "null pointer"),
        (["exit(i);"], "ended", "before the function"),
        (["__shared__ float t[32];"], "compile", "one thread after another"),
        (["out[i] = y[i];"], "compile", "`y` was not declared"),
        (["if i < n:", "    out[i] = 2 * x[i];"], "compile", "in parentheses"),
        (["out[i] = max(x[i], 0);"], "compile", "different types"),
        (["out[i] = x[min(i, n - 1LL)];"], "compile", "does not choose"),
    ],
)
def test_what_goes_wrong(lines, kind, says):
    verdict = body(*lines)
    assert verdict.kind == kind, f"\n{verdict!r}"
    assert says in f"{verdict.message} {verdict.explanation}", f"\n{verdict!r}"
    assert verdict.line in range(5, 5 + len(lines)), f"\n{verdict!r}"


def test_a_wrong_value_is_told_with_what_it_depends_on():
    lines = "if (i < n)", "    out[i] = x[i] + x[n - 1 - i];"
    text = SIGNATURE + INDEX + "".join(f"    {line}\n" for line in lines) + "}\n"
    verdict = judged(
        text, sizes=[1, 5], inputs=lambda rng, n: (1 + np.arange(n, dtype="f4"),)
    )
    assert verdict.kind == "wrong-value"
    assert "`out[0]` is 6 and should be 2" in verdict.message
    assert (
        verdict.why
        == "It changes with `x[0]` and `x[4]`, and should change with `x[0]`."
    )
    many = judged(text, sizes=[1, 40])
    assert "Follow this one value by hand" in many.why


def test_an_output_that_another_thread_reads_depends_on_the_order():
    verdict = judged(
        SIGNATURE + INDEX + "    if (i < n)\n"
        "        out[i] = i > 0 ? 2 * x[i] + 0 * out[i - 1] : 2 * x[i];\n}\n",
        out=lambda x: np.full_like(x, np.inf),
    )
    assert verdict.kind == "race"
    assert "which thread runs first" in verdict.message


def test_a_thread_may_do_twice_its_share_and_no_more():
    launch = {"launch": lambda n: (1, 32), "sizes": [64, 1]}
    loop = "    for (; i < n; i += {})\n        out[i] = 2 * x[i];\n}}\n"
    assert judged(SIGNATURE + INDEX + loop.format("blockDim.x"), **launch)
    alone = SIGNATURE + "    int i = threadIdx.x ? n : 0;\n" + loop.format(1)
    verdict = judged(alone, **launch)
    assert (verdict.kind, verdict.line) == ("loads", 6)
    assert "writes 64 of 64 elements; its share would be 2." in verdict.message


def test_an_input_is_not_to_be_written():
    prototype = "void twice(float *x, float *out, int n)"
    text = TWICE.replace("const float", "float").replace("out[i] =", "out[i] = x[i] =")
    verdict = judged(text, prototype=prototype)
    assert (verdict.kind, verdict.line) == ("input-written", 6)
    assert "changes `x[0]`" in verdict.message


def test_two_dimensions():
    text = (
        "__global__ void twice(const float *x, float *out, int rows, int cols)\n{\n"
        "    int col = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    int row = blockIdx.y * blockDim.y + threadIdx.y;\n\n"
        "    if (row < rows && col < cols)\n"
        "        out[row * cols + col] = 2 * x[row * cols + col];\n}\n"
    )
    asked = {
        "prototype": "void twice(const float *x, float *out, int rows, int cols)",
        "inputs": lambda rng, m, n: (rng.random((m, n), np.float32),),
        "call": lambda x, out: (x, out, *map(np.int32, x.shape)),
        "sizes": [(4, 8), (5, 9), (1, 1)],
        "launch": lambda m, n: ((-(-n // 8), -(-m // 4)), (8, 4)),
    }
    assert judged(text, **asked)
    verdict = judged(text.replace("row < rows && ", ""), **asked)
    assert (verdict.kind, verdict.thread, verdict.block) == (
        *("out-of-bounds", (0, 1), (1, 1)),
    )
    assert "`x[53]`" in verdict.message
    assert judged(text.replace("row * cols", "row * rows"), **asked).kind in (
        *("race", "wrong-value", "unwritten"),
    )


def test_a_kernel_has_to_be_one():
    verdict = judged(TWICE.replace("__global__ ", "/* __global__ */ "))
    assert (verdict.kind, verdict.line) == ("compile", 2)
    assert verdict.title.endswith("not a kernel")
    other = judged(TWICE.replace("twice", "double_it"))
    assert "There is no `twice` in the cell" in other.message
    types = judged(TWICE.replace("int n", "double n"))
    assert types.kind == "compile"
    assert "contract with the caller" in types.why


def test_what_it_prints_is_told_with_a_failure():
    verdict = body('if (i == 0) printf("here");', "out[i] = 0;")
    assert "It printed: here" in verdict.facts


def test_the_starter_says_where_to_begin():
    assert judged("// about 7 lines\n// your code here").kind == "begin"
    found = check("twice", prototype="void twice()", spec=abs, inputs=abs, sizes=[1],
                  launch=abs, call=abs)  # fmt: skip
    assert found.kind == "type"


def test_without_a_compiler_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(compiler, "NAMES", ("no-such-compiler",))
    monkeypatch.setattr(toolkit, "find", toolkit.Toolkit)
    verdict = judged(TWICE)
    assert verdict.kind == "no-compiler"
    assert "apt install g++" in verdict.why or "xcode-select" in verdict.why


@needs_nvrtc
def test_without_a_compiler_nvrtc_still_says_what_it_can(monkeypatch):
    monkeypatch.setattr(compiler, "NAMES", ("no-such-compiler",))
    assert judged(TWICE).facts == (f"NVRTC compiles it for {on_gpu.OLDEST}",)
    verdict = judged(TWICE.replace("2 *", "2 * k *"))
    assert (verdict.kind, verdict.line) == ("compile", 6)
    assert verdict.message.startswith("NVRTC says: Identifier") or (
        verdict.message.startswith("NVRTC says: identifier")
    )
    assert "its type comes first" in verdict.why


@needs_nvrtc
def test_nvrtc_has_no_headers():
    assert on_gpu.OLDEST in judged(TWICE).facts[-1]
    verdict = judged("#include <cstddef>\n" + TWICE)
    assert (verdict.kind, verdict.line) == ("compile", 2)
    assert "NVRTC comes without" in verdict.why


@pytest.mark.parametrize(
    ("call", "gives"),
    [
        ("max(x[i], 0.0f)", "float"),
        ("max(x[i], 0.0)", "double"),
        ("max(n, 7u)", "unsigned"),
        ("min(true, short(n))", "int"),
        ("min(n, 7LL)", None),
        ("max(x[i], 0)", None),
        ("max(7L, x[i])", None),
        ("min(n, sizeof(x))", None),
    ],
)
def test_min_and_max_take_the_types_that_nvrtcs_take(call, gives):
    """gives: the type of the result, None if the compilers refuse the call."""
    kind = gives or "float"
    line = f'    static_assert(weft_same<decltype({call}), {kind}>, "");\n'
    text = (
        "template <class A, class B> static constexpr bool weft_same = false;\n"
        "template <class A> static constexpr bool weft_same<A, A> = true;\n"
    )
    text += TWICE.replace("    if", f"{line}    if")
    assert judged(text).kind == ("pass" if gives else "compile")
    if on_gpu.has_nvrtc():
        written, _ = cell("c", "twice.cu", text)
        with nullcontext() if gives else pytest.raises(Failed):
            on_gpu.compiled(written)


def test_a_launch_has_three_dimensions():
    launch = running.configured(((2, 3), 32))
    assert (launch.grid, launch.block, launch.threads) == ((2, 3, 1), (32, 1, 1), 192)
    assert launch.index(100) == ((1, 1), (4,))


def test_names_of_parameters():
    prototype = "void f(float alpha, const float *x, float *y, int n)"
    assert running.names_of(prototype) == ["alpha", "x", "y", "n"]
