"""Verdicts that lead to the mistake: what two learners were left without.

Each kernel is a right one with something exchanged, in the lab's own check.
"""

from typing import Any

import numpy as np
import pytest
from test_kernels import checks, run, scope_of

import weft  # noqa: F401  before Numba

from numba import cuda, float32  # isort: skip
from weft import check, explore
from weft.checking.verdict import Verdict
from weft.device import toolkit
from weft.intrinsics import load4
from weft.kernels.float64_sources import sources
from weft.kernels.trial import last_stopped
from weft.python_errors import advice

NAMES = {"18": "18_gemm_tiles", "13": "13_shared_memory", "15": "15_scan"}
needs_compiler = pytest.mark.skipif(bool(toolkit.find().missing), reason="no compiler")
RIGHT = {
    "gemm_tiled": """\
@cuda.jit
def gemm_tiled(alpha, a, b, beta, c):
    ta = cuda.shared.array((TILE, TILE), float32)
    tb = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)

    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        ta[ty, tx] = a[row, start + tx]
        tb[ty, tx] = b[start + ty, col]
        cuda.syncthreads()

        for i in range(TILE):
            total += ta[ty, i] * tb[i, tx]
        cuda.syncthreads()

    total *= alpha
    if beta != 0:
        total += beta * c[row, col]
    c[row, col] = total
""",
    "gemm_ragged": """\
@cuda.jit
def gemm_ragged(alpha, a, b, beta, c):
    ta = cuda.shared.array((TILE, TILE), float32)
    tb = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    (m, n), k = c.shape, a.shape[1]

    total = float32(0)
    for start in range(0, k, TILE):
        i, j = start + tx, start + ty  # column of a, row of b
        ta[ty, tx] = a[row, i] if row < m and i < k else float32(0)
        tb[ty, tx] = b[j, col] if j < k and col < n else float32(0)
        cuda.syncthreads()

        for i in range(TILE):
            total += ta[ty, i] * tb[i, tx]
        cuda.syncthreads()

    if row < m and col < n:
        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
""",
    "gemm_transposed": """\
@cuda.jit
def gemm_transposed(alpha, a, b, beta, c):
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    (m, n), k = c.shape, a.shape[1]

    total = float32(0)
    ta = cuda.shared.array((TILE, TILE), float32)
    tb = cuda.shared.array((TILE, 18), float32)
    other = cuda.blockIdx.x * TILE + ty  # row of b

    for start in range(0, k, TILE):
        i = start + tx
        ta[ty, tx] = a[row, i] if row < m and i < k else float32(0)
        tb[tx, ty] = b[other, i] if other < n and i < k else float32(0)
        cuda.syncthreads()

        for i in range(TILE):
            total += ta[ty, i] * tb[i, tx]
        cuda.syncthreads()

    if row < m and col < n:
        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
""",
    "gemm_naive": """\
@cuda.jit
def gemm_naive(alpha, a, b, beta, c):
    row, col = cuda.grid(2)

    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]

        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
""",
    "gemm_coalesced": """\
@cuda.jit
def gemm_coalesced(alpha, a, b, beta, c):
    t = cuda.threadIdx.x  # 0 to 255

    row = cuda.blockIdx.y * 8 + t // 32
    col = cuda.blockIdx.x * 32 + t % 32

    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]

        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
""",
    "transpose_padded": """\
@cuda.jit
def transpose_padded(x, out):
    tile = cuda.shared.array((TILE, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = cuda.blockIdx.y * TILE + ty, cuda.blockIdx.x * TILE + tx
    if row < x.shape[0] and col < x.shape[1]:
        tile[ty, tx] = x[row, col]
    cuda.syncthreads()

    row, col = cuda.blockIdx.x * TILE + ty, cuda.blockIdx.y * TILE + tx
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = tile[tx, ty]
""",
    "transpose_fast": """\
@cuda.jit
def transpose_fast(x, out):
    tile = cuda.shared.array((WIDE, WIDE), float32)
    tx, ty = int32(cuda.threadIdx.x), int32(cuda.threadIdx.y)
    top = int32(cuda.blockIdx.x * WIDE)
    left = int32(cuda.blockIdx.y * WIDE)
    swizzled = 4 * (tx ^ ty)

    a = load4(x, (top + 4 * ty, left + 4 * tx))
    b = load4(x, (top + 4 * ty + 1, left + 4 * tx))
    c = load4(x, (top + 4 * ty + 2, left + 4 * tx))
    d = load4(x, (top + 4 * ty + 3, left + 4 * tx))

    for i in range(4):
        store4(tile, (4 * tx + i, swizzled), a[i], b[i], c[i], d[i])
    cuda.syncthreads()

    for i in range(4):
        e = load4(tile, (4 * ty + i, swizzled))
        store4(out, (left + 4 * ty + i, top + 4 * tx), e[0], e[1], e[2], e[3])
""",
    "scan_warps": """\
@cuda.jit
def scan_warps(x, out):
    i = cuda.grid(1)
    mine = x[i] if i < x.size else float32(0)

    for delta in (1, 2, 4, 8, 16):
        left = cuda.shfl_up_sync(FULL, mine, delta)
        if cuda.laneid < delta:
            left = float32(0)
        mine += left

    if i < x.size:
        out[i] = mine
""",
    "scan_tiles": """\
@cuda.jit
def scan_tiles(x, ends, out):
    sums = cuda.shared.array(32, float32)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    warps = cuda.blockDim.x // 32

    a, b, c, d = load4(x, 4 * cuda.grid(1))

    b += a
    c += b
    d += c
    upto = warp_scan(d)
    if lane == 31:
        sums[warp] = upto
    cuda.syncthreads()
    if warp == 0:
        sums[lane] = warp_scan(sums[lane] if lane < warps else float32(0))
    cuda.syncthreads()

    before = upto - d
    if warp > 0:
        before += sums[warp - 1]
    if cuda.blockIdx.x > 0:
        before += ends[cuda.blockIdx.x - 1]
    at = 4 * cuda.grid(1)
    store4(out, at, before + a, before + b, before + c, before + d)
""",
    "scan_steps": """\
@cuda.jit
def scan_steps(x, out):
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()
    step = 1
    while step < BLOCK:
        left = tile[t - step] if t >= step else float32(0)
        cuda.syncthreads()
        tile[t] += left
        cuda.syncthreads()
        step *= 2
    if i < x.size:
        out[i] = tile[t]
""",
}
LAB = {
    "gemm_tiled": "18",
    "gemm_ragged": "18",
    "gemm_transposed": "18",
    "gemm_naive": "18",
    "gemm_coalesced": "18",
    "transpose_padded": "13",
    "transpose_fast": "13",
    "scan_warps": "15",
    "scan_tiles": "15",
    "scan_steps": "15",
}


