"""Specifications, inputs and verdicts for the checks of lab 20."""

from itertools import pairwise, product

from weft.wording import several

from . import layouts
from .layouts import Layout, modes, parse


def only_one(slips, got):
    """Return the one sentence whose slip makes `got`; "" for none or several.

    slips: (sentence, what the slip makes) pairs. Two slips may share a sentence.
    """
    found = dict.fromkeys(said for said, made in slips if made == got)
    return f" {next(iter(found))}" if len(found) == 1 else ""


def random_shape(rng, most=64, depth=0):
    """Return a shape, nested up to three deep, of up to `most` coordinates."""
    if depth == 2 or rng.random() < 0.4 * (depth > 0):
        return int(rng.choice([2, 3, 4, 5, 8]))
    while True:
        many = int(rng.integers(2, 4))
        shape = tuple(random_shape(rng, most, depth + 1) for _ in range(many))
        if layouts.size(shape) <= most:
            return shape


def random_stride(rng, shape):
    """Return random strides for a shape."""
    if isinstance(shape, tuple):
        return tuple(random_stride(rng, mode) for mode in shape)
    return int(rng.choice([0, 1, 2, 3, 4, 8, 12, 16, 59]))


def random_coordinates(rng):
    """Return coordinates of all forms, each with a shape and strides."""
    nested, steps = ((2, 2), 8), ((16, 1), 2)
    cases = [(3, 4, 8), ((1, 2), (4, 8), (8, 1))]
    cases += [(14, (4, 8), (9, 1))]  # every mistake in splitting 14 leads elsewhere
    cases += [(9, (4, 8), (8, 1)), (40, (4, 8), (8, 1))]
    cases += [(((1, 0), 2), nested, steps), ((1, 2), nested, steps)]
    cases += [(31, nested, steps), (13, (2, (2, 2), 3), (1, (50, 7), 100))]
    for _ in range(12):
        shape = random_shape(rng)
        stride = random_stride(rng, shape)
        number = int(rng.integers(layouts.size(shape)))
        whole = layouts.idx2crd(number, shape)
        halfway = layouts.idx2crd(number, tuple(map(layouts.size, shape)))
        cases += [(each, shape, stride) for each in (number, whole, halfway)]
    return cases


def rows_first(number, shape):
    """Return the coordinate with this number if the last mode were the fastest."""
    parts = []
    for size in reversed(shape):
        number, part = divmod(number, size)
        parts.append(part)
    return tuple(reversed(parts))


def quotients_first(number, shape):
    """Return the coordinate if quotient and remainder were exchanged at each mode."""
    parts = []
    for size in shape[:-1]:
        part, number = divmod(number, size)
        parts.append(part)
    return (*parts, number)


def wrongly_split(number, shape, stride, got):
    """Say how a number may have been split to get an index; "" if that is unknown."""
    sizes = tuple(map(layouts.size, shape))
    right = layouts.idx2crd(number, sizes)
    remainders = tuple(number % size for size in sizes)
    undivided = (
        "This is the result if the number itself, not the quotient, goes on to the "
        "next mode."
    )
    slips = [
        (
            "That would be right if the last mode were the fastest. In CuTe the first "
            "one is.",
            rows_first(number, sizes),
        ),
        (
            "Which part of a division belongs to the mode, and which goes on to the "
            "next one?",
            quotients_first(number, sizes),
        ),
        (undivided, remainders),
        (undivided, (*remainders[:-1], number)),
        (
            "The last mode takes what is left, whatever its size. This is the result "
            "if it takes a remainder, too.",
            (*right[:-1], right[-1] % sizes[-1]),
        ),
    ]
    return only_one(
        [
            (
                f"{got} is the index of {layouts.written(at)}, but number {number} is "
                f"coordinate {layouts.written(right)}. {said}",
                layouts.crd2idx(at, shape, stride),
            )
            for said, at in slips
            if at != right
        ],
        got,
    ).strip()


def why_not_this_index(coordinate, shape, stride, got):
    """Say what is wrong with an index."""
    if not isinstance(got, int):
        return "An index is an integer: split a number with `//` or `divmod`."
    is_split = isinstance(shape, tuple) and not isinstance(coordinate, tuple)
    if is_split and (said := wrongly_split(coordinate, shape, stride, got)):
        return said
    nested = layouts.idx2crd(Layout(shape)(coordinate), shape)
    return (
        f"Written out, this coordinate is {layouts.written(nested)}: each "
        f"number times its stride in {layouts.written(stride)}, added up."
    )


