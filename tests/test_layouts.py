"""The laws of the layout algebra, for the layouts of lab 20 and for its solutions.

Every law is about values: what a layout leads each coordinate to. The examples are
those of CUTLASS's documentation, "CuTe Layouts" and "CuTe Layout Algebra".
"""

import itertools
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import weft  # noqa: F401  before Numba
from verification.cells import cells, checks, run, scope_of
from weft.chapters import Chapter

LAB = "20_layouts"
layouts = Chapter(LAB).layouts
Layout, make_layout, parse = layouts.Layout, layouts.make_layout, layouts.parse


def solved() -> SimpleNamespace:
    """The functions of lab 20, as its solution has them."""
    scope = scope_of(LAB)
    for cell in cells(LAB):
        if any(f"def {name}(" in cell.source for name in checks(LAB)):
            run(cell.source, f"<{LAB}>", scope)
    return SimpleNamespace(**{name: scope[name] for name in checks(LAB)})


SOLVED = solved()
BOTH = pytest.mark.parametrize("of", [layouts, SOLVED], ids=["given", "solution"])
law = settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)

shapes = st.recursive(
    st.sampled_from([1, 2, 2, 3, 4, 4, 5, 6, 8]),
    lambda modes: st.lists(modes, min_size=1, max_size=3).map(tuple),
    max_leaves=5,
).filter(lambda shape: layouts.size(shape) <= 96)


def leaves(value: Any) -> list[int]:
    if isinstance(value, tuple):
        return list(itertools.chain(*map(leaves, value)))
    return [value]


def like(shape: Any, numbers: Any) -> Any:
    """Numbers, one after the other, nested as a shape is."""
    if isinstance(shape, tuple):
        return tuple(like(mode, numbers) for mode in shape)
    return next(numbers)


@st.composite
def any_layouts(draw: Any) -> Layout:
    """Draw a layout of any shape, with any strides, 0 among them."""
    shape = draw(shapes)
    step = st.sampled_from([0, 1, 2, 3, 4, 6, 8, 12, 24, 59])
    return Layout(shape, like(shape, iter(draw(step) for _ in itertools.count())))


@st.composite
def injective(draw: Any, gaps: tuple[int, ...] = (1, 2, 3), of: Any = shapes) -> Layout:
    """Draw a layout whose modes, in some order, each begin where the last one ends.

    gaps: by which the end of a mode is multiplied before the next begins.
    """
    shape = draw(of)
    sizes = leaves(shape)
    strides, step = [0] * len(sizes), 1
    for mode in draw(st.permutations(range(len(sizes)))):
        step *= draw(st.sampled_from(gaps))
        strides[mode] = step
        step *= sizes[mode]
    return Layout(shape, like(shape, iter(strides)))


def compatible(shape: Any, other: Any) -> bool:
    """Whether every coordinate of a shape is one of another shape."""
    if not isinstance(shape, tuple):
        return bool(shape == layouts.size(other))
    if not isinstance(other, tuple) or len(shape) != len(other):
        return False
    return all(map(compatible, shape, other))


# ---- a layout


@BOTH
@law
@given(layout=any_layouts())
def test_all_forms_of_a_coordinate_lead_to_one_index(of: Any, layout: Layout) -> None:
    table = [of.crd2idx(i, layout.shape, layout.stride) for i in range(layout.size)]
    assert table == layout.table()
    # By hand: the leftmost number is the fastest.
    ranges = [range(n) for n in reversed(leaves(layout.shape))]
    steps = list(reversed(leaves(layout.stride)))
    by_hand = [
        sum(c * d for c, d in zip(crd, steps, strict=True))
        for crd in itertools.product(*ranges)
    ]
    assert table == by_hand
    for number in range(0, layout.size, 5):
        nested = layouts.idx2crd(number, layout.shape)
        assert of.crd2idx(nested, layout.shape, layout.stride) == table[number]


@law
@given(shape=shapes)
def test_numbers_and_coordinates_are_inverses(shape: Any) -> None:
    assert Layout(shape).table() == list(range(layouts.size(shape)))
    for number in range(layouts.size(shape)):
        assert Layout(shape)(layouts.idx2crd(number, shape)) == number