def verdict_on(name: str, *changes: tuple[str, str]) -> Verdict:
    """What the lab's check says of the right kernel with these pieces exchanged."""
    source = RIGHT[name]
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    lab = NAMES[LAB[name]]
    scope = scope_of(lab)
    run(source, f"<{name}>", scope)
    found: Verdict = run(checks(lab)[name], "<check>", scope)
    return found


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)


def said(verdict: Verdict) -> str:
    return f"{verdict.message} {verdict.why}"


def note_on(verdict: Verdict, line: str) -> str:
    """The notes on the lines that begin like `line`; they must be there."""
    notes = [note for place, note in verdict.places if place.text.startswith(line)]
    assert notes, f"{line}\n{verdict!r}"
    return " ".join(notes)


CLAMPED = [
    ("a[row, i] if row < m and i < k else float32(0)", "a[min(row, m - 1), i_in]"),
    ("b[j, col] if j < k and col < n else float32(0)", "b[j_in, min(col, n - 1)]"),
    ("of b\n", "of b\n        i_in, j_in = min(i, k - 1), min(j, k - 1)\n"),
]


# Lines that stand out ----------------------------------------------------------------

LOAD_A, LOAD_B = "ta[ty, tx] = a[row, start + tx]", "tb[ty, tx] = b[start + ty, col]"
PRODUCT = "total += ta[ty, i] * tb[i, tx]"
FROM_C = "    if beta != 0:\n        total += beta * c[row, col]\n"


@pytest.mark.parametrize(
    ("name", "old", "new", "line", "touched"),
    [
        ("gemm_tiled", "start + ty, col", "start + tx, col", "tb[ty", "`b[1, 1]`"),
        ("gemm_tiled", "col, row = cuda", "row, col = cuda", "ta[ty", "`a[1, 1]`"),
        ("gemm_tiled", "tb[i, tx]", "tb[tx, i]", "total += ta", "`tb[1, 0]`"),
        ("gemm_tiled", LOAD_A, "ta[tx, ty] = a[row, start + ty]", "ta[", "`ta[1, 0]`"),
        (
            "gemm_tiled",
            "range(0, a.shape[1], TILE)",
            "range(a.shape[1] // TILE)",
            "ta[ty",
            "`a[0, 1]`, `a[0, 2]` and `a[0, 3]` the second time",
        ),
        ("gemm_tiled", "ta[ty, i]", "ta[tx, i]", "total += ta", "`ta[1, 0]`"),
        (
            "gemm_transposed",
            "b[other, i] if other < n",
            "b[col, i] if col < n",
            "tb[tx, ty]",
            "`b[1, 1]`",
        ),
    ],
)
def test_the_guilty_line_of_a_wrong_value_stands_out(
    name: str, old: str, new: str, line: str, touched: str
) -> None:
    verdict = verdict_on(name, (old, new))
    assert verdict.kind == "wrong-value"
    assert "would do" in note_on(verdict, line)
    assert f"Line{'s' * (old.startswith('col'))} " in verdict.why
    assert touched in verdict.why
    assert verdict.places[0][0].text == "c[row, col] = total"
    assert "explore" not in verdict.why