def random_layouts(rng):
    """Return layouts in which some modes can be merged."""
    texts = ["(4,8,3):(16,2,64)", "(4,3,5):(2,4,7)"]  # nothing to merge
    texts += ["(4,8):(1,4)", "(4,8):(8,1)", "(2,(1,6)):(1,(77,2))"]
    texts += ["(1,1):(3,5)", "((2,4),(4,2)):((1,2),(8,64))", "7:3"]
    texts += ["(2,3,4):(1,2,6)", "(4,1):(2,9)", "(1,4,3):(9,1,4)"]
    texts += ["((4,2),3):((0,0),0)", "(2,2,2):(4,2,1)"]
    cases = [(parse(text),) for text in texts]
    for _ in range(12):
        sizes = rng.choice([1, 2, 3, 4], int(rng.integers(3, 6))).tolist()
        strides, step = [], int(rng.choice([1, 1, 2, 5]))
        for size in sizes:
            strides.append(step)
            step *= size * int(rng.choice([1, 1, 1, 2, 3]))
        nested = [(*part[:-2], tuple(part[-2:])) for part in (sizes, strides)]
        cases.append((Layout(*nested),))
    return cases


def another_function(got, wanted):
    """Say where two layouts lead to different indices; "" if nowhere."""
    if got.size != wanted.size:
        has = several(got.size, "coordinate")
        return f"{got} has {has}; it should have {wanted.size}."
    pairs = zip(got.table(), wanted.table(), strict=True)
    for number, (mine, right) in enumerate(pairs):
        if mine != right:
            return f"{got} leads coordinate {number} to {mine}; it should be {right}."
    return ""


def stride_of_the_right(got, wanted):
    """Return which mode has a stride that is too large, if only strides differ."""
    mine, right = modes(got), modes(wanted)
    if [size for size, _ in mine] != [size for size, _ in right]:
        return ""
    for (size, stride), (_, first) in zip(mine, right, strict=True):
        if stride > first > 0:
            return (
                f" The mode of size {size} should have the stride of the first mode "
                f"in it, {first}; here it has {stride}."
            )
        if stride != first:
            return ""
    return ""


def coalesced(layout):
    """Return what a result has to be compared with: the layout, and a right result."""
    return layout, layouts.coalesce(layout)


def continues(size, stride, next_size, next_stride):
    """Whether the second of two modes continues where the first ends."""
    return next_stride == size * stride


def merged_where(joins, kept, pairs):
    """Merge neighbouring (size, stride) pairs.

    joins: whether two pairs become one, from their sizes and strides. kept: the stride
    of the two that remains, 0 or 1.
    """
    found = []
    for size, stride in pairs:
        if found and joins(*found[-1], size, stride):
            before, first = found.pop()
            size, stride = before * size, (first, stride)[kept]
        found.append((size, stride))
    return found


def other_function(layout, got):
    """Return which mistake in coalescing has changed the function, if that is known."""
    pairs = [(size, stride) for size, stride in modes(layout) if size > 1]

    def by_size(size, stride, next_size, next_stride):
        return next_stride == size

    def backwards(size, stride, next_size, next_stride):
        return stride == next_size * next_stride

    by_stride = sorted(pairs, key=lambda pair: pair[1])
    moving = [pair for pair in pairs if pair[1]]
    slips = [
        (
            "This is the result if two modes become one where the second stride is the "
            "first size. Where does the first mode end if its stride is not 1?",
            merged_where(by_size, 0, pairs),
        ),
        (
            "This is the result if two modes become one where the first stride is the "
            "second size times the second stride. That is the way of PyTorch, where "
            "the last mode is the fastest.",
            merged_where(backwards, 1, pairs),
        ),
        (
            "This is the result if the modes are first sorted by their strides. What "
            "does that do to the order of the coordinates?",
            merged_where(continues, 0, by_stride),
        ),
        (
            "This is the result if modes of stride 0 are dropped. They have "
            "coordinates, too.",
            merged_where(continues, 0, moving) or [(1, 0)],
        ),
    ]
    return only_one(slips, modes(got))


