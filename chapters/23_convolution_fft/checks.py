"""Specifications and data for the checks of lab 23, and a test by differences."""

from itertools import combinations

import numpy as np
from numba import cuda
from numpy.lib.stride_tricks import sliding_window_view

from weft.wording import joined

from .kernels import grad_weights
from .transforms import POINTS


def image_and_filter(rng, h, w, kh, kw):
    """Random numbers: an image and a filter."""
    return (
        rng.standard_normal((h, w), np.float32),
        rng.standard_normal((kh, kw), np.float32),
    )


def blocks_of(height, width):
    """Blocks of 8 x 32 threads that cover height x width results."""
    return (-(-width // 32), -(-height // 8)), (32, 8)


def slide(x, w):
    """Valid cross-correlation, in NumPy."""
    return np.einsum("ijpq,pq->ij", sliding_window_view(x, w.shape), w)


def turned_round(x, w, above, beside):
    """Valid convolution of x, in a frame of zeros, with w, in NumPy."""
    framed = np.pad(x, ((above, above), (beside, beside)))
    return slide(framed, w[::-1, ::-1])


def is_clearly(got, made, right):
    """Return whether `got` is what a mistake makes, which is far from right."""
    if np.shape(got) != np.shape(made) or not np.any(made):
        return False
    with np.errstate(all="ignore"):
        close = np.allclose(got, made, rtol=1e-3, atol=1e-4 * np.abs(made).max())
        return close and relative(made, right) > 1e-2


def the_one(got, right, made):
    """Return the text of `made` whose result this is; "" if none or several fit."""
    fits = [what for what, each in made.items() if is_clearly(got, each, right)]
    return fits[0] if len(fits) == 1 else ""


EXPLAINED = range(8, 20_000)  # so many results do not agree by chance, or take long


def swept(x, w, shape, centre, turn, exchanged=False, margin=0):
    """Sum x[row + i, col + j] * w[p, q], with zeros outside x.

    For tap `centre`, i and j are 0. As p grows, i grows if turn[0] is 1 and falls if it
    is -1, and so does j with q. exchanged: i depends on q, and j on p. margin: how many
    more rows and columns of results there are on each side.
    """
    edge = margin + max(w.shape)
    high, wide = (size + 2 * margin for size in shape)
    framed = np.zeros(
        [max(pair) + 2 * edge for pair in zip(x.shape, shape, strict=True)]
    )
    framed[edge : edge + x.shape[0], edge : edge + x.shape[1]] = x
    total = np.zeros((high, wide))
    for p, q in np.ndindex(*w.shape):
        i, j = turn[0] * (p - centre[0]), turn[1] * (q - centre[1])
        top, left = (edge - margin + k for k in ((j, i) if exchanged else (i, j)))
        total += framed[top : top + high, left : left + wide] * w[p, q]
    return total


def place(name, i, j):
    """Write an element relative to (row, col)."""
    signs = {True: "+", False: "-"}
    row, col = (
        f"{axis} {signs[k > 0]} {abs(k)}" if k else axis
        for axis, k in (("row", int(i)), ("col", int(j)))
    )
    return f"{name}[{row}, {col}]"


def turned_otherwise(turn, right, name):
    """Say which index goes the wrong way as p or q grows; "" if neither does."""
    ways = {1: "grows", -1: "falls"}
    axes = (("row", "p"), ("column", "q"))
    wrong = [
        f"the {axis} of {name} {ways[mine]} as {k} grows"
        for (axis, k), mine, way in zip(axes, turn, right, strict=True)
        if mine != way
    ]
    if len(wrong) == 2:
        return f"row and column of {name} {ways[turn[0]][:-1]} as p and q grow"
    return "".join(wrong)


def misplaced(x, w, out, name, turn, centre):
    """Return how the filter lies on the image if `out` is the result; "" if unknown."""
    right = swept(x, w, out.shape, centre, turn)
    margin = 2 * max(w.shape) + 1
    ways = [turn, (-turn[0], -turn[1]), (-turn[0], turn[1]), (turn[0], -turn[1])]
    for exchanged in (False, True):
        for way in ways:
            every = swept(x, w, out.shape, centre, way, exchanged, margin)
            views = np.lib.stride_tricks.sliding_window_view(every, out.shape)
            near = np.abs(views[:, :, 0, 0] - out[0, 0]) <= 1e-3 * np.abs(right).max()
            for i, j in np.argwhere(near) - margin:
                if is_clearly(out, views[i + margin, j + margin], right):
                    return how(w, name, turn, centre, exchanged, way, (i, j))
    return ""


def how(w, name, turn, centre, exchanged, way, shift):
    """Say how the filter lies on the image."""
    said = turned_otherwise(way, turn, name)
    if exchanged:
        asks = "Which of them counts the rows of w, and which its columns?"
        if said:
            asks = "Which of them belongs to the row, and with which sign?"
        return (
            f"This is the result if p and q are exchanged in the indices of {name}. "
            f"{asks}"
        )
    tap = f"w[{centre[0]}, {centre[1]}]{', the centre of w,' * any(centre)}"
    meets = f"{tap} is multiplied by {place(name, *shift)}, not by {name}[row, col]"
    if not said:
        return f"This is the result if {meets}."
    reversed_w = tuple(
        right * (size - 1 - 2 * middle) if mine != right else 0
        for mine, right, size, middle in zip(way, turn, w.shape, centre, strict=True)
    )
    asks = "Which way should the indices go?"
    begin, either = "This is the result if ", ", or if "
    if way[0] != turn[0] and way[1] != turn[1]:
        kind = "correlation" if way[0] > 0 else "convolution"
        begin, either = f"This is a {kind}: ", ", or "
    if tuple(shift) == reversed_w:
        return f"{begin}{said}{either}{reversal(way, turn)}. {asks}"
    if not any(shift):
        return f"{begin}{said}. {asks}"
    return f"This is the result if {meets}, and {said}."


def reversal(way, turn):
    """Say how w is reversed if that makes the indices of the image seem to go `way`."""
    rows, columns = (mine != right for mine, right in zip(way, turn, strict=True))
    if rows and columns:
        return "w is reversed" + " once more" * (turn[0] < 0)
    return f"the {'rows' if rows else 'columns'} of w are in reverse order"


def why_not_correlated(x, w, out):
    """Say which mistake in a correlation gives these results, or ""."""
    if out.size not in EXPLAINED:
        return ""
    return misplaced(x, w, out, "x", (1, 1), (0, 0))


def why_not_full(dy, w, dx):
    """Say which mistake in a full convolution gives these results, or ""."""
    if dx.size not in EXPLAINED:
        return ""
    above, beside = (size - 1 for size in w.shape)
    made = wrong_at_the_edge(dy, w, "dy", above, beside)
    right = turned_round(dy, w, above, beside)
    return the_one(dx, right, made) or misplaced(dy, w, dx, "dy", (-1, -1), (0, 0))


def wrong_at_the_edge(x, w, name, above, beside):
    """Return convolutions of x, in a frame of zeros, with a mistake at the edge."""
    edges = {
        "row 0": np.s_[0],
        "the last row": np.s_[-1],
        "column 0": np.s_[:, 0],
        "the last column": np.s_[:, -1],
    }
    made = {}
    for count in range(1, len(edges) + 1):
        for which in combinations(edges, count):
            left = x.copy()
            for edge in which:
                left[edges[edge]] = 0
            said = f"{joined(which)} of {name} {'are' if count > 1 else 'is'} left out"
            asks = "Which of the bounds leaves out too much?"
            made[f"This is the result if {said}. {asks}"] = turned_round(
                left, w, above, beside
            )
    return made | ending_early(x, w, name, above, beside)


def ending_early(x, w, name, above, beside):
    """Return convolutions by loops that end at the first element outside x.

    As p and q grow, the indices fall. So a sum is right or 0: tap 0 is inside, or not.
    """
    right = turned_round(x, w, above, beside)
    i, j = np.indices(right.shape)
    row = i + w.shape[0] - 1 - above < x.shape[0]
    column = j + w.shape[1] - 1 - beside < x.shape[1]
    made = {}
    for loops, first, zero, inside in (
        ("loop over p ends", "row", "p", row),
        ("loop over q ends", "column", "q", column),
        ("loops over p and q end", "element", "p = q", row & column),
    ):
        said = (
            f"the {loops} at the first {first} outside {name}, or if the {first} for "
            f"{zero} = 0 decides for all. Can a later {first} be inside?"
        )
        made[f"This is the result if {said}"] = right * inside
    return made


OUTSIDE = {
    "edge": "the nearest pixel at the edge counts",
    "reflect": "the image is mirrored",
    "symmetric": "the image is mirrored",
    "wrap": "the image begins again at its other end",
}


def why_not_same(x, w, out):
    """Say which mistake in a convolution of the same size gives these results."""
    if out.size not in EXPLAINED:
        return ""
    ph, pw = w.shape[0] // 2, w.shape[1] // 2
    made = {}
    for mode, what in OUTSIDE.items():
        framed = np.pad(x, ((ph, ph), (pw, pw)), mode)
        said = f"This is the result if, outside x, {what}. Which value counts there?"
        found = slide(framed, w[::-1, ::-1])
        if said not in made or is_clearly(out, found, made[said]):
            made[said] = found
    made |= wrong_at_the_edge(x, w, "x", ph, pw)
    right = turned_round(x, w, ph, pw)
    lies = (-1, -1), (ph, pw)
    return the_one(out, right, made) or misplaced(x, w, out, "x", *lies)


def lists_to_transform(rng):
    """What you did by hand, and some that nobody would.

    In the first list, no two mistakes give the same result.
    """
    tells = [4, 1j, 2, -1]
    by_hand = [[1, 1, 1, 1], [1, -1, 1, -1], [1, 0, 0, 0], [1, 0, -1, 0]]
    more = [rng.standard_normal(n).tolist() for n in (1, 3, 8, 30)]
    turning = np.exp(2j * np.pi * rng.random(5)).tolist()
    return [(x,) for x in [tells, *by_hand, *more, turning]]


def sums(x, power=lambda j, k: j * k, turn=-2j * np.pi, count=None):
    """Transform a list with other powers of w, or with another angle."""
    j = np.arange(len(x))
    steps = power(j, j[:, None]) * np.ones((len(x), len(x)))
    return np.exp(turn * steps / (count or len(x))) @ np.array(x, complex)


def why_not_transformed(x, got):
    """Say which mistake in a transform gives this list, or ""."""
    if got is x:
        return (
            "The list that is returned is x itself. If a result replaces an element of "
            "x, which elements do the sums after it read?"
        )
    try:
        got = np.array(got, complex)
    except (TypeError, ValueError):
        return ""
    n, right, j = len(x), sums(x), np.arange(len(x))
    if got.shape != right.shape:
        return ""
    without_first, without_last = [0, *x[1:]], [*x[:-1], 0]
    last = np.exp(-2j * np.pi * j * (n - 1) / n) * x[-1]
    made = {
        "`w` turns counter-clockwise. Which sign does its exponent have?": (
            sums(x, turn=2j * np.pi)
        ),
        "n steps of `w` make half a turn. How large is the angle of a full turn?": (
            sums(x, turn=-1j * np.pi)
        ),
        "n steps of `w` make half a turn, counter-clockwise. How large is the angle of "
        "a full turn, and which way does `w` turn?": sums(x, turn=1j * np.pi),
        "n steps of `w` make two turns. How large is the angle of a full turn?": (
            sums(x, turn=-4j * np.pi)
        ),
        "the angle is not multiplied by π. How large is the angle of a full turn?": (
            sums(x, turn=-2j)
        ),
        "the exponent is not divided by n, so that every power of `w` is 1.": (
            sums(x, turn=0)
        ),
        "the exponent is real: which factor makes `w` turn?": sums(x, turn=-2 * np.pi),
        "every sum is divided by n. Does the definition divide?": right / n,
        "every sum is divided by the square root of n. Does the definition divide?": (
            right / n**0.5
        ),
        "the sum does not begin again at 0 for each k: result[1] still contains "
        "result[0].": np.cumsum(right),
        "only the last product counts. Are the products added up?": last,
        "the power of `w` is k, the same for every x[j].": sums(x, lambda j, k: k),
        "the power of `w` is j, the same for every k.": sums(x, lambda j, k: j),
        "the power of `w` is j + k.": sums(x, lambda j, k: j + k),
        "j and k begin at 1, also in the power of `w`.": (
            sums(x, lambda j, k: (j + 1) * (k + 1))
        ),
        "j begins at 1 in the power of `w`.": sums(x, lambda j, k: (j + 1) * k),
        "k begins at 1.": np.roll(right, -1),
        "x[0] is left out of the sums.": sums(without_first),
        "the last element of x is left out of the sums.": sums(without_last),
        "every term of sum k takes x[k], not x[j].": x * sums([1] * n),
        "only the real part of each power of `w` counts.": (
            sums(np.eye(n)).real @ np.array(x, complex)
        ),
        "every term is multiplied by k: result[k] is k · result[1]. Is k a factor, or "
        "part of the power?": j * right[min(1, n - 1)],
        "each sum has only its real part.": right.real,
        "each sum has only its absolute value.": np.abs(right),
        "each sum is the conjugate of the right one.": right.conj(),
        "the powers of `w` are always 1, -i, -1, i, as for n = 4. How does `w` depend "
        "on n?": sums(x, count=4),
    }
    what = the_one(got, right, made)
    return f"This is the result if {what}" if what else ""


def roots(n):
    """The n-th roots of unity: w^0, w^1, ... w^(n - 1), clockwise."""
    return np.exp(-2j * np.pi * np.arange(n) / n).astype(np.complex64)


def rows_to_transform(rng, rows):
    """Random complex rows, and the table of roots."""
    parts = rng.standard_normal((2, rows, POINTS), np.float32)
    return parts[0] + 1j * parts[1], roots(POINTS)


def butterfly(a, b, factor):
    """Return both results of a butterfly."""
    return a + b * factor, a - b * factor


def passes(
    x,
    table,
    sizes=None,
    twiddle=None,
    places=None,
    pair=butterfly,
    read=lambda t: (t, t + POINTS // 2),
):
    """Transform rows in passes, with a mistake in one of their parts.

    sizes: s of each pass. twiddle: (k, s) → the index in the table. places: (t, k, s) →
    where the results go. pair: (a, b, factor) → the results. read: t → where a and b
    are.
    """
    z, t = x.astype(complex), np.arange(POINTS // 2)
    for s in sizes or [1 << level for level in range(10)]:
        k = t % s
        at = twiddle(k, s) if twiddle else k * (POINTS // 2 // s)
        factor = table[at % POINTS]
        a, b = (z[:, place] for place in read(t))
        first, second = places(t, k, s) if places else (2 * t - k, 2 * t - k + s)
        new = np.zeros_like(z)
        new[:, first], new[:, second] = pair(a, b, factor)
        z = new
    return z


def in_place(x, table):
    """Transform rows in place, without the reversal of the bits that this takes."""
    z, t = x.astype(complex), np.arange(POINTS // 2)
    for s in (1 << level for level in range(10)):
        k = t % s
        i = 2 * t - k
        a, b = z[:, i], z[:, i + s] * table[k * (POINTS // 2 // s)]
        z[:, i], z[:, i + s] = a + b, a - b
    return z


def why_not_in_passes(x, table, out):
    """Say which mistake in a transform by passes gives these rows, or ""."""
    levels = [1 << level for level in range(10)]
    half = POINTS // 2
    right = passes(x, table)
    steps = "How many steps of the table make a full turn? How many does k = 1 take?"
    before = "Which number does it multiply in this algorithm, and when?"
    made = {
        "the roots in the table are taken twice as far apart: for k = 1 and s = 2, "
        f"the factor is table[{half}], which is -1. {steps}": (
            passes(x, table, twiddle=lambda k, s: k * (POINTS // s))
        ),
        "the roots in the table are taken half as far apart: for k = 1 and s = 2, "
        f"the factor is table[{half // 4}]. {steps}": (
            passes(x, table, twiddle=lambda k, s: k * half // s // 2)
        ),
        "the factor is table[k] in every pass. How does it depend on s?": (
            passes(x, table, twiddle=lambda k, s: k)
        ),
        "the factors turn counter-clockwise.": passes(x, table.conj()),
        "the factor is always 1.": passes(x, table, twiddle=lambda k, s: 0 * k),
        "a is multiplied by the factor, and b is not.": (
            passes(x, table, pair=lambda a, b, w: (a * w + b, a * w - b))
        ),
        "both a and b are multiplied by the factor, or both results are.": (
            passes(x, table, pair=lambda a, b, w: ((a + b) * w, (a - b) * w))
        ),
        f"the factor multiplies the difference, after the butterfly. {before}": (
            passes(x, table, pair=lambda a, b, w: (a + b, (a - b) * w))
        ),
        f"the factor multiplies the sum, after the butterfly. {before}": (
            passes(x, table, pair=lambda a, b, w: ((a + b) * w, a - b))
        ),
        "b is multiplied by the factor in the sum, and not in the difference.": (
            passes(x, table, pair=lambda a, b, w: (a + b * w, a - b))
        ),
        "b is multiplied by the factor in the difference, and not in the sum.": (
            passes(x, table, pair=lambda a, b, w: (a + b, a - b * w))
        ),
        "a - b goes where a + b belongs, and a + b where a - b belongs.": (
            passes(x, table, pair=lambda a, b, w: (a - b * w, a + b * w))
        ),
        "b - a goes where a + b belongs, and a + b where a - b belongs.": (
            passes(x, table, pair=lambda a, b, w: (b * w - a, a + b * w))
        ),
        "b - a is stored, and not a - b.": (
            passes(x, table, pair=lambda a, b, w: (a + b * w, b * w - a))
        ),
        "a + b is stored twice.": (
            passes(x, table, pair=lambda a, b, w: (a + b * w,) * 2)
        ),
        "each pass stores its results in 2 t and 2 t + 1. How do these places depend "
        "on k and s?": passes(x, table, places=lambda t, k, s: (2 * t, 2 * t + 1)),
        "each pass stores its results in t and t + n/2, where it has read. How do the "
        "places depend on k and s?": passes(
            x, table, places=lambda t, k, s: (t, t + half)
        ),
        "each butterfly stores its results in the two places that it has read, "
        "2 t - k and 2 t - k + s. Which two does it read in this algorithm?": (
            in_place(x, table)
        ),
        "the last pass is missing: these are the values after the pass with s = 256. "
        "What is s in the last pass?": passes(x, table, levels[:-1]),
        "the first pass is missing, the one with s = 1.": passes(x, table, levels[1:]),
        "there is only one pass, the one with s = 1.": passes(x, table, levels[:1]),
        "there is no pass: these are the elements of x.": x,
        "s is 1 in all ten passes.": passes(x, table, [1] * 10),
        f"s begins at {half} and is halved. The levels go from small transforms to "
        "large.": passes(x, table, levels[::-1]),
        "butterfly t reads elements 2 t and 2 t + 1. Which two does it read?": (
            passes(x, table, read=lambda t: (2 * t, 2 * t + 1))
        ),
        "the halves of each row are exchanged.": np.roll(right, half, axis=1),
    }
    ends = "the passes end after the one with s = {}. There are ten, up to s = {}."
    early = {
        ends.format(levels[last], half): passes(x, table, levels[: last + 1])
        for last in range(1, 8)
    }
    what = the_one(out, right, made | early)
    return f"This is the result if {what}" if what else ""


def loss(x, w):
    return 0.5 * (slide(x, w) ** 2).sum()


def by_differences(of, at, eps=1e-4):
    """Return the gradient of `of` at an array, one element at a time."""
    found = np.empty(at.shape)
    for place in np.ndindex(*at.shape):
        step = np.zeros(at.shape)
        step[place] = eps
        found[place] = (of(at + step) - of(at - step)) / (2 * eps)
    return found


def relative(got, wanted):
    """Return the error of an array, relative to its size."""
    return np.linalg.norm(got - wanted) / np.linalg.norm(wanted)


def finite_differences(grad_data):
    """Compare both gradients with finite differences; return their errors."""
    rng = np.random.default_rng(23)
    x = rng.standard_normal((9, 8), np.float32)
    w = rng.standard_normal((3, 2), np.float32)
    x64, w64 = x.astype(np.float64), w.astype(np.float64)
    dy = slide(x64, w64).astype(np.float32)
    d_x, d_w, d_dy, d_dx, d_dw = map(
        cuda.to_device, (x, w, dy, np.zeros_like(x), np.zeros_like(w))
    )
    grad_data[blocks_of(*x.shape)](d_dy, d_w, d_dx)
    grad_weights[(2, 3), 256](d_x, d_dy, d_dw)
    dx, dw = d_dx.copy_to_host(), d_dw.copy_to_host()

    dx_error = relative(dx, by_differences(lambda a: loss(a, w64), x64))
    dw_error = relative(dw, by_differences(lambda a: loss(x64, a), w64))
    print(f"dx: {dx_error:.0e}\ndw: {dw_error:.0e}")
    return dx_error, dw_error