def test_which_of_the_first_lanes_share_a_bank_is_said() -> None:
    verdict = verdict_on("gemm_tiled", ("tb[i, tx]", "tb[tx, i]"))
    assert (
        "lanes 0, 1 and 2 read `tb[0, 0]`, `tb[1, 0]` and `tb[2, 0]`, lanes 0 and 2 "
        "both in bank 0."
    ) in verdict.why


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("gemm_naive", [("total += a", "total += abs(a"), ("i, col]", "i, col])")]),
        ("gemm_tiled", [("ta[ty, i] * tb[i, tx]", "ta[ty, i] + tb[i, tx]")]),
    ],
)
def test_where_no_line_stands_out_none_is_blamed(name: str, changes: Any) -> None:
    verdict = verdict_on(name, *changes)
    assert verdict.kind == "wrong-value"
    assert [p.text for p, _ in verdict.places] == ["c[row, col] = total"]
    assert "stand" not in verdict.why
    assert f"`explore({name})` shows" in verdict.why


SUM = "    total = float32(0)\n"
LOOP_B = "    for start in range(0, a.shape[1], TILE):\n"


@pytest.mark.parametrize(
    ("name", "changes", "word", "line"),
    [
        ("gemm_tiled", [("    total *= alpha\n", "")], "`alpha` is never used", ""),
        ("gemm_tiled", [(FROM_C, "")], "beta = 0, and here beta is 1. `beta` is", ""),
        (
            "gemm_naive",
            [("total += a", "total += alpha * a")],
            "alpha = 2.25 = alpha * alpha, and here alpha is 1.5",
            "total *= alpha",
        ),
        ("gemm_naive", [("beta != 0", "beta > 0")], "here beta is -2", "if beta > 0:"),
        ("gemm_tiled", [("total += beta", "total -= beta")], "beta = -1", "total -="),
        (
            "gemm_ragged",
            [
                ("        total *= alpha\n", ""),
                ("total += beta *", "total = alpha * total + beta *"),
            ],
            "alpha = 1, and here",
            "if beta != 0:",
        ),
    ],
)
def test_a_number_that_does_not_count_is_named(
    name: str, changes: Any, word: str, line: str
) -> None:
    verdict = verdict_on(name, *changes)
    assert verdict.kind == "wrong-value"
    assert word in verdict.why
    assert "explore" not in verdict.why
    assert note_on(verdict, line) or not line


@pytest.mark.parametrize(
    ("name", "changes", "line", "note"),
    [
        (
            "gemm_tiled",
            [(SUM, ""), (LOOP_B, f"{LOOP_B}    {SUM}")],
            "total = float32(0)",
            "set anew in each turn",
        ),
        ("gemm_tiled", [("total += ta", "total = ta")], "total = ta", "is replaced in"),
        (
            "scan_warps",
            [("laneid < delta", "laneid <= delta")],
            "if cuda.laneid",
            "is here",
        ),
    ],
)
def test_the_line_that_one_change_rights_is_named(
    name: str, changes: Any, line: str, note: str
) -> None:
    verdict = verdict_on(name, *changes)
    assert verdict.kind == "wrong-value"
    assert note in note_on(verdict, line)
    assert f"One change on line {verdict.places[-1][0].line} makes" in verdict.why


def test_what_a_maximum_begins_with_is_named() -> None:
    @cuda.jit
    def largest(x, out):
        top = float32(0)
        for k in range(x.shape[1]):
            top = max(top, x[cuda.grid(1), k])
        out[cuda.grid(1)] = top

    verdict = check(
        largest,
        spec=lambda x: x.max(axis=1),
        inputs=lambda rng, n: (rng.random((n, 5), np.float32) - 2,),
        sizes=[8],
        launch=lambda n: (1, n),
    )
    assert note_on(verdict, "top = float32(0)") == "the mistake is here"
    assert "Is every number that follows at least as large?" in verdict.why


TWICE_TURNED = [("tb[i, tx]", "tb[tx, i]")]
AS_IT_LIES = [("tb[tx, ty] = b[other, i]", "tb[ty, tx] = b[other, i]")]


@pytest.mark.parametrize("changes", [TWICE_TURNED, AS_IT_LIES])
def test_a_product_with_an_operand_as_it_lies_is_named(changes: Any) -> None:
    verdict = verdict_on("gemm_transposed", *changes)
    assert "This is the result for `a @ b`" in verdict.why