@law
@given(layout=any_layouts())
def test_a_layout_is_read_as_it_is_written(layout: Layout) -> None:
    assert parse(str(layout)) == layout
    assert layout.cosize == max(layout.table()) + 1


# ---- coalesce


@BOTH
@law
@given(layout=any_layouts())
def test_coalescing_keeps_the_function(of: Any, layout: Layout) -> None:
    found = of.coalesce(layout)
    assert found.table() == layout.table()
    assert all(isinstance(mode.shape, int) for mode in found)
    again = of.coalesce(found)
    assert (again.shape, again.stride) == (found.shape, found.stride)
    pairs = layouts.modes(found)
    assert found.size == 1 or all(size > 1 for size, _ in pairs)
    assert all(a * d != e for (a, d), (_, e) in itertools.pairwise(pairs))


# ---- composition


@BOTH
@law
@given(a=injective((1,)), b=injective((1, 2)))
def test_composition_is_one_after_the_other(of: Any, a: Layout, b: Layout) -> None:
    assume(b.cosize <= a.size)
    try:
        found = layouts.composition(a, b)
    except ValueError:
        assume(False)
    if of is SOLVED:  # the exercise's steps divide; a single element has any step
        assume(all(size > 1 for size, _ in layouts.modes(b)))
        found = of.composition(layouts.coalesce(a), b)
    assert found.table() == [a(b(c)) for c in range(b.size)]
    assert compatible(b.shape, found.shape)


@law
@given(a=any_layouts(), b=any_layouts())
def test_what_does_not_compose_is_refused(a: Layout, b: Layout) -> None:
    assume(b.cosize <= a.size)
    try:
        found = layouts.composition(a, b)
    except ValueError:
        return
    assert found.table() == [a(b(c)) for c in range(b.size)]


@law
@given(a=any_layouts(), n=st.integers(1, 3))
def test_identities(a: Layout, n: int) -> None:
    whole = layouts.composition(a, Layout(a.size))
    assert whole.table() == a.table()
    assert layouts.composition(Layout(a.cosize * n), a).table() == a.table()


@law
@given(a=injective((1,)), b=injective((1, 2)), c=injective((1, 2)))
def test_composition_is_associative(a: Layout, b: Layout, c: Layout) -> None:
    assume(c.cosize <= b.size and b.cosize <= a.size)
    try:
        left = layouts.composition(layouts.composition(a, b), c)
        right = layouts.composition(a, layouts.composition(b, c))
    except ValueError:
        assume(False)
    assert left.table() == right.table()


# ---- complement


@BOTH
@law
@given(layout=injective(), times=st.integers(1, 4))
def test_a_complement_fills_what_is_left(of: Any, layout: Layout, times: int) -> None:
    ends = [n * step for n, step in layouts.modes(layout) if n > 1]
    target = max(ends, default=1) * times
    rest = of.complement(layout, target)
    assert sorted(make_layout(layout, rest).table()) == list(range(target))
    assert rest.table() == sorted(rest.table())  # ordered
    assert set(rest.table()) & set(layout.table()) == {0}  # and disjoint
    assert layouts.complement(rest, target).size * rest.size == target


# ---- divide and product


@law
@given(a=injective((1,)), tiler=injective())
def test_dividing_only_reorders(a: Layout, tiler: Layout) -> None:
    try:
        found = layouts.logical_divide(a, tiler)
    except ValueError:
        assume(False)
    assume(found.size == a.size)
    assert sorted(found.table()) == sorted(a.table())
    assert found[0].table() == layouts.composition(a, tiler).table()
    assert compatible(tiler.shape, found[0].shape)


@law
@given(a=injective(), tiler=injective((1, 2)))
def test_a_product_repeats(a: Layout, tiler: Layout) -> None:
    try:
        found = layouts.logical_product(a, tiler)
    except ValueError:
        assume(False)
    assert found[0] == a
    assert found.size == a.size * tiler.size
    assert len(set(found.table())) == found.size
    assert compatible(tiler.shape, found[1].shape)


