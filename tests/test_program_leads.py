"""Verdicts that lead to the mistake, in labs 29 and 31: what a learner lacked.

Each program is a right one with something exchanged, in the lab's own check.
"""

from typing import Any

import pytest
from test_kernels import checks, run, scope_of

import weft  # noqa: F401  before Numba
from weft.checking.verdict import Verdict
from weft.triton_programs import missing

PROGRAMS = {
    "lerp": """\
@triton.jit
def lerp(a, b, t, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    p = tl.load(a + i, mask=live)
    q = tl.load(b + i, mask=live)
    tl.store(out + i, p + t * (q - p), mask=live)
""",
    "log_softmax": """\
@triton.jit
def log_softmax(x, out, cols, x_stride, out_stride, WIDTH: tl.constexpr):
    row = tl.program_id(0)

    i = tl.arange(0, WIDTH)
    live = i < cols
    v = tl.load(x + row * x_stride + i, mask=live, other=-float("inf"))
    v = v - tl.max(v, axis=0)
    v = v - tl.log(tl.sum(tl.exp(v), axis=0))
    tl.store(out + row * out_stride + i, v, mask=live)
""",
    "rms_norm": """\
@triton.jit
def rms_norm(x, weight, out, cols, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)

    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * stride + i, mask=i < cols, other=0.0).to(tl.float32)
        sums += v * v
    scale = tl.rsqrt(tl.sum(sums, axis=0) / cols + eps)
    for start in range(0, cols, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * stride + i, mask=i < cols).to(tl.float32)
        w = tl.load(weight + i, mask=i < cols).to(tl.float32)
        tl.store(out + row * stride + i, v * scale * w, mask=i < cols)
""",
    "linear": """\
@triton.jit
def linear(
    x, w, bias, out, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    col = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]

    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        across = start + tl.arange(0, BK)[None, :]
        down = start + tl.arange(0, BK)[:, None]
        left = tl.load(x + row * K + across, mask=(row < M) & (across < K), other=0.0)
        right = tl.load(w + col * K + down, mask=(down < K) & (col < N), other=0.0)
        acc = tl.dot(left, right, acc)

    acc += tl.load(bias + col, mask=col < N)
    acc = tl.maximum(acc, 0.0)
    tl.store(out + row * N + col, acc.to(tl.float16), (row < M) & (col < N))
""",
    "column_sums": """\
@triton.autotune(
    [triton.Config({"ROWS": rows, "COLS": 32}) for rows in (16, 64)],
    key=["rows", "cols"],
    reset_to_zero=["out"],
)
@triton.jit
def column_sums(x, out, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    i = tl.program_id(1) * COLS + tl.arange(0, COLS)
    col = i[None, :]
    block = tl.load(x + row * cols + col, mask=(row < rows) & (col < cols), other=0.0)
    tl.atomic_add(out + i, tl.sum(block, axis=0), mask=i < cols)
""",
}
FUNCTIONS = {
    "backward": """\
def backward(output, seed, plus):
    counts = {}
    stack = [output]
    seen = {output}
    while stack:
        value = stack.pop()
        for source, vjp in value.edges:
            counts[source] = counts.get(source, 0) + 1
            if source not in seen:
                seen.add(source)
                stack.append(source)
    grads = {output: seed}
    ready = [output]
    while ready:
        value = ready.pop()
        for source, vjp in value.edges:
            share = vjp(grads[value])
            if source in grads:
                grads[source] = plus(grads[source], share)
            else:
                grads[source] = share
            counts[source] -= 1
            if counts[source] == 0:
                ready.append(source)
    return grads
""",
    "sum_to": """\
@cuda.jit
def sum_to(g, rows, cols, out):
    col, row = cuda.grid(2)

    n, m = g.shape
    if row < rows and col < cols:
        total = float32(0)
        for i in range(n if rows == 1 else 1):
            for j in range(m if cols == 1 else 1):
                total += g[row + i, col + j]
        out[row, col] = total
""",
    "softmax_loss": """\
@cuda.jit
def softmax_loss(x, target, losses, grad):
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    n, classes = x.shape

    top = LOWEST
    for j in range(lane, classes, 32):
        top = max(top, x[row, j])
    top = warp_max(top)

    total = float32(0)
    for j in range(lane, classes, 32):
        total += math.exp(x[row, j] - top)
    total = warp_sum(total)

    right = target[row]
    for j in range(lane, classes, 32):
        p = math.exp(x[row, j] - top) / total
        if j == right:
            p -= float32(1)
        grad[row, j] = p / float32(n)
    if lane == 0:
        losses[row, 0] = (math.log(total) + top - x[row, right]) / float32(n)
""",
    "saved": """\
def saved(tensor):
    version = tensor.memory.version

    def get():
        if tensor.memory.version != version:
            raise RuntimeError("modified in place")
        return tensor.data

    return get
""",
}
PROGRAMS_WRONG = [
    (
        "lerp",
        ("tl.program_id(0) * BLOCK", "tl.num_programs(0) * BLOCK"),
        "mask of this store is false everywhere",
    ),
    ("lerp", ("+ t * (q", "+ t[0] * (q"), "has an index"),
    (
        "log_softmax",
        ("out + row * out_stride", "out + row * x_stride"),
        "first offset of this block is 146",
    ),
    ("log_softmax", ("row * x_stride", "row * cols"), "the rows of x are 73 apart"),
    (
        "log_softmax",
        ("row * x_stride + i", "row + i * x_stride"),
        "neighbouring elements of this block are 73 apart",
    ),
    (
        "log_softmax",
        ("tl.log(tl.sum(tl.exp(v), axis=0))", "tl.log(tl.exp(tl.sum(v, axis=0)))"),
        "exponential is taken of the sum",
    ),
    ("log_softmax", ("v - tl.log", "v + tl.log"), "added, not subtracted"),
    ("log_softmax", ('-float("inf")', "-1.0"), "count as -1"),
    ("log_softmax", ("tl.max(v, axis=0)", "max(v)"), "`tl.max(block, axis=0)`"),
    (
        "rms_norm",
        (" / cols + eps)", " / cols) + eps"),
        "eps is added after the root is taken",
    ),
    (
        "rms_norm",
        ("tl.sum(sums, axis=0) / cols + eps", "(tl.sum(sums, axis=0) + eps) / cols"),
        "before the division by `cols`",
    ),
    ("rms_norm", ("tl.rsqrt", "tl.sqrt"), "multiplied by the root"),
    ("rms_norm", (" / cols", ""), "not divided by their number"),
    ("rms_norm", ("/ cols", "// cols"), "`/` divides floats"),
    ("rms_norm", ("row * stride", "row * cols"), "rows of x are 67 apart"),
    ("linear", ("across = start +", "across ="), "never read"),
    ("linear", ("(row < M) & (across < K)", "(row < K) & (across < M)"), "never read"),
    (
        "linear",
        ("range(0, K, BK)", "range(0, K // BK * BK, BK)"),
        "Program (0, 0) never loads `x[0, 32]`",
    ),
    (
        "linear",
        ("row * K + across", "row * N + across"),
        "neighbouring rows of this block are 40 apart",
    ),
    (
        "linear",
        ("tl.zeros((BM, BN), tl.float32)", "tl.zeros((BM, BN), tl.float16)"),
        "`tl.dot` cannot add to this block",
    ),
    ("linear", ("x + row", "x.T + row"), "neither elements nor a shape"),
    ("linear", ("tl.dot(left, right, acc)", "acc + left @ right"), "Triton has no `@`"),
    ("linear", ("acc = tl.dot", "acc += tl.dot"), "added to them again"),
    (
        "column_sums",
        (", axis=0), mask=i < cols", ", axis=0)"),
        "This atomic has no mask",
    ),
    (
        "column_sums",
        ("tl.program_id(1) * COLS", "tl.program_id(1) * ROWS"),
        "program (0, 0) and program (0, 1) both load `x[0, 16]`",
    ),
    ("column_sums", ('reset_to_zero=["out"]', 'reset_to_zero=["x"]'), "x: an input"),
    (
        "lerp",
        ("i < n", "i <= n"),
        "The mask lets it through. For which offsets does it have to be false?",
    ),
    (
        "lerp",
        ("program_id(0)", "program_id(1)"),
        "If they were counted along axis 1, every result would be right",
    ),
    (
        "log_softmax",
        ("out + row * out_stride", "out + row * WIDTH"),
        "The mask is not to blame: the first offset of this block is 256",
    ),
    (
        "log_softmax",
        ("axis=0)\n    v = v - tl.log", "axis=0) - tl.log"),
        "the sum is of exp(x), and not of exp(x - m)",
    ),
    (
        "rms_norm",
        ("range(0, cols, BLOCK)", "range(0, cols // BLOCK * BLOCK, BLOCK)"),
        "4 whole blocks of 64, and not the last 44 columns",
    ),
    ("rms_norm", ("range(0, cols, BLOCK)", "range(cols)"), "goes on by 1"),
    (
        "linear",
        ("_id(0)", "_id(2)", "_id(1)", "_id(0)", "_id(2)", "_id(1)"),
        "The grid has 3 × 1 programs. With 1 × 3, every result would be right",
    ),
    (
        "linear",
        ("out + row * N", "out + row * K"),
        "rows of a block of out are 37 apart, and the rows of out are 40 apart",
    ),
    (
        "linear",
        ("x + row * K", "x + row * M"),
        "rows of a block of x are 16 apart, and the rows of x are 32 apart",
    ),
    (
        "linear",
        ("acc += tl.load", "acc = acc.to(tl.float16) + tl.load"),
        "the sums are rounded to float16 before the bias is added",
    ),
    (
        "linear",
        ("\n\n    acc +=", "\n        acc +=", " acc = tl.max", "     acc = tl.max"),
        "bias and maximum are applied in each step along K",
    ),
    (
        "column_sums",
        ("row * cols", "row * COLS"),
        "rows of a block of x are 32 apart, and the rows of x are 33 apart",
    ),
    (
        "column_sums",
        ("_id(0)", "_id(2)", "_id(1)", "_id(0)", "_id(2)", "_id(1)"),
        "The grid has 5 × 2 programs. With 2 × 5, every result would be right",
    ),
    (
        "column_sums",
        ("axis=0", "axis=1"),
        "do not fit: pointers (32,), values (16,), mask (32,). Each pointer needs",
    ),
    (
        "column_sums",
        ("program_id(0) * ROWS", "program_id(0)"),
        "`x[17, 0]` is never read, and this result needs it. No row of x from 17",
    ),
    (
        "column_sums",
        ("col = i[None, :]", "col = ((i + COLS) % (2 * COLS))[None, :]"),
        "None of the 2 programs that store to out[0] loads `x[0, 0]`",
    ),
]
FUNCTIONS_WRONG = [
    (
        "backward",
        ("grads = {output: seed}", "grads = {output: 1.0}"),
        "the seed is 3, and not 1",
    ),
    (
        "backward",
        ("return grads", "return {v: g for v, g in grads.items() if not v.edges}"),
        "for every value",
    ),
    ("backward", ("vjp(grads[value])", "vjp(seed)"), "called with 1, the seed"),
    (
        "backward",
        ("vjp(grads[value])", "vjp(value.data)"),
        "called with 12, its number",
    ),
    (
        "backward",
        ("if counts[source] == 0", "if counts[source] <= 1"),
        "has been called 2 times",
    ),
    ("backward", ("                seen.add(source)\n", ""), "have never been called"),
    ("sum_to", ("total += g", "total = g"), "only the last share counts"),
    (
        "softmax_loss",
        ("    total = warp_sum(total)\n", ""),
        "lane 0 uses the sum that it has made alone",
    ),
    (
        "softmax_loss",
        ("    top = warp_max(top)\n", ""),
        "the maximum that it has found alone",
    ),
    (
        "softmax_loss",
        ("total += math.exp(x[row, j] - top)", "total += math.exp(x[row, j])"),
        "without subtracting the maximum",
    ),
    ("softmax_loss", ("if j == right", "if lane == right"), "where the lane, not `j`"),
    ("softmax_loss", ("/ total\n", "\n"), "not divided by their sum"),
    ("softmax_loss", ("top = max(", "top = min("), "stays at LOWEST"),
    ("saved", ("raise Runtime", "return Runtime"), "returns a RuntimeError"),
    ("saved", ("tensor.memory.version != version", "False"), "Only the version tells"),
]