@pytest.mark.parametrize("row", ["cuda.blockIdx.y * TILE + ty", "row"])
def test_an_element_that_the_block_never_read_is_named(row: str) -> None:
    verdict = verdict_on("gemm_transposed", ("cuda.blockIdx.x * TILE + ty", row))
    assert verdict.kind == "wrong-value"
    needed = "Block (1, 0) stores c[0, 16], which needs `b[16, 0]`, and no thread of"
    assert needed in verdict.why
    assert "reads b" in note_on(verdict, "tb[tx, ty] = b[other")


def test_one_guard_for_both_operands_keeps_a_block_from_an_element() -> None:
    verdict = verdict_on(
        "gemm_ragged",
        (
            "a[row, i] if row < m and i < k",
            "a[row, i] if row < m and i < k and col < n",
        ),
    )
    assert "which needs `a[0, 4]`, and no thread of this block reads" in verdict.why


ZEROED_ONCE = [
    ("    total = float32(0)\n", "    total = float32(0)\n    ta[ty, tx] = 0\n"
     "    tb[ty, tx] = 0\n    cuda.syncthreads()\n"),
    ("ta[ty, tx] = a[row, i] if row < m and i < k else float32(0)",
     "if row < m and i < k:\n            ta[ty, tx] = a[row, i]"),
    ("tb[ty, tx] = b[j, col] if j < k and col < n else float32(0)",
     "if j < k and col < n:\n            tb[ty, tx] = b[j, col]"),
]  # fmt: skip


def test_what_an_earlier_stage_has_left_in_a_tile_is_named() -> None:
    verdict = verdict_on("gemm_ragged", *ZEROED_ONCE)
    assert verdict.kind == "wrong-value"
    assert "`ta[0, 2]` is read, which still has the value of an earlier" in verdict.why
    assert "in an earlier turn alone" in note_on(verdict, "ta[ty, tx] = a[row, i]")
    assert "an old value" in note_on(verdict, "total += ta")


@cuda.jit(device=True)
def put(pool, at, x, start):
    pool[at + cuda.threadIdx.x] = x[start + cuda.threadIdx.x]


@cuda.jit
def twice_the_sums(a, b, out):
    pool = cuda.shared.array(64, float32)
    put(pool, 0, a, 0)
    cuda.syncthreads()
    total = float32(0)
    for start in range(0, 64, 32):
        put(pool, 32, b, start)
        cuda.syncthreads()
        for i in range(64):
            total += pool[i]
        cuda.syncthreads()
    out[cuda.threadIdx.x] = 2 * total


def test_what_is_stored_before_a_loop_is_not_left_from_an_earlier_turn() -> None:
    verdict = check(
        twice_the_sums,
        spec=lambda a, b: np.full(32, 2 * a.sum() + b.sum(), "f4"),
        inputs=lambda rng: (rng.random(32, "f4"), rng.random(64, "f4")),
        sizes=[()],
        launch=lambda: (1, 32),
    )
    assert verdict.kind == "wrong-value"
    assert "earlier" not in verdict.why


def test_threads_that_ended_before_they_stored_are_counted() -> None:
    ends = "    if row >= m or col >= n:\n        return\n    total = float32(0)\n"
    verdict = verdict_on("gemm_ragged", ("    total = float32(0)\n", ends))
    assert verdict.kind == "uninitialised"
    assert "Only 1 of the 256 threads of this block stores to `ta`" in verdict.why
    line = next(place.line for place, _ in verdict.places if place.text == "return")
    assert f"; 255 have ended before, on line {line}." in verdict.why
    assert "stores to ta" in note_on(verdict, "ta[ty, tx] = a")


def test_how_much_of_a_tile_is_stored_is_said() -> None:
    verdict = verdict_on(
        "transpose_fast",
        ("range(4):\n        store4(tile", "range(3):\n        store4(tile"),
    )
    assert "store to 3,072 of the array's 4,096 elements" in verdict.why
    assert "stores to tile" in note_on(verdict, "store4(tile")


@pytest.mark.parametrize(
    "changes",
    [
        [("(4 * tx + i, swizzled), a", "(4 * ty + i, swizzled), a")],
        [("a[i], b[i], c[i], d[i]", "a[i], c[i], b[i], d[i]")],
        [("load4(tile, (4 * ty + i, swizzled))", "load4(tile, (4 * ty + i, 4 * tx))")],
    ],
)
def test_a_value_in_the_wrong_place_is_traced_back_into_the_tile(changes: Any) -> None:
    verdict = verdict_on("transpose_fast", *changes)
    assert "All the right values are there" in verdict.why
    assert "it comes from `tile[" in note_on(verdict, "e = load4(tile")
    assert "was stored here, by thread" in note_on(verdict, "store4(tile")
    assert "Should it come from `tile[" in verdict.why