# ---- swizzle


@BOTH
@law
@given(bits=st.integers(0, 4), base=st.integers(0, 4), more=st.integers(0, 3))
def test_a_swizzle_is_its_own_inverse(of: Any, bits: int, base: int, more: int) -> None:
    shift = max(bits + more, 1)

    def move(index: int) -> int:
        if of is layouts:
            return layouts.swizzle(bits, base, shift)(index)
        return int(of.swizzle(index, bits, base, shift))

    period = 1 << (bits + base + shift)
    moved = [move(i) for i in range(period)]
    assert sorted(moved) == list(range(period))
    assert [move(i) for i in moved] == list(range(period))
    together = 1 << base
    for start in range(0, period, together):
        assert moved[start] % together == 0
        run_of = moved[start : start + together]
        assert run_of == list(range(moved[start], moved[start] + together))


# ---- what threads own


@law
@given(data=st.data(), matrix=injective((1, 2), st.tuples(shapes, shapes)))
def test_threads_own_every_element_once(data: Any, matrix: Layout) -> None:
    sides = [mode.size for mode in matrix]
    threads = tuple(
        data.draw(st.sampled_from([n for n in range(1, side + 1) if side % n == 0]))
        for side in sides
    )
    owned = []
    for thread in itertools.product(*map(range, threads)):
        try:
            part, start = SOLVED.local_partition(matrix, threads, thread)
        except ValueError:
            assume(False)
        owned += [start + index for index in part.table()]
    assert sorted(owned) == sorted(matrix.table())


@law
@given(
    width=st.sampled_from([1, 2, 4]),
    groups=st.integers(1, 8),
    high=st.integers(1, 6),
    rounds=st.integers(1, 4),
)
def test_a_copy_moves_every_element_once(
    width: int, groups: int, high: int, rounds: int
) -> None:
    rows, cols = high * rounds, groups * width
    copy = SOLVED.thread_values(rows, cols, groups * high, width)
    assert sorted(copy.table()) == list(range(rows * cols))
    padded = Layout((rows, cols), (cols + 4, 1))
    where = layouts.composition(padded, copy)
    for thread, value in itertools.product(range(groups * high), range(0, rounds)):
        starts = where(thread, value * width)
        pieces = [where(thread, value * width + k) - starts for k in range(width)]
        assert pieces == list(range(width))
        assert starts % width == 0


@pytest.mark.parametrize(
    ("matrix", "threads", "thread", "part", "start", "said"),
    [
        (
            "((4,4),(2,8)):((1,16),(4,64))",
            (8, 4),
            (5, 2),
            "(2,4):(8,16)",
            13,
            "(1,1), with index 17, not 5 · 1. A nested mode has no single stride.",
        ),
        (
            "((4,4),(2,8)):((1,16),(4,64))",
            (8, 4),
            (5, 2),
            "(2,4):(8,16)",
            81,
            "From coordinate 5 to coordinate 13 of mode (4,4):(1,16), the index grows "
            "by 32, not by 8 · 1.",
        ),
        (
            "(8,12):(12,1)",
            (2, 4),
            (1, 2),
            "(2,6):(48,2)",
            25,
            "if `threads`, (2,4), is taken as (4,2)",
        ),
    ],
)
def test_the_slip_in_a_part_is_named(
    matrix: str, threads: Any, thread: Any, part: str, start: int, said: str
) -> None:
    judges = Chapter(LAB).checks
    wanted = judges.nth_elements(parse(matrix), threads, thread)
    assert said in judges.same_part((parse(part), start), wanted)


# ---- CUTLASS's own examples


def text(layout: Layout) -> str:
    return str(layout)


def test_documented_tables() -> None:
    tables = {
        "(2,4):(1,2)": [0, 1, 2, 3, 4, 5, 6, 7],
        "(2,4):(12,1)": [0, 12, 1, 13, 2, 14, 3, 15],
        "(2,(2,2)):(4,(2,1))": [0, 4, 2, 6, 1, 5, 3, 7],
        "((4,2)):((2,1))": [0, 2, 4, 6, 1, 3, 5, 7],
        "((2,2),2):((4,1),2)": [0, 4, 1, 5, 2, 6, 3, 7],
    }
    for layout, table in tables.items():
        assert parse(layout).table() == table, layout
    assert parse("(2,(2,2))").stride == (1, (2, 4))