def verdict_of(lab: str, name: str, code: str, monkeypatch: Any) -> Verdict:
    """What the check of a lab says of a cell."""
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    scope = scope_of(lab)
    run(code, f"<{name}>", scope)
    found: Verdict = run(checks(lab)[name], "<check>", scope)
    return found


def exchanged(right: str, *pairs: str) -> str:
    """A right answer with some of its text replaced."""
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in right, old
        right = right.replace(old, new)
    return right


@pytest.mark.skipif(bool(missing()), reason="no Triton")
@pytest.mark.parametrize(("name", "pairs", "said"), PROGRAMS_WRONG)
def test_a_wrong_program_is_led_to_its_mistake(
    name: str, pairs: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = exchanged(PROGRAMS[name], *pairs)
    verdict = verdict_of("29_triton", name, code, monkeypatch)
    assert not verdict
    assert said in f"{verdict.message} {verdict.why}", verdict
    assert " inf times" not in verdict.why


@pytest.mark.parametrize(("name", "pairs", "said"), FUNCTIONS_WRONG)
def test_a_wrong_vjp_is_led_to_its_mistake(
    name: str, pairs: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = exchanged(FUNCTIONS[name], *pairs)
    verdict = verdict_of("31_autograd", name, code, monkeypatch)
    assert not verdict
    assert said in f"{verdict.message} {verdict.why}", verdict


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.skipif(bool(missing()), reason="no Triton")
def test_the_right_program_passes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict_of("29_triton", name, PROGRAMS[name], monkeypatch)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_right_function_passes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict_of("31_autograd", name, FUNCTIONS[name], monkeypatch)


def test_a_trillion_paths_are_no_endless_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
def backward(output, seed, plus):
    grads, todo = {output: seed}, [(output, seed)]
    while todo:
        value, g = todo.pop()
        for source, vjp in value.edges:
            share = vjp(g)
            known = grads.get(source)
            grads[source] = share if known is None else plus(known, share)
            todo.append((source, share))
    return grads
"""
    verdict = verdict_of("31_autograd", "backward", code, monkeypatch)
    assert "Each edge is followed once" in verdict.why, verdict