def test_a_thread_that_stores_to_another_element_than_it_reads_needs_no_barrier() -> (
    None
):
    verdict = verdict_on(
        "gemm_tiled", ("    c[row, col] = total", "    c[col, row] = total")
    )
    assert verdict.kind == "race"
    assert "reads `c[0, 2]` and stores to `c[2, 0]`. Which element" in verdict.why
    assert "wait" not in verdict.why
    assert verdict.page == "lost-update"
    assert "barrier" not in " ".join(note for _, note in verdict.places)


def test_a_barrier_that_is_named_and_not_called_does_nothing() -> None:
    verdict = verdict_on(
        "gemm_tiled", ("        cuda.syncthreads()\n\n", "        cuda.syncthreads\n\n")
    )
    assert verdict.kind == "race"
    assert "and not called: a call has brackets" in verdict.why
    assert note_on(verdict, "cuda.syncthreads") == "does nothing"


@pytest.mark.parametrize(("beyond", "what"), [("float32(1)", "ones"), ("", "the last")])
def test_what_fills_the_tiles_beyond_the_end_of_k_is_named(
    beyond: str, what: str
) -> None:
    ones = [
        ("i < k else float32(0)", f"i < k else {beyond}"),
        ("col < n else float32(0)", f"col < n else {beyond}"),
    ]
    verdict = verdict_on("gemm_ragged", *(ones if beyond else CLAMPED))
    assert f"if tiles contain {what}" in verdict.why
    assert verdict.when == "m=1, n=1, k=1, beta=0"


def test_an_element_that_is_never_read_is_named_and_what_was_right_before() -> None:
    verdict = verdict_on("gemm_tiled", ("a.shape[1], TILE", "b.shape[1], TILE"))
    assert "`a[0, 16]` is never read, and this result needs it." in verdict.why
    assert "No column of a from 16 on is read (16 is b.shape[1])." in verdict.why
    assert verdict.right_for == "m=16, n=16, k=16, beta=1"


def test_guards_of_c_around_the_loads_are_wrong_at_the_edges() -> None:
    verdict = verdict_on(
        "gemm_ragged",
        ("row < m and i < k else", "row < m and col < n and i < k else"),
        ("if j < k and col < n else", "if row < m and col < n and j < k else"),
    )
    assert "needs `a[0, 4]`, and no thread of this block reads that" in verdict.why
    other = verdict_on("gemm_ragged", ("range(0, k,", "range(0, k - k % 16,"))
    assert other.kind == "wrong-value"
    assert "hang over" not in other.why


def test_explore_shows_the_launch_that_a_check_stopped_at() -> None:
    lab, scope = NAMES["18"], scope_of(NAMES["18"])
    run(RIGHT["gemm_tiled"].replace("tb[i, tx]", "tb[i, ty]"), "<cell>", scope)
    run(checks(lab)["gemm_tiled"], "<check>", scope)
    shown = repr(explore(scope["gemm_tiled"]))
    assert "line 10: a read" in shown
    data = explore(scope["gemm_tiled"])._repr_mimebundle_()
    data = data[0] if isinstance(data, tuple) else data
    assert "text/html" in data
    run(RIGHT["gemm_tiled"], "<cell>", scope)  # as mended, on the same data
    assert "line 10: a read" in repr(explore(scope["gemm_tiled"]))


def test_explore_without_a_launch_says_how_to_launch() -> None:
    @cuda.jit
    def never_checked(x, out):
        out[cuda.grid(1)] = x[0]

    assert last_stopped(never_checked) is None
    assert "explore(never_checked)[grid, block]" in repr(explore(never_checked))
    assert list(explore(never_checked)._repr_mimebundle_()) == ["text/plain"]


# Requests ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "changes", "lanes", "words"),
    [
        ("transpose_padded", [("33", "34")], "lanes 0 and 16", "544 apart"),
        ("transpose_padded", [("TILE, 33", "33, TILE")], "lanes 0 and 1", "32"),
        ("gemm_transposed", [("18", "17")], "lanes 0 and 31", "256 apart"),
        (
            "gemm_transposed",
            [("18", "33"), ("tb[tx, ty]", "tb[ty, tx]"), ("tb[i, tx]", "tb[tx, i]")],
            "lanes 1 and 16",
            "32 apart",
        ),
    ],
)
def test_the_lanes_that_clash_are_named(
    name: str, changes: Any, lanes: str, words: str
) -> None:
    verdict = verdict_on(name, *changes)
    assert verdict.kind == "bank-conflicts"
    assert f"Here {lanes}" in verdict.why
    assert words in verdict.why


def test_an_average_of_sectors_is_called_one() -> None:
    spread = verdict_on("gemm_coalesced", ("t // 32", "t % 8"), ("t % 32", "t // 8"))
    assert spread.kind == "sectors"
    assert "moves 6 sectors of 32 bytes on average" in spread.message
    assert "The worst of them moves 8." in spread.message
    assert spread.thread is not None

    @cuda.jit
    def column(x, out):
        col, row = cuda.grid(2)
        out[col, row] = x[col, row]

    even = check(
        column,
        spec=lambda x: x,
        inputs=lambda rng, n: rng.random((n, n), np.float32),
        sizes=[32],
        launch=lambda n: ((1, 1), (32, 32)),
        limits={"sectors": 4},
        unseen=False,
    )
    assert even.kind == "sectors"
    assert "average" not in even.message
    assert "worst" not in even.message