def same_coalesced(got, wanted):
    """Return "" for the right layout, or else what is wrong with it."""
    layout, wanted = wanted
    if not isinstance(got, Layout):
        return "Return a layout: `Layout(shape, stride)`."
    if reason := another_function(got, wanted):
        cause = stride_of_the_right(got, wanted) or other_function(layout, got)
        return f"The function has changed: {reason}{cause}"
    if any(isinstance(mode.shape, tuple) for mode in got):
        return f"{got} is still nested. Each mode should be a number."
    if len(got) > 1 and any(size == 1 for size, _ in modes(got)):
        return f"{got} still has a mode of size 1."
    for (size, stride), (other, following) in pairwise(modes(got)):
        if following == size * stride:
            return (
                f"Modes {size}:{stride} and {other}:{following} can become one: the "
                f"second stride, {following}, is {size} · {stride}."
                f"{ones_between(layout, (size, stride), (other, following))}"
            )
    return ""


def ones_between(layout, before, after):
    """Say so if a mode of size 1 keeps these two modes from becoming one."""
    merged = merged_where(continues, 0, modes(layout))
    for (size, stride), *sides in zip(merged[1:], merged, merged[2:], strict=False):
        if size == 1 and sides == [before, after]:
            return (
                f" In the layout, mode 1:{stride} is between them. Drop modes of size "
                "1 before you compare neighbours."
            )
    return ""


def random_pairs(rng):
    """Return pairs of layouts that can be composed."""
    pairs = [("(6,2):(8,2)", "6:2"), ("(6,2):(8,2)", "3:2")]
    pairs += [("20:2", "(5,4):(4,1)"), ("(6,2):(8,2)", "(4,3):(3,1)")]
    pairs += [("(10,2):(16,4)", "(5,4):(1,5)"), ("(4,2,3):(2,1,8)", "4:2")]
    pairs += [("(4,8):(8,1)", "(2,(2,4)):(4,(1,8))")]
    # B reaches beyond A: the last mode takes more than its size, or would be skipped.
    pairs += [("4:2", "8:1"), ("(4,8):(8,1)", "64:1"), ("(6,2):(8,2)", "4:6")]
    pairs += [("(4,8):(8,1)", "3:0"), ("(4,8):(8,1)", "2:32")]
    pairs += [("(3,6,2,8):(5,50,1,500)", "16:9")]
    pairs += [("(4,8):(8,1)", "2:4"), ("(4,8):(8,1)", "4:8")]
    cases = [tuple(map(parse, pair)) for pair in pairs]
    while len(cases) < 26:
        sizes = rng.choice([2, 3, 4, 6, 8], int(rng.integers(2, 4))).tolist()
        strides = random_stride(rng, tuple(sizes))
        a = layouts.coalesce(Layout(tuple(sizes), strides))
        shape = random_shape(rng, 24)
        b = Layout(shape, random_stride(rng, shape))
        try:
            if b.cosize <= a.size and layouts.composition(a, b).size > 2:
                cases.append((a, b))
        except ValueError:  # the steps do not divide
            continue
    listed = cases[: len(pairs)]
    alone = [(a, Layout(*mode)) for a, b in listed for mode in modes(b)]
    return list(dict.fromkeys([*alone, *cases]))


def composed(a, b):
    """Return what a result has to be compared with: A, B, and a right result."""
    return a, b, layouts.composition(a, b)