@BOTH
def test_documented_operations(of: Any) -> None:
    assert of.coalesce(parse("(2,(1,6)):(1,(6,2))")).table() == list(range(12))
    for a, b, wanted in [
        ("(6,2):(8,2)", "(4,3):(3,1)", "((2,2),3):((24,2),8)"),
        ("20:2", "(5,4):(4,1)", "(5,4):(8,2)"),
        ("(10,2):(16,4)", "(5,4):(1,5)", "(5,(2,2)):(16,(80,4))"),
        ("(3,6,2,8):(1,1000,7,50)", "16:9", "(2,2,4):(3000,7,50)"),
    ]:
        assert text(of.composition(parse(a), parse(b))) == wanted
    for layout, wanted in [
        ("4:1", "6:4"),
        ("6:4", "4:1"),
        ("(4,6):(1,4)", "1:0"),
        ("4:2", "(2,3):(1,8)"),
        ("(2,4):(1,6)", "3:2"),
        ("(2,2):(1,6)", "(3,2):(2,12)"),
    ]:
        assert text(of.complement(parse(layout), 24)) == wanted


def test_documented_divisions_and_products() -> None:
    divided = layouts.logical_divide(parse("(4,2,3):(2,1,8)"), parse("4:2"))
    assert text(divided) == "((2,2),(2,3)):((4,1),(2,8))"
    product = layouts.logical_product(parse("(2,2):(4,1)"), parse("6:1"))
    assert text(product) == "((2,2),(2,3)):((4,1),(2,8))"
    a, tiler = parse("(9,(4,8)):(59,(13,1))"), (parse("3:3"), parse("(2,4):(1,8)"))
    zipped = layouts.zipped_divide(a, *tiler)
    assert text(zipped[0]) == "(3,(2,4)):(177,(13,2))"
    assert [mode.size for mode in zipped[1]] == [3, 4]


def test_the_fragment_of_a_tensor_core() -> None:
    """PTX, mma.m16n8k16: row = lane / 4, + 8 for c2 and c3; col = 2 (lane % 4) + i."""
    fragment = parse("((4,8),(2,2)):((32,1),(16,8))")
    for lane, i in itertools.product(range(32), range(4)):
        row, col = lane // 4 + 8 * (i >= 2), 2 * (lane % 4) + i % 2
        assert fragment(lane, i) == row + 16 * col


# ---- what is refused


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("(4,2:1", "write shape:stride"),
        ("a:1", "write shape:stride"),
        ("8::1", "write shape:stride"),
        ("", "write shape:stride"),
        ("():()", "a single mode is a number"),
        ("(4,2):1", "nested alike"),
        ("(0,2):(1,1)", "at least 1"),
    ],
)
def test_what_is_no_layout(wrong: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse(wrong)


def test_clear_refusals() -> None:
    with pytest.raises(ValueError, match="steps of 5 do not divide a mode of 4"):
        layouts.composition(parse("(4,2):(1,10)"), parse("2:5"))
    with pytest.raises(ValueError, match="6 elements do not split into runs of 4"):
        layouts.composition(parse("(4,2):(1,10)"), parse("6:1"))
    with pytest.raises(ValueError, match="meet inside a mode"):
        layouts.composition(parse("(8,4):(1,100)"), parse("(2,2):(4,4)"))
    with pytest.raises(ValueError, match="stride 3 is not a multiple of 2"):
        layouts.complement(parse("(2,2):(1,3)"), 12)
    with pytest.raises(ValueError, match="would overlap"):
        layouts.swizzle(3, 0, 2)
    with pytest.raises(ValueError, match="has 3 modes, the shape"):
        parse("(4,2):(1,4)")(1, 1, 1)
    with pytest.raises(TypeError, match="integers and tuples"):
        Layout((4.0, 2))
    with pytest.raises(IndexError, match="one mode"):
        parse("8:1")[1]