def test_a_line_with_two_loads_is_shown_once() -> None:
    pair = "(load4(x, (r, k)), load4(x, (r + 1, k)))"
    loads = RIGHT["transpose_fast"]
    begin, end = loads.index("    a = load4"), loads.index("    for i in range(4):")
    verdict = verdict_on(
        "transpose_fast",
        (loads[begin:end], "    r, k = top + 4 * ty, left + 4 * tx\n"),
        (
            "swizzled), a[i]",
            "swizzled), a[i]",
        ),
        (
            "        store4(tile",
            f"        a, b = {pair}\n        c = load4(x, (r + 2, k))\n"
            "        d = load4(x, (r + 3, k))\n        store4(tile",
        ),
    )
    assert verdict.kind == "loads"
    lines = [place.line for place, _ in verdict.places]
    assert len(lines) == len(set(lines)) == 3
    counts = [int(note.split()[0]) for _, note in verdict.places]
    assert sum(counts) == 16
    assert "makes 16 loads from global memory" in verdict.message


# Values ------------------------------------------------------------------------------


def test_a_nan_that_was_there_before_is_traced_to_its_reader() -> None:
    old = RIGHT["gemm_naive"][RIGHT["gemm_naive"].index("        if beta != 0:") :]
    new = "        c[row, col] = total + beta * c[row, col]\n"
    one = verdict_on("gemm_naive", (old, new))
    assert "c[0, 0] was NaN before the launch" in one.why
    assert "reads the old value" in one.places[0][1]
    two = verdict_on(
        "gemm_naive",
        (old, "        c[row, col] *= beta\n        c[row, col] += total\n"),
    )
    assert "c[0, 0] is read: it is NaN" in note_on(two, "c[row, col] *= beta")
    mine = verdict_on("gemm_naive", ("total = float32(0)", "total = float32(math.nan)"))
    assert mine.kind in ("wrong-value", "exception", "type")
    assert "before the launch" not in mine.why


def test_a_sum_that_was_stored_first_is_no_old_value() -> None:
    @cuda.jit
    def mean(x, out):
        i = cuda.grid(1)
        out[i] = x[i] / x[i] - x[i]
        out[i] += x[0] / (x[0] - x[0])

    verdict = check(
        mean,
        spec=lambda x: x,
        inputs=lambda rng, n: np.zeros(n, np.float32),
        out=lambda x: np.full_like(x, np.nan),
        sizes=[32],
        launch=lambda n: (1, n),
        unseen=False,
    )
    assert verdict.kind == "wrong-value"
    assert "before the launch" not in verdict.why


def test_an_update_that_replaces_says_what_is_missing() -> None:
    @cuda.jit
    def replaces(x, y):
        i = cuda.grid(1)
        y[i] = 2 * x[i]

    @cuda.jit
    def reads(x, y):
        i = cuda.grid(1)
        y[i] = 2 * x[i] + (y[i] - y[i])

    @cuda.jit
    def something_else(x, y):
        i = cuda.grid(1)
        y[i] = 3 * x[i]

    @cuda.jit
    def too_little(x, y):
        i = cuda.grid(1)
        y[i] += x[i]

    def why(kernel: Any) -> str:
        verdict = check(
            kernel,
            spec=lambda x: 2 * x + x[::-1],
            inputs=lambda rng, n: rng.random(n, np.float32),
            out=lambda x: x[::-1].copy(),
            sizes=[64],
            launch=lambda n: (2, 32),
            unseen=False,
        )
        assert verdict.kind == "wrong-value", verdict
        return str(verdict.why)

    missing = "What is missing is exactly what `y` held before the launch."
    assert f"{missing} No thread reads `y`." in why(replaces)
    assert missing in why(reads)
    assert "No thread reads" not in why(reads)
    assert "before the launch" not in why(something_else)
    assert "before the launch" not in why(too_little)


@pytest.mark.parametrize("name", ["gemm_naive", "gemm_coalesced"])
def test_what_no_thread_stored_names_the_launch(name: str) -> None:
    change = {
        "gemm_naive": [("row, col = cuda", "col, row = cuda")],
        "gemm_coalesced": [("t // 32", "t // 8"), ("t % 32", "t % 8")],
    }
    verdict = verdict_on(name, *change[name])
    assert "No thread has stored to c[" in verdict.why
    assert "The launch has 1 block of" in verdict.why
    assert note_on(verdict, "c[row, col] = total") == "stores to c"