def composed_with(a, b, slip):
    """Compose A with a single mode B, with a slip; None if this makes no layout.

    Also returns what is known at the mode of A at which the slip happens: the step, the
    mode's size and stride, its elements at this step, and how many are to be picked.
    """
    *faster, (end, last) = modes(a)
    sizes, strides, noted = [], [], ()
    left, step = b.shape, b.stride
    try:
        for size, stride in faster:
            if step % size == 0:
                if slip in ("skipped", "stride"):
                    noted = noted or (step, size, stride)
                by = {"skipped": 1, "stride": stride}
                step //= by.get(slip, size)
                continue
            room = size // step
            apart = {"one": stride, "own": step}.get(slip, step * stride)
            if slip in ("step", "left") or room > left or apart != step * stride:
                noted = noted or (step, size, stride, room, left)
            taken = room if slip in ("all", "rounded") else min(room, left)
            sizes.append(taken)
            strides.append(apart)
            if slip == "left":
                left -= taken
            else:
                left = -(-left // taken) if slip == "rounded" else left // taken
            step = step if slip == "step" else 1
        if slip == ("end" if step % end == 0 else "cut"):
            taken = min(end // step, left) if slip == "cut" else 1
            noted, left = (step, end, last, taken, left), taken
        made = Layout((*sizes, left), (*strides, step * last))
    except (ValueError, ZeroDivisionError):
        return None
    return layouts.coalesce(made), noted


def slip_of_composition(a, b, got):
    """Return which slip makes this wrong result, if exactly one of them does."""
    if isinstance(b.shape, tuple):
        return ""
    takes_all = (
        "With a step of {0}, mode {1}:{2} of A has {3} elements, but only {4} are "
        "still to be picked. This is the result if all {3} are taken."
    )
    said = {
        "step": "Mode {1}:{2} of A is used, with a step of {0}. This is the result if "
        "the step is still {0} in the next mode of A.",
        "skipped": "Mode {1}:{2} of A is skipped. This is the result if the step is "
        "still {0} in the next mode of A.",
        "stride": "Mode {1}:{2} of A is skipped. This is the result if the step, {0}, "
        "is divided by the stride of this mode, {2}.",
        "left": "Mode {1}:{2} of A is used. This is the result if the elements in it "
        "are subtracted from those to pick. The sizes of the result are multiplied: "
        "what must the other modes' sizes give?",
        "one": "Mode {1}:{2} of A is used, with a step of {0}. This is the result if "
        "the elements in it are {2} apart, as with a step of 1.",
        "own": "Mode {1}:{2} of A is used, with a step of {0}. This is the result if "
        "the elements in it are {0} apart, as in a mode of stride 1.",
        "all": takes_all,
        "rounded": takes_all,
        "cut": "A's last mode, {1}:{2}, takes all elements that are left, here {4}, "
        "whatever its size, as for number 40 in exercise 1. This is the result if it "
        "takes only {3}.",
        "end": "A's last mode, {1}:{2}, takes all elements that are left, here {4}, "
        "even if the step, here {0}, is a multiple of its size. This is the result if "
        "the mode is skipped.",
    }
    slips = []
    for slip, sentence in said.items():
        made = composed_with(a, b, slip)
        if made and made[1]:
            slips.append((sentence.format(*made[1]), made[0]))
    return only_one(slips, layouts.coalesce(got))


def wrong_coordinate(a, b, got, right):
    """Return the way of a wrong coordinate through B and A; "" if all are right."""
    pairs = zip(got.table(), right.table(), strict=True)
    for number, (mine, index) in enumerate(pairs):
        if mine != index:
            at = b(number)
            place = layouts.written(layouts.idx2crd(at, a.shape))
            return (
                f"{got} leads coordinate {number} to {mine}. B leads it to {at}, "
                f"which is coordinate {place} of A, and so A leads it to {index}."
            )
    return ""


def fits(shape, other):
    """Whether every coordinate of a shape is also one of another shape."""
    if isinstance(shape, int):
        return shape == layouts.size(other)
    if not isinstance(other, tuple) or len(shape) != len(other):
        return False
    return all(map(fits, shape, other))


def same_composed(got, wanted):
    """Return "" for the right layout, or else what is wrong with it."""
    a, b, right = wanted
    if not isinstance(got, Layout):
        return "Return a layout."
    if got.size != right.size:
        reason = another_function(got, right)
    else:
        reason = wrong_coordinate(a, b, got, right)
    if reason:
        return reason + slip_of_composition(a, b, got)
    if not fits(b.shape, got.shape):
        return (
            f"{got} has the right indices, but not B's modes: a coordinate of "
            f"{b} should also be one of the result."
        )
    return ""


def complemented(layout, target):
    """Return what a result has to be compared with."""
    return layout, target, layouts.complement(layout, target)


def random_targets(rng):
    """Return layouts that have a complement, each with a target."""
    cases = [(parse(text), 24) for text in ("4:1", "6:4", "4:2", "(2,2):(1,6)")]
    cases += [(parse("(4,1):(1,6)"), 24)]
    cases += [(parse("(4,6):(1,4)"), 24), (parse("(2,4):(1,6)"), 24)]
    cases += [(parse("(4,2):(2,1)"), 8), (parse("(2,2):(24,2)"), 96)]
    cases += [(parse("(4,8):(8,1)"), 128), (parse("(2,1,3):(1,5,4)"), 24)]
    cases += [(parse("3:0"), 12), (parse("(4,3):(1,0)"), 12)]
    cases += [(parse("((2,2),2):((8,2),16)"), 64)]
    for _ in range(10):
        found, step = [], 1
        for size in rng.choice([1, 2, 3, 4], int(rng.integers(1, 4))).tolist():
            step *= int(rng.choice([1, 1, 2, 3]))
            found.append((size, step))
            step *= size
        found = [found[k] for k in rng.permutation(len(found))]
        layout = Layout(*map(tuple, zip(*found, strict=True)))
        cases.append((layout, step * int(rng.choice([1, 2, 4]))))
    return cases


def same_complement(got, wanted):
    """Return "" for the right layout, or else what is wrong with it."""
    layout, target, right = wanted
    if not isinstance(got, Layout):
        return "Return a layout."
    starts, table = got.table(), right.table()
    if starts == table:
        return ""
    reason = f"{got} has no coordinates, because one of its sizes is 0."
    if starts:
        reason = wrong_starts(layout, target, starts, table)
    return reason + other_complement(layout, target, got)


def complement_with(layout, target, slip, least=0):
    """Return the complement with a slip in it. least: the smallest size it makes."""
    pairs = [(size, step) for size, step in modes(layout) if step]
    if slip != "ones":
        pairs = [(size, step) for size, step in pairs if size > 1]
    sizes, strides, reached = [], [], 1
    for size, step in in_order(pairs, slip):
        sizes.append(max(step // reached, least))
        strides.append(reached)
        reached = size * (reached if slip == "gaps" else step)
    if slip != "rest":
        filled = layout.size if slip == "elements" else reached
        sizes.append(max(target // filled, least))
        strides.append(reached)
    if not sizes:
        return Layout(1, 0)
    return layouts.coalesce(Layout(tuple(sizes), tuple(strides)))


def in_order(pairs, slip=""):
    """Return (size, stride) pairs by their strides, or in the order of a slip."""
    if slip == "written":
        return pairs
    return sorted(pairs, key=None if slip == "sizes" else lambda pair: pair[1])


def other_complement(layout, target, got):
    """Return which slip makes this wrong result, if that is known."""
    pairs = [(size, step) for size, step in modes(layout) if size > 1 and step]
    end = max((size * step for size, step in pairs), default=1)
    said = {
        "rest": f"Everything below {end} is filled. This is the result if nothing is "
        f"filled from there up to the target, {target}.",
        "elements": f"Everything below {end} is filled. This is the result if the "
        f"target, {target}, is divided by the number of elements, {layout.size}.",
    }
    reached = 1
    for size, step in in_order(pairs):
        if step > reached:
            said["gaps"] = (
                f"After mode {size}:{step}, everything below {size * step} is filled, "
                "the gaps between its elements as well. This is the result if the gaps "
                "are forgotten."
            )
            break
        reached = size * step
    for size, step in modes(layout):
        if size == 1 and step:
            said["ones"] = (
                f"Mode 1:{step} has a single coordinate, so it fills nothing. This is "
                "the result if it counts."
            )
            break
    for slip in ("written", "sizes"):
        for (size, step), (other, after) in pairwise(in_order(pairs, slip)):
            if step > after:
                said[slip] = (
                    f"This is the result if mode {size}:{step} comes before mode "
                    f"{other}:{after}. In which order do the modes go?"
                )
                break
    slips = [
        (sentence, complement_with(layout, target, slip, least))
        for slip, sentence in said.items()
        for least in (0, 1)
    ]
    return only_one(slips, layouts.coalesce(got))


def wrong_starts(layout, target, starts, table):
    """Return what is wrong with the starts of the repetitions."""
    reached = [i + start for start in starts for i in set(layout.table())]
    twice = sorted(i for i in set(reached) if reached.count(i) > 1)
    if twice:
        times = reached.count(twice[0])
        return f"Then index {twice[0]} is reached {times} times."
    missing = sorted(set(range(target)) - set(reached))
    if missing:
        return f"Then no repetition reaches index {missing[0]}."
    if sorted(starts) == table:
        return "These are the right starts, but strides should increase."
    return f"It goes too far: index {max(reached)} is not below {target}."


def nth_elements(layout, threads, thread):
    """Return what a result has to be compared with: its arguments, and the indices."""
    return layout, threads, thread, every_nth(layout, threads, thread)


def every_nth(layout, threads, thread):
    """Return the indices of one thread's elements, by slicing a table."""
    rows, table = layout[0].size, layout.table()
    across = range(layout[1].size)[thread[1] :: threads[1]]
    return tuple(
        tuple(table[row + rows * col] for col in across)
        for row in range(rows)[thread[0] :: threads[0]]
    )


def random_partitions(rng):
    """Return matrices, blocks of threads and a thread of each."""
    texts = ["(8,8):(8,1)", "(64,32):(32,1)", "(64,32):(36,1)", "(16,8):(1,16)"]
    texts += ["((4,4),(2,8)):((1,16),(4,64))", "((2,8),16):((128,1),8)"]
    blocks = [(2, 4), (8, 4), (16, 8), (4, 2), (8, 4), (4, 8)]
    # In the first case, every mistake in the start leads elsewhere.
    cases = [(parse("(8,12):(12,1)"), (2, 4), (1, 2))]
    for text, threads in zip(texts, blocks, strict=True):
        for _ in range(2):
            thread = tuple(int(rng.integers(many)) for many in threads)
            cases.append((parse(text), threads, thread))
    return cases


def divided_by(layout, sizes):
    """Return (within, across) of each mode, divided by these sizes."""
    pairs = zip(layout, sizes, strict=True)
    return [layouts.logical_divide(mode, Layout(size)) for mode, size in pairs]


def halves(layout, sizes, half):
    """Return the indices of one half of each mode, divided by these sizes.

    half: 0 for what is within, 1 for what is across. Returns None if a mode cannot be
    divided.
    """
    try:
        return [mode[half].table() for mode in divided_by(layout, sizes)]
    except ValueError:
        return None


def ordinal(number):
    """Return "2nd" for 2, and so on, for a number of threads: 4th, 8th, 16th."""
    return {1: "1st", 2: "2nd", 3: "3rd"}.get(number, f"{number}th")


def other_start(layout, threads, thread, start):
    """Return what starts at this index, if that is known."""
    owned = [mode.size // many for mode, many in zip(layout, threads, strict=True)]
    piece = [many * k for many, k in zip(owned, thread, strict=True)]
    steps = zip(divided_by(layout, threads), thread, strict=True)
    at = layouts.written(thread)
    rows, columns = map(ordinal, threads)
    slips = [
        *single_strides(layout, thread),
        (
            f"{start} is where tile {at} starts, as for `local_tile`.",
            sum(across(k) for (_, across), k in steps),
        ),
        (
            f"{start} is element {layouts.written(tuple(piece))}, where a piece of "
            f"{owned[0]} × {owned[1]} starts. A thread owns every {rows} row and every "
            f"{columns} column, from element {at} on.",
            layout(*piece),
        ),
        (
            f"{start} is the thread's number in the block, not an index of the matrix.",
            thread[0] + thread[1] * threads[0],
        ),
        (
            f"{start} is the sum of the thread's coordinate, without strides.",
            sum(thread),
        ),
        ("Index 0 is where thread (0,0) starts.", 0),
    ]
    if said := only_one(slips, start):
        return said
    table = layout.table()
    if start not in table:
        return ""
    place = layouts.written(divmod(table.index(start), layout[0].size)[::-1])
    return f" {start} is element {place}; thread {at} starts at element {at}."


def single_strides(layout, thread):
    """Yield what is said of a start if nested modes had a single stride, and it."""
    steps = [mode(1) for mode in layout]
    start = sum(k * step for k, step in zip(thread, steps, strict=True))
    for mode, k, step in zip(layout, thread, steps, strict=True):
        if mode(k) != k * step:
            place = layouts.written(layouts.idx2crd(k, mode.shape))
            yield (
                f"Coordinate {k} of mode {mode} is {place}, with index {mode(k)}, not "
                f"{k} · {step}. A nested mode has no single stride.",
                start,
            )
            return


def other_steps(layout, threads, thread, part):
    """Say so if the elements of a nested mode have a single stride."""
    sides = zip(layout, threads, thread, part, strict=True)
    for mode, many, k, mine in sides:
        right = [mode(n) - mode(k) for n in range(k, mode.size, many)]
        found = [mode(1) * many * n for n in range(len(right))]
        if mine.table() == found != right:
            n = next(n for n in range(len(right)) if found[n] != right[n])
            return (
                f" From coordinate {k} to coordinate {k + n * many} of mode {mode}, "
                f"the index grows by {right[n]}, not by {n * many} · {mode(1)}. A "
                "nested mode has no single stride."
            )
    return ""


def other_part(layout, threads, part):
    """Return which layout this is instead of that of a thread's elements."""
    owned = [mode.size // size for mode, size in zip(layout, threads, strict=True)]
    swapped = threads[::-1]
    slips = [
        (
            f"This is the result if `threads`, {layouts.written(threads)}, is taken as "
            f"{layouts.written(swapped)}. The first number belongs to the rows.",
            halves(layout, swapped, 1),
        ),
        (
            f"{part} are the elements of one tile, one for each thread.",
            halves(layout, threads, 0),
        ),
        (
            "This is the result if each mode is divided by the number of elements that "
            "a thread has in it, and not by the number of threads.",
            halves(layout, owned, 1),
        ),
    ]
    if said := only_one(slips, [mode.table() for mode in part]):
        return said
    if len(part) != 2:
        return ""
    sides = zip(("rows", "columns"), layout, threads, owned, part, strict=True)
    return "".join(
        f" Of {mode.size} {side}, it owns every {ordinal(many)}, {right} in all; this "
        f"layout has {mine.size}."
        for side, mode, many, right, mine in sides
        if mine.size != right
    )


def same_part(got, wanted):
    """Return "" for the right elements, or else what is wrong with them."""
    layout, threads, thread, wanted = wanted
    try:
        part, start = got
        start = int(start)
    except (TypeError, ValueError):
        return "Return a layout and an integer."
    if not isinstance(part, Layout):
        return "Return a layout and an integer."
    rows, cols = len(wanted), len(wanted[0])
    if part.size != rows * cols:
        said = f"The thread owns {rows * cols} elements, not {part.size}."
        return said + other_part(layout, threads, part)
    if len(part) != 2 or part[0].size != rows:
        said = f"The thread's elements are a matrix of {rows} × {cols}."
        return said + other_part(layout, threads, part)
    if start != wanted[0][0]:
        said = f"Its first element has index {wanted[0][0]}, not {start}."
        return said + other_start(layout, threads, thread, start)
    for row, col in product(range(rows), range(cols)):
        mine, right = start + part(row, col), wanted[row][col]
        if mine != right:
            return (
                f"Its element ({row}, {col}) has index {right}; this leads to {mine}."
                f"{other_steps(layout, threads, thread, part)}"
            )
    return ""


def copies(rng):
    """Return tiles, each with a number of threads and a width."""
    cases = [(4, 8, 8, 2), (64, 32, 128, 4), (16, 8, 32, 1), (8, 128, 64, 4)]
    for _ in range(5):
        width = int(rng.choice([1, 2, 4]))
        groups, high, rounds = (int(rng.choice([2, 3, 4, 8])) for _ in range(3))
        cases.append((high * rounds, groups * width, groups * high, width))
    return cases


def owners(rows, cols, threads, width):
    """Return the elements of every thread: (row, col) of [thread][value]."""
    every = threads * width  # elements of one round
    return rows, tuple(
        tuple(
            divmod(start + thread * width + value, cols)
            for start in range(0, rows * cols, every)
            for value in range(width)
        )
        for thread in range(threads)
    )


def same_copy(got, wanted):
    """Return "" for the right layout, or else what is wrong with it."""
    rows, places = wanted
    threads, values = len(places), len(places[0])
    if not isinstance(got, Layout) or len(got) != 2:
        return "Return a layout of two modes: the threads, and their values."
    if (got[0].size, got[1].size) != (threads, values):
        return (
            f"{threads} threads copy {values} values each; the modes of {got} "
            f"have {got[0].size} and {got[1].size} coordinates."
        )
    for value, thread in product(range(values), range(threads)):
        col, row = divmod(got(thread, value), rows)
        right = places[thread][value]
        if (row, col) != right:
            return (
                f"Value {value} of thread {thread} should be element {right}, "
                f"whose number is {right[0] + right[1] * rows}. {got} leads to "
                f"number {row + col * rows}, element ({row}, {col})."
                f"{by_rows(got, places)}"
            )
    return ""


def by_rows(got, places):
    """Say so if the numbers are those of a row-major tile."""
    cols = 1 + max(col for values in places for _, col in values)
    for thread, values in enumerate(places):
        for value, (row, col) in enumerate(values):
            if got(thread, value) != row * cols + col:
                return ""
    return (
        f" This is the result with the numbers of a row-major tile, row · {cols} + "
        "col. Coordinates are numbered row + col · rows."
    )


def swizzled(index, bits, base, shift):
    """Return the index that CuTe's swizzle gives."""
    return layouts.swizzle(bits, base, shift)(index)


def random_swizzles(rng):
    """Return indices with swizzles."""
    cases = [(0b11010110, 3, 1, 3)]  # every slip leads elsewhere
    cases += [(0b110100, 2, 1, 3), (0b110100, 1, 1, 3)]
    cases += [(33, 5, 0, 5), (64, 3, 3, 3), (1023, 3, 3, 3), (1023, 3, 2, 3)]
    cases += [(200, 0, 3, 3)]
    for _ in range(16):
        bits, base = int(rng.integers(1, 5)), int(rng.integers(0, 5))
        shift = int(rng.integers(bits, 6))
        cases.append((int(rng.integers(1 << 13)), bits, base, shift))
    return cases


def why_not_this_place(index, bits, base, shift, got):
    """Say what is wrong with a swizzled index."""
    if not isinstance(got, int):
        return "An index is an integer."
    right = layouts.swizzle(bits, base, shift)(index)
    mask = ((1 << bits) - 1) << base
    cause = slip_of_swizzle(index, bits, base, shift, got)
    width = max(index, got, right, mask << shift).bit_length()
    before, mine, aim = (f"{number:0{width}b}" for number in (index, got, right))
    if (got ^ right) & ~mask:
        may = f"bits {base} to {base + bits - 1}" if bits > 1 else f"bit {base}"
        changed = [k for k in range(width) if (got ^ index) & ~mask & 1 << k]
        others = "others have changed"
        if len(changed) == 1:
            others = f"bit {changed[0]} has changed"
        return f"Only {may} may change. From {before} to {mine}, {others}.{cause}"
    said = f"{before} should become {aim}, and becomes {mine}."
    if not bits:
        return f"{said} No bits are to move."
    taken, done = (right ^ index) >> base, (got ^ index) >> base
    which = f"The {bits} bits" if bits > 1 else "The bit"
    if cause:
        return f"{said}{cause}"
    verb = "are" if bits > 1 else "is"
    they = "they are" if bits > 1 else "it is"
    return (
        f"{said} {which} from bit {base + shift} on {verb} {taken:0{bits}b}, and "
        f"{they} XORed with what is there from bit {base} on. Here, what is there "
        f"changes as if XORed with binary {done:0{bits}b}."
    )


def slip_of_swizzle(index, bits, base, shift, got):
    """Return which slip makes this wrong index, if exactly one of them does."""
    if bits < 2:
        return ""
    start, mask = base + shift, (1 << bits) - 1
    above, taken = index >> start, index >> start & mask
    lower = f"bits {base} to {base + bits - 1}"
    upper = f"bits {start} to {start + bits - 1}"
    masks = {1 << bits: "", 1 << bits - 1: " In Python, `-` comes before `<<`."}
    masks[bits] = ""
    slips = [
        (
            f"A mask of {bits} ones is {mask:b}. This is the result if the mask is "
            f"{other:b}.{more}",
            index ^ (above & other) << base,
        )
        for other, more in masks.items()
    ]
    slips += [
        (
            f"This is the result if all bits from bit {start} on are taken, {above:b}. "
            f"The swizzle takes only {bits} of them.",
            index ^ above << base,
        ),
        (
            f"This is the result if the bits that are taken, {taken:0{bits}b}, are "
            f"XORed from bit 0 on, not from bit {base} on.",
            index ^ taken,
        ),
        (
            f"This is the result if {bits} bits are taken from bit {shift} on, not "
            f"from bit {start} on.",
            index ^ (index >> shift & mask) << base,
        ),
        (
            f"This is the result if {lower} are moved up and XORed with {upper}. The "
            f"swizzle moves {upper} down.",
            index ^ (index >> base & mask) << start,
        ),
        (
            "This is the result if the bits are added to those at their new position: "
            "an addition carries, an XOR does not.",
            index + (taken << base),
        ),
        (
            "This is the result if the bits replace those at their new position.",
            index & ~(mask << base) | taken << base,
        ),
    ]
    return only_one(slips, got)