def test_atomics_by_many_threads_are_no_question() -> None:
    @cuda.jit
    def counts(x, out):
        cuda.atomic.add(out, 1, x[cuda.grid(1)])

    verdict = check(
        counts,
        spec=lambda x: np.array([x.sum(), x.sum()]),
        inputs=lambda rng, n: np.ones(n, np.float32),
        out=lambda x: np.zeros(2, np.float32),
        sizes=[64],
        launch=lambda n: (1, n),
        unseen=False,
    )
    assert "No thread has stored to out[0]" in verdict.why
    assert "several threads" not in verdict.why


def test_where_a_value_belongs_is_said_of_values_that_lie_close() -> None:
    verdict = verdict_on(
        "transpose_fast",
        ("(left + 4 * ty + i, top + 4 * tx)", "(left + 4 * tx + i, top + 4 * ty)"),
    )
    assert "The value in out[0, 4] belongs at [4, 0]." in verdict.why


def test_one_factor_is_said_and_two_are_not() -> None:
    assert scaled(lambda x: 16 * x, 1).startswith("It is 16 times what it should be.")
    assert scaled(lambda x: 2 * x, 1).startswith("It is exactly twice what")
    assert scaled(lambda x: np.where(x > 0.5, x, 4 * x), 64).startswith(
        "Every wrong element is 4 times"
    )
    assert "times" not in scaled(lambda x: np.where(x > 0.5, 2 * x, 4 * x), 64)
    assert "times" not in scaled(lambda x: 1.37 * x, 1)  # which any number is


def scaled(made: Any, n: int) -> str:
    """What is said of a kernel that gives `made(x)` where x is wanted."""

    @cuda.jit
    def copy(x, y, out):
        i = cuda.grid(1)
        out[i] = y[i]

    return check(
        copy,
        spec=lambda x, y: x,
        inputs=lambda rng, n: (
            x := rng.random(n, np.float32),
            np.asarray(made(x), np.float32),
        ),
        sizes=[n],
        launch=lambda n: (1, n),
        unseen=False,
    ).why


@pytest.mark.parametrize(
    ("name", "changes", "sentence"),
    [
        (
            "scan_warps",
            [("out[i] = mine", "out[i] = mine - x[i]")],
            "Each wrong element is too small by the element of x in the same place.",
        ),
        (
            "scan_warps",
            [("out[i] = mine", "out[i] = mine + x[i]")],
            "Each wrong element is too large by the element of x in the same place.",
        ),
        (
            "scan_tiles",
            [("+= ends[cuda.blockIdx.x - 1]", "+= ends[0] * float32(0)")],
            "All elements that block 1 has stored are too small by 27.12, which is "
            "`ends[0]`; the same goes for each other wrong block.",
        ),
        (
            "scan_tiles",
            [
                ("    if cuda.blockIdx.x > 0:\n", ""),
                ("        before += ends[", "    before += ends["),
                ("blockIdx.x - 1]", "blockIdx.x]"),
            ],
            "are too large by 69.75, which is `ends[0]`.",
        ),
        (
            "scan_tiles",
            [("    if warp > 0:\n    ", ""), ("sums[warp - 1]", "sums[warp]")],
            "warp 0 of block 0 has stored are too large by 66.55, the sum of `x[0]` "
            "to `x[127]`, its own elements",
        ),
        (
            "scan_tiles",
            [("before = upto - d", "before = upto")],
            "thread 0 of block 0 has stored are too large by 2.365, the sum of `x[0]` "
            "to `x[3]`, its own elements",
        ),
    ],
)
def test_a_sum_that_is_off_by_a_known_number(
    name: str, changes: Any, sentence: str
) -> None:
    assert sentence in verdict_on(name, *changes).why


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("scan_steps", "while step < BLOCK", "while step < BLOCK // 2"),
        ("scan_warps", "if cuda.laneid < delta", "if cuda.laneid <= delta"),
        ("scan_tiles", "c += b", "c += a"),
    ],
)
def test_a_sum_that_is_off_by_no_known_number(name: str, old: str, new: str) -> None:
    verdict = verdict_on(name, (old, new))
    assert verdict.kind == "wrong-value"
    assert "too large by" not in verdict.why
    assert "too small by" not in verdict.why


def test_given_code_that_stores_is_followed_to_the_learners_lines() -> None:
    from test_kernels import CHAPTERS

    lab, scope = NAMES["15"], scope_of(NAMES["15"])
    path = CHAPTERS / lab / "answers" / "scan_once" / "wrong_looks_at_itself.py"
    source = path.read_text(encoding="utf-8")
    for old, new in (  # the words are right, and what the warps get is not
        ("back = here - lane", "back = here - 1 - lane"),
        ("before + upto - mine", "before + upto"),
    ):
        assert old in source, old
        source = source.replace(old, new)
    run(source, "<cell>", scope)
    verdict = run(checks(lab)["scan_once"], "<check>", scope)
    assert "in the chapter's `kernels.py`" in verdict.places[-1][1]
    assert {place.function for place, _ in verdict.places[:-1]} == {"scan_once"}
    assert note_on(verdict, "store_tile(out") == "called here"
    assert note_on(verdict, "sums[lane] = before") == "`sums` is set here"
    assert note_on(verdict, "before += warp_total") == "`before` is set here"
    scope = scope_of("19_gemm_registers")
    path = (
        CHAPTERS
        / "19_gemm_registers"
        / "answers"
        / "gemm_2d"
        / "wrong_swapped_indices.py"
    )
    run(path.read_text(encoding="utf-8"), "<cell>", scope)
    verdict = run(checks("19_gemm_registers")["gemm_2d"], "<check>", scope)
    assert note_on(verdict, "sums[i, j] +=") == "`sums` is set here"
    assert "s = col0" not in [place.text[:8] for place, _ in verdict.places]
    scope, lab = scope_of("24_attention"), CHAPTERS / "24_attention"
    path = lab / "answers" / "tile_scores" / "wrong_one_row.py"
    run(path.read_text(encoding="utf-8"), "<cell>", scope)
    verdict = run(checks("24_attention")["tile_scores"], "<check>", scope)
    assert note_on(verdict, "s[n, i] *= SCALE2") == "`s` is set here, to line 34"
    own = verdict_on("scan_steps", ("while step < BLOCK", "while step < BLOCK // 2"))
    assert [place.text for place, _ in own.places] == [
        "out[i] = tile[t]",
        "while step < BLOCK // 2:",
    ]


# float64 -----------------------------------------------------------------------------


@needs_compiler
def test_the_number_that_a_float64_comes_from_is_named() -> None:
    verdict = verdict_on("scan_warps", ("left = float32(0)", "left = 0.0"))
    assert verdict.kind == "float64"
    assert verdict.places[0][0].text == "left = 0.0"
    assert verdict.places[0][1] == "`0.0` is a float64"
    assert "if cuda.laneid < delta:" not in [p.text for p, _ in verdict.places]
    assert "of another cell" not in verdict.message


HALF, WHOLE = 0.5, 3


def literal(x, out):
    i = cuda.grid(1)
    left = 0.0
    out[i] = x[i] + left


def named(x, out):
    i = cuda.grid(1)
    out[i] = x[i] * HALF


def begun(x, out):
    total = 0
    total += x[0]
    out[0] = total


def begun_as_maximum(x, out):
    top = -1000000
    top = max(top, x[0])
    out[0] = top


def divided_by_length(x, out):
    n, _ = x.shape
    out[0, 0] = x[0, 0] / n


def divided(x, out):
    i = cuda.grid(1)
    out[i] = x[i] / WHOLE


def typed(x, out):
    i = cuda.grid(1) + 1
    out[i - 1] = x[i - 1] * float32(0.5) + float32(HALF)


@pytest.mark.parametrize(
    ("function", "computing", "line", "note"),
    [
        (literal, 3, 2, "`0.0` is a float64"),
        (named, 2, 2, "`HALF` is 0.5, a float64"),
        (begun, 2, 1, "`total` begins as an integer"),
        (begun_as_maximum, 2, 1, "`top` begins as an integer"),
        (divided_by_length, 2, 2, "`n` is an integer"),
        (divided, 2, 2, "`/` with an integer"),
        (typed, 2, 0, ""),
    ],
)
def test_where_a_float64_begins(
    function: Any, computing: int, line: int, note: str
) -> None:
    first = function.__code__.co_firstlineno
    found = sources(function, {first + computing})
    assert list(found) == ([first + line] if note else [])
    assert note in "".join(found.values())


@pytest.mark.parametrize("at", ["x[t]", "x[t, 2:]", "x[t, 1:]"])
def test_a_view_may_begin_between_two_boundaries(at: str) -> None:
    scope: dict[str, Any] = {"cuda": cuda, "load4": load4}
    source = f"""\
@cuda.jit
def fours(x, out):
    t = cuda.grid(1)
    if t < out.size:
        a, b, c, d = load4({at}, 0)
        out[t] = a + b + c + d
"""
    run(source, "<views>", scope)
    verdict = check(
        scope["fours"],
        spec=lambda x: x[:, :4].sum(axis=1),
        inputs=lambda rng, n: (rng.random((n, 6), np.float32),),
        sizes=[8],
        launch=lambda n: (1, 32),
    )
    assert verdict.kind == "misaligned", verdict
    assert "this view at element" in verdict.message


def test_a_kernel_that_launches_a_kernel_is_told_so() -> None:
    said = advice(
        TypeError("'function' object is not subscriptable"),
        "other[1, 32](out)",
        frozenset(),
    )
    assert said.startswith("A kernel cannot launch another one.")
